import BluetoothATT
import BluetoothPrimitives

// A server's description as a tree:
//
//     try AttributeDatabase {
//         GATTService("180F") {
//             GATTCharacteristic("2A19", properties: [.read, .notify], value: .stored([100])) {
//                 GATTDescriptor.userDescription("Battery level")
//             }
//         }
//     }

/// A result builder that collects the parts of a description in order; supports `if` and `for`.
@resultBuilder
public enum GATTBuilder<Element> {
    /// A single part.
    public static func buildExpression(_ element: Element) -> [Element] { [element] }
    /// Existing parts.
    public static func buildExpression(_ elements: [Element]) -> [Element] { elements }
    /// Consecutive parts.
    public static func buildBlock(_ parts: [Element]...) -> [Element] { parts.flatMap { $0 } }
    /// The parts of an `if` without `else`.
    public static func buildOptional(_ part: [Element]?) -> [Element] { part ?? [] }
    /// The parts of an `if`.
    public static func buildEither(first part: [Element]) -> [Element] { part }
    /// The parts of an `else`.
    public static func buildEither(second part: [Element]) -> [Element] { part }
    /// The parts of a `for`.
    public static func buildArray(_ parts: [[Element]]) -> [Element] { parts.flatMap { $0 } }
}

extension AttributeDatabase {
    /// A database with services in the order of the description; see ``init(_:)``.
    public init(@GATTBuilder<GATTService> services: () -> [GATTService]) throws(AttributeDatabaseError) {
        try self.init(services())
    }
}

extension GATTService {
    /// A service with characteristics.
    ///
    /// - Parameters:
    ///   - isPrimary: Whether clients discover the service directly, or only where another service includes it.
    ///   - handle: The handle of the service declaration; nil for the next free one.
    ///   - endHandle: The last handle of the service; nil for that of its last attribute.
    public init(
        _ uuid: BluetoothUUID, isPrimary: Bool = true, handle: AttributeHandle? = nil,
        endHandle: AttributeHandle? = nil, @GATTBuilder<GATTCharacteristic> characteristics: () -> [GATTCharacteristic]
    ) {
        self.init(
            uuid, isPrimary: isPrimary, characteristics: characteristics(), handle: handle, endHandle: endHandle)
    }

    /// The service with another included in it (Core Vol 3 Part G §3.2).
    public func including(_ service: IncludedService) -> GATTService {
        var result = self
        result.includedServices.append(service)
        return result
    }
}

extension GATTCharacteristic {
    /// A characteristic with a value and descriptors, besides those that its properties require.
    ///
    /// - Parameter permissions: The permissions; nil permits reading and writing according to `properties`, over any
    ///   link.
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
    /// A Characteristic User Description, a UTF-8 string (Core Vol 3 Part G §3.3.3.2).
    ///
    /// - Parameter isWritable: Whether clients may change it, which the characteristic's extended properties then
    ///   state.
    public static func userDescription(_ text: String, isWritable: Bool = false) -> GATTDescriptor {
        GATTDescriptor(
            .characteristicUserDescription, permissions: isWritable ? [.read, .write] : .read,
            value: .stored([UInt8](text.utf8)))
    }

    /// A Characteristic Presentation Format (Core Vol 3 Part G §3.3.3.5).
    public static func presentationFormat(_ format: PresentationFormat) -> GATTDescriptor {
        GATTDescriptor(.characteristicPresentationFormat, value: .stored(format.bytes), valueLengths: 7...7)
    }
}
