import BluetoothATT
import BluetoothPrimitives

// Lookup in a discovered database. A UUID can occur several times in a device and in a service: the singular methods
// return the first, the plural ones all, and handles distinguish them.

extension RemoteService {
    /// The first characteristic with the given UUID.
    public func characteristic(_ uuid: BluetoothUUID) -> RemoteCharacteristic? {
        characteristics.first { $0.uuid == uuid }
    }

    /// All characteristics with the given UUID, in the order of their handles.
    public func characteristics(_ uuid: BluetoothUUID) -> [RemoteCharacteristic] {
        characteristics.filter { $0.uuid == uuid }
    }
}

extension RemoteCharacteristic {
    /// The first descriptor with the given UUID.
    public func descriptor(_ uuid: BluetoothUUID) -> RemoteDescriptor? {
        descriptors.first { $0.uuid == uuid }
    }

    /// All descriptors with the given UUID, in the order of their handles.
    ///
    /// An aggregate characteristic has one presentation format for each component (Core Vol 3 Part G §3.3.3.6).
    public func descriptors(_ uuid: BluetoothUUID) -> [RemoteDescriptor] {
        descriptors.filter { $0.uuid == uuid }
    }
}

extension RemoteDatabase {
    /// The first service with the given UUID.
    public func service(_ uuid: BluetoothUUID) -> RemoteService? {
        first { $0.uuid == uuid }
    }

    /// All services with the given UUID, in the order of their handles.
    public func services(_ uuid: BluetoothUUID) -> [RemoteService] {
        filter { $0.uuid == uuid }
    }

    /// The service that contains the attribute `handle`.
    public func service(containing handle: AttributeHandle) -> RemoteService? {
        first { $0.handles.contains(handle) }
    }

    /// The service that an include refers to.
    public func service(_ included: RemoteIncludedService) -> RemoteService? {
        first { $0.handles.start == included.handles.start }
    }

    /// The first characteristic with the given UUID in a service with the given UUID.
    ///
    /// Searches all services with that UUID, in the order of their handles.
    public func characteristic(_ uuid: BluetoothUUID, in service: BluetoothUUID) -> RemoteCharacteristic? {
        for candidate in services where candidate.uuid == service {
            if let found = candidate.characteristic(uuid) { return found }
        }
        return nil
    }

    /// All characteristics with the given UUID in any service, in the order of their handles.
    public func characteristics(_ uuid: BluetoothUUID) -> [RemoteCharacteristic] {
        flatMap { $0.characteristics(uuid) }
    }

    /// The characteristic that contains the attribute `handle`: its declaration, its value or a descriptor.
    public func characteristic(containing handle: AttributeHandle) -> RemoteCharacteristic? {
        service(containing: handle)?.characteristics.first { $0.declarationHandle <= handle && handle <= $0.endHandle }
    }
}
