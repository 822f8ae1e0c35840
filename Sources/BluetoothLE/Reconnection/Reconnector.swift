import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// The device that is kept connected.
enum ReconnectionTarget {
    case address(BluetoothAddress)
    /// By its key, at the address it has then.
    case identity(DeviceIdentity)

    /// The address that does not change; nil if it is unknown.
    var address: BluetoothAddress? {
        switch self {
        case .address(let address): address
        case .identity(let identity): identity.address
        }
    }
}

/// The state machine behind a ``KeptConnection``.
///
/// Lives on the central's loop.
// Holds more than ten variables: the link and its subscriptions, which begin anew, and their followers, which stay.
final class Reconnector: KeptLinks {
    static func isFinal(_ reason: BluetoothError) -> Bool { false }

    private let mark: ComponentCount.Mark
    let loop: EventLoop
    private let target: ReconnectionTarget
    private let options: ConnectionOptions
    private let policy: ReconnectionPolicy

    private(set) var connection: Connection?
    /// The latest event; nil before the first attempt.
    private var latest: KeptConnection.Event?
    private var eventStreams = Broadcaster<KeptConnection.Event>()
    private var waiters = WaiterList<Connection, BluetoothError>()
    private let subscriptions: KeptSubscriptions
    /// The task of ``begin(on:)``.
    private var task: Task<Void, Never>?
    /// The reason why the kept connection has ended, with which its task is cancelled.
    private(set) var end: BluetoothError?

    init(
        to target: ReconnectionTarget, _ options: ConnectionOptions, _ policy: ReconnectionPolicy, on loop: EventLoop
    ) {
        mark = loop.components.mark("Reconnector")
        self.target = target
        self.options = options
        self.policy = policy
        self.loop = loop
        subscriptions = KeptSubscriptions(to: target.address, timeout: options.timeout, on: loop)
    }

    /// The address of the device; nil if it is unknown.
    private var peer: BluetoothAddress? { target.address }
    private var operation: BluetoothError.Operation { .init("keep the device connected", peer: peer) }

    // MARK: Running

    /// Begins the one task for the lifetime of the connection, which ends with its central.
    func begin(on central: some Central) {
        let this = SessionReference(self, in: DetachedSession(on: loop))
        task = Task(executorPreference: loop) { [policy, loop] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask(executorPreference: loop) { _ = await central.closed { this.value.centralClosed($0) } }
                await this { reconnector in
                    let reason = await reconnector.keep(on: central, policy, number: reconnector.peer?.value ?? 0)
                    if let reason { reconnector.finish(reason) }
                }
                group.cancelAll()
            }
        }
    }

    nonisolated(nonsending) func useLink(
        of central: some Central, attempt: Int, waitsForSlot: Bool
    ) async throws(BluetoothError) -> (reason: BluetoothError, duration: Duration) {
        let start = try await connectOnce(on: central, waitsForSlot: waitsForSlot)
        let reason = await endOfLink()
        return (reason, start.duration(to: loop.now))
    }

    /// Connects and restores the subscriptions; returns when the link came up.
    /// - Throws: also the reason for the link's end, if it ends meanwhile.
    private nonisolated(nonsending) func connectOnce(
        on central: some Central, waitsForSlot: Bool
    ) async throws(BluetoothError) -> KernelInstant {
        var options = options
        if waitsForSlot, options.slotWait == nil { options.slotTimeout = nil }
        let timeout = options.timeout
        options.timeout = nil
        options.attributeTimeout = timeout
        let connection =
            switch target {
            case .address(let peer): try await central.connect(to: peer, options: options)
            case .identity(let identity): try await central.connect(to: identity, options: options)
            }
        guard end == nil else {
            await connection.leave(timeout: .zero)
            throw .cancelled(operation)
        }
        self.connection = connection
        let start = loop.now
        await subscriptions.restore(on: connection)
        guard end == nil else {
            await leaveLink(timeout: .zero)
            throw .cancelled(operation)
        }
        if let reason = connection.core.value.endReason {
            await leaveLink(timeout: .zero)
            throw reason
        }
        report(.init(.connected(connection)))
        waiters.succeedAll(connection)
        return start
    }

    /// Waits for the end of the link, and meanwhile follows changes of the device's attributes.
    private nonisolated(nonsending) func endOfLink() async -> BluetoothError {
        guard let connection else { return .cancelled(operation) }
        var isFollowing = true
        while isFollowing {
            do throws(BluetoothError) {
                for try await _ in await connection.serviceChanges() { await subscriptions.refresh(on: connection) }
                isFollowing = false
            } catch {
                // The stream ends with the link, or when changes come faster than they are handled.
                isFollowing = error.code == .overflow
                if isFollowing { await subscriptions.refresh(on: connection) }
            }
        }
        let reason = await connection.disconnected()
        await leaveLink(timeout: .zero)
        report(.init(.disconnected(reason)))
        return reason
    }

    func report(_ event: KeptConnection.Event) {
        latest = event
        eventStreams.send(event)
    }

    private func finish(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        task?.cancel()
        eventStreams.finish(reason)
        waiters.failAll(reason)
        subscriptions.finish(reason)
    }

    /// Handles the closing of the central, which ends connection attempts as well.
    private func centralClosed(_ reason: BluetoothError) {
        guard end == nil else { return }
        finish(reason.about(operation))
        if connection?.core.value.isLeftByLast() == true { connection?.disconnectNow() }
        connection = nil
    }

    /// Ends everything; the task of ``begin(on:)`` leaves the link.
    func cancel() {
        finish(BluetoothError(.cancelled, operation, "This program no longer keeps the device connected."))
    }

    /// Ends everything, and waits for the end of the link, unless other callers have it.
    nonisolated(nonsending) func disconnect(timeout: Duration?) async {
        cancel()
        await leaveLink(timeout: timeout)
    }

    /// Leaves the link, once.
    private nonisolated(nonsending) func leaveLink(timeout: Duration?) async {
        guard let connection else { return }
        self.connection = nil
        await connection.leave(timeout: timeout)
    }

    // MARK: Following

    func events(_ bufferCapacity: Int) -> BoundedStream<KeptConnection.Event> {
        let first = end == nil ? latest : nil
        let stream = eventStreams.stream(
            capacity: bufferCapacity, policy: .dropOldest, operation, from: loop,
            beginningWith: first.map { [$0] } ?? [])
        if let end { stream.finish(end) }
        return stream
    }

    nonisolated(nonsending) func connected(timeout: Duration?) async throws(BluetoothError) -> Connection {
        if let end { throw end }
        if let connection, connection.isConnectedNow { return connection }
        let call = waiters.makePromise()
        return try await call.value(.init("wait for a link", peer: peer), timeout: timeout, on: loop)
    }

    // MARK: Subscriptions

    nonisolated(nonsending) func subscribe(
        _ target: KeptSubscriptions.Target, _ bufferCapacity: Int, timeout: Duration?
    ) async throws(BluetoothError) -> BoundedStream<KeptConnection.Update> {
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        let connection = try await connected(timeout: timeout)
        return try await subscriptions.add(target, bufferCapacity, on: connection, until: deadline)
    }
}
