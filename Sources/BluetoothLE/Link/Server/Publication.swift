import BluetoothATT
import BluetoothGATT
import BluetoothLoop
import BluetoothPrimitives
import Logging
import Synchronization

/// Services that are published together: their definitions at their handles, and the ways in which the program receives
/// clients' requests.
final class Publication: Sendable {
    /// A published value.
    private struct Value {
        let id: DefinitionID
        let uuid: BluetoothUUID
        let handlers: ValueHandlers
        var periodic: PeriodicValue?
    }

    private enum Requests {
        case unread
        case read(StreamChannel<ClientRequest>)
        case ended(BluetoothError?)
    }

    /// The handles, from the first declaration to the last attribute.
    let handles: AttributeHandleRange
    /// Authorises access to attributes that require it, once the link has the security that the access requires.
    let authorize: Authorizer?
    /// Receives clients' requests in place of the handlers and of the stream.
    let events: PeerEventReceiver?
    private let definitions: [DefinitionID: AttributeHandle]
    private let values: [AttributeHandle: Value]
    private let loop: EventLoop
    private let requests = Mutex(Requests.unread)
    /// The tasks that send periodic values to their subscribers, and whether each waits for a value from the program; nil
    /// once the services are closed.
    private let sending = Mutex<[AttributeHandle: (task: Task<Void, Never>, isAsking: Bool)]?>([:])

    /// The maximum number of requests that wait for the program; beyond it the oldest is answered with Unlikely Error.
    private static let capacity = 64

    /// Services at the handles that the server has assigned.
    init(
        _ services: [LocalService], at layout: DatabaseLayout, authorizing authorize: Authorizer?,
        events: PeerEventReceiver?, on loop: EventLoop
    ) {
        var definitions: [DefinitionID: AttributeHandle] = [:]
        var values: [AttributeHandle: Value] = [:]
        for (service, handles) in zip(services, layout.services) {
            definitions[service.id] = handles.handles.start
            for (characteristic, own) in zip(service.characteristics, handles.characteristics) {
                definitions[characteristic.id] = own.value
                values[own.value] = Value(
                    id: characteristic.id, uuid: characteristic.uuid, handlers: characteristic.handlers,
                    periodic: characteristic.periodic)
                for (descriptor, handle) in zip(characteristic.descriptors, own.descriptors) {
                    definitions[descriptor.id] = handle
                    values[handle] = Value(id: descriptor.id, uuid: descriptor.uuid, handlers: descriptor.handlers)
                }
            }
        }
        handles = layout.handles
        self.authorize = authorize
        self.events = events
        self.definitions = definitions
        self.values = values
        self.loop = loop
    }

    /// The handle of a definition: of a service's declaration, of a characteristic's value, of a descriptor.
    subscript(_ id: DefinitionID) -> AttributeHandle? { definitions[id] }

    /// The handles of the values with handlers.
    var handledValues: some Sequence<AttributeHandle> {
        values.lazy.filter { !$0.value.handlers.isEmpty }.map(\.key)
    }

    // MARK: The program's stream of requests

    func makeStream(
        _ operation: BluetoothError.Operation, keeping owner: any AnyObject & Sendable
    ) throws(BluetoothError) -> BoundedStream<ClientRequest> {
        let channel = StreamChannel<ClientRequest>(
            capacity: Self.capacity, policy: .dropOldest, operation: operation, from: loop)
        try requests.withLock { (requests) throws(BluetoothError) in
            switch requests {
            case .read(let other) where other.isOpen:
                throw BluetoothError(.busy, operation, "The requests of these services are being read already.")
            case .unread, .read: requests = .read(channel)
            case .ended(let reason): channel.finish(reason)
            }
        }
        return BoundedStream(channel: channel) { withExtendedLifetime(owner) { channel.abandon() } }
    }

    /// Ends the stream of requests, with the reason, or regularly when the services are closed; and the periodic
    /// values.
    func end(_ reason: BluetoothError?) {
        for sender in (sending.withLock { $0.take() } ?? [:]).values { sender.task.cancel() }
        let channel = requests.withLock { requests -> StreamChannel<ClientRequest>? in
            defer { requests = .ended(reason) }
            if case .read(let channel) = requests { return channel }
            return nil
        }
        channel?.finish(reason)
    }

    private var channel: StreamChannel<ClientRequest>? {
        requests.withLock { if case .read(let channel) = $0, channel.isOpen { channel } else { nil } }
    }

    // MARK: Periodic values

    /// Begins to send the periodic value of a characteristic, if it has one, to its first subscriber, and stops after the
    /// last one; after a link that is lost, when the next value is due.
    func subscriptionChanged(
        _ subscription: PeerSubscription, in server: LocalServer, on links: LinkRegistry, _ log: Logger
    ) {
        let (handle, isEnd) = (subscription.characteristic, subscription.configuration.isEmpty)
        guard let periodic = values[handle]?.periodic else { return }
        let count = links.subscriberCount(of: handle)
        let links = LoopBound(WeakReference(to: links), on: loop)
        sending.withLock { sending in
            let isFirst = !isEnd && (count == 1 || sending?[handle] == nil)
            guard isFirst || count == 0 else { return }
            guard sending?[handle]?.isAsking != true else {
                // However often devices subscribe, there is one call at a time: the next begins when it has returned.
                if count == 0 { sending?[handle]?.task.cancel() }
                return
            }
            sending?.removeValue(forKey: handle)?.task.cancel()
            if isFirst, sending != nil {
                sending?[handle] = (send(periodic, of: handle, in: server, on: links, log), false)
            }
        }
    }

    /// Sends a periodic value while a device has subscribed.
    private func send(
        _ periodic: PeriodicValue, of handle: AttributeHandle, in server: LocalServer,
        on links: LoopBound<WeakReference<LinkRegistry>>, _ log: Logger
    ) -> Task<Void, Never> {
        // After a cancelled call: devices may have subscribed meanwhile.
        @Sendable func beginAgain() {
            let count = links.value.object?.subscriberCount(of: handle) ?? 0
            sending.withLock { sending in
                guard sending?.removeValue(forKey: handle) != nil, count > 0 else { return }
                sending?[handle] = (send(periodic, of: handle, in: server, on: links, log), false)
            }
        }
        return Task(executorPreference: loop) { [loop] in
            var time = loop.now
            while !Task.isCancelled, links.value.object?.subscriberCount(of: handle) ?? 0 > 0 {
                do {
                    let value = try await self.ask(periodic, handle)
                    guard !Task.isCancelled else { return beginAgain() }
                    if server.value(of: handle, in: self) != nil {
                        _ = try server.setValue(value, of: handle, in: self)
                    }
                    _ = await links.value.object?.broadcast(
                        value, of: handle, as: [.notification, .indication], timeout: periodic.timeout, on: loop)
                } catch {
                    guard !Task.isCancelled else { return beginAgain() }
                    log.warning("a periodic value failed: \(error)", metadata: ["handle": "\(handle)"])
                }
                time = max(time.advanced(by: periodic.interval), loop.now)
                guard await loop.sleep(until: time) else { return }
            }
            if !Task.isCancelled { self.sending.withLock { _ = $0?.removeValue(forKey: handle) } }
        }
    }

    private nonisolated(nonsending) func ask(_ periodic: PeriodicValue, _ handle: AttributeHandle) async throws
        -> [UInt8]
    {
        sending.withLock { $0?[handle]?.isAsking = true }
        defer { sending.withLock { $0?[handle]?.isAsking = false } }
        return try await periodic.next()
    }

    // MARK: Requests

    /// Answers a read. Throws the error that the client receives.
    nonisolated(nonsending) func read(
        _ handle: AttributeHandle, by client: AttributeClient, in server: LocalServer
    ) async throws -> [UInt8] {
        guard let value = values[handle] else { throw ATTErrorCode.readNotPermitted }
        let request = ReadRequest(
            peer: client.address, uuid: value.uuid, target: value.id, security: client.security,
            isBonded: client.isBonded)
        if let read = value.handlers.read { return try await read(request) }
        if let stored = server.value(of: handle, in: self) { return stored }
        guard value.handlers.isEmpty, let channel else { throw ATTErrorCode.readNotPermitted }
        return try await answer { question in channel.send(.read(PendingRead(request, question))) }
    }

    /// Performs the writes of one request or command. Throws the error that the client receives.
    nonisolated(nonsending) func write(
        _ writes: ArraySlice<AttributeWrite>, isCommand: Bool, by client: AttributeClient, in server: LocalServer
    ) async throws {
        func request(_ write: AttributeWrite, _ value: Value) -> WriteRequest {
            WriteRequest(
                peer: client.address, uuid: value.uuid, target: value.id, value: write.value, offset: write.offset,
                isCommand: isCommand, security: client.security, isBonded: client.isBonded)
        }
        // Writes without handlers form one request to the program.
        var streamed: [WriteRequest] = []
        for write in writes {
            guard let value = values[write.handle] else { throw ATTErrorCode.writeNotPermitted }
            if value.handlers.isEmpty { streamed.append(request(write, value)) }
        }
        if !streamed.isEmpty { try await send(streamed, isCommand: isCommand) }
        for write in writes {
            guard let value = values[write.handle], !value.handlers.isEmpty else { continue }
            guard value.handlers.write != nil || server.value(of: write.handle, in: self) != nil else {
                throw ATTErrorCode.writeNotPermitted
            }
            try server.perform(write, in: self, isCheck: true)
            try await value.handlers.write?(request(write, value))
            try server.perform(write, in: self, isCheck: false)
        }
    }

    private nonisolated(nonsending) func send(
        _ writes: [WriteRequest], isCommand: Bool
    ) async throws(ATTErrorCode) {
        guard let channel else { throw .writeNotPermitted }
        if isCommand {
            // The client expects no response, so later requests need not wait.
            channel.send(.write(PendingWrite(writes, PeerQuestion(for: nil))))
        } else {
            _ = try await answer { question in channel.send(.write(PendingWrite(writes, question))) }
        }
    }

    private nonisolated(nonsending) func answer(
        _ ask: (PeerQuestion) -> Void
    ) async throws(ATTErrorCode) -> [UInt8] {
        let answer = Promise<[UInt8], ATTErrorCode>()
        ask(PeerQuestion(for: answer))
        return try await answer.value(ifCancelled: .unlikelyError)
    }
}
