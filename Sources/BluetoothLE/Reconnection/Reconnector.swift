import BluetoothKernel
import BluetoothPrimitives
import GATT

/// Does what a ``MaintainedConnection`` promises.
///
/// Lives on the adapter's loop; the session runs it.
final class Reconnector {
    private let mark: ComponentCount.Mark
    /// What somebody has subscribed to.
    struct Wish: Sendable {
        var service: BluetoothUUID
        var characteristic: BluetoothUUID
        var kind: SubscriptionKind
    }

    private struct Subscription {
        let wish: Wish
        let channel: StreamChannel<MaintainedConnection.Notice>
        var pump: Pump?
    }

    /// Hands on the values of the present link.
    private struct Pump {
        /// Whose values.
        let handle: AttributeHandle
        let task: Task<Void, Never>
    }

    let loop: EventLoop
    let peer: BluetoothAddress
    private let options: ConnectionOptions
    private let policy: ReconnectionPolicy

    private(set) var connection: Connection?
    /// What was told last; nil before the first attempt.
    private var latest: MaintainedConnection.Event?
    private var eventStreams = Broadcaster<MaintainedConnection.Event>()
    private var waiters = WaiterList<Connection, BluetoothError>()
    private var subscriptions: [UInt64: Subscription] = [:]
    private var nextSubscription: UInt64 = 0
    private var end: BluetoothError?
    /// The wait for the next attempt.
    private var delay: Promise<Void, BluetoothError>?

    init(
        to peer: BluetoothAddress, _ options: ConnectionOptions, _ policy: ReconnectionPolicy, on loop: EventLoop
    ) {
        mark = loop.components.mark("Reconnector")
        self.peer = peer
        self.options = options
        self.policy = policy
        self.loop = loop
    }

    private var operation: BluetoothError.Operation { .init("maintain the connection", peer: peer) }

    // MARK: Running

    /// Connects again and again until the task is cancelled or the policy gives up.
    nonisolated(nonsending) func run(on adapter: AdapterSession) async {
        var failures = 0
        var attempt = 0
        while end == nil, !Task.isCancelled {
            attempt += 1
            tell(.connecting(attempt: attempt))
            let reason: BluetoothError
            do throws(BluetoothError) {
                let start = try await connectOnce(on: adapter)
                attempt = 0
                reason = await endOfLink()
                failures = start.duration(to: loop.now) < policy.minimumLinkDuration ? failures + 1 : 0
            } catch {
                reason = error
                failures += 1
            }
            if Task.isCancelled || end != nil { break }
            guard policy.isWorthAnother(reason, failures: failures) else { return finish(reason) }
            do throws(BluetoothError) {
                try await pause(reason, failures, on: adapter)
            } catch {
                if !Task.isCancelled { return finish(error) }
            }
        }
        finish(BluetoothError(.cancelled, operation, "The connection is not to be maintained any more."))
    }

    /// Makes a link on which everything is live that was subscribed to; tells when it came up.
    private nonisolated(nonsending) func connectOnce(
        on adapter: AdapterSession
    ) async throws(BluetoothError) -> KernelInstant {
        var options = options
        let timeout = options.timeout
        options.timeout = nil
        options.attributeTimeout = timeout
        let connection = try await adapter.connect(to: peer, options: options)
        guard end == nil else {
            await connection.disconnect()
            throw .cancelled(operation)
        }
        self.connection = connection
        let start = loop.now
        for id in subscriptions.keys.sorted() { await restore(id, on: connection) }
        tell(.connected(connection))
        waiters.succeedAll(connection)
        return start
    }

    /// Waits for the end of the link, and meanwhile follows the changes of the device's attributes.
    private nonisolated(nonsending) func endOfLink() async -> BluetoothError {
        guard let connection else { return .cancelled(operation) }
        var isFollowing = true
        while isFollowing {
            do throws(BluetoothError) {
                for try await _ in await connection.serviceChanges() { await refresh(on: connection) }
                isFollowing = false
            } catch {
                // The stream ends with the link, or when changes come faster than they can be looked at.
                isFollowing = error.code == .overflow
                if isFollowing { await refresh(on: connection) }
            }
        }
        let reason = await connection.closed()
        await connection.disconnect()
        self.connection = nil
        if !Task.isCancelled { tell(.disconnected(reason)) }
        return reason
    }

    /// Lets pass what time there has to be before the next attempt.
    private nonisolated(nonsending) func pause(
        _ reason: BluetoothError, _ failures: Int, on adapter: AdapterSession
    ) async throws(BluetoothError) {
        if reason.concernsAdapter {
            tell(.waitingForAdapter(reason))
            try await adapter.ready(timeout: nil)
        }
        let chance = UInt64(bitPattern: loop.now.nanoseconds) &* 0x9E37_79B9_7F4A_7C15 ^ peer.value
        let delay = policy.delay(afterFailures: failures, chance: chance &* 0xBF58_476D_1CE4_E5B9)
        guard delay > .zero else { return }
        if !reason.concernsAdapter { tell(.failed(reason, retryAfter: delay)) }
        let call = Promise<Void, BluetoothError>()
        self.delay = call
        defer { self.delay = nil }
        do throws(BluetoothError) {
            try await call.value(operation, timeout: delay, on: loop)
        } catch {
            guard error.code == .timedOut else { throw error }
        }
    }

    private func tell(_ event: MaintainedConnection.Event) {
        latest = event
        eventStreams.send(event)
    }

    private func finish(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        eventStreams.finish(reason)
        waiters.failAll(reason)
        delay?.fail(reason)
        for subscription in subscriptions.values {
            subscription.pump?.task.cancel()
            subscription.channel.finish(reason)
        }
        subscriptions = [:]
    }

    /// The adapter is of no more use to this program; attempts to connect end by themselves.
    func adapterClosed(_ reason: BluetoothError) {
        finish(reason.about(operation))
        connection?.disconnectNow()
    }

    /// Ends it all; ``run()`` has been told so.
    nonisolated(nonsending) func close() async {
        finish(BluetoothError(.cancelled, operation, "The connection is not to be maintained any more."))
        await connection?.disconnect()
        connection = nil
    }

    // MARK: Listening

    func events(_ bufferCapacity: Int) -> BoundedStream<MaintainedConnection.Event> {
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
        _ wish: Wish, _ bufferCapacity: Int, timeout: Duration?
    ) async throws(BluetoothError) -> BoundedStream<MaintainedConnection.Notice> {
        let connection = try await connected(timeout: timeout)
        let channel = StreamChannel<MaintainedConnection.Notice>(
            capacity: bufferCapacity, policy: .fail, operation: .init("subscribe", peer: peer), from: loop)
        let pump = try await makePump(wish, channel, on: connection, timeout: timeout)
        if let end {
            pump.task.cancel()
            throw end
        }
        nextSubscription += 1
        let id = nextSubscription
        subscriptions[id] = Subscription(wish: wish, channel: channel, pump: pump)
        // A stream that is kept keeps neither this nor the adapter.
        let unsubscribe = LoopBound({ [weak self] in self?.unsubscribe(id) }, on: loop)
        return BoundedStream(channel: channel) { [loop] in
            loop.execute { unsubscribe.value() }
        }
    }

    private func unsubscribe(_ id: UInt64) {
        subscriptions.removeValue(forKey: id)?.pump?.task.cancel()
    }

    /// Makes a subscription live on a new link.
    private nonisolated(nonsending) func restore(_ id: UInt64, on connection: Connection) async {
        guard let subscription = subscriptions[id] else { return }
        // What came over the last link comes first.
        await subscription.pump?.task.value
        do throws(BluetoothError) {
            let pump = try await makePump(
                subscription.wish, subscription.channel, on: connection, timeout: options.timeout, isResumed: true)
            if subscriptions[id] == nil { pump.task.cancel() } else { subscriptions[id]?.pump = pump }
        } catch {
            // The next link may fare better, unless the device has changed.
            guard [.notFound, .unsupported, .attributeProtocol].contains(error.code) else { return }
            subscriptions.removeValue(forKey: id)?.channel.finish(error)
        }
    }

    /// Makes the subscriptions live again that a change of the device's attributes has ended.
    private nonisolated(nonsending) func refresh(on connection: Connection) async {
        guard !subscriptions.isEmpty,
            let services = try? await connection.discover(timeout: options.timeout)
        else { return }
        for id in subscriptions.keys.sorted() {
            guard let subscription = subscriptions[id] else { continue }
            if let pump = subscription.pump {
                let found = services.service(subscription.wish.service)?.characteristic(
                    subscription.wish.characteristic)
                guard found?.valueHandle != pump.handle else { continue }
                connection.core.value.endSubscriptions(to: pump.handle)
            }
            await restore(id, on: connection)
        }
    }

    /// Subscribes on a link, and hands its values on until it ends: one task for all of them.
    private nonisolated(nonsending) func makePump(
        _ wish: Wish, _ channel: StreamChannel<MaintainedConnection.Notice>, on connection: Connection,
        timeout: Duration?, isResumed: Bool = false
    ) async throws(BluetoothError) -> Pump {
        // Answered from memory after the first time.
        let services = try await connection.discover(timeout: timeout)
        guard let characteristic = services.service(wish.service)?.characteristic(wish.characteristic) else {
            throw BluetoothError(
                .notFound, .init("subscribe", peer: peer),
                "The device has no characteristic \(wish.characteristic) in a service \(wish.service).")
        }
        let values = try await connection.subscribe(to: characteristic, kind: wish.kind, timeout: timeout)
        if isResumed { channel.send(.resumed) }
        let task = Task(executorPreference: loop) {
            do throws(BluetoothError) {
                for try await value in values {
                    guard channel.send(.value(value)) else { return }
                }
            } catch {
                switch error.code {
                case .cancelled: break
                case .overflow: channel.finish(error)
                default: channel.send(.interrupted(error))
                }
            }
        }
        return Pump(handle: characteristic.valueHandle, task: task)
    }
}

extension AdapterSession {
    /// Keeps a device connected until the task is cancelled, the policy gives up, or the adapter is closed.
    func run(_ reconnector: LoopBound<Reconnector>) async {
        let reconnector = reconnector.value
        let id = life.value.follow { [weak reconnector] turn in
            if case .ended(let reason) = turn { reconnector?.adapterClosed(reason) }
        }
        defer { life.value.unfollow(id) }
        await reconnector.run(on: self)
    }
}
