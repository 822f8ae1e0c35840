import BluetoothLoop
import BluetoothHCI

/// The connection parameters of a link (Core Vol 6 Part B §4.5).
public struct ConnectionParameters: Hashable, Sendable, CustomStringConvertible {
    /// The connection interval: 7.5 ms to 4 s. A round trip takes about one interval.
    public var interval: Duration
    /// The peripheral latency: the number of consecutive connection events that the peripheral may skip, 0 to 499.
    public var latency: Int
    /// The supervision timeout, after which a silent link is lost: 100 ms to 32 s.
    public var supervisionTimeout: Duration

    /// Creates parameters from their values.
    package init(interval: Duration, latency: Int, supervisionTimeout: Duration) {
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    /// The values with their units.
    public var description: String {
        "interval \(interval.inMilliseconds), latency \(latency), supervision timeout \(supervisionTimeout.inMilliseconds)"
    }
}

/// A request for connection parameters; the controllers choose the interval within its range (Core Vol 4 Part E
/// §7.8.18).
public struct ConnectionParameterRequest: Hashable, Sendable, CustomStringConvertible {
    /// The shortest and the longest connection interval: 7.5 ms to 4 s, in steps of 1.25 ms.
    public var interval: ClosedRange<Duration>
    /// The peripheral latency: the number of consecutive connection events that the peripheral may skip, 0 to 499.
    public var latency: Int
    /// The supervision timeout: 100 ms to 32 s, in steps of 10 ms; more than twice the longest interval times
    /// (``latency`` + 1).
    public var supervisionTimeout: Duration

    /// Creates a request.
    public init(interval: ClosedRange<Duration>, latency: Int = 0, supervisionTimeout: Duration = .seconds(5)) {
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    /// Parameters for high throughput or short response times, at the cost of both batteries: 7.5 to 15 ms.
    public static let lowLatency = ConnectionParameterRequest(interval: .microseconds(7500)...(.milliseconds(15)))
    /// Parameters that most links begin with: 30 to 50 ms.
    public static let balanced = ConnectionParameterRequest(interval: .milliseconds(30)...(.milliseconds(50)))
    /// Parameters for links with little traffic: 100 to 125 ms, with a peripheral latency of 2.
    public static let lowPower = ConnectionParameterRequest(
        interval: .milliseconds(100)...(.milliseconds(125)), latency: 2)

    /// The values with their units.
    public var description: String {
        "interval \(intervalText), latency \(latency), supervision timeout \(supervisionTimeout.inMilliseconds)"
    }

    var intervalText: String {
        let (shortest, longest) = (interval.lowerBound.inMilliseconds, interval.upperBound.inMilliseconds)
        return shortest == longest ? shortest : "\(shortest) to \(longest)"
    }
}

/// The policy for connection parameters that this side did not request.
///
/// The kernel answers a peripheral's request and grants every valid one; the program only learns the result. A policy
/// can therefore only request other parameters afterwards. Without one, what the program requested last is requested again,
/// three times a link.
public enum ConnectionParameterPolicy: Hashable, Sendable {
    /// Accept the peer's requests.
    case accept
    /// Request these parameters again whenever the link runs with others; after three requests in a row, not before the
    /// link has been left alone for 30 s.
    case keep(ConnectionParameterRequest)
}

/// The PHYs of a link.
public struct LinkPHYs: Hashable, Sendable, CustomStringConvertible {
    /// The PHY of sent packets.
    public var transmit: LEPHY
    /// The PHY of received packets.
    public var receive: LEPHY

    /// Creates the PHYs of both directions.
    package init(transmit: LEPHY, receive: LEPHY) {
        self.transmit = transmit
        self.receive = receive
    }

    /// The names of both PHYs.
    public var description: String { "transmit \(transmit), receive \(receive)" }
}

/// The data length of a link: the largest Link Layer packets (Core Vol 6 Part B §4.5.10).
public struct LinkDataLength: Hashable, Sendable, CustomStringConvertible {
    /// The maximum payload of a sent packet: 27 to 251 bytes.
    public var transmitOctets: Int
    /// The maximum duration of a sent packet: 328 to 17 040 µs.
    public var transmitTime: Duration
    /// The maximum payload of a received packet, in bytes.
    public var receiveOctets: Int
    /// The maximum duration of a received packet.
    public var receiveTime: Duration

    package init(transmitOctets: Int, transmitTime: Duration, receiveOctets: Int, receiveTime: Duration) {
        self.transmitOctets = transmitOctets
        self.transmitTime = transmitTime
        self.receiveOctets = receiveOctets
        self.receiveTime = receiveTime
    }

    /// The limits in both directions.
    public var description: String { "transmit \(transmitOctets) bytes, receive \(receiveOctets) bytes" }
}

/// A change of a link below the Attribute Protocol, initiated by either side. An open set: each property is one thing that
/// may change, nil for the others.
public struct LinkChange: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case parameters(ConnectionParameters)
        case phys(LinkPHYs)
        case dataLength(LinkDataLength)
    }

    package let kind: Kind

    package init(_ kind: Kind) { self.kind = kind }

    /// The new connection parameters.
    public var parameters: ConnectionParameters? { if case .parameters(let new) = kind { new } else { nil } }
    /// The new PHYs.
    public var phys: LinkPHYs? { if case .phys(let new) = kind { new } else { nil } }
    /// The new data length.
    public var dataLength: LinkDataLength? { if case .dataLength(let new) = kind { new } else { nil } }
}

extension LinkChange: CustomStringConvertible {
    /// The new value.
    public var description: String {
        switch kind {
        case .parameters(let parameters): "\(parameters)"
        case .phys(let phys): "PHYs: \(phys)"
        case .dataLength(let length): "data length: \(length)"
        }
    }
}

extension Duration {
    /// `7.5 ms`, with as many decimals as are needed down to microseconds.
    var inMilliseconds: String {
        let microseconds = clampedNanoseconds / 1000
        let fraction = microseconds % 1000
        guard fraction != 0 else { return "\(microseconds / 1000) ms" }
        var digits = String(1000 + abs(fraction)).dropFirst()
        while digits.last == "0" { digits = digits.dropLast() }
        return "\(microseconds / 1000).\(digits) ms"
    }
}
