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
            overrides the profile's name. Runs until Ctrl-C, for the time of --for, or with --once until the first device \
            has disconnected. With --simulate a second machine connects, reads, subscribes and disconnects.

            EXAMPLES:
              ble serve battery
              ble serve heart-rate -n Pulse --once
              ble serve device.json
            """)

    @OptionGroup var scoped: ScopedOptions<PeripheralScope>

    @Argument(
        help: "battery, heart-rate, or a file that describes the device.",
        completion: .words(["battery", "heart-rate"], orFilesEndingIn: ".json"))
    var profile: String

    @Flag(help: "Exit when the first device has disconnected.")
    var once = false

    @OptionGroup var runTime: RunTimeOptions

    func run() async throws {
        let (common, profile, once, limit) = (scoped.common, profile, once, runTime.duration)
        try await common.run("ble serve", isServer: true) { console in
            var device = try ServedDevice(profile)
            if let name = common.name { device.name = name }
            let served = device
            try await common.withAdapter(console, visitedBy: { try await visit($0, served, console) }) { adapter in
                let server = DeviceServer(served, on: adapter, console)
                _ = try await upTo(limit) { try await server.run(once: once) }
            }
        }
    }
}

/// Serves one device, and prints the operations of the peers.
private struct DeviceServer {
    let device: ServedDevice
    let adapter: Adapter
    let console: Console
    let values: ServedValues

    init(_ device: ServedDevice, on adapter: Adapter, _ console: Console) {
        self.device = device
        self.adapter = adapter
        self.console = console
        values = ServedValues(of: device.services)
    }

    func run(once: Bool) async throws {
        let content = AdvertisementContent(
            localName: device.name, services: device.services.map(\.uuid), appearance: device.appearance)
        let options = AdvertisingOptions(whenAdapterLeaves: .resume)
        // Written values are sent to subscribers: the newest of them.
        let (written, writes) = AsyncStream.makeStream(of: DefinitionID.self, bufferingPolicy: .bufferingNewest(64))
        try await adapter.serve(content, options: options) {
            services(reporting: writes)
        } while: { published, incoming in
            console.started(device, on: adapter.information)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await serve(incoming, published, once: once) }
                group.addTask {
                    for await target in written { try await send(target, published) }
                }
                if let changing = device.changing {
                    group.addTask { try await change(changing, published) }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    /// The device's services with handlers that print and keep the values.
    private func services(reporting writes: AsyncStream<DefinitionID>.Continuation) -> [LocalService] {
        device.services.map { service in
            var service = service
            service.characteristics = service.characteristics.map { characteristic in
                var handled = characteristic
                handled.value = nil
                if characteristic.permissions.contains(.read) {
                    handled = handled.onRead { request in
                        let value = values[request.target]
                        console.tell("read", by: request.peer, request.uuid, value)
                        return value
                    }
                }
                if characteristic.permissions.contains(.write) {
                    handled = handled.onWrite { request in
                        values.store(request)
                        console.tell("write", by: request.peer, request.uuid, request.value)
                        writes.yield(request.target)
                    }
                }
                return handled
            }
            return service
        }
    }

    private func serve(
        _ incoming: IncomingConnections, _ published: PublishedServices, once: Bool
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for try await connection in incoming {
                guard !once else { return try await follow(connection, published) }
                group.addTask { try await follow(connection, published) }
            }
        }
    }

    /// Prints a device's subscriptions until it disconnects.
    private func follow(_ connection: Connection, _ published: PublishedServices) async throws {
        console.tell("connected", by: connection.peer)
        do throws(BluetoothError) {
            for try await subscription in await connection.peerSubscriptions() {
                let uuid = uuid(of: subscription, published)
                let isOn = !subscription.configuration.isEmpty
                console.tell(isOn ? "subscribed" : "unsubscribed", by: connection.peer, uuid)
            }
        } catch {
            guard error.code != .cancelled else { throw error }
            console.tell("disconnected", by: connection.peer, reason: error.disconnectReason)
        }
    }

    private var characteristics: [LocalCharacteristic] { device.services.flatMap(\.characteristics) }

    private func uuid(of subscription: PeerSubscription, _ published: PublishedServices) -> BluetoothUUID? {
        characteristics.first { published[$0].handle == subscription.characteristic }?.uuid
    }

    /// Changes a value each second and sends it to the subscribers.
    private func change(_ characteristic: LocalCharacteristic, _ published: PublishedServices) async throws {
        for number in 0... {
            try await Task.sleep(for: .seconds(1))
            values[characteristic.id] = device.change(number)
            try await send(characteristic.id, published)
        }
    }

    /// Sends a value to the subscribers.
    private func send(_ target: DefinitionID, _ published: PublishedServices) async throws {
        guard let characteristic = characteristics.first(where: { $0.id == target }) else { return }
        let value = values[target]
        var deliveries: [ValueDelivery] = []
        if characteristic.properties.contains(.notify) {
            deliveries += try await published[characteristic].notify(value)
        }
        if characteristic.properties.contains(.indicate) {
            deliveries += try await published[characteristic].indicate(value, timeout: .seconds(5))
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
        $0.localName == device.name
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
    for characteristic in all.filter({ $0.uuid == device.changing?.uuid }).prefix(1) {
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
}
