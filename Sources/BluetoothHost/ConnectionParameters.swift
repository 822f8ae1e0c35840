import BluetoothLoop
import BluetoothHCI

/// The parameters a link runs with (Core Vol 6 Part B §4.5).
public struct ConnectionParameters: Hashable, Sendable, CustomStringConvertible {
    /// From one connection event to the next: 7.5 ms to 4 s. What is asked for takes about one of them to come back.
    public var interval: Duration
    /// How many connection events in a row the peripheral may sleep through: 0 to 499.
    public var latency: Int
    /// After how long without a packet the link is lost: 100 ms to 32 s.
    public var supervisionTimeout: Duration

    /// Parameters by their values.
    public init(interval: Duration, latency: Int, supervisionTimeout: Duration) {
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    /// The values with their units.
    public var description: String {
        "interval \(interval.inMilliseconds), latency \(latency), supervision time-out \(supervisionTimeout.inMilliseconds)"
    }
}

/// The parameters to ask for; the controllers choose the interval within its range (Core Vol 4 Part E §7.8.18).
public struct ConnectionParameterRequest: Hashable, Sendable {
    /// The shortest and the longest connection interval: 7.5 ms to 4 s, in steps of 1.25 ms.
    public var interval: ClosedRange<Duration>
    /// How many connection events in a row the peripheral may sleep through: 0 to 499.
    public var latency: Int
    /// After how long without a packet the link is lost: 100 ms to 32 s, in steps of 10 ms; more than twice as long as
    /// the longest interval times (``latency`` + 1).
    public var supervisionTimeout: Duration

    /// Parameters to ask for.
    public init(interval: ClosedRange<Duration>, latency: Int = 0, supervisionTimeout: Duration = .seconds(5)) {
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    /// For much data or quick answers, at the cost of both batteries: 7.5 to 15 ms.
    public static let lowLatency = ConnectionParameterRequest(interval: .microseconds(7500)...(.milliseconds(15)))
    /// What most links begin with: 30 to 50 ms.
    public static let balanced = ConnectionParameterRequest(interval: .milliseconds(30)...(.milliseconds(50)))
    /// For links on which little happens: 100 to 125 ms, of which the peripheral may sleep through two.
    public static let lowPower = ConnectionParameterRequest(
        interval: .milliseconds(100)...(.milliseconds(125)), latency: 2)
}

/// What to do when a link gets parameters that this side did not ask for.
///
/// It is the kernel that answers a peripheral's request, and it grants whatever is valid; a program only learns of the
/// outcome. So all that can be done is to ask for other parameters afterwards.
public enum ConnectionParameterPolicy: Hashable, Sendable {
    /// The peer's wishes are granted.
    case accept
    /// These are asked for again whenever the link runs with others; after three times in a row, not before it has been
    /// left alone for 30 s.
    case keep(ConnectionParameterRequest)
}

/// The PHYs of a link.
public struct LinkPHYs: Hashable, Sendable, CustomStringConvertible {
    /// The PHY packets are sent on.
    public var transmit: LEPHY
    /// The PHY packets are received on.
    public var receive: LEPHY

    /// A PHY for each direction.
    public init(transmit: LEPHY, receive: LEPHY) {
        self.transmit = transmit
        self.receive = receive
    }

    /// Both by name.
    public var description: String { "transmit \(transmit), receive \(receive)" }
}

/// How large a link's packets may be (Core Vol 6 Part B §4.5.10).
public struct LinkDataLength: Hashable, Sendable, CustomStringConvertible {
    /// The most bytes in a packet sent: 27 to 251.
    public var transmitOctets: Int
    /// The most time a packet sent takes: 328 to 17 040 µs.
    public var transmitTime: Duration
    /// The most bytes in a packet received.
    public var receiveOctets: Int
    /// The most time a packet received takes.
    public var receiveTime: Duration

    package init(transmitOctets: Int, transmitTime: Duration, receiveOctets: Int, receiveTime: Duration) {
        self.transmitOctets = transmitOctets
        self.transmitTime = transmitTime
        self.receiveOctets = receiveOctets
        self.receiveTime = receiveTime
    }

    /// The limits both ways.
    public var description: String { "transmit \(transmitOctets) bytes, receive \(receiveOctets) bytes" }
}

/// Something about a link below the Attribute Protocol that has changed, whoever wanted it so.
public enum LinkChange: Hashable, Sendable {
    /// It runs with these parameters now.
    case parameters(ConnectionParameters)
    /// It uses these PHYs now.
    case phys(LinkPHYs)
    /// Its packets may be this large now.
    case dataLength(LinkDataLength)
}

extension LinkChange: CustomStringConvertible {
    /// What it is now.
    public var description: String {
        switch self {
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
