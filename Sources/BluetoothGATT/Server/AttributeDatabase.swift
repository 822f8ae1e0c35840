import BluetoothATT
import BluetoothPrimitives

/// The attributes of a server, in the order of their handles (Core Vol 3 Part G §2.6, §3).
///
/// One database serves all clients; what belongs to one client is kept in its ``GATTServer``. Copies share their
/// memory until one of them changes. Finding an attribute takes O(log n) of the number of attributes, by handle or by
/// type.
public struct AttributeDatabase: Sendable {
    /// Everything a server knows of one attribute (Core Vol 3 Part F §3.2).
    public struct Attribute: Hashable, Sendable {
        /// Where the value comes from.
        enum Content: Hashable, Sendable {
            case stored([UInt8])
            case dynamic
            /// The client's own configuration of the characteristic whose value has this handle.
            case clientConfiguration(of: AttributeHandle, supported: ClientCharacteristicConfiguration)
            /// What the client itself can do.
            case clientFeatures
        }

        /// Its number.
        public let handle: AttributeHandle
        /// What it is.
        public let type: BluetoothUUID
        /// What clients may do with it.
        public let permissions: AttributePermissions
        /// How long its value can be, in bytes.
        public let valueLengths: ClosedRange<Int>
        /// The last handle of the service or characteristic that this attribute declares; its own handle when it
        /// declares none.
        public internal(set) var groupEnd: AttributeHandle
        var content: Content

        /// The value the database keeps, or nil when it is the program's or the client's.
        public var storedValue: [UInt8]? {
            guard case .stored(let value) = content else { return nil }
            return value
        }
    }

    /// A database without any attribute.
    public static var empty: AttributeDatabase { AttributeDatabase() }

    /// All attributes, by ascending handle.
    public internal(set) var attributes: [Attribute] = []
    /// Where in ``attributes`` those of a type are, ascending.
    var positionsByType: [BluetoothUUID: [Int]] = [:]
    /// Where in ``attributes`` the declarations of a service are, ascending.
    var positionsByService: [BluetoothUUID: [Int]] = [:]
    /// Where the next service goes that does not say where. Handles are not used again while there are others, so that a
    /// client that missed a change finds nothing where it knew something, rather than something else.
    var nextHandle = 1
}

extension AttributeDatabase {
    /// The attribute with the handle `handle`, or nil when there is none.
    public func attribute(at handle: AttributeHandle) -> Attribute? {
        position(of: handle).map { attributes[$0] }
    }

    /// The handle of the value of the first characteristic `characteristic` in the first service `service` that has
    /// one, or nil when there is none.
    public func valueHandle(of characteristic: BluetoothUUID, in service: BluetoothUUID) -> AttributeHandle? {
        valueHandle(of: characteristic, in: service, within: .all)
    }

    /// The handle of the value of the first characteristic `characteristic` within `range`, in the service `service` or,
    /// for nil, in any.
    public func valueHandle(
        of characteristic: BluetoothUUID, in service: BluetoothUUID?, within range: AttributeHandleRange
    ) -> AttributeHandle? {
        let declarations = service.map { positions(ofService: $0, in: range) }
        let ranges =
            declarations?.map { AttributeHandleRange(start: attributes[$0].handle, end: attributes[$0].groupEnd) }
            ?? [range]
        for range in ranges {
            // A value follows its declaration; a descriptor that has the same type does not.
            let value = positions(of: characteristic, in: range).first {
                $0 > 0 && attributes[$0 - 1].type == .characteristic
            }
            if let value { return attributes[value].handle }
        }
        return nil
    }

    /// What a client can ask to be sent of the characteristic whose value has this handle; nil when it has no Client
    /// Characteristic Configuration.
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

    /// Changes the value that the database keeps for `handle`.
    ///
    /// Clients are not told; see ``GATTServer/encodeNotification(of:value:database:into:)``.
    ///
    /// - Throws: ``AttributeDatabaseError`` when there is no such attribute, when the database does not keep its
    ///   value, or when the value has a length the attribute cannot take.
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

    /// Where in ``attributes`` the first with `handle` or a higher one is.
    func lowerBound(_ handle: AttributeHandle) -> Int {
        partitionPoint(of: attributes) { $0.handle < handle }
    }

    func position(of handle: AttributeHandle) -> Int? {
        let position = lowerBound(handle)
        guard position < attributes.count, attributes[position].handle == handle else { return nil }
        return position
    }

    /// Where the attributes of `type` within `range` are.
    func positions(of type: BluetoothUUID, in range: AttributeHandleRange) -> ArraySlice<Int> {
        positions(among: positionsByType[type] ?? [], in: range)
    }

    /// Where the declarations of service `uuid` within `range` are.
    func positions(ofService uuid: BluetoothUUID, in range: AttributeHandleRange) -> ArraySlice<Int> {
        positions(among: positionsByService[uuid] ?? [], in: range)
    }

    private func positions(among positions: [Int], in range: AttributeHandleRange) -> ArraySlice<Int> {
        let start = partitionPoint(of: positions) { attributes[$0].handle < range.start }
        let end = partitionPoint(of: positions) { attributes[$0].handle <= range.end }
        return positions[start..<max(start, end)]
    }
}

/// The index of the first element for which `isBefore` is false, where all that are before come first.
private func partitionPoint<Element>(of elements: [Element], where isBefore: (Element) -> Bool) -> Int {
    var low = 0
    var high = elements.count
    while low < high {
        let middle = low + (high - low) / 2
        if isBefore(elements[middle]) {
            low = middle + 1
        } else {
            high = middle
        }
    }
    return low
}

/// Why a database could not be built or changed.
public enum AttributeDatabaseError: Error, Hashable, Sendable {
    /// The handle asked for is 0x0000 or taken, or not above those that come before it in what is added.
    case handleNotAvailable(AttributeHandle)
    /// The assigned handles leave none for a descriptor that the properties of a characteristic require, such as a Client
    /// Characteristic Configuration. Its handle would have to be `at`; nil when that is above 0xFFFF.
    case noHandle(for: BluetoothUUID, of: BluetoothUUID, at: AttributeHandle?)
    /// There are more attributes than handles left.
    case outOfHandles
    /// A value cannot have this length; no value is longer than 512 bytes.
    case invalidValueLength(AttributeHandle, count: Int)
    /// A service includes one that is not in the database, or itself.
    case includedServiceNotFound(BluetoothUUID)
    /// A characteristic has more than one descriptor of a kind of which it can have one.
    case repeatedDescriptor(BluetoothUUID, AttributeHandle)
    /// There is no attribute with this handle whose value the database keeps.
    case noStoredValue(AttributeHandle)
}

extension AttributeDatabaseError: CustomStringConvertible {
    /// Everything in one line.
    public var description: String {
        switch self {
        case .handleNotAvailable(let handle): "handle \(handle) is not free"
        case .noHandle(let descriptor, let characteristic, let handle):
            """
            characteristic \(characteristic) needs a place for its \(descriptor.assignedName ?? "descriptor \(descriptor)") \
            at handle \(handle.map { "\($0)" } ?? "0x10000"), which the handles asked for do not leave
            """
        case .outOfHandles: "no handles are left"
        case .invalidValueLength(let handle, let count): "a value of \(count) bytes is not possible at \(handle)"
        case .includedServiceNotFound(let uuid): "the included service \(uuid) is not in the database"
        case .repeatedDescriptor(let uuid, let handle): "a second descriptor \(uuid) at \(handle)"
        case .noStoredValue(let handle): "no value is stored at \(handle)"
        }
    }
}
