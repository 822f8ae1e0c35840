import ArgumentParser
import BluetoothAdvertising
import BluetoothDeviceFile
import BluetoothGateway
import BluetoothLE
import BluetoothPrimitives
import ExampleSupport

struct ScanCommand: StepCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "Show the devices that advertise.",
        discussion: """
            Scans for 10 s, or for the time of --for, and prints a table, updated live on a terminal. The scale of the \
            RSSI graphs is -100 to -30 dBm. Services and companies are shown by name, and beacons (iBeacon, AltBeacon, \
            Eddystone) are decoded. A narrow terminal omits columns; a pipe gets all of them. With --json, prints each \
            report with new content as it arrives. Shows the devices that match all filters; with several --service, \
            --solicited or --manufacturer options, one match is enough.

            Several adapters (-i hci0,hci1 or -i all) scan as one: a device is shown once, whichever of them receives \
            it; with --json, "signals" has its RSSI at each.

            --irk takes a device's identity resolving key, 32 hexadecimal digits in either order or Base64, as other \
            programs export it, or a file with a name and a key on each line. Such a device is shown by name, with its \
            current private address. Command lines are visible to other users, so prefer a file.

            EXAMPLES:
              ble scan
              ble scan --watch --rssi -80
              ble scan --service 180D --json --for 5
              ble scan --manufacturer 004C:0215
              ble scan -n pulse --once
              ble scan -i all --json --for 2
              ble scan --irk 8B3F6D01C2E94A7788D0B1A35C4E9F20 --for 2
            """)

    @OptionGroup var scoped: ScopedOptions<ScanScope>

    @Flag(help: "Scan until Ctrl-C, or for the time of --for.")
    var watch = false

    @OptionGroup var counted: CountOptions
    @OptionGroup var runTime: RunTimeOptions

    @Option(help: "The order of the table: the mean RSSI, the name, when the device was first seen, or the address.")
    var sort = DeviceSort.rssi

    @Flag(help: "Scan passively: no scan responses, which often contain the name.")
    var passive = false

    @Flag(help: "Report each device once, without RSSI graph and interval.")
    var once = false

    @Flag(help: "With --json: print every report, not only those with new content.")
    var duplicates = false

    @Option(help: ArgumentHelp("Only devices that advertise this service, such as 180D.", valueName: "uuid"))
    var service: [String] = []

    @Option(help: ArgumentHelp("Only devices that solicit this service.", valueName: "uuid"))
    var solicited: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only devices whose manufacturer data has this company and starts with these bytes, such as 004C or 004C:0215.",
            valueName: "company[:bytes]"))
    var manufacturer: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only reports at or above this RSSI, such as -80.", valueName: "dBm"))
    var rssi: Int?

    @Flag(help: "With --json: print the bytes as well.")
    var raw = false

    func validate() throws {
        for text in service + solicited where BluetoothUUID(text) == nil {
            throw ValidationError("'\(text)' is not a UUID: give 4, 8 or 32 hexadecimal digits, such as 180D.")
        }
        for text in manufacturer where Self.manufacturer(text) == nil {
            throw ValidationError(
                "--manufacturer takes a company identifier, such as 004C or 004C:0215, not '\(text)'.")
        }
    }

    private static func manufacturer(_ text: String) -> ScanFilter? {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, first.utf8.count <= 4, let company = UInt16(first, radix: 16) else { return nil }
        guard parts.count > 1 else { return .manufacturer(CompanyIdentifier(company)) }
        return [UInt8](hexadecimal: parts[1]).map { .manufacturer(CompanyIdentifier(company), data: $0) }
    }

    /// The conjunction of all filter options.
    private func filter(_ resolver: IdentityResolver?) -> ScanFilter {
        var filters: [ScanFilter] = []
        let common = scoped.common
        if let name = common.name { filters.append(.nameContaining(name, ignoringCase: true)) }
        if let address = common.address.flatMap({ BluetoothAddress($0) }) {
            filters.append(.address(address, anyKind: true))
        }
        if let kind = common.addressType.kind { filters.append(.matching { $0.address?.kind == kind }) }
        if !service.isEmpty { filters.append(.services(service.compactMap { BluetoothUUID($0) })) }
        if !solicited.isEmpty {
            filters.append(.anyOf(solicited.compactMap { BluetoothUUID($0) }.map { .solicitedService($0) }))
        }
        if !manufacturer.isEmpty { filters.append(.anyOf(manufacturer.compactMap(Self.manufacturer))) }
        // After those that cost less.
        if let rssi { filters.append(.rssi(atLeast: rssi)) }
        if let resolver { filters.append(.identities(resolver)) }
        return .allOf(filters)
    }

    func run() async throws {
        let (command, common) = (self, scoped.common)
        try await common.run("ble scan") { console in
            // Before the adapter is powered on.
            let resolver = try await common.identified.resolver()
            if common.usesSeveralAdapters {
                return try await common.withAdapterGroup(console) {
                    try await command.perform(on: $0, console, resolver)
                }
            }
            try await common.withAdapter(console) { try await command.perform(on: $0, console, resolver) }
        }
    }

    /// Scans on an open adapter.
    func perform(on adapter: Adapter, _ console: Console) async throws {
        try await perform(on: adapter, console, try await scoped.common.identified.resolver())
    }

    private func perform(on adapter: Adapter, _ console: Console, _ resolver: IdentityResolver?) async throws {
        let scan = try await adapter.scan(options(console, resolver))
        console.detail("scanning on \(adapter.information.name)")
        try await show(scan.map { ($0, []) }, console, resolver) { scan.missedCount }
    }

    /// Scans on several adapters as one.
    private func perform(
        on group: AdapterGroup, _ console: Console, _ resolver: IdentityResolver?
    ) async throws {
        let scan = try await group.scan(options(console, resolver))
        let names = await group.adapters.map(\.information.name)
        console.detail("scanning on \(names.joined(separator: ", "))")
        try await show(scan.map { ($0.advertisement, $0.signals) }, console, resolver) { scan.missedCount }
    }

    private func show(
        _ reports: some AsyncSequence<(Advertisement, [GroupAdvertisement.Signal]), BluetoothError>, _ console: Console,
        _ resolver: IdentityResolver?, missed: () -> Int
    ) async throws {
        let display = Display(console, raw: raw, sort, resolver)
        do throws(BluetoothError) {
            for try await (advertisement, signals) in reports.prefix(counted.count ?? .max) {
                await display.add(advertisement, signals)
            }
        } catch {
            // After Ctrl-C the results so far are still printed.
            guard error.code == .cancelled else { throw error }
        }
        try counted.check(await display.finish(missed: missed()))
    }

    private func options(_ console: Console, _ resolver: IdentityResolver?) -> ScanOptions {
        // The table counts all reports; JSON lines are printed only for new content.
        ScanOptions(
            filter: filter(resolver), duration: runTime.duration ?? (watch ? nil : .seconds(10)), isActive: !passive,
            duplicates: once ? .once : console.isJSON && !duplicates ? .merge : .all, coded: scoped.common.coded)
    }
}

/// The signals of a device at several adapters as JSON.
private func field(of signals: [GroupAdvertisement.Signal]) -> (String, JSONValue) {
    (
        "signals",
        .array(
            signals.map { .object([("adapter", .string($0.adapter)), ("rssi", JSONValue($0.rssi))]) })
    )
}

/// The scan results: a table of devices that is redrawn, or a line of JSON for each report.
private actor Display {
    private let console: Console
    private let raw: Bool
    private let resolver: IdentityResolver?
    private let start = ContinuousClock.now
    /// Limited, since private addresses change and would fill the memory.
    private var devices = DeviceTable(capacity: 2000)
    private var reportCount = 0
    private var order: DeviceOrder
    private var text = LiveText()
    private var lastDrawing: ContinuousClock.Instant?

    init(_ console: Console, raw: Bool, _ sort: DeviceSort, _ resolver: IdentityResolver?) {
        self.console = console
        self.raw = raw
        order = DeviceOrder(sort)
        self.resolver = resolver
    }

    func add(_ advertisement: Advertisement, _ signals: [GroupAdvertisement.Signal]) {
        reportCount += 1
        if console.isJSON {
            console.result(
                fields(of: advertisement, raw: raw, resolver) + (signals.isEmpty ? [] : [field(of: signals)]))
            return
        }
        devices.record(advertisement)
        redraw()
    }

    /// Prints the table, and returns the number of reports.
    func finish(missed: Int) -> Int {
        if !console.isJSON {
            if console.output.isTerminal {
                let width = console.size.width
                console.drawLast(table(width).wholeLines(fitting: width), over: &text)
            } else {
                for line in table(nil).lines { console.result(line) }
            }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let count = devices.all.current(resolver).count
        var summary = console.isJSON ? "" : "\(count) \(count == 1 ? "device" : "devices"), "
        summary += "\(reportCount) \(reportCount == 1 ? "report" : "reports") in \(formatDecimal(seconds, digits: 1)) s"
        if seconds > 0 { summary += " (\(formatDecimal(Double(reportCount) / seconds, digits: 1))/s)" }
        if missed > 0 { summary += ", \(missed) missed" }
        console.message(summary)
        return reportCount
    }

    /// Redraws the table, at most twice a second.
    private func redraw() {
        guard console.output.isTerminal else { return }
        let now = ContinuousClock.now
        if let lastDrawing, now - lastDrawing < .milliseconds(500) { return }
        lastDrawing = now
        let width = console.size.width
        console.draw(table(width).lines(fitting: width), over: &text)
    }

    private func table(_ width: Int?) -> Table {
        Table(of: order.arrange(devices.all.current(resolver), resolver), resolver, width: width)
    }
}

extension ADStructure {
    /// Whether it is a name in another encoding than UTF-8; zeros fill some up.
    fileprivate var isNameOfOtherText: Bool {
        [.completeLocalName, .shortenedLocalName].contains(type)
            && String(validating: data.prefix { $0 != 0 }, as: UTF8.self) == nil
    }
}

/// One report as JSON.
func fields(
    of advertisement: Advertisement, raw: Bool, _ resolver: IdentityResolver? = nil
) -> [(String, JSONValue)] {
    let data = advertisement.data
    var fields: [(String, JSONValue)] =
        [
            ("event", .string("adv")),
            ("address", JSONValue(advertisement.address.map { "\($0)" })),
            ("addressType", JSONValue(advertisement.address.map { "\($0.kind)" })),
            ("connectable", .bool(advertisement.isConnectable)), ("scannable", .bool(advertisement.isScannable)),
            ("legacy", .bool(advertisement.isLegacy)), ("rssi", JSONValue(advertisement.rssi)),
            ("tx", JSONValue(advertisement.transmitPower ?? data.txPowerLevel.map { Int($0) })),
        ] + data.jsonFields + data.nameFields
    if let name = data.structures.first(where: { $0.isNameOfOtherText }) {
        fields.append(("nameBytes", .string(name.data.hexadecimal)))
    }
    if let identity = resolver?.identity(of: advertisement) { fields.append(("identity", .string(identity.name))) }
    if raw {
        fields.append(("raw", .string(data.advertising.hexadecimal)))
        fields.append(("rawScanResponse", .string(data.scanResponse.hexadecimal)))
    }
    return fields
}
