import ArgumentParser
import BluetoothLE
import ExampleSupport

/// The defaults of an adapter, on the command line of `ble params`.
struct DefaultsOptions: ParsableArguments, Sendable {
    @Flag(
        help:
            "Show or change the adapter's defaults: for its links with --use, --interval, --latency and --supervision-timeout; for finding and connecting to devices with --phy."
    )
    var defaults = false

    @Option(
        help: ArgumentHelp(
            "With --defaults: the scan interval while the adapter looks for a device to connect to, 2.5 to 10240.",
            valueName: "ms"))
    var scanInterval: Double?

    @Option(
        help: ArgumentHelp(
            "With --defaults: the scan window, 2.5 to the scan interval.", valueName: "ms"))
    var scanWindow: Double?

    @Option(
        help: ArgumentHelp(
            "With --defaults: the time limit for the connection once the device has been found, 1 to 65535, such as 20000.",
            valueName: "ms")
    )
    var connectTimeout: Int?

    @Option(
        help: ArgumentHelp(
            "With --defaults: the advertising interval, 20 to 10240: a number, or a range such as 100-200.",
            valueName: "ms"),
        transform: IntervalRange.parse)
    var advertisingInterval: IntervalRange?

    /// Rejects options that do not belong together, and values outside their ranges.
    func validate(with link: LinkOptions) throws {
        let given: [(String, Bool)] = [
            ("--scan-interval", scanInterval != nil), ("--scan-window", scanWindow != nil),
            ("--connect-timeout", connectTimeout != nil), ("--advertising-interval", advertisingInterval != nil),
        ]
        guard defaults else {
            guard let option = given.first(where: \.1)?.0 else { return }
            throw ValidationError("\(option) is a default of the adapter, and needs --defaults.")
        }
        if let phy = link.phy, !phy.set.contains(.le1M) {
            throw ValidationError(
                "An adapter's PHYs always include LE 1M: give --phy 1m, or several such as --phy 1m,2m.")
        }
        for (option, isGiven) in [("--data-length", link.dataLength != nil), ("--mtu", link.mtu != nil)] where isGiven {
            throw ValidationError("\(option) is not among the adapter's defaults.")
        }
        guard (scanInterval == nil) == (scanWindow == nil) else {
            throw ValidationError("--scan-interval and --scan-window must be given together.")
        }
        if let scanInterval, let scanWindow {
            guard (2.5...10240).contains(scanInterval), (2.5...scanInterval).contains(scanWindow) else {
                throw ValidationError(
                    "--scan-interval and --scan-window take 2.5 to 10240 ms, and the window is at most the interval.")
            }
        }
        try checkRange(connectTimeout, 1...65535, "--connect-timeout", " ms")
        if let range = advertisingInterval?.range,
            range.lowerBound < .milliseconds(20) || range.upperBound > .milliseconds(10240)
        {
            throw ValidationError("--advertising-interval takes 20 to 10240 ms.")
        }
    }

    /// The requested changes of the present defaults; nil if there are none.
    func changes(_ link: LinkOptions, of present: AdapterDefaults) -> AdapterDefaults? {
        var changes = AdapterDefaults(
            connectScanInterval: scanInterval.map { .milliseconds($0) },
            connectScanWindow: scanWindow.map { .milliseconds($0) },
            connectTimeout: connectTimeout.map { .milliseconds($0) }, advertisingInterval: advertisingInterval?.range,
            phys: link.phy?.set)
        if link.use != nil || link.hasParameters {
            changes.connectionParameters = link.parameters(
                or: link.use?.value.parameters ?? present.connectionParameters ?? .balanced)
        }
        return changes == AdapterDefaults() ? nil : changes
    }
}

extension Console {
    /// Prints the defaults of an adapter.
    func show(_ defaults: AdapterDefaults) {
        if isJSON {
            return result(
                [("event", .string("defaults"))] + fields(of: defaults.connectionParameters) + [
                    ("scanInterval", milliseconds(defaults.connectScanInterval)),
                    ("scanWindow", milliseconds(defaults.connectScanWindow)),
                    ("connectTimeout", milliseconds(defaults.connectTimeout)),
                    ("shortestAdvertisingInterval", milliseconds(defaults.advertisingInterval?.lowerBound)),
                    ("longestAdvertisingInterval", milliseconds(defaults.advertisingInterval?.upperBound)),
                    ("phys", JSONValue(defaults.phys.map { "\($0)" })),
                ])
        }
        func text(_ duration: Duration?) -> String { duration.map { formatted($0) } ?? "unknown" }
        result("links        \(defaults.connectionParameters.map { "\($0)" } ?? "unknown")")
        result(
            "connecting   scan interval \(text(defaults.connectScanInterval)), window \(text(defaults.connectScanWindow)), "
                + "time limit \(text(defaults.connectTimeout))")
        let interval = defaults.advertisingInterval.map {
            $0.lowerBound == $0.upperBound
                ? formatted($0.lowerBound) : "\(formatted($0.lowerBound)) to \(formatted($0.upperBound))"
        }
        result("advertising  interval \(interval ?? "unknown")")
        result("PHYs         \(defaults.phys.map { "\($0)" } ?? "unknown")")
    }
}

private func formatted(_ duration: Duration) -> String {
    let milliseconds = duration / .milliseconds(1)
    let isWhole = milliseconds == milliseconds.rounded()
    return
        "\(formatDecimal(milliseconds, digits: isWhole ? 0 : milliseconds * 10 == (milliseconds * 10).rounded() ? 1 : 3)) ms"
}
