import BluetoothATT
import BluetoothPrimitives

/// The attributes of a server, in the order of their handles (Core Vol 3 Part G §2.6, §3).
///
/// One database serves all clients; `GATTServer` has the state of one client. Copies share their memory until one of
/// them changes. Lookup by handle or by type takes O(log n) of the number of attributes.
public struct AttributeDatabase: Sendable {
    /// An attribute (Core Vol 3 Part F §3.2).
    public struct Attribute: Hashable, Sendable {
        /// The source of the value.
        enum Content: Hashable, Sendable {
            case stored([UInt8])
            case dynamic
            /// The client's configuration of the characteristic with this value handle.
            case clientConfiguration(of: AttributeHandle, supported: ClientCharacteristicConfiguration)
            /// The client's supported features.
            case clientFeatures
        }

        /// The attribute handle.
        public let handle: AttributeHandle
        /// The attribute type.
        public let type: BluetoothUUID
        /// The permissions of clients.
        public let permissions: AttributePermissions
        /// The valid lengths of the value in bytes.
        public let valueLengths: ClosedRange<Int>
        /// The last handle of the service or characteristic that this attribute declares; its own handle when it is not
        /// a declaration.
        public internal(set) var groupEnd: AttributeHandle
        var content: Content
        /// Whether the program answers each read and write, also where the database stores the value.
        var isAnsweredByProgram: Bool

        /// The handles from the attribute's own to the end of its group.
        var group: AttributeHandleRange { AttributeHandleRange(start: handle, end: groupEnd) }

        /// The stored value, or nil when the program or the client determines the value.
        public var storedValue: [UInt8]? {
            guard case .stored(let value) = content else { return nil }
            return value
        }
    }

    /// A database without attributes.
    public static var empty: AttributeDatabase { AttributeDatabase() }

    /// All attributes, in ascending order of their handles.
    public internal(set) var attributes: [Attribute] = []
    /// The handles of the attributes of each type, ascending. A change costs no more in a large database, as positions
    /// would.
    var handlesByType: [BluetoothUUID: [AttributeHandle]] = [:]
    /// The handles of the declarations of each service, ascending.
    var handlesByService: [BluetoothUUID: [AttributeHandle]] = [:]
    /// Whether services were added or removed since the value of the Database Hash was computed.
    var isHashDue = false
    /// The handle of the next service without an explicit handle. Handles are reused only when no others are left, so
    /// that a client that missed a change finds no attribute at an old handle, rather than another one.
    var nextHandle = 1
}

extension AttributeDatabase {
    /// The attribute with the handle `handle`, or nil.
    public func attribute(at handle: AttributeHandle) -> Attribute? {
        position(of: handle).map { attributes[$0] }
    }

    /// The value handle of the first characteristic `characteristic` in the first service `service` that contains one,
    /// or nil.
    public func valueHandle(of characteristic: BluetoothUUID, in service: BluetoothUUID) -> AttributeHandle? {
        valueHandle(of: characteristic, in: service, within: .all)
    }

    /// The value handle of the first characteristic `characteristic` within `range`, in the service `service` or, for
    /// nil, in any service.
    public func valueHandle(
        of characteristic: BluetoothUUID, in service: BluetoothUUID?, within range: AttributeHandleRange
    ) -> AttributeHandle? {
        let declarations = service.map { handles(ofService: $0, in: range) }
        let ranges =
            declarations?.map { AttributeHandleRange(start: $0, end: attributes[lowerBound($0)].groupEnd) } ?? [range]
        for range in ranges {
            // A value follows its declaration; a descriptor of the same type does not.
            let value = handles(of: characteristic, in: range).first {
                let position = lowerBound($0)
                return position > 0 && attributes[position - 1].type == .characteristic
            }
            if let value { return value }
        }
        return nil
    }

    /// The configuration bits that a client can set for the characteristic with this value handle; nil when it has no
    /// Client Characteristic Configuration descriptor.
    public func supportedConfiguration(of characteristic: AttributeHandle) -> ClientCharacteristicConfiguration? {
        guard let position = position(of: characteristic) else { return nil }
        for attribute in attributes[(position + 1)...] {
            if case .clientConfiguration(characteristic, let supported) = attribute.content { return supported }
            // The descriptors end with the next declaration.
            switch attribute.type {
            case .characteristic, .primaryService, .secondaryService: return nil
            default: continue
            }
        }
        return nil
    }

    /// Changes the stored value of the attribute `handle`.
    ///
    /// Sends nothing to clients; see `GATTServer.encodeNotification(of:value:database:into:)`.
    ///
    /// - Throws: ``AttributeDatabaseError`` when there is no such attribute, when its value is not stored, or when the
    ///   length of the value is invalid.
    public mutating func setValue(
        _ value: [UInt8], of handle: AttributeHandle
    ) throws(AttributeDatabaseError) {
        guard let position = position(of: handle), case .stored = attributes[position].content else {
            throw .noStoredValue(handle)
        }
        guard attributes[position].valueLengths.contains(value.count) else {
            throw .invalidValueLength(handle, count: value.count)
        }
        attributes[position].content = .stored(value)
    }

    /// Has the program answer each read and write of the attribute, whose value the database stores.
    package mutating func askProgram(for handle: AttributeHandle) {
        guard let position = position(of: handle), case .stored = attributes[position].content else { return }
        attributes[position].isAnsweredByProgram = true
    }

    /// Performs a write of a stored value that the program has accepted, or only checks it before the program is asked.
    package mutating func perform(_ write: AttributeWrite, isCheck: Bool) throws(ATTErrorCode) {
        guard let position = position(of: write.handle), var value = attributes[position].storedValue else { return }
        try attributes[position].replace(&value, with: write)
        guard attributes[position].valueLengths.contains(value.count) else { throw .invalidAttributeValueLength }
        if !isCheck { attributes[position].content = .stored(value) }
    }

    /// The position in ``attributes`` of the first attribute with `handle` or a higher one.
    package func lowerBound(_ handle: AttributeHandle) -> Int {
        partitionPoint(of: attributes) { $0.handle < handle }
    }

    func position(of handle: AttributeHandle) -> Int? {
        let position = lowerBound(handle)
        guard position < attributes.count, attributes[position].handle == handle else { return nil }
        return position
    }

    /// The handles of the attributes of `type` within `range`.
    func handles(of type: BluetoothUUID, in range: AttributeHandleRange) -> ArraySlice<AttributeHandle> {
        handles(handlesByType[type], in: range)
    }

    /// The handles of the declarations of service `uuid` within `range`.
    func handles(ofService uuid: BluetoothUUID, in range: AttributeHandleRange) -> ArraySlice<AttributeHandle> {
        handles(handlesByService[uuid], in: range)
    }

    private func handles(_ all: [AttributeHandle]?, in range: AttributeHandleRange) -> ArraySlice<AttributeHandle> {
        guard let all else { return [] }
        let start = partitionPoint(of: all) { $0 < range.start }
        let end = partitionPoint(of: all) { $0 <= range.end }
        return all[start..<max(start, end)]
    }
}

extension AttributeDatabase.Attribute {
    /// Whether the value has a fixed length.
    var hasFixedLength: Bool { valueLengths.lowerBound == valueLengths.upperBound }

    /// Writes into `value`. Bytes at offset 0 replace it, unless its length is fixed: then they change its beginning.
    func replace(_ value: inout [UInt8], with write: AttributeWrite) throws(ATTErrorCode) {
        guard write.offset <= value.count else { throw .invalidOffset }
        guard write.offset + write.value.count <= valueLengths.upperBound else { throw .invalidAttributeValueLength }
        if write.offset == 0, !hasFixedLength { return value = write.value }
        let end = min(write.offset + write.value.count, value.count)
        value.replaceSubrange(write.offset..<end, with: write.value)
    }
}

/// An error in the description or a change of a database. An open set: switch with a default.
public struct AttributeDatabaseError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case outOfHandles
        case handleNotAvailable(AttributeHandle)
        case noHandle(for: BluetoothUUID, of: BluetoothUUID, at: AttributeHandle?)
        case invalidValueLength(AttributeHandle, count: Int)
        case includedServiceNotFound(IncludedService)
        case repeatedDescriptor(BluetoothUUID, AttributeHandle)
        case noStoredValue(AttributeHandle)
    }

    package let kind: Kind

    /// The requested handle is 0x0000, in use, or not above the preceding handles of the same addition.
    public static func handleNotAvailable(_ handle: AttributeHandle) -> Self { Self(kind: .handleNotAvailable(handle)) }
    /// The requested handles leave none for a descriptor that the properties of a characteristic require, such as a
    /// Client Characteristic Configuration. `at` is the handle it needs; nil when that is above 0xFFFF.
    public static func noHandle(
        for descriptor: BluetoothUUID, of characteristic: BluetoothUUID, at handle: AttributeHandle?
    ) -> Self {
        Self(kind: .noHandle(for: descriptor, of: characteristic, at: handle))
    }
    /// Too few handles are free.
    public static let outOfHandles = Self(kind: .outOfHandles)
    /// The length of a value is invalid; the maximum is 512 bytes.
    public static func invalidValueLength(_ handle: AttributeHandle, count: Int) -> Self {
        Self(kind: .invalidValueLength(handle, count: count))
    }
    /// The included service is not in the database, or is the including service.
    public static func includedServiceNotFound(_ service: IncludedService) -> Self {
        Self(kind: .includedServiceNotFound(service))
    }
    /// The characteristic has several descriptors of a type of which it can have one.
    public static func repeatedDescriptor(_ uuid: BluetoothUUID, _ handle: AttributeHandle) -> Self {
        Self(kind: .repeatedDescriptor(uuid, handle))
    }
    /// The database has no stored value at this handle.
    public static func noStoredValue(_ handle: AttributeHandle) -> Self { Self(kind: .noStoredValue(handle)) }

    /// The requested handle that is not available; nil for other errors.
    public var handleNotAvailable: AttributeHandle? {
        if case .handleNotAvailable(let handle) = kind { handle } else { nil }
    }
    /// The descriptor without a handle, its characteristic, and the handle that it needs; nil for other errors.
    public var noHandle: (descriptor: BluetoothUUID, characteristic: BluetoothUUID, handle: AttributeHandle?)? {
        if case .noHandle(let descriptor, let characteristic, let handle) = kind {
            (descriptor, characteristic, handle)
        } else {
            nil
        }
    }
    /// The handle of the value with an invalid length, and the length; nil for other errors.
    public var invalidValueLength: (handle: AttributeHandle, count: Int)? {
        if case .invalidValueLength(let handle, let count) = kind { (handle, count) } else { nil }
    }
    /// The included service that is missing; nil for other errors.
    public var includedServiceNotFound: IncludedService? {
        if case .includedServiceNotFound(let service) = kind { service } else { nil }
    }
    /// The descriptor that is repeated, and its handle; nil for other errors.
    public var repeatedDescriptor: (uuid: BluetoothUUID, handle: AttributeHandle)? {
        if case .repeatedDescriptor(let uuid, let handle) = kind { (uuid, handle) } else { nil }
    }
    /// The handle without a stored value; nil for other errors.
    public var noStoredValue: AttributeHandle? { if case .noStoredValue(let handle) = kind { handle } else { nil } }
}

extension AttributeDatabaseError: CustomStringConvertible {
    /// The error in one line.
    public var description: String {
        switch kind {
        case .handleNotAvailable(let handle): "handle \(handle) is not free"
        case .noHandle(let descriptor, let characteristic, let handle):
            """
            characteristic \(characteristic) needs handle \(handle.map { "\($0)" } ?? "0x10000") for its \
            \(descriptor.assignedName ?? "descriptor \(descriptor)"), which the requested handles leave no room for
            """
        case .outOfHandles: "no handles are left"
        case .invalidValueLength(let handle, let count): "the value at \(handle) cannot have \(count) bytes"
        case .includedServiceNotFound(let service): "the included service \(service) is not in the database"
        case .repeatedDescriptor(let uuid, let handle): "a second descriptor \(uuid) at \(handle)"
        case .noStoredValue(let handle): "no value is stored at \(handle)"
        }
    }
}
