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
            Eddystone) and sensors (BTHome, RuuviTag, MiBeacon) are decoded. A narrow terminal omits columns; a pipe gets all of them. With --json, prints each \
            report with new content as it arrives. Shows the devices that match all filters; with several --service, \
            --solicited or --manufacturer options, one match is enough.

            Several adapters (-i hci0,hci1 or -i all) scan as one: a device is shown once, whichever of them receives \
            it; with --json, "signals" has its RSSI at each.

            --irk takes a device's identity resolving key, 32 hexadecimal digits in either order or Base64, as other \
            programs export it, or a file with a name and a key on each line. Such a device is shown by name, with its \
            current private address. Command lines are visible to other users, so prefer a file.

            --key takes the key of a sensor that encrypts its values, with its address, or a file with ADDRESS=KEY on \
            each line. Values of such a sensor are shown only if they are encrypted with the key.

            EXAMPLES:
              ble scan
              ble scan --watch --rssi -80
              ble scan --service heart-rate --json --for 5
              ble scan --manufacturer 004C:0215
              ble scan -n pulse --once
              ble scan -i all --json --for 2
              ble scan --irk 8B3F6D01C2E94A7788D0B1A35C4E9F20 --for 2
              ble scan --key A4:C1:38:8D:18:B2=00112233445566778899AABBCCDDEEFF --for 2
            """)

    @OptionGroup var scoped: ScopedOptions<ScanScope>

    @Flag(help: "Scan until Ctrl-C, or for the time of --for.")
    var watch = false

    @OptionGroup var counted: CountOptions
    @OptionGroup var runTime: RunTimeOptions

    @Option(help: "The order of the table: the mean RSSI (default), the name, when first seen, or the address.")
    var sort: DeviceSort?

    @Flag(help: "Scan passively: no scan responses, which often contain the name.")
    var passive = false

    @Flag(help: "Report each device once, without an RSSI graph and an interval.")
    var once = false

    @Flag(help: "With --json: print every report, not only those with new content.")
    var duplicates = false

    @Option(
        help: ArgumentHelp("Only devices that advertise this service, such as 180D or heart-rate.", valueName: "uuid"),
        completion: .services, transform: AttributeName.service)
    var service: [BluetoothUUID] = []

    @Option(
        help: ArgumentHelp("Only devices that solicit this service, such as 1805.", valueName: "uuid"),
        completion: .services, transform: AttributeName.service)
    var solicited: [BluetoothUUID] = []

    @Option(
        help: ArgumentHelp(
            "Only devices whose manufacturer data has this company and starts with these bytes, such as apple or 004C:0215.",
            valueName: "company[:bytes]"),
        completion: .companies, transform: ManufacturerData.parse)
    var manufacturer: [ManufacturerData] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only reports at or above this RSSI, such as -80.", valueName: "dBm"))
    var rssi: Int?

    @Option(
        help: ArgumentHelp(
            "The key of a sensor, 32 hexadecimal digits, or a file of them. \(SecretArgument.help)",
            valueName: "address=key|file"),
        completion: .file())
    var key: [String] = []

    @Flag(help: "With --json: also print the raw bytes.")
    var raw = false

    /// The conjunction of all filter options.
    private func filter(_ resolver: IdentityResolver?) -> ScanFilter {
        var filters: [ScanFilter] = []
        let common = scoped.common
        if let name = common.name { filters.append(.nameContaining(name, ignoringCase: true)) }
        if let address = common.address.flatMap({ BluetoothAddress($0, kind: .public) }) {
            filters.append(.address(address, anyKind: true))
        }
        if let kind = common.addressType.kind { filters.append(.matching { $0.address?.kind == kind }) }
        if !service.isEmpty { filters.append(.services(service)) }
        if !solicited.isEmpty { filters.append(.anyOf(solicited.map { .solicitedService($0) })) }
        if !manufacturer.isEmpty {
            filters.append(.anyOf(manufacturer.map { .manufacturer($0.company, data: $0.data) }))
        }
        // After those that cost less.
        if let rssi { filters.append(.rssi(atLeast: rssi)) }
        if let resolver { filters.append(.identities(resolver)) }
        return .allOf(filters)
    }

    func run() async throws {
        let (command, common) = (self, scoped.common)
        try await common.run("ble scan", reading: key) { console in
            // Before the adapter is powered on.
            let known = try await command.prepare(console)
            try await common.withRadio(console) { try await command.perform(on: $0, console, known) }
        }
    }

    /// Scans on an open adapter.
    func perform(on adapter: Adapter, _ console: Console) async throws {
        if key.contains("-") { throw ProgramError(.usage, "--key - has no meaning for a step.") }
        try await perform(on: adapter, console, try await prepare(console))
    }

    /// Rejects the options of another output, and returns the devices known by their keys and the keys of sensors.
    private func prepare(_ console: Console) async throws -> ScanKeys {
        let isJSON = console.isJSON
        let needless = isJSON ? [("--sort", sort != nil)] : [("--duplicates", duplicates), ("--raw", raw)]
        guard let option = needless.first(where: \.1)?.0 else {
            return (try await scoped.common.identified.resolver(), try await SensorKeys(key))
        }
        throw ProgramError(.usage, "\(option) has a meaning only with\(isJSON ? "out" : "") --json.")
    }

    private func perform(on central: some Central, _ console: Console, _ known: ScanKeys) async throws {
        let names = await central.allAdapters.map(\.information.name)
        console.detail("scanning on \(names.joined(separator: ", "))")
        let scan = try await central.scan(options(console, known.resolver))
        let display = Display(console, self, known)
        do throws(BluetoothError) {
            for try await report in scan.prefix(counted.count ?? .max) {
                await display.add(report.advertisement, (report as? GroupAdvertisement)?.signals ?? [])
            }
        } catch {
            // After Ctrl-C the results so far are still printed.
            guard error.code == .cancelled else { throw error }
        }
        try counted.check(await display.finish(missed: scan.missedCount))
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

/// The devices whose keys a scan has.
private typealias ScanKeys = (resolver: IdentityResolver?, keys: SensorKeys)

/// The scan results: a table of devices that is redrawn, or a line of JSON for each report.
private actor Display {
    private let console: Console
    private let command: ScanCommand
    private let resolver: IdentityResolver?
    private let keys: SensorKeys
    private let start = ContinuousClock.now
    /// Limited, since private addresses change and would fill the memory.
    private var devices = DeviceTable(capacity: 2000)
    private var reportCount = 0
    private var order: DeviceOrder
    private var text = LiveText()
    private var lastDrawing: ContinuousClock.Instant?

    init(_ console: Console, _ command: ScanCommand, _ known: ScanKeys) {
        (self.console, self.command, resolver, keys) = (console, command, known.resolver, known.keys)
        order = DeviceOrder(command.sort ?? .rssi)
    }

    func add(_ advertisement: Advertisement, _ signals: [GroupAdvertisement.Signal]) {
        reportCount += 1
        if console.isJSON {
            console.result(
                fields(of: advertisement, raw: command.raw, resolver, keys)
                    + (signals.isEmpty ? [] : [field(of: signals)]))
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
        var summary = console.isJSON ? "" : quantity(count, "device") + ", "
        summary += "\(quantity(reportCount, "report")) in \(formatDecimal(seconds, digits: 1)) s"
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
        Table(
            of: order.arrange(devices.all.current(resolver), resolver), resolver, keys, width: width,
            isOnce: command.once)
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
    of advertisement: Advertisement, raw: Bool, _ resolver: IdentityResolver? = nil, _ keys: SensorKeys = SensorKeys()
) -> [(String, JSONValue)] {
    let data = advertisement.data
    var fields: [(String, JSONValue)] =
        [
            ("event", .string("adv")),
            ("address", JSONValue(advertisement.address.map(\.digits))),
            ("addressType", JSONValue(advertisement.address.map { "\($0.kind)" })),
            ("connectable", .bool(advertisement.isConnectable)), ("scannable", .bool(advertisement.isScannable)),
            ("legacy", .bool(advertisement.isLegacy)), ("rssi", JSONValue(advertisement.rssi)),
            ("tx", JSONValue(advertisement.transmitPower ?? data.txPowerLevel.map { Int($0) })),
        ] + data.jsonFields + data.nameFields(of: advertisement.address, keys)
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
