import ArgumentParser
import BluetoothLE

/// The settings of a link, for the commands that connect.
public struct LinkOptions: ParsableArguments, Sendable {
    /// The use of the link.
    @Option(
        help: ArgumentHelp(
            "The use of the link, which chooses interval, latency, PHY and data length: throughput, balanced or low-power.",
            valueName: "use"))
    public var use: UseOption?

    /// The connection interval.
    @Option(
        help: ArgumentHelp(
            "The connection interval, 7.5 to 4000: a number, or a range such as 15-30.", valueName: "ms"),
        transform: IntervalRange.parse)
    public var interval: IntervalRange?

    /// The peripheral latency.
    @Option(
        help: ArgumentHelp(
            "The peripheral latency: how many connection events the device may skip, 0 to 499, such as 2.",
            valueName: "events"))
    public var latency: Int?

    /// The supervision timeout in milliseconds.
    @Option(help: ArgumentHelp("The supervision timeout, 100 to 32000, such as 4000.", valueName: "ms"))
    public var supervisionTimeout: Int?

    /// The PHY.
    @Option(
        help: "The PHY, in both directions: 1m, 2m or coded, or several to choose from, such as 1m,2m.",
        completion: .list(PHYOption.allValueStrings))
    public var phy: PHYList?

    /// The data length.
    @Option(
        help: ArgumentHelp(
            "The data length: the maximum Link Layer payload, 27 to 251, such as 251.", valueName: "bytes"))
    public var dataLength: Int?

    /// The ATT_MTU to request.
    @Option(
        help: ArgumentHelp(
            "The ATT_MTU to request, 23 to 517 (default: 517); 23 skips the exchange, for a device that does not respond to it.",
            valueName: "bytes"))
    public var mtu: Int?

    /// The defaults.
    public init() {}

    /// Rejects values outside the specification's ranges, and connection parameters that contradict each other.
    public mutating func validate() throws {
        try checkRange(latency, 0...499, "--latency", " connection events")
        try checkRange(supervisionTimeout, 100...32000, "--supervision-timeout", " ms")
        try checkRange(dataLength, 27...251, "--data-length", " bytes")
        try checkRange(mtu, 23...517, "--mtu", " bytes")
        do throws(BluetoothError) {
            try settings.parameters?.validate()
        } catch {
            throw ValidationError(error.message)
        }
    }

    /// Whether any connection parameter is given.
    public var hasParameters: Bool { interval != nil || latency != nil || supervisionTimeout != nil }

    /// The connection parameters that are given, and otherwise those of `others`.
    public func parameters(or others: ConnectionParameterRequest) -> ConnectionParameterRequest {
        ConnectionParameterRequest(
            interval: interval?.range ?? others.interval, latency: latency ?? others.latency,
            supervisionTimeout: supervisionTimeout.map { .milliseconds($0) } ?? others.supervisionTimeout)
    }

    /// The settings. Connection parameters that are not given are those of the use, or else for balanced use.
    public var settings: RequestedSettings {
        RequestedSettings(
            use: use?.value,
            parameters: hasParameters ? parameters(or: use?.value.parameters ?? .balanced) : nil, phys: phy?.set,
            dataLength: dataLength, maximumTransmissionUnit: mtu)
    }
}

/// The settings with which to connect.
public struct RequestedSettings: Hashable, Sendable {
    /// The use of the link.
    public var use: ConnectionUse?
    /// The connection parameters.
    public var parameters: ConnectionParameterRequest?
    /// The PHYs.
    public var phys: LEPHYSet?
    /// The data length in bytes.
    public var dataLength: Int?
    /// The ATT_MTU to offer, 23 to 517 bytes.
    public var maximumTransmissionUnit: Int?

    /// Settings, of which nil leaves one as it is.
    public init(
        use: ConnectionUse? = nil, parameters: ConnectionParameterRequest? = nil, phys: LEPHYSet? = nil,
        dataLength: Int? = nil, maximumTransmissionUnit: Int? = nil
    ) {
        (self.use, self.parameters, self.phys, self.dataLength) = (use, parameters, phys, dataLength)
        self.maximumTransmissionUnit = maximumTransmissionUnit
    }

    /// Whether none is requested.
    public var isEmpty: Bool { self == RequestedSettings() }

    func apply(to options: inout ConnectionOptions) {
        (options.use, options.parameters, options.dataLength) = (use, parameters, dataLength)
        // LE Coded may have been asked for otherwise, to connect on it.
        options.phys = phys ?? options.phys
        options.maximumTransmissionUnit = maximumTransmissionUnit ?? options.maximumTransmissionUnit
    }
}

/// The use of a link on the command line.
public enum UseOption: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// As many bytes a second as possible.
    case throughput
    /// Occasional values.
    case balanced
    /// Little traffic at little cost of energy.
    case lowPower = "low-power"

    /// The library's use.
    public var value: ConnectionUse { self == .lowPower ? .lowPower : self == .balanced ? .balanced : .throughput }
}

/// An interval in milliseconds: `15`, `7.5` or `15-30`.
public struct IntervalRange: Sendable {
    /// The shortest and the longest interval.
    public var range: ClosedRange<Duration>

    /// Parses a number or a range.
    public static func parse(_ text: String) throws -> IntervalRange {
        let numbers = text.split(separator: "-", omittingEmptySubsequences: false).map { Double($0) }
        guard (1...2).contains(numbers.count), let first = numbers[0], let last = numbers[numbers.count - 1],
            first > 0, first <= last, last <= 1_000_000
        else { throw ValidationError("give milliseconds, such as 15 or 15-30.") }
        return IntervalRange(range: .milliseconds(first)...Duration.milliseconds(last))
    }
}

/// A PHY on the command line.
public enum PHYOption: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// LE 1M.
    case le1M = "1m"
    /// LE 2M.
    case le2M = "2m"
    /// LE Coded.
    case leCoded = "coded"

    /// The PHY.
    public var phy: LEPHY { self == .le1M ? .le1M : self == .le2M ? .le2M : .leCoded }
}

/// One or several PHYs on the command line: `2m`, or `1m,coded`.
public struct PHYList: ExpressibleByArgument, Sendable {
    /// The set of these PHYs.
    public var set: LEPHYSet = []

    /// Parses a list.
    public init?(argument: String) {
        for name in argument.split(separator: ",", omittingEmptySubsequences: false) {
            guard let phy = PHYOption(rawValue: String(name)) else { return nil }
            set.insert(LEPHYSet(phy.phy))
        }
    }
}
