import BluetoothATT
import BluetoothPrimitives

// Finding one's way in what discovery found. A UUID may occur several times, in a device and in a service, and means
// the first; all of them can be had, and a handle is what tells them apart.

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
    /// A characteristic whose value is put together from others has one presentation format for each
    /// (Core Vol 3 Part G §3.3.3.6).
    public func descriptors(_ uuid: BluetoothUUID) -> [RemoteDescriptor] {
        descriptors.filter { $0.uuid == uuid }
    }
}

extension Sequence where Element == RemoteService {
    /// The first service with the given UUID.
    public func service(_ uuid: BluetoothUUID) -> RemoteService? {
        first { $0.uuid == uuid }
    }

    /// All services with the given UUID, in the order of their handles.
    public func services(_ uuid: BluetoothUUID) -> [RemoteService] {
        filter { $0.uuid == uuid }
    }

    /// The service in which the attribute `handle` lies.
    public func service(containing handle: AttributeHandle) -> RemoteService? {
        first { $0.handles.contains(handle) }
    }

    /// The service that an include speaks of.
    public func service(_ included: RemoteIncludedService) -> RemoteService? {
        first { $0.handles.start == included.handles.start }
    }

    /// The first characteristic with the given UUID in a service with the given UUID.
    ///
    /// Services of the same UUID are looked through one after the other.
    public func characteristic(_ uuid: BluetoothUUID, in service: BluetoothUUID) -> RemoteCharacteristic? {
        for candidate in self where candidate.uuid == service {
            if let found = candidate.characteristic(uuid) { return found }
        }
        return nil
    }

    /// All characteristics with the given UUID in whatever service, in the order of their handles.
    public func characteristics(_ uuid: BluetoothUUID) -> [RemoteCharacteristic] {
        flatMap { $0.characteristics(uuid) }
    }

    /// The characteristic to which the attribute `handle` belongs: its declaration, its value or one of its descriptors.
    public func characteristic(containing handle: AttributeHandle) -> RemoteCharacteristic? {
        service(containing: handle)?.characteristics.first { $0.declarationHandle <= handle && handle <= $0.endHandle }
    }
}
