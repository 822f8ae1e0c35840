import BluetoothATT
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// The kind of value updates to subscribe to (Core Vol 3 Part G §3.3.3.3).
public enum SubscriptionKind: Sendable, Hashable {
    /// Notifications if the characteristic supports them, otherwise indications.
    case automatic
    /// Notifications, which the peer sends without waiting for a confirmation.
    case notification
    /// Indications, of which the peer sends one at a time and waits for its confirmation.
    case indication
}

extension Link {
    nonisolated(nonsending) func subscribe(
        to characteristic: RemoteCharacteristic, kind: SubscriptionKind = .automatic, bufferCapacity: Int = 4096,
        timeout: Duration?
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
                try await raiseSecurity(afterRefusal: error, since: change, until: deadline)
            }
        }
    }

    private nonisolated(nonsending) func subscribeOnce(
        to characteristic: RemoteCharacteristic, kind: SubscriptionKind, bufferCapacity: Int,
        until deadline: KernelInstant?
    ) async throws(BluetoothError) -> BoundedStream<[UInt8]> {
        let handle = try current(characteristic, "subscribe")
        let operation = BluetoothError.Operation("subscribe", peer: peer, attribute: handle)
        _ = try configuration(of: characteristic, kind, operation)
        let descriptor = try await configurationHandle(of: characteristic, until: deadline)
        // A change may have been indicated before the response.
        _ = try current(characteristic, operation.name)
        let bearer = try bearer(for: operation)
        if Task.isCancelled { throw .cancelled(operation) }
        let channel = StreamChannel<[UInt8]>(
            capacity: bufferCapacity, policy: .fail, operation: operation, from: loop)

        // The stream is registered before the peer is configured: the first value may precede the response.
        let confirmation = Promise<Void, BluetoothError>()
        let id = bearer.peerServer.subscribers.add(
            channel, for: handle, kind: try configuration(of: characteristic, kind, operation),
            configuredBy: descriptor, confirmation: confirmation)
        bearer.configure(handle)
        do {
            try await confirmation.value(operation, timeout: remaining(until: deadline), on: loop)
        } catch {
            unsubscribe(id, from: handle, configuredBy: descriptor)
            throw error
        }
        // The stream retains the connection until its consumer ends it.
        let link = LoopBound(self, on: loop)
        return BoundedStream(channel: channel) { [connection, loop] in
            loop.execute {
                withExtendedLifetime(connection) {
                    link.value.unsubscribe(id, from: handle, configuredBy: descriptor)
                }
            }
        }
    }

    /// The configuration to write; for `.automatic` the present one, so that other subscribers' values do not change.
    private func configuration(
        of characteristic: RemoteCharacteristic, _ kind: SubscriptionKind, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> ClientCharacteristicConfiguration {
        let canNotify = characteristic.properties.contains(.notify)
        let canIndicate = characteristic.properties.contains(.indicate)
        let wanted = try bearer(for: operation).peerServer.subscribers.wanted(of: characteristic.valueHandle)
        switch kind {
        case .automatic where wanted == .indication && canIndicate: return .indication
        case .automatic where canNotify, .notification where canNotify: return .notification
        case .automatic where canIndicate, .indication where canIndicate: return .indication
        default:
            throw BluetoothError(
                .unsupported, operation,
                "Characteristic \(characteristic.uuid) does not support that; its properties are \(characteristic.properties)."
            )
        }
    }

    /// The handle to write the configuration to; nil if the peer has none for the characteristic, which some send
    /// without being asked to.
    private nonisolated(nonsending) func configurationHandle(
        of characteristic: RemoteCharacteristic, until deadline: KernelInstant?
    ) async throws(BluetoothError) -> AttributeHandle? {
        let handle = characteristic.valueHandle
        try await databaseIfAny?.confirm(
            handle, characteristic.uuid, self, "subscribe", timeout: remaining(until: deadline))
        if let known = characteristic.descriptor(.clientCharacteristicConfiguration) {
            try await databaseIfAny?.confirm(
                known.handle, known.uuid, self, "subscribe", timeout: remaining(until: deadline))
            return known.handle
        }
        // Descriptors that are known are all.
        if characteristic.descriptors.isEmpty,
            let found = try await database.configuration(of: characteristic, self, timeout: remaining(until: deadline))
        {
            return found
        }
        log.notice(
            "\(characteristic.uuid) of \(peer.digits) has no configuration; its values are awaited without a write")
        return nil
    }

    /// Ends the subscriptions to a characteristic that has changed.
    func endSubscriptions(to handle: AttributeHandle) {
        let operation = BluetoothError.Operation("receive values", peer: peer, attribute: handle)
        mainBearer?.peerServer.subscribers.finish(.attributesChanged(operation), of: handle)
    }

    private func unsubscribe(_ id: UInt64, from handle: AttributeHandle, configuredBy descriptor: AttributeHandle?) {
        guard let bearer = mainBearer else { return }
        bearer.peerServer.subscribers.remove(id, for: handle)
        // The handle may belong to another attribute by now.
        if let descriptor, databaseIfAny?.isStale(descriptor, .clientCharacteristicConfiguration) == true { return }
        bearer.configure(handle)
    }
}
