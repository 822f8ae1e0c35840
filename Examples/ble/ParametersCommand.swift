import ArgumentParser
import BluetoothLE
import ExampleSupport

struct ParametersCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "params", abstract: "Show or change a link's connection interval, latency, PHYs and packet sizes.",
        discussion: """
            Applies the changes, then prints the link's parameters. Needs CAP_NET_RAW; without it only the ATT_MTU is \
            known. The data length is known once it has changed.

            EXAMPLES:
              ble params -n Pulse-Z1
              ble params -n Pulse-Z1 --use throughput
              ble params -n Pulse-Z1 --interval 15-30 --latency 2 --phy 2m
            """)

    @OptionGroup var common: CommonOptions

    @Option(
        help: ArgumentHelp(
            "Choose interval, latency, PHY and data length for a use: throughput, balanced or low-power.",
            valueName: "use"))
    var use: UseOption?

    @Option(
        help: ArgumentHelp(
            "The connection interval, 7.5 to 4000: a number, or a range such as 15-30.", valueName: "ms"),
        transform: IntervalRange.parse)
    var interval: IntervalRange?

    @Option(
        help: ArgumentHelp(
            "The peripheral latency: how many connection events the device may skip, 0 to 499.", valueName: "events"))
    var latency: Int?

    @Option(help: ArgumentHelp("The supervision timeout, 100 to 32000.", valueName: "ms"))
    var supervisionTimeout: Int?

    @Option(help: "The PHY, in both directions: 1m, 2m or coded.")
    var phy: PHYOption?

    @Option(help: ArgumentHelp("The data length: the maximum Link Layer payload, 27 to 251.", valueName: "bytes"))
    var dataLength: Int?

    func perform(on connection: Connection, _ console: Console) async throws {
        if let use { try await connection.adapt(to: use.value) }
        let wishes = Wishes(
            interval: interval?.range, latency: latency,
            supervisionTimeout: supervisionTimeout.map { .milliseconds($0) }, phy: phy?.set, dataLength: dataLength)
        try await wishes.fulfil(on: connection)
        console.show(try await LinkState(of: connection))
    }
}

/// The use of a link on the command line.
enum UseOption: String, ExpressibleByArgument, CaseIterable, Sendable {
    case throughput, balanced
    case lowPower = "low-power"

    var value: ConnectionUse {
        switch self {
        case .throughput: .throughput
        case .balanced: .balanced
        case .lowPower: .lowPower
        }
    }
}

/// A connection interval in milliseconds: `15`, `7.5` or `15-30`.
struct IntervalRange: Sendable {
    var range: ClosedRange<Duration>

    static func parse(_ text: String) throws -> IntervalRange {
        let numbers = text.split(separator: "-", omittingEmptySubsequences: false).map { Double($0) }
        guard (1...2).contains(numbers.count), let first = numbers[0], let last = numbers[numbers.count - 1],
            first > 0, first <= last, last <= 1_000_000
        else { throw ValidationError("give milliseconds, such as 15 or 15-30.") }
        return IntervalRange(range: .milliseconds(first)...Duration.milliseconds(last))
    }
}

/// A PHY on the command line.
enum PHYOption: String, ExpressibleByArgument, CaseIterable, Sendable {
    case le1M = "1m"
    case le2M = "2m"
    case leCoded = "coded"

    var set: LEPHYSet {
        switch self {
        case .le1M: .le1M
        case .le2M: .le2M
        case .leCoded: .leCoded
        }
    }
}

/// The requested changes.
private struct Wishes: Sendable {
    var interval: ClosedRange<Duration>?
    var latency: Int?
    var supervisionTimeout: Duration?
    var phy: LEPHYSet?
    var dataLength: Int?

    func fulfil(on connection: Connection) async throws {
        if interval != nil || latency != nil || supervisionTimeout != nil {
            // Unspecified parameters keep their current values, if these are known.
            let now = await connection.parameters
            var request = ConnectionParameterRequest.balanced
            if let now {
                request = ConnectionParameterRequest(
                    interval: now.interval...now.interval, latency: now.latency,
                    supervisionTimeout: now.supervisionTimeout)
            }
            request.interval = interval ?? request.interval
            request.latency = latency ?? request.latency
            request.supervisionTimeout = supervisionTimeout ?? request.supervisionTimeout
            _ = try await connection.requestParameters(request)
        }
        if let phy {
            let now = try await connection.setPHYs(transmit: phy, receive: phy)
            guard LEPHYSet([now.transmit, now.receive]).isSubset(of: phy) else {
                throw ProgramError(
                    .protocolError, "The device does not support this PHY; the PHYs are unchanged: \(now).")
            }
        }
        if let dataLength {
            let changes = try await connection.linkChanges()
            try await connection.requestDataLength(dataLength)
            // Reported only if the negotiation changes the length, and then soon.
            _ = try await upTo(.seconds(1)) {
                for try await change in changes { if case .dataLength = change { return } }
            }
        }
    }
}

extension LEPHYSet {
    fileprivate init(_ phys: [LEPHY]) {
        self = phys.reduce(into: []) { set, phy in
            switch phy {
            case .le1M: set.insert(.le1M)
            case .le2M: set.insert(.le2M)
            case .leCoded: set.insert(.leCoded)
            default: set.insert(LEPHYSet(rawValue: 0x80))
            }
        }
    }
}
