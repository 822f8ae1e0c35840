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
    private enum Activity {
        case running
        /// The delay before the next attempt.
        case pausing(Promise<Void, BluetoothError>)
        case ended(BluetoothError)
    }

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
    private var activity = Activity.running

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

    private var end: BluetoothError? { if case .ended(let reason) = activity { reason } else { nil } }

    /// The address of the device; nil if it is unknown.
    private var peer: BluetoothAddress? { target.address }
    private var operation: BluetoothError.Operation { .init("keep the device connected", peer: peer) }

    // MARK: Running

    /// Connects repeatedly until the task is cancelled or the policy gives up.
    nonisolated(nonsending) func run(on radio: some ReconnectionRadio) async {
        var progress = ReconnectionProgress(policy)
        var waitsForSlot = false
        while end == nil, !Task.isCancelled {
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
            if Task.isCancelled || end != nil { break }
            guard progress.isWorthRetrying(reason) else { return finish(reason) }
            if waitsForSlot {
                // The next attempt waits for the end of a link, so that no delay is needed.
                report(.waitingForAdapter(reason))
                continue
            }
            do throws(BluetoothError) {
                try await pause(reason, progress, on: radio)
            } catch {
                if !Task.isCancelled { return finish(error) }
            }
        }
        finish(BluetoothError(.cancelled, operation, "This program no longer keeps the device connected."))
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
        await connection.leave(timeout: .zero)
        self.connection = nil
        if !Task.isCancelled { report(.disconnected(reason)) }
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
        let call = Promise<Void, BluetoothError>()
        activity = .pausing(call)
        defer { if case .pausing = activity { activity = .running } }
        do throws(BluetoothError) {
            try await call.value(operation, timeout: delay, on: loop)
        } catch {
            guard error.code == .timedOut else { throw error }
        }
    }

    private func report(_ event: KeptConnection.Event) {
        latest = event
        eventStreams.send(event)
    }

    private func finish(_ reason: BluetoothError) {
        let former = activity
        if case .ended = former { return }
        activity = .ended(reason)
        eventStreams.finish(reason)
        waiters.failAll(reason)
        if case .pausing(let delay) = former { delay.fail(reason) }
        subscriptions.finish(reason)
    }

    /// Handles the closing of the adapter, which ends connection attempts as well.
    func adapterClosed(_ reason: BluetoothError) {
        finish(reason.about(operation))
        if connection?.core.value.isLeftByLast() == true { connection?.disconnectNow() }
        connection = nil
    }

    /// Ends everything, except a link that other callers have, with the task of ``run(on:)``: cancelled here, so that it
    /// does not close the link before this waits for its end.
    nonisolated(nonsending) func disconnect(cancelling task: Task<Void, Never>, timeout: Duration) async {
        task.cancel()
        finish(BluetoothError(.cancelled, operation, "This program no longer keeps the device connected."))
        await connection?.leave(timeout: timeout)
        connection = nil
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
        if let connection, await connection.isConnected { return connection }
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
    /// Keeps a device connected until the task is cancelled, the policy gives up, or the adapter is closed.
    func run(_ reconnector: LoopBound<Reconnector>) async {
        let reconnector = reconnector.value
        let id = powerState.value.follow { [weak reconnector] turn in
            if case .ended(let reason) = turn { reconnector?.adapterClosed(reason) }
        }
        defer { powerState.value.unfollow(id) }
        await reconnector.run(on: SessionRadio(self))
    }
}
