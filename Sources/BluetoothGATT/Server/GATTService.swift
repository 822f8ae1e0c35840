import BluetoothATT
import BluetoothPrimitives

// What a program writes down to describe its server. An ``AttributeDatabase`` is built from it.

/// Where the value of a characteristic or descriptor comes from.
public enum AttributeValue: Hashable, Sendable {
    /// The database keeps the value: reads are answered and writes are taken at once.
    case stored([UInt8])
    /// The program is asked at every read and write.
    case dynamic
}

/// A service as a server offers it (Core Vol 3 Part G §3.1).
public struct GATTService: Hashable, Sendable {
    /// What service this is.
    public var uuid: BluetoothUUID
    /// Whether clients find it by themselves (primary) or only where another service includes it (secondary).
    public var isPrimary: Bool
    /// The services it includes, by their UUIDs; where several have the UUID, the first is meant.
    public var includedServices: [BluetoothUUID]
    /// Its characteristics, in the order of their handles.
    public var characteristics: [GATTCharacteristic]
    /// The handle of the service declaration; nil takes the next that is free. What is added together has ascending handles
    /// with nobody else's between them; the first may be anywhere that is free, also where a service was that is gone.
    public var handle: AttributeHandle?
    /// The last handle of the service; nil ends it at its last attribute. The handles between stay free.
    public var endHandle: AttributeHandle?

    /// A service with these characteristics.
    public init(
        _ uuid: BluetoothUUID, isPrimary: Bool = true, includedServices: [BluetoothUUID] = [],
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

/// A characteristic as a server offers it (Core Vol 3 Part G §3.3).
///
/// Two have values that the server itself keeps, whatever ``value`` says: Client Supported Features, one per client, and
/// Database Hash.
public struct GATTCharacteristic: Hashable, Sendable {
    /// What characteristic this is.
    public var uuid: BluetoothUUID
    /// How clients are told they may use it. The bit for extended properties is set where needed. Signed Write Commands
    /// are dropped by ``GATTServer``, so `authenticatedSignedWrites` promises what is not kept.
    public var properties: CharacteristicProperties
    /// Properties that have no room in ``properties``; when there are any, their descriptor is added. That a user
    /// description among ``descriptors`` may be written is added to them.
    public var extendedProperties: CharacteristicExtendedProperties
    /// What the server lets clients do with the value.
    public var permissions: AttributePermissions
    /// Where the value comes from.
    public var value: AttributeValue
    /// How long the value can be, in bytes, at most 512. With equal ends it has a fixed length, and a shorter write
    /// changes only its beginning.
    public var valueLengths: ClosedRange<Int>
    /// Its descriptors, in the order of their handles.
    ///
    /// The configuration and extended properties descriptors that ``properties`` ask for are added before them unless
    /// they are among them.
    public var descriptors: [GATTDescriptor]
    /// The handle of the characteristic declaration, before that of the value; nil takes the next that is free.
    public var handle: AttributeHandle?

    /// A characteristic with this value.
    ///
    /// - Parameter permissions: nil permits reading and writing as `properties` say, over any link.
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

/// A descriptor of a characteristic as a server offers it (Core Vol 3 Part G §3.3.3).
///
/// A client characteristic configuration descriptor has a value per client, which ``GATTServer`` keeps: its ``value``
/// and ``valueLengths`` are not used.
public struct GATTDescriptor: Hashable, Sendable {
    /// What descriptor this is.
    public var uuid: BluetoothUUID
    /// What the server lets clients do with the value.
    public var permissions: AttributePermissions
    /// Where the value comes from.
    public var value: AttributeValue
    /// How long the value can be, in bytes, at most 512.
    public var valueLengths: ClosedRange<Int>
    /// Its handle; nil takes the next that is free.
    public var handle: AttributeHandle?

    /// A descriptor with this value.
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
    /// Reading and writing as `properties` tell clients, over any link. Signed writes permit nothing, since a plain write
    /// would pass as well.
    public init(_ properties: CharacteristicProperties) {
        self = []
        if properties.contains(.read) { insert(.read) }
        if !properties.isDisjoint(with: [.write, .writeWithoutResponse]) { insert(.write) }
    }
}
