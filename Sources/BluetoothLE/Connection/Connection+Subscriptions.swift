import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT

/// How a characteristic's values are asked for (Core Vol 3 Part G §3.3.3.3).
public enum SubscriptionKind: Sendable, Hashable {
    /// Notifications where the characteristic has them, otherwise indications.
    case automatic
    /// Values the peer sends without waiting.
    case notification
    /// Values the peer sends one at a time, each confirmed by us.
    case indication
}

extension Connection {
    /// Subscribes to a characteristic's values.
    ///
    /// The subscription is live when the call returns: values that arrive while the peer is still being told are in the
    /// stream's buffer. Indications are confirmed as they arrive. The stream finishes by throwing why the link ended.
    ///
    /// Several subscriptions to one characteristic each get every value; only what the peer does not send already is
    /// asked for. Where some ask for notifications and some for indications, the peer is asked for both, and each gets
    /// the kind it asked for. The last consumer that leaves its loop ends the subscription at the peer; one that comes
    /// back meanwhile finds it live again when its call returns.
    /// - Parameters:
    ///   - characteristic: one whose properties have `notify` or `indicate`.
    ///   - kind: which of the two to use.
    ///   - bufferCapacity: how many values may wait for the consumer. A value that finds no room ends the stream with
    ///     an error of code ``BluetoothError/Code/overflow`` after those before it: none is lost in silence.
    ///   - timeout: the most time to wait for the peer's answer.
    public func subscribe(
        to characteristic: RemoteCharacteristic, kind: SubscriptionKind = .automatic, bufferCapacity: Int = 4096,
        timeout: Duration? = nil
    ) async throws(BluetoothError) -> BoundedStream<[UInt8]> {
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        var repetitions = 0
        while true {
            let change = securityChangeCount
            do {
                return try await subscribeOnce(
                    to: characteristic, kind: kind, bufferCapacity: bufferCapacity, until: deadline)
            } catch {
                guard error.isAboutSecurity, repetitions < Self.repetitionLimit else { throw error }
                repetitions += 1
                try await satisfy(error, since: change, until: deadline)
            }
        }
    }

    private func subscribeOnce(
        to characteristic: RemoteCharacteristic, kind: SubscriptionKind, bufferCapacity: Int,
        until deadline: KernelInstant?
    ) async throws(BluetoothError) -> BoundedStream<[UInt8]> {
        let handle = try current(characteristic, "subscribe")
        let operation = BluetoothError.Operation("subscribe", peer: peer, attribute: handle)
        _ = try configuration(of: characteristic, kind, operation)
        let descriptor = try await configurationHandle(
            of: characteristic, operation, timeout: deadline.map { loop.now.duration(to: $0) })
        // The peer may have told of a change before it answered.
        _ = try current(characteristic, operation.name)
        let bearer = try bearer(for: operation)
        if Task.isCancelled { throw .cancelled(operation) }
        let channel = StreamChannel<[UInt8]>(
            capacity: bufferCapacity, policy: .fail, operation: operation, from: loop)

        // The stream takes values before the peer is told: the first may come ahead of its answer.
        let confirmation = Promise<Void, BluetoothError>()
        let id = bearer.subscribers.add(
            channel, for: handle, kind: try configuration(of: characteristic, kind, operation),
            configuredBy: descriptor, confirmation: confirmation)
        bearer.configure(handle)
        do {
            try await confirmation.value(operation, timeout: deadline.map { loop.now.duration(to: $0) }, on: loop)
        } catch {
            unsubscribe(id, from: handle, configuredBy: descriptor)
            throw error
        }
        // The stream keeps the link up for as long as somebody reads it.
        return BoundedStream(channel: channel) { [self, loop] in
            loop.execute { self.assumeIsolated { $0.unsubscribe(id, from: handle, configuredBy: descriptor) } }
        }
    }

    /// What to ask the peer for. Without a wish that is what it sends already, so that nobody else's values change.
    private func configuration(
        of characteristic: RemoteCharacteristic, _ kind: SubscriptionKind, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> ClientCharacteristicConfiguration {
        let canNotify = characteristic.properties.contains(.notify)
        let canIndicate = characteristic.properties.contains(.indicate)
        let wanted = try bearer(for: operation).subscribers.wanted(of: characteristic.valueHandle)
        switch kind {
        case .automatic where wanted == .indication && canIndicate: return .indication
        case .automatic where canNotify, .notification where canNotify: return .notification
        case .automatic where canIndicate, .indication where canIndicate: return .indication
        default:
            throw BluetoothError(
                .unsupported, operation,
                "Characteristic \(characteristic.uuid) cannot do that; its properties are \(characteristic.properties)."
            )
        }
    }

    private func configurationHandle(
        of characteristic: RemoteCharacteristic, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> AttributeHandle {
        if let known = characteristic.descriptor(.clientCharacteristicConfiguration) { return known.handle }
        let found = try await discoverDescriptors(of: characteristic, timeout: timeout)
        guard let descriptor = found.first(where: { $0.uuid == .clientCharacteristicConfiguration }) else {
            throw BluetoothError(
                .unsupported, operation,
                "Characteristic \(characteristic.uuid) has no Client Characteristic Configuration descriptor.")
        }
        return descriptor.handle
    }

    /// Has every value that the peer notifies or indicates told as it arrives, whoever has subscribed to it.
    ///
    /// For who writes the peer's configurations itself and needs values in order with the answers to requests. Called on
    /// the loop; `observer` may not call the connection. There is one: nil takes it away.
    package func observeValues(_ observer: (@Sendable (AttributeHandle, [UInt8]) -> Void)?) {
        guard let bearer = try? bearer(for: .init("observe values", peer: peer)) else { return }
        bearer.subscribers.observer = observer
    }

    /// Ends the subscriptions to a characteristic that is something else by now.
    func endSubscriptions(to handle: AttributeHandle) {
        let operation = BluetoothError.Operation("take values", peer: peer, attribute: handle)
        guard let bearer = try? bearer(for: operation) else { return }
        bearer.subscribers.finish(.attributesChanged(operation), of: handle)
    }

    private func unsubscribe(_ id: UInt64, from handle: AttributeHandle, configuredBy descriptor: AttributeHandle) {
        let operation = BluetoothError.Operation("unsubscribe", peer: peer, attribute: handle)
        guard let bearer = try? bearer(for: operation) else { return }
        bearer.subscribers.remove(id, for: handle)
        // Something else may be there by now.
        if let knownDatabase, knownDatabase.isStale(descriptor, .clientCharacteristicConfiguration) { return }
        bearer.configure(handle)
    }
}
