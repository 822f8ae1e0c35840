import BluetoothATT
import BluetoothPrimitives

// The description of a server, from which an ``AttributeDatabase`` is built.

/// The source of an attribute's value.
public enum AttributeValue: Hashable, Sendable {
    /// The database stores the value, and the server answers reads and writes immediately.
    case stored([UInt8])
    /// The program answers each read and write.
    case dynamic
}

/// The description of a service (Core Vol 3 Part G §3.1).
public struct GATTService: Hashable, Sendable {
    /// The service UUID.
    public var uuid: BluetoothUUID
    /// Whether clients discover the service directly (primary) or only where another includes it (secondary).
    public var isPrimary: Bool
    /// The included services, in the order of their declarations.
    public var includedServices: [IncludedService]
    /// The characteristics, in the order of their handles.
    public var characteristics: [GATTCharacteristic]
    /// The handle of the service declaration; nil for the next free one. Services added together have ascending handles
    /// without other services between them. The first may have any free handle, including that of a removed service.
    public var handle: AttributeHandle?
    /// The last handle of the service; nil for that of its last attribute. The handles in between remain free.
    public var endHandle: AttributeHandle?

    /// A service with characteristics.
    public init(
        _ uuid: BluetoothUUID, isPrimary: Bool = true, includedServices: [IncludedService] = [],
        characteristics: [GATTCharacteristic] = [], handle: AttributeHandle? = nil, endHandle: AttributeHandle? = nil
    ) {
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.includedServices = includedServices
        self.characteristics = characteristics
        self.handle = handle
        self.endHandle = endHandle
    }
}

/// The description of a characteristic (Core Vol 3 Part G §3.3).
///
/// The server itself stores the values of Client Supported Features, one for each client, and Database Hash, whatever
/// ``value`` is.
public struct GATTCharacteristic: Hashable, Sendable {
    /// The characteristic UUID.
    public var uuid: BluetoothUUID
    /// The properties in the declaration. The Extended Properties bit is set where needed.
    /// `GATTServer` drops Signed Write Commands, so leave out `authenticatedSignedWrites`.
    public var properties: CharacteristicProperties
    /// The extended properties; if there are any, their descriptor is added. Writable Auxiliaries is added for a
    /// writable user description among ``descriptors``.
    public var extendedProperties: CharacteristicExtendedProperties
    /// The permissions for the value.
    public var permissions: AttributePermissions
    /// The source of the value.
    public var value: AttributeValue
    /// The valid lengths of the value in bytes, at most 512. If both bounds are equal, the length is fixed, and a
    /// shorter write changes only the beginning.
    public var valueLengths: ClosedRange<Int>
    /// The descriptors, in the order of their handles.
    ///
    /// The Client Characteristic Configuration and Characteristic Extended Properties descriptors that ``properties``
    /// require are added before them, unless the list contains them.
    public var descriptors: [GATTDescriptor]
    /// The handle of the characteristic declaration, which precedes that of the value; nil for the next free one.
    public var handle: AttributeHandle?

    /// A characteristic with a value.
    ///
    /// - Parameter permissions: The permissions; nil permits reading and writing according to `properties`, over any
    ///   link.
    public init(
        _ uuid: BluetoothUUID, properties: CharacteristicProperties,
        extendedProperties: CharacteristicExtendedProperties = [], permissions: AttributePermissions? = nil,
        value: AttributeValue = .dynamic,
        valueLengths: ClosedRange<Int> = 0...AttributeProtocol.maximumAttributeValueLength,
        descriptors: [GATTDescriptor] = [], handle: AttributeHandle? = nil
    ) {
        self.uuid = uuid
        self.properties = properties
        self.extendedProperties = extendedProperties
        self.permissions = permissions ?? AttributePermissions(properties)
        self.value = value
        self.valueLengths = valueLengths
        self.descriptors = descriptors
        self.handle = handle
    }
}

/// The description of a descriptor (Core Vol 3 Part G §3.3.3).
///
/// `GATTServer` stores the value of a Client Characteristic Configuration descriptor for each client:
/// ``value`` and ``valueLengths`` have no effect.
public struct GATTDescriptor: Hashable, Sendable {
    /// The descriptor UUID.
    public var uuid: BluetoothUUID
    /// The permissions for the value.
    public var permissions: AttributePermissions
    /// The source of the value.
    public var value: AttributeValue
    /// The valid lengths of the value in bytes, at most 512.
    public var valueLengths: ClosedRange<Int>
    /// The handle; nil for the next free one.
    public var handle: AttributeHandle?

    /// A descriptor with a value.
    public init(
        _ uuid: BluetoothUUID, permissions: AttributePermissions = .read, value: AttributeValue = .dynamic,
        valueLengths: ClosedRange<Int> = 0...AttributeProtocol.maximumAttributeValueLength,
        handle: AttributeHandle? = nil
    ) {
        self.uuid = uuid
        self.permissions = permissions
        self.value = value
        self.valueLengths = valueLengths
        self.handle = handle
    }
}

extension AttributePermissions {
    /// The permissions to read and write according to `properties`, over any link. Signed writes permit nothing, since
    /// plain writes would be permitted too.
    public init(_ properties: CharacteristicProperties) {
        self = []
        if properties.contains(.read) { insert(.read) }
        if !properties.isDisjoint(with: [.write, .writeWithoutResponse]) { insert(.write) }
    }
}
