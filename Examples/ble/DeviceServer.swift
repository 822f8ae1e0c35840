import BluetoothATT
import BluetoothAdvertising
import BluetoothDeviceFile
import BluetoothLE
import ExampleSupport

/// Serves one device, and prints the operations of the peers.
struct DeviceServer {
    private let device: ServedDevice
    private let adapter: Adapter
    private let console: Console
    private let security: SecurityOptions
    private let values: ServedValues
    /// The subscriptions to characteristics with recorded notifications.
    private let starts: [DefinitionID: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)]

    /// The maximum number of writes that wait to be echoed.
    private static let mostEchoes = 1024

    init(
        _ device: ServedDevice, on adapter: Adapter, _ console: Console, _ security: SecurityOptions = SecurityOptions()
    ) {
        self.device = device
        self.adapter = adapter
        self.console = console
        self.security = security
        values = ServedValues(of: device.services)
        starts = device.changes.compactMapValues { change in
            guard case .recorded = change else { return nil }
            return AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        }
    }

    func run(once: Bool) async throws {
        var options = AdvertisingOptions(whenAdapterUnavailable: .resume)
        if let interval = device.interval { options.interval = interval...interval }
        // Written values are sent to subscribers: the newest of them.
        let (written, writes) = AsyncStream.makeStream(of: DefinitionID.self, bufferingPolicy: .bufferingNewest(64))
        let (echoed, echoes) = AsyncStream.makeStream(
            of: (DefinitionID, [UInt8]).self, bufferingPolicy: .bufferingOldest(Self.mostEchoes))
        let accepted = IncomingConnectionOptions(security: security)
        try await adapter.serve(device.content, options: options, accepting: accepted) {
            services(reporting: writes, echoing: echoes)
        } while: { published, incoming in
            console.started(
                device.content, named: device.name, services: device.services.map(\.uuid), on: adapter.information)
            try await untilOneEnds(
                [
                    { try await serve(incoming, published, once: once) },
                    { for await target in written { _ = await send(values[target], of: target, published) } },
                    { for await (target, value) in echoed { _ = await send(value, of: target, published) } },
                ]
                    + device.changes.map { target, change in
                        { @Sendable in try await perform(change, of: target, published) }
                    })
        }
    }

    /// The device's services with handlers that print and keep the values.
    private func services(
        reporting writes: AsyncStream<DefinitionID>.Continuation,
        echoing echoes: AsyncStream<(DefinitionID, [UInt8])>.Continuation
    ) -> [LocalService] {
        device.services.map { service in
            var service = service
            service.characteristics = service.characteristics.map { characteristic in
                var handled = characteristic
                handled.value = nil
                if characteristic.permissions.contains(.read) {
                    handled = handled.onRead { request in
                        if let error = device.refusals[request.target] { throw error }
                        let value = values[request.target]
                        console.tell("read", by: request.peer, request.uuid, value)
                        return value
                    }
                }
                if characteristic.permissions.contains(.write) {
                    handled = handled.onWrite { request in
                        console.tell("write", by: request.peer, request.uuid, request.value)
                        guard let echo = device.echoes[request.target] else {
                            try values.store(request)
                            writes.yield(request.target)
                            return
                        }
                        // A device whose buffer is full refuses as well.
                        if case .dropped = echoes.yield((echo, request.value)) {
                            throw ATTErrorCode.insufficientResources
                        }
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
                let characteristic = device.characteristics.first {
                    published[$0].handle == subscription.characteristic
                }
                let isOn = !subscription.configuration.isEmpty
                // The only other one that notifies is the kernel's.
                let uuid = characteristic?.uuid ?? .serviceChanged
                console.tell(isOn ? "subscribed" : "unsubscribed", by: connection.peer, uuid)
                if isOn, let characteristic { starts[characteristic.id]?.continuation.yield() }
            }
        } catch {
            guard error.code != .cancelled else { throw error }
            console.tell("disconnected", by: connection.peer, reason: error.disconnectReason)
        }
    }

    /// Changes a value automatically and sends it to the subscribers.
    private func perform(
        _ change: ServedDevice.Change, of target: DefinitionID, _ published: PublishedServices
    ) async throws {
        switch change {
        case .periodic(let interval, let value):
            for number in 0... {
                try await Task.sleep(for: interval)
                values[target] = value(number)
                _ = await send(values[target], of: target, published)
            }
        case .recorded(let notifications, let period):
            guard let start = starts[target] else { return }
            for await _ in start.stream { try await replay(notifications, period, of: target, published) }
        }
    }

    /// Sends recorded notifications at their times, over and over until there is no subscriber.
    private func replay(
        _ notifications: [DescribedNotification], _ period: Duration, of target: DefinitionID,
        _ published: PublishedServices
    ) async throws {
        var begin = ContinuousClock.now
        while true {
            for notification in notifications {
                try await Task.sleep(until: begin + notification.time)
                guard await send(notification.value, of: target, published) > 0 else { return }
            }
            begin += period
        }
    }

    /// Sends a value to the subscribers, and returns their number. One that has asked for notifications and indications
    /// receives one PDU, an indication.
    private func send(_ value: [UInt8], of target: DefinitionID, _ published: PublishedServices) async -> Int {
        guard let characteristic = device.characteristics.first(where: { $0.id == target }),
            let handle = published[characteristic].handle
        else { return 0 }
        let deliveries = await published.send(value, of: handle, timeout: .seconds(5))
        for case .failure(let error) in deliveries.map(\.result) { console.detail("\(error)") }
        return deliveries.count
    }
}

extension Console {
    /// Prints that a device is served.
    func started(
        _ content: AdvertisementContent, named name: String, services: [BluetoothUUID], on adapter: AdapterInformation
    ) {
        let services = services.map { "\($0)" }
        result(
            "serving",
            "\(adapter.name) \(adapter.address.digits) serves \(printable(name)): \(services.joined(separator: ", "))",
            [
                ("adapter", .string(adapter.name)), ("address", .string(adapter.address.digits)),
                ("name", .string(name)), ("services", .array(services.map { .string($0) })),
            ])
        let capacity = AdvertisementDataBuilder.legacyCapacity
        reportShortenedName(
            in: try? content.payloads(capacity: capacity - content.automaticByteCount, scanResponseCapacity: capacity))
    }

    /// Prints an operation of a central.
    func tell(
        _ event: String, by peer: BluetoothAddress, _ uuid: BluetoothUUID? = nil, _ value: [UInt8]? = nil,
        reason: DisconnectReason? = nil
    ) {
        var (line, fields) = ("\(time())  \(peer.digits)  \(event)", [("peer", JSONValue.string(peer.digits))])
        if let uuid {
            line += "  \(uuid)\(uuid.assignedName.map { " \($0)" } ?? "")"
            fields.append(("uuid", .string("\(uuid)")))
        }
        if let value {
            line += "  \(ValueText.describe(value, of: uuid))"
            fields += valueFields(value, of: uuid)
        }
        if let reason {
            line += "  \(reason.words)"
            fields.append(("reason", .string("\(reason)")))
        }
        result(event, line, fields)
    }
}
