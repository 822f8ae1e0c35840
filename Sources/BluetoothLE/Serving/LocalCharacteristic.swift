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
/// ``notifying(every:_:)`` sends a value to subscribers periodically.
///
/// Configuration descriptors are added where `notify`, `indicate`, `broadcast` and extended properties require them.
/// Besides the members below it has those of its definition, a `GATTCharacteristic`: `uuid`, `properties`,
/// `extendedProperties`, `permissions`, `valueLengths` and `handle`.
@dynamicMemberLookup
public struct LocalCharacteristic: Identifiable, Sendable {
    /// The identity of this definition, by which its value is addressed; see ``PublishedServices``.
    public let id = DefinitionID()
    /// The definition, but for its descriptors.
    var definition: GATTCharacteristic
    /// The descriptors, in the order of their handles, besides those that the properties require.
    public var descriptors: [LocalDescriptor]
    var handlers = ValueHandlers()
    var periodic: PeriodicValue?

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
        definition = GATTCharacteristic(
            uuid, properties: properties, extendedProperties: extendedProperties, permissions: permissions,
            value: AttributeValue(value), valueLengths: valueLengths, handle: handle)
        self.descriptors = descriptors()
    }

    /// A characteristic with the definition `definition` and without handlers.
    init(_ definition: GATTCharacteristic) {
        self.definition = definition
        self.definition.descriptors = []
        descriptors = definition.descriptors.map { LocalDescriptor($0) }
    }

    /// The initial stored value, at most 512 bytes; nil for a value of handlers or of requests.
    public var value: [UInt8]? {
        get { definition.value.bytes }
        set { definition.value = AttributeValue(newValue) }
    }

    /// A member of the definition.
    public subscript<Member>(dynamicMember path: WritableKeyPath<GATTCharacteristic, Member>) -> Member {
        get { definition[keyPath: path] }
        set { definition[keyPath: path] = newValue }
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

    /// The characteristic with a value that is sent to all subscribers at once when the first one subscribes, and then
    /// after each interval.
    ///
    /// `value` is called only while a device has subscribed, and no longer when the services are closed or the adapter
    /// is closed, which cancels its task. A device that has asked for indications receives an indication. With a stored
    /// value as well, each value replaces it, so that reads return the last one. An error is logged, and the next
    /// value is due after the interval; one that takes longer than that delays the following, and is not called again
    /// meanwhile. A subscriber that does not take a value within the interval, or within 1 s if that is shorter, and 5 s at
    /// the most, misses values, as with ``PublishedValue/notify(_:timeout:)``. `value` runs on the adapter's event loop
    /// unless it belongs to an actor: it may wait, but not block. Its clock is that of the loop, so that a test in
    /// virtual time does not wait.
    /// - Parameters:
    ///   - interval: the time from one value to the next, more than zero.
    ///   - value: returns the bytes; a link carries the first ATT_MTU − 3 of them.
    public func notifying(
        every interval: Duration, _ value: @escaping @Sendable () async throws -> [UInt8]
    ) -> LocalCharacteristic {
        var result = self
        result.periodic = PeriodicValue(interval: interval, next: value)
        return result
    }
}

/// A value that is sent periodically.
struct PeriodicValue: Sendable {
    let interval: Duration
    let next: @Sendable () async throws -> [UInt8]

    /// The longest wait for a subscriber, for which the others wait as well.
    var timeout: Duration { min(max(interval, .seconds(1)), .seconds(5)) }
}

/// A descriptor of a characteristic that this machine offers (Core Vol 3 Part G §3.3.3).
///
/// Besides the members below it has those of its definition, a `GATTDescriptor`: `uuid`, `permissions`, `valueLengths`
/// and `handle`.
@dynamicMemberLookup
public struct LocalDescriptor: Identifiable, Sendable {
    /// The identity of this definition, by which its value is addressed.
    public let id = DefinitionID()
    var definition: GATTDescriptor
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
        definition = GATTDescriptor(
            uuid, permissions: permissions, value: AttributeValue(value), valueLengths: valueLengths, handle: handle)
    }

    /// A descriptor with the definition `definition` and without handlers.
    init(_ definition: GATTDescriptor) {
        self.definition = definition
    }

    /// The initial stored value, at most 512 bytes; nil for a value of handlers or of requests.
    public var value: [UInt8]? {
        get { definition.value.bytes }
        set { definition.value = AttributeValue(newValue) }
    }

    /// A member of the definition.
    public subscript<Member>(dynamicMember path: WritableKeyPath<GATTDescriptor, Member>) -> Member {
        get { definition[keyPath: path] }
        set { definition[keyPath: path] = newValue }
    }

    /// A Characteristic User Description: text for people, in UTF-8 (Core Vol 3 Part G §3.3.3.2).
    /// - Parameters:
    ///   - text: the description.
    ///   - isWritable: whether clients may change it, which the extended properties then declare.
    public static func userDescription(_ text: String, isWritable: Bool = false) -> LocalDescriptor {
        LocalDescriptor(GATTDescriptor.userDescription(text, isWritable: isWritable))
    }

    /// A Characteristic Presentation Format: the type and the unit of the value (Core Vol 3 Part G §3.3.3.5).
    public static func presentationFormat(_ format: PresentationFormat) -> LocalDescriptor {
        LocalDescriptor(GATTDescriptor.presentationFormat(format))
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

extension AttributeValue {
    /// A stored value, or for nil a value of the program.
    fileprivate init(_ bytes: [UInt8]?) { self = bytes.map { .stored($0) } ?? .dynamic }

    /// The stored value.
    var bytes: [UInt8]? { if case .stored(let bytes) = self { bytes } else { nil } }
}

/// The handlers of one value.
struct ValueHandlers: Sendable {
    var read: (@Sendable (ReadRequest) async throws -> [UInt8])?
    var write: (@Sendable (WriteRequest) async throws -> Void)?

    var isEmpty: Bool { read == nil && write == nil }
}
