import BluetoothATT
import BluetoothPrimitives

/// The peer's database as discovered: its services in the order of their handles, and the problems found in it.
public struct RemoteDatabase: RandomAccessCollection, Hashable, Sendable {
    /// The services with their contents, without invalid declarations.
    public var services: [RemoteService]
    /// The invalid declarations, the first thousand, in the order in which they were found; empty for a valid database.
    public var problems: [DatabaseProblem]

    /// A database with the given parts.
    package init(services: [RemoteService], problems: [DatabaseProblem] = []) {
        self.services = services
        self.problems = problems
    }

    /// The position of the first service.
    public var startIndex: Int { services.startIndex }
    /// The position after the last service.
    public var endIndex: Int { services.endIndex }
    /// The service at `position`.
    public subscript(position: Int) -> RemoteService { services[position] }
}

/// A discovered service of the peer.
public struct RemoteService: Hashable, Sendable {
    /// The service UUID.
    public var uuid: BluetoothUUID
    /// The handles from the declaration to the last attribute.
    public var handles: AttributeHandleRange
    /// Whether this is a primary service; secondary services are only included by others.
    public var isPrimary: Bool
    /// The included services, in the order of their declarations; empty until discovered.
    public var includedServices: [RemoteIncludedService]
    /// The characteristics, in the order of their handles; empty until discovered.
    public var characteristics: [RemoteCharacteristic]

    /// A service with the given parts.
    package init(
        uuid: BluetoothUUID, handles: AttributeHandleRange, isPrimary: Bool = true,
        includedServices: [RemoteIncludedService] = [], characteristics: [RemoteCharacteristic] = []
    ) {
        self.uuid = uuid
        self.handles = handles
        self.isPrimary = isPrimary
        self.includedServices = includedServices
        self.characteristics = characteristics
    }
}

/// The inclusion of a service in another (Core Vol 3 Part G §3.2).
///
/// Both belong to the same device. The included service is primary or secondary, and several services can include it.
public struct RemoteIncludedService: Hashable, Sendable {
    /// The UUID of the included service.
    public var uuid: BluetoothUUID
    /// The handles of the included service, from its declaration to its last attribute.
    public var handles: AttributeHandleRange
    /// The handle of the include declaration.
    package var declarationHandle: AttributeHandle

    /// An include with the given parts.
    package init(uuid: BluetoothUUID, handles: AttributeHandleRange, declarationHandle: AttributeHandle) {
        self.uuid = uuid
        self.handles = handles
        self.declarationHandle = declarationHandle
    }
}

/// A discovered characteristic of the peer.
public struct RemoteCharacteristic: Hashable, Sendable {
    /// The characteristic UUID.
    public var uuid: BluetoothUUID
    /// The properties in the declaration.
    public var properties: CharacteristicProperties
    /// The handle of the declaration.
    package var declarationHandle: AttributeHandle
    /// The handle of the value.
    public var valueHandle: AttributeHandle
    /// The handle of the last attribute.
    package var endHandle: AttributeHandle
    /// The descriptors; empty until discovered.
    public var descriptors: [RemoteDescriptor]

    /// A characteristic with the given parts.
    package init(
        uuid: BluetoothUUID, properties: CharacteristicProperties, declarationHandle: AttributeHandle,
        valueHandle: AttributeHandle, endHandle: AttributeHandle, descriptors: [RemoteDescriptor] = []
    ) {
        self.uuid = uuid
        self.properties = properties
        self.declarationHandle = declarationHandle
        self.valueHandle = valueHandle
        self.endHandle = endHandle
        self.descriptors = descriptors
    }

    /// The handles after the value, or nil when there are none.
    package var descriptorRange: AttributeHandleRange? {
        guard let first = valueHandle.next, first <= endHandle else { return nil }
        return AttributeHandleRange(start: first, end: endHandle)
    }

    /// The handle that the Client Characteristic Configuration should have by the declaration alone, or nil.
    ///
    /// The only handle after the value of a characteristic that notifies or indicates should be its configuration,
    /// unless another property requires a descriptor too. Some devices have a User Description there, so it is asked.
    var expectedConfiguration: AttributeHandle? {
        let isConfigurable = !properties.isDisjoint(with: [.notify, .indicate])
        guard let range = descriptorRange, range.start == range.end, isConfigurable,
            properties.isDisjoint(with: [.extendedProperties, .broadcast])
        else { return nil }
        return range.start
    }
}

/// A discovered descriptor of the peer.
public struct RemoteDescriptor: Hashable, Sendable {
    /// The descriptor UUID.
    public var uuid: BluetoothUUID
    /// The handle of the descriptor.
    public var handle: AttributeHandle

    /// A descriptor with the given parts.
    package init(uuid: BluetoothUUID, handle: AttributeHandle) {
        self.uuid = uuid
        self.handle = handle
    }
}

// By their handles, which tell them apart on one link.
#if !hasFeature(Embedded)
    extension RemoteService: Identifiable {
        /// The handle of the declaration.
        public var id: AttributeHandle { handles.start }
    }

    extension RemoteCharacteristic: Identifiable {
        /// The handle of the value.
        public var id: AttributeHandle { valueHandle }
    }

    extension RemoteDescriptor: Identifiable {
        /// The handle.
        public var id: AttributeHandle { handle }
    }
#endif
