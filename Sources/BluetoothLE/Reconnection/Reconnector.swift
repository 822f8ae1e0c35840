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

/// The radio of a kept connection: an adapter, or several.
protocol ReconnectionRadio {
    nonisolated(nonsending) func connect(
        to target: ReconnectionTarget, options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection

    nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError)
}

extension SessionRadio: ReconnectionRadio {
    nonisolated(nonsending) func connect(
        to target: ReconnectionTarget, options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        switch target {
        case .address(let address):
            var time = ConnectTime(options.timeout, room: options.slotTimeout, from: loop.now)
            return try await connect(to: address, options, within: &time)
        case .identity(let identity): return try await connect(to: identity, options: options)
        }
    }
}

/// The state machine behind a ``KeptConnection``.
///
/// Lives on the adapter's loop; the session runs it.
final class Reconnector {
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
    /// The task of ``run(on:)``.
    private var task: Task<Void, Never>?
    /// The reason why the kept connection has ended, with which its task is cancelled.
    private var end: BluetoothError?

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

    /// Begins the one task for the lifetime of the connection.
    func begin(_ run: @escaping @Sendable () async -> Void) {
        task = Task(executorPreference: loop) { await run() }
    }

    /// Connects repeatedly until the end.
    nonisolated(nonsending) func run(on radio: some ReconnectionRadio) async {
        var progress = ReconnectionProgress(policy)
        var waitsForSlot = false
        while end == nil {
            let attempt = progress.beginAttempt()
            if !progress.isSilent { report(.connecting(attempt: attempt)) }
            let reason: BluetoothError
            do throws(BluetoothError) {
                let start = try await connectOnce(on: radio, waitsForSlot: waitsForSlot)
                waitsForSlot = false
                reason = await endOfLink()
                progress.linkEnded(after: start.duration(to: loop.now))
            } catch {
                reason = error
                progress.attemptFailed(reason)
                waitsForSlot = error.code == .linkLimitReached
            }
            guard end == nil else { return }
            guard progress.isWorthRetrying(reason) else { return finish(reason) }
            if waitsForSlot {
                // The next attempt waits for the end of a link, so that no delay is needed.
                report(.waitingForAdapter(reason))
                continue
            }
            do throws(BluetoothError) {
                try await pause(reason, progress, on: radio)
            } catch {
                if end == nil { finish(error) }
            }
        }
    }

    /// Connects and restores the subscriptions; returns when the link came up.
    private nonisolated(nonsending) func connectOnce(
        on radio: some ReconnectionRadio, waitsForSlot: Bool
    ) async throws(BluetoothError) -> KernelInstant {
        var options = options
        if waitsForSlot, options.slotTimeout == nil { options.slotTimeout = ConnectionOptions.unlimited }
        let timeout = options.timeout
        options.timeout = nil
        options.attributeTimeout = timeout
        let connection = try await radio.connect(to: target, options: options)
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
        report(.connected(connection))
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
        report(.disconnected(reason))
        return reason
    }

    /// Waits for the adapter and for the policy's delay before the next attempt.
    private nonisolated(nonsending) func pause(
        _ reason: BluetoothError, _ progress: ReconnectionProgress, on radio: some ReconnectionRadio
    ) async throws(BluetoothError) {
        if reason.concernsAdapter {
            report(.waitingForAdapter(reason))
            try await radio.ready(timeout: nil)
        }
        let delay = progress.delay(at: loop.now, for: peer?.value ?? 0)
        guard delay > .zero else { return }
        if !reason.concernsAdapter, !progress.isRepeated { report(.failed(reason, retryAfter: delay)) }
        guard await loop.sleep(for: delay) else { throw .cancelled(operation) }
    }

    private func report(_ event: KeptConnection.Event) {
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

    /// Handles the closing of the adapter, which ends connection attempts as well.
    func adapterClosed(_ reason: BluetoothError) {
        finish(reason.about(operation))
        if connection?.core.value.isLeftByLast() == true { connection?.disconnectNow() }
        connection = nil
    }

    /// Ends everything; the task of ``run(on:)`` leaves the link.
    func cancel() {
        finish(BluetoothError(.cancelled, operation, "This program no longer keeps the device connected."))
    }

    /// Ends everything, and waits for the end of the link, unless other callers have it.
    nonisolated(nonsending) func disconnect(timeout: Duration) async {
        cancel()
        await leaveLink(timeout: timeout)
    }

    /// Leaves the link, once.
    private nonisolated(nonsending) func leaveLink(timeout: Duration) async {
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
        let connection = try await connected(timeout: timeout)
        return try await subscriptions.add(target, bufferCapacity, on: connection, timeout: timeout)
    }
}

extension AdapterSession {
    /// Keeps a device connected until the reconnector's end, or the adapter's.
    func run(_ reconnector: LoopBound<Reconnector>) async {
        let reconnector = reconnector.value
        let id = powerState.value.follow { [weak reconnector] turn in
            if case .ended(let reason) = turn { reconnector?.adapterClosed(reason) }
        }
        defer { powerState.value.unfollow(id) }
        await reconnector.run(on: SessionRadio(self))
    }
}
