import ArgumentParser
import BluetoothLE
import BluetoothProfiles
import ExampleSupport

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Act as a peripheral: advertise services, and serve the devices that connect.",
        discussion: """
            PROFILE is battery, heart-rate, bench (the other end of ble bench), firmware (a device in memory that ble \
            update updates), keyboard (types the lines of its input at hosts that pair), a file that ble record has \
            written, or a file of your own, such as

              {"name": "Note", "services": [{"uuid": "FFF0", "characteristics": [
                {"uuid": "FFF1", "properties": ["read", "write", "notify"], "text": "hello", "description": "a note"}]}]}

            with values as "text" or, in hexadecimal, as "hex"; Docs/Guide/Files.md lists all keys. --device chooses a \
            device from a file with several. A written value is sent to all subscribers. From the first subscription \
            on, recorded notifications are sent at their times, again and again. -n overrides the device's \
            name. Runs until Ctrl-C, for the time of --for, or with --once until the first device has disconnected. \
            With --simulate a second machine connects, reads, subscribes and disconnects.

            With --min-key-size, attributes whose "permissions" in a file require encryption are refused on a link \
            with a shorter key.

            EXAMPLES:
              ble serve battery
              ble serve heart-rate -n Pulse --once
              ble serve device.json
              ble serve world.json --device Pulse-Z1
            """)

    @OptionGroup var scoped: ScopedOptions<ServeScope>

    @Argument(
        help: "battery, heart-rate, bench, firmware, keyboard, or a file that describes the device.",
        completion: .words(ServedDevice.profiles, orFilesEndingIn: ".json"))
    var profile: String

    @Option(help: ArgumentHelp("The device to serve, if the file describes several.", valueName: "name"))
    var device: String?

    @Flag(help: "Exit when the first device has disconnected.")
    var once = false

    @OptionGroup var runTime: RunTimeOptions

    func validate() throws {
        guard device != nil, ServedDevice.profiles.contains(profile) else { return }
        throw ValidationError("--device chooses a device of a file; \(profile) is not a file.")
    }

    func run() async throws {
        let (common, profile, chosen) = (scoped.common, profile, device)
        let (once, limit) = (once, runTime.duration)
        try await common.run("ble serve", isServer: true, reading: [profile]) { console in
            guard profile != "bench" else {
                let name = common.name ?? BenchmarkService.deviceName
                return try await common.withAdapter(
                    console, visitedBy: { try await visit($0) { try await measure($0, $1, console) } }
                ) { adapter in
                    let server = BenchServer(named: name, on: adapter, console)
                    _ = try await upTo(limit) { try await server.run(once: once) }
                }
            }
            guard profile != "firmware" else {
                let name = common.name ?? FirmwareServer.name
                return try await common.withAdapter(
                    console, visitedBy: { try await visit($0) { connection, _ in try await list(connection, console) } }
                ) { adapter in
                    let server = FirmwareServer(named: name, on: adapter, console)
                    _ = try await upTo(limit) { try await server.run(once: once) }
                }
            }
            guard profile != "keyboard" else {
                return try await common.withAdapter(
                    console,
                    visitedBy: { visitor in
                        try await visitor.setPairingAgent(JustWorksPairingAgent())
                        try await visit(visitor) { try await receiveKeys($0, $1, console) }
                    }
                ) { adapter in
                    let server = KeyboardServer(named: common.name, on: adapter, console)
                    _ = try await upTo(limit) { try await server.run() }
                }
            }
            var device = try ServedDevice(profile, device: chosen)
            if let name = common.name { device.rename(name) }
            let served = device
            try await common.withAdapter(
                console, visitedBy: { try await visit($0) { try await use(served, over: $0, $1, console) } }
            ) { adapter in
                let server = DeviceServer(
                    served, on: adapter, console, SecurityOptions(minimumKeySize: common.minimumKeySize))
                _ = try await upTo(limit) { try await server.run(once: once) }
            }
        }
    }
}

/// The second machine of --simulate: connects, uses the device, and disconnects.
private func visit(
    _ visitor: Adapter, _ use: (Connection, RemoteDatabase) async throws -> Void
) async throws {
    let connection = try await visitor.connect(options: ConnectionOptions(timeout: nil)) {
        // The simulated devices have random ones.
        $0.address?.kind == .public
    }
    try await use(connection, try await connection.discover())
    await connection.disconnect()
}

/// Lists the images.
private func list(_ connection: Connection, _ console: Console) async throws {
    let slots = try await FirmwareUpdater(connection).images()
    console.message("another machine lists images: \(slots.map(\.version).joined(separator: ", "))")
}

/// Performs all measurements with a few packets.
private func measure(_ connection: Connection, _ database: RemoteDatabase, _ console: Console) async throws {
    let run = BenchmarkRun(limit: BenchmarkLimit(count: 3), timeout: .seconds(30))
    try await run.run(on: connection, database) { result in
        switch result {
        case .latency(let result): console.message("another machine measures read: \(result.durations.count)")
        case .throughput(let result):
            console.message("another machine measures \(result.measurement.title): \(result.counts?.received ?? 0)")
        }
    }
}

/// Reads all readable values, writes all writable ones, and receives two values of the changing characteristic.
private func use(
    _ device: ServedDevice, over connection: Connection, _ database: RemoteDatabase, _ console: Console
) async throws {
    var services = database.services
    // Equal UUIDs are found in their order.
    let all = device.services.flatMap { service -> [(LocalCharacteristic, RemoteCharacteristic)] in
        guard let index = services.firstIndex(where: { $0.uuid == service.uuid }) else { return [] }
        var found = services.remove(at: index).characteristics
        return service.characteristics.compactMap { own in
            found.firstIndex { $0.uuid == own.uuid }.map { (own, found.remove(at: $0)) }
        }
    }
    for (own, characteristic) in all
    where characteristic.properties.contains(.read) && device.refusals[own.id] == nil {
        let value = try await connection.read(characteristic)
        console.message(
            "another machine reads \(characteristic.uuid): \(ValueText.describe(value, of: characteristic.uuid))")
    }
    for (_, characteristic) in all where characteristic.properties.contains(.write) {
        try await connection.write([1], to: characteristic)
    }
    for (_, characteristic) in all.filter({ device.changes[$0.0.id] != nil }).prefix(1) {
        var count = 0
        for try await value in try await connection.subscribe(to: characteristic) {
            console.message(
                "another machine receives \(characteristic.uuid): \(ValueText.describe(value, of: characteristic.uuid))"
            )
            count += 1
            if count == 2 { break }
        }
    }
}
