import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// What somebody has subscribed to on a maintained connection: made live again on each link.
//
// Lives on the loop, with the reconnector.
final class KeptSubscriptions {
    /// What a subscription is to.
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

    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let peer: BluetoothAddress
    /// The time limit of what making one live takes.
    private let timeout: Duration?
    private var subscriptions: [UInt64: Subscription] = [:]
    private var lastID: UInt64 = 0
    private var end: BluetoothError?

    init(to peer: BluetoothAddress, timeout: Duration?, on loop: EventLoop) {
        mark = loop.components.mark("KeptSubscriptions")
        (self.peer, self.timeout, self.loop) = (peer, timeout, loop)
    }

    /// Subscribes on a link, and on those that follow.
    nonisolated(nonsending) func add(
        _ wish: Wish, _ bufferCapacity: Int, on connection: Connection, timeout: Duration?
    ) async throws(BluetoothError) -> BoundedStream<MaintainedConnection.Notice> {
        let channel = StreamChannel<MaintainedConnection.Notice>(
            capacity: bufferCapacity, policy: .fail, operation: .init("subscribe", peer: peer), from: loop)
        let pump = try await makePump(wish, channel, on: connection, timeout: timeout)
        if let end {
            pump.task.cancel()
            throw end
        }
        lastID += 1
        let id = lastID
        subscriptions[id] = Subscription(wish: wish, channel: channel, pump: pump)
        // A stream that is kept keeps neither this nor the adapter.
        let unsubscribe = LoopBound({ [weak self] in self?.remove(id) }, on: loop)
        return BoundedStream(channel: channel) { [loop] in
            loop.execute { unsubscribe.value() }
        }
    }

    private func remove(_ id: UInt64) { subscriptions.removeValue(forKey: id)?.pump?.task.cancel() }

    /// Ends them all.
    func finish(_ reason: BluetoothError) {
        end = reason
        for subscription in subscriptions.values {
            subscription.pump?.task.cancel()
            subscription.channel.finish(reason)
        }
        subscriptions = [:]
    }

    /// Makes all of them live on a new link.
    nonisolated(nonsending) func restore(on connection: Connection) async {
        for id in subscriptions.keys.sorted() { await restore(id, on: connection) }
    }

    /// Makes a subscription live on a new link.
    private nonisolated(nonsending) func restore(_ id: UInt64, on connection: Connection) async {
        guard let subscription = subscriptions[id] else { return }
        // What came over the last link comes first.
        await subscription.pump?.task.value
        do throws(BluetoothError) {
            let pump = try await makePump(
                subscription.wish, subscription.channel, on: connection, timeout: timeout, isResumed: true)
            if subscriptions[id] == nil { pump.task.cancel() } else { subscriptions[id]?.pump = pump }
        } catch {
            // The next link may fare better, unless the device has changed.
            guard [.notFound, .unsupported, .attributeProtocol].contains(error.code) else { return }
            subscriptions.removeValue(forKey: id)?.channel.finish(error)
        }
    }

    /// Makes the subscriptions live again that a change of the device's attributes has ended.
    nonisolated(nonsending) func refresh(on connection: Connection) async {
        guard !subscriptions.isEmpty,
            let services = try? await connection.discover(timeout: timeout)
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
