import BluetoothATT
import BluetoothPrimitives

// A server written down as a tree:
//
//     try AttributeDatabase {
//         GATTService("180F") {
//             GATTCharacteristic("2A19", properties: [.read, .notify], value: .stored([100])) {
//                 GATTDescriptor.userDescription("Battery level")
//             }
//         }
//     }

/// Gathers the parts of a description in the order in which they are written; `if` and `for` may be used.
@resultBuilder
public enum GATTBuilder<Element> {
    /// One part.
    public static func buildExpression(_ element: Element) -> [Element] { [element] }
    /// Several parts that are there already.
    public static func buildExpression(_ elements: [Element]) -> [Element] { elements }
    /// Parts one after the other.
    public static func buildBlock(_ parts: [Element]...) -> [Element] { parts.flatMap { $0 } }
    /// What an `if` without `else` adds.
    public static func buildOptional(_ part: [Element]?) -> [Element] { part ?? [] }
    /// What an `if` adds when it holds.
    public static func buildEither(first part: [Element]) -> [Element] { part }
    /// What an `if` adds when it does not hold.
    public static func buildEither(second part: [Element]) -> [Element] { part }
    /// What a `for` adds.
    public static func buildArray(_ parts: [[Element]]) -> [Element] { parts.flatMap { $0 } }
}

/// Part of a service as it is written down.
public enum GATTServicePart: Hashable, Sendable {
    /// One of its characteristics.
    case characteristic(GATTCharacteristic)
    /// The UUID of a service that it includes.
    case includedService(BluetoothUUID)
}

/// A service that another includes (Core Vol 3 Part G §3.2).
public struct IncludedService: Hashable, Sendable {
    /// What service this is.
    public var uuid: BluetoothUUID

    /// The first service with this UUID.
    public init(_ uuid: BluetoothUUID) {
        self.uuid = uuid
    }
}

extension GATTBuilder where Element == GATTServicePart {
    /// A characteristic of the service.
    public static func buildExpression(_ characteristic: GATTCharacteristic) -> [GATTServicePart] {
        [.characteristic(characteristic)]
    }

    /// Several characteristics.
    public static func buildExpression(_ characteristics: [GATTCharacteristic]) -> [GATTServicePart] {
        characteristics.map { .characteristic($0) }
    }

    /// A service that it includes.
    public static func buildExpression(_ included: IncludedService) -> [GATTServicePart] {
        [.includedService(included.uuid)]
    }
}

extension AttributeDatabase {
    /// Lays out services in the order in which they are written; as ``init(_:)``.
    public init(@GATTBuilder<GATTService> services: () -> [GATTService]) throws(AttributeDatabaseError) {
        try self.init(services())
    }
}

extension GATTService {
    /// A service with these characteristics and included services.
    ///
    /// - Parameters:
    ///   - isPrimary: whether clients find it by themselves, or only where another service includes it.
    ///   - handle: the handle of the service declaration; nil takes the next that is free.
    ///   - endHandle: the last handle of the service; nil ends it at its last attribute.
    public init(
        _ uuid: BluetoothUUID, isPrimary: Bool = true, handle: AttributeHandle? = nil,
        endHandle: AttributeHandle? = nil, @GATTBuilder<GATTServicePart> parts: () -> [GATTServicePart]
    ) {
        self.init(uuid, isPrimary: isPrimary, handle: handle, endHandle: endHandle)
        for part in parts() {
            switch part {
            case .characteristic(let characteristic): characteristics.append(characteristic)
            case .includedService(let uuid): includedServices.append(uuid)
            }
        }
    }
}

extension GATTCharacteristic {
    /// A characteristic with this value and these descriptors, besides those that its properties ask for.
    ///
    /// - Parameter permissions: nil permits reading and writing as `properties` say, over any link.
    public init(
        _ uuid: BluetoothUUID, properties: CharacteristicProperties,
        extendedProperties: CharacteristicExtendedProperties = [], permissions: AttributePermissions? = nil,
        value: AttributeValue = .dynamic,
        valueLengths: ClosedRange<Int> = 0...AttributeProtocol.maximumAttributeValueLength,
        handle: AttributeHandle? = nil, @GATTBuilder<GATTDescriptor> descriptors: () -> [GATTDescriptor]
    ) {
        self.init(
            uuid, properties: properties, extendedProperties: extendedProperties, permissions: permissions,
            value: value, valueLengths: valueLengths, descriptors: descriptors(), handle: handle)
    }
}

extension GATTDescriptor {
    /// Text for people, in UTF-8 (Core Vol 3 Part G §3.3.3.2).
    ///
    /// - Parameter isWritable: whether clients may change it, which the characteristic's extended properties then tell
    ///   them.
    public static func userDescription(_ text: String, isWritable: Bool = false) -> GATTDescriptor {
        GATTDescriptor(
            .characteristicUserDescription, permissions: isWritable ? [.read, .write] : .read,
            value: .stored([UInt8](text.utf8)))
    }

    /// How the characteristic's value is to be read (Core Vol 3 Part G §3.3.3.5).
    public static func presentationFormat(_ format: PresentationFormat) -> GATTDescriptor {
        GATTDescriptor(.characteristicPresentationFormat, value: .stored(format.bytes), valueLengths: 7...7)
    }
}
