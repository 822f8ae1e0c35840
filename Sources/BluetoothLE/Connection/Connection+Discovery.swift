import ATT
import BluetoothPrimitives
import GATT

// Every discovery throws ``BluetoothError``: `.attributeProtocol` when the peer refuses, `.protocolViolation` when its
// answers cannot be true, `.timedOut`, `.cancelled`, `.disconnected`.
extension Connection {
    /// Discovers primary services without what is in them: all, or those with the given UUID
    /// (Core Vol 3 Part G §4.4.1, §4.4.2).
    public func discoverServices(
        _ uuid: BluetoothUUID? = nil, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteService] {
        guard let uuid else { return try await perform(ServiceDiscovery(), "discover services", timeout: timeout) }
        return try await perform(ServiceDiscoveryByUUID(uuid: uuid), "discover service \(uuid)", timeout: timeout)
    }

    /// Discovers all secondary services without what is in them, included or not, by Read By Group Type
    /// (Core Vol 3 Part F §3.4.4.9); none where the peer does not group them.
    public func discoverSecondaryServices(timeout: Duration? = nil) async throws(BluetoothError) -> [RemoteService] {
        try await perform(
            ServiceDiscovery(type: .secondaryService), "discover secondary services", timeout: timeout)
    }

    /// Finds the services that a service includes (Core Vol 3 Part G §4.5.1).
    ///
    /// A UUID of 128 bits takes one more request for each included service.
    public func discoverIncludedServices(
        of service: RemoteService, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteIncludedService] {
        try await perform(
            IncludedServiceDiscovery(in: service.handles, knowing: [service]), "discover included services",
            of: service.handles.start, timeout: timeout)
    }

    /// Discovers the characteristics of a service, all or those with the given UUID (Core Vol 3 Part G §4.6.1,
    /// §4.6.2), with those descriptors that follow from their declarations.
    public func discoverCharacteristics(
        _ uuid: BluetoothUUID? = nil, of service: RemoteService, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteCharacteristic] {
        try await discoverCharacteristics(uuid, in: service.handles, timeout: timeout)
    }

    /// Discovers the characteristics of an included service, as ``discoverCharacteristics(_:of:timeout:)-service`` does.
    public func discoverCharacteristics(
        _ uuid: BluetoothUUID? = nil, of included: RemoteIncludedService, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteCharacteristic] {
        try await discoverCharacteristics(uuid, in: included.handles, timeout: timeout)
    }

    private func discoverCharacteristics(
        _ uuid: BluetoothUUID?, in range: AttributeHandleRange, timeout: Duration?
    ) async throws(BluetoothError) -> [RemoteCharacteristic] {
        var found = try await perform(
            CharacteristicDiscovery(in: range, uuid: uuid), "discover characteristics", of: range.start,
            timeout: timeout)
        for index in found.indices { found[index].descriptors = found[index].inferredDescriptors ?? [] }
        return found
    }

    /// Discovers the descriptors of a characteristic (Core Vol 3 Part G §4.7.1).
    public func discoverDescriptors(
        of characteristic: RemoteCharacteristic, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteDescriptor] {
        guard let range = characteristic.descriptorRange else { return [] }
        return try await perform(
            DescriptorDiscovery(in: range), "discover descriptors", of: characteristic.valueHandle, timeout: timeout)
    }
}
