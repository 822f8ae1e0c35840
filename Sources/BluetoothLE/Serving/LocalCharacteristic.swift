import BluetoothATT
import BluetoothGATT
import BluetoothPrimitives

/// A characteristic that this machine offers to connected devices (Core Vol 3 Part G §3.3).
///
/// The value comes from one of three places:
/// - **Stored**: with `value`, the library answers reads and accepts writes without the program.
/// - **Handlers**: ``onRead(_:)`` and ``onWrite(_:)`` run for each request. With a stored value as well, reads
///   without a handler return it, and a write that the handler accepts changes it.
/// - **Requests**: without either, reads and writes arrive at ``PublishedServices/requests()``, to be answered there.
///
/// Configuration descriptors are added where `notify`, `indicate`, `broadcast` and extended properties require them.
public struct LocalCharacteristic: Identifiable, Sendable {
    /// The identity of this definition, by which its value is addressed; see ``PublishedServices``.
    public let id = DefinitionID()
    /// The type of the characteristic.
    public var uuid: BluetoothUUID
    /// The operations that clients may try. `extendedProperties` is set where needed; `authenticatedSignedWrites`
    /// cannot be published.
    public var properties: CharacteristicProperties
    /// The extended properties; their descriptor is added when there are any.
    public var extendedProperties: CharacteristicExtendedProperties
    /// The operations that the server permits, and the security that each requires.
    public var permissions: AttributePermissions
    /// The initial stored value, at most 512 bytes; nil for a value of handlers or of requests.
    public var value: [UInt8]?
    /// The permitted lengths of the value in bytes, at most 512. With equal ends the length is fixed.
    public var valueLengths: ClosedRange<Int>
    /// The descriptors, in the order of their handles, besides those that the properties require.
    public var descriptors: [LocalDescriptor]
    /// The handle of the characteristic declaration, one below that of the value; nil takes the next free one.
    public var handle: AttributeHandle?
    var handlers = ValueHandlers()

    /// A characteristic with these descriptors.
    /// - Parameters:
    ///   - uuid: the type of the characteristic.
    ///   - properties: the operations that clients may try.
    ///   - value: the initial stored value; nil leaves the value to handlers or to requests.
    ///   - valueLengths: the permitted lengths in bytes, at most 512.
    ///   - permissions: the security that each operation requires; nil permits what `properties` name, over any link.
    ///   - extendedProperties: the extended properties.
    ///   - handle: the handle of the characteristic declaration; nil takes the next free one.
    ///   - descriptors: the descriptors, written as a list in which `if` and `for` may be used.
    public init(
        _ uuid: BluetoothUUID, properties: CharacteristicProperties, value: [UInt8]? = nil,
        valueLengths: ClosedRange<Int> = 0...512,
        permissions: AttributePermissions? = nil, extendedProperties: CharacteristicExtendedProperties = [],
        handle: AttributeHandle? = nil,
        @GATTBuilder<LocalDescriptor> descriptors: () -> [LocalDescriptor] = { [] }
    ) {
        self.uuid = uuid
        self.properties = properties
        self.value = value
        self.valueLengths = valueLengths
        self.permissions = permissions ?? AttributePermissions(properties)
        self.extendedProperties = extendedProperties
        self.handle = handle
        self.descriptors = descriptors()
    }

    /// The characteristic with a handler that answers reads with the whole value, at most 512 bytes.
    ///
    /// The requests of one device are handled one after the other, in the order received; those of several devices at
    /// the same time. After 25 s the client receives Unlikely Error and the handler's task is cancelled. A thrown
    /// `ATTErrorCode` is sent to the client; any other error is logged and sent as Unlikely Error. Handlers run on
    /// the adapter's event loop unless they belong to an actor: they may wait, but not block.
    public func onRead(_ body: @escaping @Sendable (ReadRequest) async throws -> [UInt8]) -> LocalCharacteristic {
        var result = self
        result.handlers.read = body
        return result
    }

    /// The characteristic with a handler of writes, which are accepted when it returns and refused when it throws.
    ///
    /// Long and prepared writes arrive assembled. When one Execute Write concerns several characteristics, their
    /// handlers run in the order of the writes; the first that throws refuses the rest. Errors of commands are only
    /// logged, since ATT has no answer to a command. Order, time limit and thread are those of ``onRead(_:)``.
    public func onWrite(_ body: @escaping @Sendable (WriteRequest) async throws -> Void) -> LocalCharacteristic {
        var result = self
        result.handlers.write = body
        return result
    }
}

/// A descriptor of a characteristic that this machine offers (Core Vol 3 Part G §3.3.3).
public struct LocalDescriptor: Identifiable, Sendable {
    /// The identity of this definition, by which its value is addressed.
    public let id = DefinitionID()
    /// The type of the descriptor.
    public var uuid: BluetoothUUID
    /// The operations that the server permits, and the security that each requires.
    public var permissions: AttributePermissions
    /// The initial stored value, at most 512 bytes; nil for a value of handlers or of requests.
    public var value: [UInt8]?
    /// The permitted lengths of the value in bytes, at most 512.
    public var valueLengths: ClosedRange<Int>
    /// The handle; nil takes the next free one.
    public var handle: AttributeHandle?
    var handlers = ValueHandlers()

    /// A descriptor.
    /// - Parameters:
    ///   - uuid: the type of the descriptor.
    ///   - permissions: the operations that the server permits, and the security that each requires.
    ///   - value: the initial stored value; nil leaves the value to handlers or to requests.
    ///   - valueLengths: the permitted lengths in bytes, at most 512.
    ///   - handle: the handle; nil takes the next free one.
    public init(
        _ uuid: BluetoothUUID, permissions: AttributePermissions = .read, value: [UInt8]? = nil,
        valueLengths: ClosedRange<Int> = 0...512,
        handle: AttributeHandle? = nil
    ) {
        self.uuid = uuid
        self.permissions = permissions
        self.value = value
        self.valueLengths = valueLengths
        self.handle = handle
    }

    /// A Characteristic User Description: text for people, in UTF-8 (Core Vol 3 Part G §3.3.3.2).
    /// - Parameters:
    ///   - text: the description.
    ///   - isWritable: whether clients may change it, which the extended properties then declare.
    public static func userDescription(_ text: String, isWritable: Bool = false) -> LocalDescriptor {
        LocalDescriptor(
            .characteristicUserDescription, permissions: isWritable ? [.read, .write] : .read,
            value: [UInt8](text.utf8))
    }

    /// A Characteristic Presentation Format: the type and the unit of the value (Core Vol 3 Part G §3.3.3.5).
    public static func presentationFormat(_ format: PresentationFormat) -> LocalDescriptor {
        LocalDescriptor(.characteristicPresentationFormat, value: format.bytes, valueLengths: 7...7)
    }

    /// The descriptor with a handler of reads; see ``LocalCharacteristic/onRead(_:)``.
    public func onRead(_ body: @escaping @Sendable (ReadRequest) async throws -> [UInt8]) -> LocalDescriptor {
        var result = self
        result.handlers.read = body
        return result
    }

    /// The descriptor with a handler of writes; see ``LocalCharacteristic/onWrite(_:)``.
    public func onWrite(_ body: @escaping @Sendable (WriteRequest) async throws -> Void) -> LocalDescriptor {
        var result = self
        result.handlers.write = body
        return result
    }
}

/// The handlers of one value.
struct ValueHandlers: Sendable {
    var read: (@Sendable (ReadRequest) async throws -> [UInt8])?
    var write: (@Sendable (WriteRequest) async throws -> Void)?

    var isEmpty: Bool { read == nil && write == nil }
}
