import BluetoothATT
import BluetoothPrimitives

/// The peer's database as discovered: its services in the order of their handles, and the problems found in it.
public struct RemoteDatabase: RandomAccessCollection, Hashable, Sendable {
    /// The services with their contents, without invalid declarations.
    public var services: [RemoteService]
    /// The invalid declarations, the first thousand, in the order in which they were found; empty for a valid database.
    public var problems: [DatabaseProblem]

    /// A database from its parts.
    public init(services: [RemoteService], problems: [DatabaseProblem] = []) {
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

/// A service of the peer, as discovery found it.
public struct RemoteService: Hashable, Sendable {
    /// What service it is.
    public var uuid: BluetoothUUID
    /// From its declaration to its last attribute.
    public var handles: AttributeHandleRange
    /// Whether it is a primary service; a secondary one exists to be included by others.
    public var isPrimary: Bool
    /// The services it includes, in the order of their declarations; empty until they are discovered.
    public var includedServices: [RemoteIncludedService]
    /// Its characteristics in order; empty until they are discovered.
    public var characteristics: [RemoteCharacteristic]

    /// A service from its parts.
    public init(
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

/// That a service includes another one (Core Vol 3 Part G §3.2).
///
/// The other one is a service of the same device, primary or secondary; several services may include the same.
public struct RemoteIncludedService: Hashable, Sendable {
    /// What service is included.
    public var uuid: BluetoothUUID
    /// Where the included service is, from its declaration to its last attribute.
    public var handles: AttributeHandleRange
    /// Where the service that includes it says so.
    public var declarationHandle: AttributeHandle

    /// An include from its parts.
    public init(uuid: BluetoothUUID, handles: AttributeHandleRange, declarationHandle: AttributeHandle) {
        self.uuid = uuid
        self.handles = handles
        self.declarationHandle = declarationHandle
    }
}

/// A characteristic of the peer, as discovery found it.
public struct RemoteCharacteristic: Hashable, Sendable {
    /// What characteristic it is.
    public var uuid: BluetoothUUID
    /// What its declaration says can be done with it.
    public var properties: CharacteristicProperties
    /// Where its declaration is.
    public var declarationHandle: AttributeHandle
    /// Where its value is.
    public var valueHandle: AttributeHandle
    /// The last attribute that belongs to it.
    public var endHandle: AttributeHandle
    /// Its descriptors; empty until they are discovered.
    public var descriptors: [RemoteDescriptor]

    /// A characteristic from its parts.
    public init(
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

    /// The handles after the value that belong to the characteristic, or nil when there are none.
    public var descriptorRange: AttributeHandleRange? {
        guard let first = valueHandle.next, first <= endHandle else { return nil }
        return AttributeHandleRange(start: first, end: endHandle)
    }

    /// The descriptors that follow from the declaration alone, or nil when the server has to be asked.
    ///
    /// A single handle after the value of a characteristic that notifies or indicates can only be its client
    /// characteristic configuration, unless it has another property that asks for a descriptor as well.
    public var inferredDescriptors: [RemoteDescriptor]? {
        guard let range = descriptorRange else { return [] }
        let isConfigurable = properties.contains(.notify) || properties.contains(.indicate)
        guard range.start == range.end, isConfigurable, properties.isDisjoint(with: [.extendedProperties, .broadcast])
        else { return nil }
        return [RemoteDescriptor(uuid: .clientCharacteristicConfiguration, handle: range.start)]
    }
}

/// A descriptor of the peer, as discovery found it.
public struct RemoteDescriptor: Hashable, Sendable {
    /// What descriptor it is.
    public var uuid: BluetoothUUID
    /// Where its value is.
    public var handle: AttributeHandle

    /// A descriptor from its parts.
    public init(uuid: BluetoothUUID, handle: AttributeHandle) {
        self.uuid = uuid
        self.handle = handle
    }
}
