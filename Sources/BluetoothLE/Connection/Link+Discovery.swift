import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT

// Every discovery throws ``BluetoothError``: `.attributeProtocol` when the peer refuses, `.protocolViolation` when its
// answers cannot be true, `.timedOut`, `.cancelled`, `.disconnected`.
extension Link {
    nonisolated(nonsending) func discoverServices(
        _ uuid: BluetoothUUID? = nil, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteService] {
        guard let uuid else { return try await perform(ServiceDiscovery(), "discover services", timeout: timeout) }
        return try await perform(ServiceDiscoveryByUUID(uuid: uuid), "discover service \(uuid)", timeout: timeout)
    }

    nonisolated(nonsending) func discoverSecondaryServices(timeout: Duration? = nil) async throws(BluetoothError)
        -> [RemoteService]
    {
        try await perform(
            ServiceDiscovery(type: .secondaryService), "discover secondary services", timeout: timeout)
    }

    nonisolated(nonsending) func discoverIncludedServices(
        of service: RemoteService, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteIncludedService] {
        try await perform(
            IncludedServiceDiscovery(in: service.handles, knowing: [service]), "discover included services",
            of: service.handles.start, timeout: timeout)
    }

    nonisolated(nonsending) func discoverCharacteristics(
        _ uuid: BluetoothUUID? = nil, of service: RemoteService, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteCharacteristic] {
        try await discoverCharacteristics(uuid, in: service.handles, timeout: timeout)
    }

    nonisolated(nonsending) func discoverCharacteristics(
        _ uuid: BluetoothUUID? = nil, of included: RemoteIncludedService, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteCharacteristic] {
        try await discoverCharacteristics(uuid, in: included.handles, timeout: timeout)
    }

    private nonisolated(nonsending) func discoverCharacteristics(
        _ uuid: BluetoothUUID?, in range: AttributeHandleRange, timeout: Duration?
    ) async throws(BluetoothError) -> [RemoteCharacteristic] {
        var found = try await perform(
            CharacteristicDiscovery(in: range, uuid: uuid), "discover characteristics", of: range.start,
            timeout: timeout)
        for index in found.indices { found[index].descriptors = found[index].inferredDescriptors ?? [] }
        return found
    }

    nonisolated(nonsending) func discoverDescriptors(
        of characteristic: RemoteCharacteristic, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteDescriptor] {
        guard let range = characteristic.descriptorRange else { return [] }
        return try await perform(
            DescriptorDiscovery(in: range), "discover descriptors", of: characteristic.valueHandle, timeout: timeout)
    }

    /// The first characteristic with a UUID in the first service with another, from the database as it is cached or
    /// discovered.
    nonisolated(nonsending) func characteristic(
        _ uuid: BluetoothUUID, in service: BluetoothUUID, to operation: String, timeout: Duration?
    ) async throws(BluetoothError) -> RemoteCharacteristic {
        let services = try await database.discover(self, cached: true, timeout: timeout)
        if let found = services.characteristic(uuid, in: service) { return found }
        throw .noCharacteristic(uuid, in: service, .init(operation, peer: peer))
    }
}

extension BluetoothError {
    static func noCharacteristic(
        _ uuid: BluetoothUUID, in service: BluetoothUUID, _ operation: Operation
    ) -> BluetoothError {
        BluetoothError(.notFound, operation, "The device has no characteristic \(uuid) in a service \(service).")
    }
}
