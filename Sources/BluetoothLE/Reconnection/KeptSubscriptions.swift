import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// The subscriptions of a kept connection, which are restored on each link.
//
// Lives on the loop, with the reconnector.
final class KeptSubscriptions {
    /// The characteristic of a subscription.
    struct Target: Sendable {
        var service: BluetoothUUID
        var characteristic: BluetoothUUID
        var kind: SubscriptionKind
    }

    private struct Subscription {
        let target: Target
        let channel: StreamChannel<KeptConnection.Update>
        var forwarder: Forwarder?
    }

    /// Forwards the values of the present link.
    private struct Forwarder {
        /// The characteristic's value.
        let handle: AttributeHandle
        let task: Task<Void, Never>
    }

    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let peer: BluetoothAddress?
    /// The time limit of restoring a subscription, and of a discovery.
    private let timeout: Duration?
    private var subscriptions: [UInt64: Subscription] = [:]
    private var lastID: UInt64 = 0
    private var end: BluetoothError?

    init(to peer: BluetoothAddress?, timeout: Duration?, on loop: EventLoop) {
        mark = loop.components.mark("KeptSubscriptions")
        (self.peer, self.timeout, self.loop) = (peer, timeout, loop)
    }

    /// Subscribes on a link and on those that follow.
    nonisolated(nonsending) func add(
        _ target: Target, _ bufferCapacity: Int, on connection: Connection, until deadline: KernelInstant?
    ) async throws(BluetoothError) -> BoundedStream<KeptConnection.Update> {
        let channel = StreamChannel<KeptConnection.Update>(
            capacity: bufferCapacity, policy: .fail, operation: .init("subscribe", peer: peer), from: loop)
        let forwarder = try await makeForwarder(target, channel, on: connection, until: deadline)
        if let end {
            forwarder.task.cancel()
            throw end
        }
        lastID += 1
        let id = lastID
        subscriptions[id] = Subscription(target: target, channel: channel, forwarder: forwarder)
        // The stream retains neither this nor the adapter.
        let this = LoopBound(WeakReference(to: self), on: loop)
        return BoundedStream(channel: channel) { [loop] in
            loop.execute { this.value.object?.remove(id) }
        }
    }

    private func remove(_ id: UInt64) { subscriptions.removeValue(forKey: id)?.forwarder?.task.cancel() }

    /// Ends all subscriptions.
    func finish(_ reason: BluetoothError) {
        end = reason
        for subscription in subscriptions.values {
            subscription.forwarder?.task.cancel()
            subscription.channel.finish(reason)
        }
        subscriptions = [:]
    }

    /// Restores all subscriptions on a new link.
    nonisolated(nonsending) func restore(on connection: Connection) async {
        for id in subscriptions.keys.sorted() { await restore(id, on: connection) }
    }

    /// Restores a subscription on a new link.
    private nonisolated(nonsending) func restore(_ id: UInt64, on connection: Connection) async {
        guard let subscription = subscriptions[id] else { return }
        // The values of the last link come first.
        await subscription.forwarder?.task.value
        subscriptions[id]?.forwarder = nil
        do throws(BluetoothError) {
            let forwarder = try await makeForwarder(
                subscription.target, subscription.channel, on: connection,
                until: timeout.map { loop.now.advanced(by: $0) }, isResumed: true)
            if subscriptions[id] == nil { forwarder.task.cancel() } else { subscriptions[id]?.forwarder = forwarder }
        } catch {
            guard [.notFound, .unsupported, .attributeProtocol].contains(error.code) else {
                // Another link may succeed, but nothing arrives on this one.
                if connection.isConnectedNow { subscription.channel.send(.interrupted(error)) }
                return
            }
            // The device has changed.
            subscriptions.removeValue(forKey: id)?.channel.finish(error)
        }
    }

    /// Restores the subscriptions that a change of the device's attributes has ended.
    nonisolated(nonsending) func refresh(on connection: Connection) async {
        guard !subscriptions.isEmpty,
            let services = try? await connection.discover(timeout: timeout)
        else { return }
        for id in subscriptions.keys.sorted() {
            guard let subscription = subscriptions[id] else { continue }
            if let forwarder = subscription.forwarder {
                let found = services.characteristic(
                    subscription.target.characteristic, in: subscription.target.service)
                guard found?.valueHandle != forwarder.handle else { continue }
                connection.core.value.endSubscriptions(to: forwarder.handle)
            }
            await restore(id, on: connection)
        }
    }

    /// Subscribes on a link, and forwards the values until it ends: one task for all of them.
    private nonisolated(nonsending) func makeForwarder(
        _ target: Target, _ channel: StreamChannel<KeptConnection.Update>, on connection: Connection,
        until deadline: KernelInstant?, isResumed: Bool = false
    ) async throws(BluetoothError) -> Forwarder {
        let (handle, values) = try await connection.core { (link) async throws(BluetoothError) in
            // Cached after the first time; changes are followed from then on.
            _ = try await link.database.discover(link, cached: true, timeout: link.remaining(until: deadline))
            return try await link.withCharacteristic(
                target.characteristic, in: target.service, to: "subscribe", timeout: link.remaining(until: deadline)
            ) { (found, timeout) async throws(BluetoothError) in
                (found.valueHandle, try await link.subscribe(to: found, kind: target.kind, timeout: timeout))
            }
        }
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
        return Forwarder(handle: handle, task: task)
    }
}
