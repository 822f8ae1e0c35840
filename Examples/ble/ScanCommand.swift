import ArgumentParser
import BluetoothLE
import ExampleSupport

struct ScanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "Show the devices that advertise.",
        discussion: """
            Listens for --timeout seconds (10) and prints a table, which is kept up to date meanwhile on a terminal. \
            With --json every report is printed as it arrives. --name and --address filter.
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Go on until Ctrl-C.")
    var watch = false

    @Flag(help: "Only listen; do not ask devices for their scan response, where names often are.")
    var passive = false

    @Flag(help: "With --json: print every report, not only those that say something new.")
    var duplicates = false

    @Option(help: ArgumentHelp("Only what is at least so strong, such as -80.", valueName: "dBm"))
    var rssi: Int?

    @Flag(help: "With --json: print the bytes as well.")
    var raw = false

    func run() async throws {
        let filter = Filter(name: common.name, address: common.address, kind: common.addressType.kind, rssi: rssi)
        let limit = watch ? nil : common.timeout(or: .seconds(10))
        var options = ScanOptions(isActive: !passive)
        // The table counts reports; the lines are only worth printing when something is new.
        options.duplicates = common.json && !duplicates ? .merge : .keep
        let (common, raw, scanOptions) = (common, raw, options)
        try await common.run("ble scan") { console in
            try await common.withAdapter(console) { adapter in
                let scan = try await adapter.scan(scanOptions)
                console.detail("scanning on \(adapter.information.name)")
                let display = Display(console, raw: raw)
                _ = try await withTimeLimit(limit) {
                    do throws(BluetoothError) {
                        for try await advertisement in scan where filter.matches(advertisement) {
                            await display.add(advertisement)
                        }
                    } catch {
                        // The time limit ends the loop by cancelling it.
                        guard error.code == .cancelled else { throw error }
                    }
                }
                await display.finish(missed: scan.missedCount)
            }
        }
    }
}

/// Which advertisements are shown.
private struct Filter: Sendable {
    var name: String?
    var address: String?
    var kind: BluetoothAddress.Kind?
    var rssi: Int?

    func matches(_ advertisement: Advertisement) -> Bool {
        if let name, advertisement.data.localName != name { return false }
        if let address, advertisement.address?.value != BluetoothAddress(address)?.value { return false }
        if let kind, advertisement.address?.kind != kind { return false }
        if let rssi, advertisement.rssi.map({ $0 < rssi }) ?? true { return false }
        return true
    }
}

/// The devices heard so far, as a table that is redrawn, or each report as a line of JSON.
private actor Display {
    /// What is known of one device.
    private struct Device {
        var latest: Advertisement
        /// The advertisements without the scan responses, for the time between them.
        var first: KernelInstant?
        var last: KernelInstant?
        var count = 0
        /// The last strengths, for a picture of them.
        var strengths: [Double] = []
    }

    private let console: Console
    private let raw: Bool
    private let start = ContinuousClock.now
    private var devices: [BluetoothAddress: Device] = [:]
    private var reportCount = 0
    private var drawnLines = 0
    private var lastDrawing: ContinuousClock.Instant?
    /// How many devices are kept; addresses that change would otherwise fill the memory.
    private static let capacity = 2000

    init(_ console: Console, raw: Bool) {
        self.console = console
        self.raw = raw
    }

    func add(_ advertisement: Advertisement) {
        reportCount += 1
        if console.isJSON {
            console.result(fields(of: advertisement, raw: raw))
            return
        }
        // What is anonymous cannot be told apart and stands in one row.
        let key = advertisement.address ?? .zero
        if devices[key] == nil, devices.count >= Self.capacity { return }
        var device = devices[key] ?? Device(latest: advertisement)
        device.latest = advertisement
        if !advertisement.isScanResponse {
            device.first = device.first ?? advertisement.time
            device.last = advertisement.time
            device.count += 1
        }
        if let rssi = advertisement.rssi { device.strengths = (device.strengths + [Double(rssi)]).suffix(8) }
        devices[key] = device
        redraw()
    }

    func finish(missed: Int) {
        if !console.isJSON {
            lastDrawing = nil
            if console.output.isTerminal { redraw() } else { for line in lines { console.result(line) } }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        var summary = console.isJSON ? "" : "\(devices.count) devices, "
        summary += "\(reportCount) reports in \(formatDecimal(seconds, digits: 1)) s"
        if seconds > 0 { summary += " (\(formatDecimal(Double(reportCount) / seconds, digits: 1))/s)" }
        if missed > 0 { summary += ", \(missed) missed" }
        console.message(summary)
    }

    /// Draws over what was drawn before, twice a second at most.
    private func redraw() {
        guard console.output.isTerminal else { return }
        let now = ContinuousClock.now
        if let lastDrawing, now - lastDrawing < .milliseconds(500) { return }
        lastDrawing = now
        let (width, height) = console.size
        let fitting = lines.prefix(max(2, height - 2)).map { $0.prefix(width) + "\u{1B}[K" }
        let up = drawnLines > 0 ? "\u{1B}[\(drawnLines)A" : ""
        console.result(Array((up + fitting.joined(separator: "\n") + "\n\u{1B}[J").utf8))
        drawnLines = fitting.count
    }

    private var lines: [String] {
        var table = Table([
            ("ADDRESS", .left), ("TYPE", .left), ("RSSI", .right), ("", .left), ("ADV", .right), ("NAME", .left),
            ("SERVICES / DATA", .left),
        ])
        let sorted = devices.sorted { left, right in
            (left.value.latest.rssi ?? .min, right.key) > (right.value.latest.rssi ?? .min, left.key)
        }
        for device in sorted.map(\.value) {
            let latest = device.latest
            table.add([
                latest.address.map { "\($0)" } ?? "(anonymous)", latest.address.map { "\($0.kind)" } ?? "",
                latest.rssi.map { "\($0)" } ?? "", sparkline(device.strengths), interval(of: device),
                printable(latest.data.localName ?? ""), contents(of: latest.data),
            ])
        }
        return table.lines
    }

    /// The mean time between two advertisements.
    private func interval(of device: Device) -> String {
        guard let first = device.first, let last = device.last, device.count > 1 else { return "" }
        let milliseconds = first.duration(to: last) / .milliseconds(1) / Double(device.count - 1)
        return "\(Int(milliseconds.rounded()))ms"
    }

    private func contents(of data: AdvertisementData) -> String {
        var parts = data.services.map(\.description)
        parts += data.manufacturerData.map { "\($0)" }
        parts += data.serviceData.map { "\($0)" }
        return printable(parts.joined(separator: " "))
    }
}

/// One report as JSON.
private func fields(of advertisement: Advertisement, raw: Bool) -> [(String, JSONValue)] {
    let data = advertisement.data
    var fields: [(String, JSONValue)] = [
        ("t", .string(timestamp())), ("event", .string("adv")),
        ("addr", JSONValue(advertisement.address.map { "\($0)" })),
        ("addrType", JSONValue(advertisement.address.map { "\($0.kind)" })),
        ("connectable", .bool(advertisement.isConnectable)), ("scannable", .bool(advertisement.isScannable)),
        ("legacy", .bool(advertisement.isLegacy)), ("rssi", JSONValue(advertisement.rssi)),
        ("tx", JSONValue(advertisement.transmitPower ?? data.txPowerLevel.map { Int($0) })),
        ("name", JSONValue(data.localName)), ("services", .array(data.services.map { .string($0.description) })),
        (
            "mfr",
            .array(
                data.manufacturerData.map {
                    .object([
                        ("id", .string("0x" + hexadecimal($0.company.rawValue, digits: 4))),
                        ("data", .string($0.data.hexadecimal)),
                    ])
                })
        ),
        ("serviceData", .object(data.serviceData.map { ($0.service.description, .string($0.data.hexadecimal)) })),
    ]
    if raw {
        fields.append(("raw", .string(data.advertising.hexadecimal)))
        fields.append(("rawScanResponse", .string(data.scanResponse.hexadecimal)))
    }
    return fields
}
