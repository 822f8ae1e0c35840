import ArgumentParser
import BluetoothLE
import ExampleSupport

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Act as a peripheral: advertise services, and serve the devices that connect.",
        discussion: """
            PROFILE is battery, heart-rate, or a file such as

              {"name": "Note", "services": [{"uuid": "FFF0", "characteristics": [
                {"uuid": "FFF1", "properties": ["read", "write", "notify"], "text": "hello", "description": "a note"}]}]}

            with values as "text" or, in hexadecimal, as "value". A written value is sent to all subscribers. -n \
            overrides the profile's name. Runs until Ctrl-C, for --timeout seconds, or with --once until the first device \
            has disconnected. With --simulate a second machine connects, reads, subscribes and disconnects.

            EXAMPLES:
              ble serve battery
              ble serve heart-rate -n Pulse --once
              ble serve device.json
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "battery, heart-rate, or a file that describes the device.")
    var profile: String

    @Flag(help: "Exit when the first device has disconnected.")
    var once = false

    func run() async throws {
        let (common, profile, once) = (common, profile, once)
        try await common.run("ble serve", isServer: true) { console in
            var device = try ServedDevice(profile)
            if let name = common.name { device.name = name }
            let served = device
            try await common.withAdapter(console, visitedBy: { try await visit($0, served, console) }) { adapter in
                let server = try await DeviceServer(served, on: adapter, console)
                _ = try await withTimeLimit(common.timeout.map { .seconds($0) }) { try await server.run(once: once) }
            }
        }
    }
}

/// The served device; it prints what centrals do.
private struct DeviceServer {
    let device: ServedDevice
    let adapter: Adapter
    let console: Console
    let values: ServedValues
    let published: PublishedServices
    /// The characteristics that were written, for notifying their subscribers; the oldest are dropped.
    let written: AsyncStream<BluetoothUUID>

    init(_ device: ServedDevice, on adapter: Adapter, _ console: Console) async throws {
        let values = ServedValues(device.values)
        self.device = device
        self.adapter = adapter
        self.console = console
        self.values = values
        let (written, news) = AsyncStream.makeStream(of: BluetoothUUID.self, bufferingPolicy: .bufferingNewest(64))
        self.written = written
        published = try await adapter.publish(
            device.services,
            handlers: AttributeHandlers(
                read: { request in
                    let value = values[request.type]
                    console.tell("read", by: request.peer, request.type, value)
                    return value
                },
                write: { request, bytes in
                    values.write(bytes, at: request.offset, to: request.type)
                    console.tell("write", by: request.peer, request.type, bytes)
                    news.yield(request.type)
                }))
    }

    func run(once: Bool) async throws {
        let incoming = try await adapter.incomingConnections()
        let content = AdvertisementContent(
            localName: device.name, services: device.services.map(\.uuid), appearance: device.appearance)
        let options = AdvertisingOptions(whenAdapterLeaves: .resume)
        try await adapter.withAdvertising(content, options: options) { set in
            console.started(device, on: adapter.information)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await serve(incoming, once: once) }
                group.addTask { throw await set.ended() }
                group.addTask {
                    for await uuid in written { try await send(uuid) }
                }
                if let changing = device.changing {
                    group.addTask { try await change(changing) }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    private func serve(_ incoming: IncomingConnections, once: Bool) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for try await connection in incoming {
                guard !once else { return try await follow(connection) }
                group.addTask { try await follow(connection) }
            }
        }
    }

    /// Prints a central's subscriptions until it disconnects.
    private func follow(_ connection: Connection) async throws {
        console.tell("connected", by: connection.peer)
        do throws(BluetoothError) {
            for try await subscription in await connection.peerSubscriptions() {
                let uuid = uuid(of: subscription.characteristic)
                let isOn = !subscription.configuration.isEmpty
                console.tell(isOn ? "subscribed" : "unsubscribed", by: connection.peer, uuid)
            }
        } catch {
            guard error.code != .cancelled else { throw error }
            console.tell("disconnected", by: connection.peer, reason: error.disconnectReason)
        }
    }

    private func uuid(of handle: AttributeHandle) -> BluetoothUUID? {
        device.services.flatMap(\.characteristics).map(\.uuid).first { published.handle(of: $0) == handle }
    }

    /// Changes a value every second and sends it to its subscribers.
    private func change(_ uuid: BluetoothUUID) async throws {
        for number in 0... {
            try await Task.sleep(for: .seconds(1))
            values[uuid] = device.change(number)
            try await send(uuid)
        }
    }

    /// Sends a value to its subscribers.
    private func send(_ uuid: BluetoothUUID) async throws {
        guard let handle = published.handle(of: uuid) else { return }
        let (value, properties) = (values[uuid], device.properties(of: uuid))
        var deliveries: [ValueDelivery] = []
        if properties.contains(.notify) { deliveries += try await published.notify(value, of: handle) }
        if properties.contains(.indicate) {
            deliveries += try await published.indicate(value, of: handle, timeout: .seconds(5))
        }
        for delivery in deliveries {
            guard case .failure(let error) = delivery.result else { continue }
            console.detail("\(error)")
        }
    }
}

extension Console {
    fileprivate func started(_ device: ServedDevice, on adapter: AdapterInformation) {
        guard isJSON else {
            let services = device.services.map { "\($0.uuid)" }.joined(separator: ", ")
            return result("\(adapter.name) \(adapter.address) serves \(printable(device.name)): \(services)")
        }
        result([
            ("event", .string("serving")), ("adapter", .string(adapter.name)),
            ("address", .string("\(adapter.address)")), ("name", .string(device.name)),
            ("services", .array(device.services.map { .string("\($0.uuid)") })),
        ])
    }

    fileprivate func tell(
        _ event: String, by peer: BluetoothAddress, _ uuid: BluetoothUUID? = nil, _ value: [UInt8]? = nil,
        reason: DisconnectReason? = nil
    ) {
        guard isJSON else {
            var line = "\(messages.dim(timestamp()))  \(peer)  \(event)"
            if let uuid { line += "  \(uuid)\(uuid.assignedName.map { " \($0)" } ?? "")" }
            if let value { line += "  \(ValueText.describe(value, of: uuid))" }
            if let reason { line += "  \(reason)" }
            return result(line)
        }
        var fields: [(String, JSONValue)] = [
            ("event", .string(event)), ("peer", .string("\(peer)")),
        ]
        if let uuid { fields.append(("uuid", .string("\(uuid)"))) }
        if let value { fields += valueFields(value, of: uuid) }
        if let reason { fields.append(("reason", .string("\(reason)"))) }
        result(fields)
    }
}

/// The second machine of --simulate: connects, reads all readable values, writes all writable ones, receives two values of
/// the changing characteristic, and disconnects.
private func visit(_ visitor: Adapter, _ device: ServedDevice, _ console: Console) async throws {
    let connection = try await visitor.connect(options: ConnectionOptions(timeout: nil)) {
        $0.data.localName == device.name
    }
    let database = try await connection.discover()
    let all = device.services.flatMap { service in
        service.characteristics.compactMap { database.characteristic($0.uuid, in: service.uuid) }
    }
    for characteristic in all where characteristic.properties.contains(.read) {
        let value = try await connection.read(characteristic)
        console.message(
            "another machine reads \(characteristic.uuid): \(ValueText.describe(value, of: characteristic.uuid))")
    }
    for characteristic in all where characteristic.properties.contains(.write) {
        try await connection.write([1], to: characteristic)
    }
    for characteristic in all.filter({ $0.uuid == device.changing }).prefix(1) {
        var count = 0
        for try await value in try await connection.subscribe(to: characteristic) {
            console.message(
                "another machine receives \(characteristic.uuid): \(ValueText.describe(value, of: characteristic.uuid))"
            )
            count += 1
            if count == 2 { break }
        }
    }
    await connection.disconnect()
    _ = await connection.closed()
}
