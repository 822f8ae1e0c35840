import BluetoothGATT
import BluetoothLE
import BluetoothLoop
import Synchronization

/// A UART that this machine offers to centrals, as a LINBLE does.
///
/// ```swift
/// try await UARTServer.run(on: adapter) { central in
///     for try await bytes in central.received { try await central.send(bytes) }
/// }
/// ```
public enum UARTServer {
    /// Offers a UART: publishes its service, advertises it, and serves each central that subscribes, until the task is
    /// cancelled or the adapter is closed.
    ///
    /// `serve` runs once for each central that goes online, for several at the same time unless the options say
    /// otherwise. When it returns or throws while the central is online, the central's link is ended. The end of a link
    /// ends the central's streams, not the server, which also survives that the adapter is powered off or unplugged.
    /// When the server ends, its advertising stops, its service is removed and the links are ended.
    ///
    /// Needs CAP_NET_ADMIN, for the advertising. It uses `Adapter.incomingConnections(_:)`, which an
    /// adapter has only once.
    /// - Parameters:
    ///   - adapter: the adapter to use; it must be powered.
    ///   - options: the UART and its parameters.
    ///   - events: called for every event; on any thread, and it delays what it reports.
    ///   - serve: serves one central.
    /// - Throws: `cancelled`; errors of the adapter's `publish`, `incomingConnections` and `advertise`; the reason for
    ///   which its advertising ended.
    public nonisolated(nonsending) static func run(
        on adapter: Adapter, options: UARTServerOptions = UARTServerOptions(),
        events: (@Sendable (UARTServerEvent) -> Void)? = nil,
        serve: @escaping @Sendable (UARTCentral) async throws -> Void
    ) async throws(BluetoothError) {
        let online = OnlineCentrals(options)
        let service = LocalService(options.profile.offeredService(security: options.security))
        let published = try await adapter.publish([service], events: online.receiver)
        do throws(BluetoothError) {
            let incoming = try await adapter.incomingConnections(
                IncomingConnectionOptions(
                    maximumTransmissionUnit: options.maximumTransmissionUnit,
                    security: SecurityOptions(minimumKeySize: options.minimumKeySize)))
            let reason = await run(on: adapter, options, incoming, online, events, serve)
            // Ends the remaining links, which are no longer served.
            for connection in incoming.connections { await connection.disconnect(timeout: .zero) }
            incoming.close()
            throw reason
        } catch {
            await published.close()
            throw error
        }
    }

    /// Advertises and serves; returns the reason for the end.
    private static func run(
        on adapter: Adapter, _ options: UARTServerOptions, _ incoming: IncomingConnections,
        _ online: OnlineCentrals, _ events: (@Sendable (UARTServerEvent) -> Void)?,
        _ serve: @escaping @Sendable (UARTCentral) async throws -> Void
    ) async -> BluetoothError {
        let content = AdvertisementContent(localName: options.name, services: [options.profile.service])
        var advertising = options.advertising
        if options.isExclusive { advertising.continuesWhileConnected = false }
        let set: AdvertisingSet
        do throws(BluetoothError) {
            set = try await adapter.advertise(content, options: advertising)
        } catch {
            return error
        }
        events?(.init(.advertising(set)))
        let reason = await withTaskGroup(of: BluetoothError.self) { group in
            group.addTask { await set.closed() }
            group.addTask { await follow(incoming, events) }
            group.addTask { await online.serve(isExclusive: options.isExclusive, events, serve) }
            defer { group.cancelAll() }
            return await group.next() ?? .serverCancelled
        }
        await set.close()
        return reason
    }

    /// Reports links until no more are accepted; returns the reason.
    private static func follow(
        _ incoming: IncomingConnections, _ events: (@Sendable (UARTServerEvent) -> Void)?
    ) async -> BluetoothError {
        do throws(BluetoothError) {
            var links = incoming.makeAsyncIterator()
            while let connection = try await links.next() { events?(.init(.connected(connection))) }
            return .serverCancelled
        } catch {
            return error
        }
    }
}

extension BluetoothError {
    fileprivate static var serverCancelled: BluetoothError {
        .cancelled(.init("serve a UART"))
    }
}

/// The centrals that are online, kept on the loop, and those among them that are not served yet.
private final class OnlineCentrals: Sendable {
    private struct State {
        var centrals: [ObjectIdentifier: UARTCentral] = [:]
        var waiting: [UARTCentral] = []
        var waiter: Promise<Bool, Never>?
    }

    private let options: UARTServerOptions
    private let state = Mutex(State())
    /// The maximum number of centrals that wait to be served.
    private static let mostWaiting = 16

    init(_ options: UARTServerOptions) {
        self.options = options
    }

    // MARK: On the loop

    /// Receives the centrals' requests in the order received, so that no byte comes before or after its subscription.
    var receiver: PeerEventReceiver {
        let isRequest = options.profile.writeType == .request
        return { [self] event, connection in
            switch event {
            case .write(let writes, let question):
                let answer = receive(writes, from: connection, isRequest: isRequest)
                question?.resolve(answer)
            case .subscription(let subscription):
                if subscription.configuration.contains(.notification) {
                    goesOnline(connection, subscription.characteristic)
                } else {
                    goesOffline(connection, nil)
                }
            case .read(_, let question): question.resolve(.failure(.readNotPermitted))
            }
        }
    }

    /// Receives a central's write; returns why it is refused, which only a request's answer reports.
    private func receive(
        _ writes: [AttributeWrite], from connection: Connection, isRequest: Bool
    ) -> Result<[UInt8], ATTErrorCode> {
        guard let central = state.withLock({ $0.centrals[ObjectIdentifier(connection)] }) else { return .success([]) }
        for write in writes {
            if let code = central.receive(write, isRequest: isRequest) { return .failure(code) }
        }
        return .success([])
    }

    private func goesOnline(_ connection: Connection, _ characteristic: AttributeHandle) {
        let central = UARTCentral(connection, characteristic, options)
        let (waiter, isTaken, left) = state.withLock { state -> (Promise<Bool, Never>?, Bool, [UARTCentral]) in
            guard state.centrals[ObjectIdentifier(connection)] == nil else { return (nil, true, []) }
            // Of the centrals that have left, only the bytes they have sent are still of interest.
            let left = state.waiting.filter { central in
                central.receivedByteCount == 0 && !central.connection.isConnectedNow
            }
            for central in left { state.centrals[ObjectIdentifier(central.connection)] = nil }
            state.waiting.removeAll { central in left.contains { $0 === central } }
            guard state.waiting.count < Self.mostWaiting else { return (nil, false, left) }
            state.centrals[ObjectIdentifier(connection)] = central
            state.waiting.append(central)
            return (state.waiter.take(), true, left)
        }
        // They may hold the last references to their links, which are released outside the lock.
        withExtendedLifetime(left) {}
        waiter?.succeed(true)
        if !isTaken { connection.disconnectNow() }
    }

    private func goesOffline(_ connection: Connection, _ reason: BluetoothError?) {
        let central = state.withLock { state in
            let central = state.centrals.removeValue(forKey: ObjectIdentifier(connection))
            state.waiting.removeAll { $0 === central && $0.receivedByteCount == 0 }
            return central
        }
        central?.finish(reason)
    }

    // MARK: Serving

    /// Serves the centrals that go online until the task is cancelled.
    func serve(
        isExclusive: Bool, _ events: (@Sendable (UARTServerEvent) -> Void)?,
        _ body: @escaping @Sendable (UARTCentral) async throws -> Void
    ) async -> BluetoothError {
        await withDiscardingTaskGroup { group in
            while let central = await next() {
                if isExclusive {
                    await serve(central, events, body)
                } else {
                    group.addTask { await self.serve(central, events, body) }
                }
            }
            group.cancelAll()
        }
        return .serverCancelled
    }

    private func next() async -> UARTCentral? {
        while true {
            let waiter = Promise<Bool, Never>()
            let central = state.withLock { state -> UARTCentral? in
                guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
                state.waiter = waiter
                return nil
            }
            if let central { return central }
            guard await waiter.value(ifCancelled: false) else { return nil }
        }
    }

    private func serve(
        _ central: UARTCentral, _ events: (@Sendable (UARTServerEvent) -> Void)?,
        _ body: @escaping @Sendable (UARTCentral) async throws -> Void
    ) async {
        events?(.init(.online(central)))
        let failure = await withTaskGroup(of: Void.self) { group -> (any Error)? in
            group.addTask { [self] in
                let reason = await central.connection.disconnected()
                if !Task.isCancelled { goesOffline(central.connection, reason) }
            }
            defer { group.cancelAll() }
            do {
                try await body(central)
                return nil
            } catch {
                return error
            }
        }
        if !central.hasEnded {
            goesOffline(central.connection, nil)
            await central.disconnect(timeout: .zero)
        }
        events?(.init(.offline(central, failure)))
    }
}
