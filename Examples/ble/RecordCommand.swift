import ArgumentParser
import BluetoothDeviceFile
import BluetoothLE
import ExampleSupport

struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Record a device in a file for ble serve and --world.",
        discussion: """
            Records the device's advertisements, its database with all values (or the errors with which it refuses \
            them), and the notifications and indications that it sends within --for seconds, with their times. ble \
            serve FILE acts as the device, and with --world FILE every command finds it on a simulated radio. Docs/Guide/Files.md \
            describes the file.

            The file is written at the end. Ctrl-C while notifications are recorded ends the recording early and \
            keeps it; before that, nothing is written. An existing file is replaced only with --force.

            EXAMPLES:
              ble record -n Pulse-Z1 pulse.json --for 1
              ble record -n Pulse-Z1 pulse.json --for 0 --json
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Argument(help: "The file to write.", completion: .file())
    var file: String

    @Option(
        name: .customLong("for"), parsing: .unconditional,
        help: ArgumentHelp(
            "How long to record notifications, such as 60; up to 86400, and 0 records none.", valueName: "seconds"))
    var duration = 10.0

    func validate() throws {
        try checkRange(duration, 0...86400, "--for", " seconds")
    }

    func run() async throws {
        let (common, settings, path, duration) = (common, link.settings, file, Duration.seconds(duration))
        try await common.run("ble record", writing: [path]) { console in
            try common.validateDevice()
            let file = try NewFile(path, replacesExisting: common.force)
            try await common.withAdapter(console) { adapter in
                var heard = try await listen(on: adapter, for: .seconds(2))
                var recorded = try await common.withConnection(
                    on: adapter, console, link: settings, isOnLoop: true
                ) { connection in
                    let recorder = DeviceRecorder(
                        connection: connection, timeout: common.timeout(or: .seconds(30)), duration: duration,
                        console: console)
                    return try await recorder.record()
                }
                guard let address = recorded.device.address else { return }
                if !heard.contains(where: { $0.latest.address == address }), recorded.failure == nil {
                    heard = try await listen(on: adapter, for: .seconds(5), to: address)
                }
                recorded.device.add(heard.filter { $0.latest.address == address })
                if recorded.device.advertisements.isEmpty {
                    console.message("No advertisement was received, so the file contains none.")
                }
                try file.write(try recorded.file())
                console.show(recorded, in: path)
                if let failure = recorded.failure { throw failure }
            }
        }
    }
}

/// The devices that advertise; the scan needs CAP_NET_RAW, without which there are none.
func listen(
    on adapter: Adapter, for duration: Duration, to address: BluetoothAddress? = nil
) async throws -> [DeviceTable.Device] {
    var table = DeviceTable(capacity: 2000)
    do throws(BluetoothError) {
        let filter = address.map { ScanFilter.address($0) } ?? .any
        for try await advertisement in try await adapter.scan(
            ScanOptions(filter: filter, duration: duration, duplicates: .all))
        where !advertisement.isDirected {
            table.record(advertisement)
        }
    } catch {
        guard error.code == .notPermitted else { throw error }
    }
    return table.all
}

extension DeviceDescription {
    /// Adds the name, the RSSI and the advertisements from received ones.
    mutating func add(_ heard: [DeviceTable.Device]) {
        advertisements = heard.map { device in
            DescribedAdvertisement(
                data: device.latest.data.advertising, scanResponse: device.latest.data.scanResponse,
                isConnectable: device.latest.isConnectable, isScannable: device.latest.isScannable,
                isLegacy: device.latest.isLegacy,
                // Reports that had to wait are closer together than a device may advertise.
                interval: device.history.advertisingInterval.map { max($0, .milliseconds(20)) },
                rssi: device.latest.rssi)
        }
        rssi = heard.compactMap(\.latest.rssi).first.map { Int8(clamping: min($0, 20)) } ?? rssi
        let names = services.first { $0.uuid == .genericAccess }?.characteristics.first { $0.uuid == .deviceName }
        let stored = names?.value.bytes.flatMap { String(validating: $0, as: UTF8.self) }
        name = heard.compactMap(\.latest.data.localName).first ?? stored
    }
}

extension Console {
    fileprivate func show(_ recorded: RecordedDevice, in path: String) {
        let device = recorded.device
        let seconds = (device.recording?.duration ?? .zero) / .seconds(1)
        let address = device.address ?? .zero
        let parts = [
            quantity(device.services.count, "service"), quantity(recorded.characteristics.count, "characteristic"),
            quantity(recorded.valueCount, "value")
                + (recorded.refusedCount > 0 ? " (\(recorded.refusedCount) refused)" : ""),
            quantity(recorded.notificationCount, "notification") + " in \(formatDecimal(seconds, digits: 1)) s",
        ]
        let name = device.name.map { "\(printable($0)) " } ?? ""
        result(
            "recorded", "recorded \(name)\(address.digits) in \(printable(path)): \(parts.joined(separator: ", "))",
            [
                ("file", .string(path)), ("address", .string(address.digits)),
                ("addressType", .string("\(address.kind)")), ("name", JSONValue(device.name)),
                ("services", .integer(device.services.count)),
                ("characteristics", .integer(recorded.characteristics.count)),
                ("values", .integer(recorded.valueCount)), ("refused", .integer(recorded.refusedCount)),
                ("notifications", .integer(recorded.notificationCount)), ("seconds", .number(seconds)),
            ])
    }
}
