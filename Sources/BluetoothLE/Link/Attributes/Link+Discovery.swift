import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT

// Every discovery throws ``BluetoothError``: `.attributeProtocol` when the peer refuses, `.protocolViolation` when its
// answers cannot be true, `.timedOut`, `.cancelled`, `.disconnected`.
extension Link {
    nonisolated(nonsending) func discoverServices(
        _ uuid: BluetoothUUID? = nil, isFirstOnly: Bool = false, timeout: Duration?
    ) async throws(BluetoothError) -> [RemoteService] {
        let name = uuid.map { "discover service \($0)" } ?? "discover services"
        return try await perform(ServiceDiscovery(uuid: uuid, isFirstOnly: isFirstOnly), name, timeout: timeout)
    }

    nonisolated(nonsending) func discoverIncludedServices(
        of service: RemoteService, timeout: Duration?
    ) async throws(BluetoothError) -> [RemoteIncludedService] {
        try await perform(
            IncludedServiceDiscovery(in: service.handles, knowing: [service]), "discover included services",
            of: service.handles.start, timeout: timeout)
    }

    nonisolated(nonsending) func discoverCharacteristics(
        _ uuid: BluetoothUUID?, in range: AttributeHandleRange, timeout: Duration?
    ) async throws(BluetoothError) -> [RemoteCharacteristic] {
        try await perform(
            CharacteristicDiscovery(in: range, uuid: uuid), "discover characteristics", of: range.start,
            timeout: timeout)
    }

    nonisolated(nonsending) func discoverDescriptors(
        of characteristic: RemoteCharacteristic, timeout: Duration?
    ) async throws(BluetoothError) -> [RemoteDescriptor] {
        guard let range = characteristic.descriptorRange else { return [] }
        return try await perform(
            DescriptorDiscovery(in: range), "discover descriptors", of: characteristic.valueHandle, timeout: timeout)
    }

    /// Calls `body` with the first characteristic with a UUID in the first service with another that has it.
    ///
    /// - Parameter timeout: the time for all of this, of which `body` is given the rest.
    /// - Parameter isRepeated: whether `body` is called once more where nothing was sent since the attributes have
    ///   changed, or where the peer has refused the handle.
    nonisolated(nonsending) func withCharacteristic<Output>(
        _ uuid: BluetoothUUID, in service: BluetoothUUID, to operation: String, timeout: Duration?,
        isRepeated: Bool = true,
        _ body:
            nonisolated(nonsending) (RemoteCharacteristic, _ timeout: Duration?) async throws(BluetoothError) -> Output
    ) async throws(BluetoothError) -> Output {
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        var isFresh = false
        while true {
            do throws(BluetoothError) {
                let found = try await database.characteristic(
                    uuid, in: service, self, isFresh: isFresh, until: deadline)
                guard let found else { throw .noCharacteristic(uuid, in: service, .init(operation, peer: peer)) }
                return try await body(found, remaining(until: deadline))
            } catch {
                guard isRepeated, !isFresh, error.isAboutOldAttributes else { throw error }
                isFresh = true
            }
        }
    }
}

extension BluetoothError {
    /// Whether the attributes of a request may no longer be the peer's; it was not performed.
    fileprivate var isAboutOldAttributes: Bool {
        code == .attributesChanged || cause == .attribute(.invalidHandle) || cause == .attribute(.databaseOutOfSync)
    }

    static func noCharacteristic(
        _ uuid: BluetoothUUID, in service: BluetoothUUID, _ operation: Operation
    ) -> BluetoothError {
        BluetoothError(.notFound, operation, "The device has no characteristic \(uuid) in a service \(service).")
    }
}
