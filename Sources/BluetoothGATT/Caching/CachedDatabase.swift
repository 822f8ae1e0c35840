import BluetoothATT
import BluetoothCryptography
import BluetoothPrimitives

/// The key of a cached database: a peer of one adapter.
public struct AttributeCacheKey: Hashable, Sendable {
    /// The adapter's address.
    public var adapter: BluetoothAddress
    /// The device's address.
    public var peer: BluetoothAddress

    /// The key of `peer` on `adapter`.
    public init(adapter: BluetoothAddress, peer: BluetoothAddress) {
        self.adapter = adapter
        self.peer = peer
    }
}

/// The cached database of a peer.
public struct CachedDatabase: Hashable, Sendable {
    /// All services; empty when only the hash is cached.
    public var services: [RemoteService]
    /// The problems found by the discovery.
    public var problems: [DatabaseProblem]
    /// The Database Hash of these services, or nil when it is unknown.
    public var hash: DatabaseHash?
    /// Whether the peer is bonded and remembers that it must indicate changes.
    public var isFollowed: Bool

    /// A cached database with the given parts.
    public init(
        services: [RemoteService], problems: [DatabaseProblem] = [], hash: DatabaseHash?, isFollowed: Bool = false
    ) {
        self.services = services
        self.problems = problems
        self.hash = hash
        self.isFollowed = isFollowed
    }
}

// The body: the key, then fields of a kind (one byte), a length (two bytes) and the content. The characteristics and
// descriptors of a service are fields within its field.

private let format = RecordFormat("BLE-GATT", version: 1)

private enum CachedField {
    static let hash: UInt8 = 1
    static let isFollowed: UInt8 = 2
    static let service: UInt8 = 3
    static let include: UInt8 = 4
    static let characteristic: UInt8 = 5
    static let descriptor: UInt8 = 6
    static let problem: UInt8 = 7
}

extension CachedDatabase {
    /// The maximum length of an encoded database in bytes; longer input is refused.
    public static let maximumLength = 1 << 20

    /// The encoded database for `key`; nil when it would exceed ``maximumLength``.
    public func encoded(for key: AttributeCacheKey) -> [UInt8]? {
        var writer = ByteWriter(capacity: Self.maximumLength - RecordFormat.overhead)
        do {
            try writer.write(key)
            if let hash { try writer.writeField(CachedField.hash, hash.bytes) }
            if isFollowed { try writer.writeField(CachedField.isFollowed, []) }
            for service in services { try writer.write(service) }
            for problem in problems { try writer.write(problem) }
        } catch {
            return nil
        }
        return format.seal(writer.bytes)
    }

    /// Decodes a database encoded for `key`.
    ///
    /// The checksum is verified first, so that a damaged file is never decoded in part.
    ///
    /// - Throws: `RecordFormat.Failure`.
    package init(decoding bytes: [UInt8], for key: AttributeCacheKey) throws(RecordFormat.Failure) {
        let body = try format.open(bytes)
        var reader = ByteReader(body.span.bytes)
        self.init(services: [], hash: nil)
        let owner: AttributeCacheKey
        do throws(TruncatedBytes) { owner = try reader.readKey() } catch { throw .damaged }
        guard owner == key else { throw .otherOwner }
        do throws(TruncatedBytes) {
            while !reader.isAtEnd {
                let kind = try reader.readUInt8()
                var field = ByteReader(try reader.read(Int(try reader.readUInt16())))
                switch kind {
                case CachedField.hash: hash = DatabaseHash([UInt8](field.readRemaining()))
                case CachedField.isFollowed: isFollowed = true
                case CachedField.service: services.append(try field.readService())
                case CachedField.problem: if let problem = try field.readProblem() { problems.append(problem) }
                default: break
                }
            }
        } catch {
            throw .damaged
        }
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ key: AttributeCacheKey) throws(BufferFull) {
        for address in [key.adapter, key.peer] { try writeWithKind(address) }
    }

    private mutating func write(_ uuid: BluetoothUUID, _ range: AttributeHandleRange) throws(BufferFull) {
        try write(uuid, width: .bits128)
        try write(range)
    }

    fileprivate mutating func write(_ service: RemoteService) throws(BufferFull) {
        try writeField(CachedField.service) { (field) throws(BufferFull) in
            try field.write(service.uuid, service.handles)
            try field.write(service.isPrimary ? 1 : 0 as UInt8)
            for include in service.includedServices {
                try field.writeField(CachedField.include) { (field) throws(BufferFull) in
                    try field.write(include.uuid, include.handles)
                    try field.write(include.declarationHandle.rawValue)
                }
            }
            for characteristic in service.characteristics { try field.write(characteristic) }
        }
    }

    fileprivate mutating func write(_ problem: DatabaseProblem) throws(BufferFull) {
        try writeField(CachedField.problem) { (field) throws(BufferFull) in
            try field.write(problem.reason.kind.rawValue)
            try field.write(problem.attributeType, width: .bits128)
            try field.write(problem.handle.rawValue)
            try field.write(problem.declared == nil ? 0 : 1 as UInt8)
            try field.write(problem.declared?.start.rawValue ?? 0)
            try field.write(problem.declared?.end.rawValue ?? 0)
            if let uuid = problem.uuid { try field.write(uuid, width: .bits128) }
        }
    }

    private mutating func write(_ characteristic: RemoteCharacteristic) throws(BufferFull) {
        try writeField(CachedField.characteristic) { (field) throws(BufferFull) in
            try field.write(
                characteristic.uuid,
                AttributeHandleRange(start: characteristic.declarationHandle, end: characteristic.endHandle))
            try field.write(characteristic.valueHandle.rawValue)
            try field.write(characteristic.properties.rawValue)
            for descriptor in characteristic.descriptors {
                try field.writeField(CachedField.descriptor) { (field) throws(BufferFull) in
                    try field.write(descriptor.uuid, width: .bits128)
                    try field.write(descriptor.handle.rawValue)
                }
            }
        }
    }
}

extension ByteReader {
    @_lifetime(self: copy self)
    fileprivate mutating func readKey() throws(TruncatedBytes) -> AttributeCacheKey {
        let adapter = try readAddressWithKind()
        return AttributeCacheKey(adapter: adapter, peer: try readAddressWithKind())
    }

    @_lifetime(self: copy self)
    fileprivate mutating func readService() throws(TruncatedBytes) -> RemoteService {
        let uuid = try readUUID(.bits128)
        var service = RemoteService(uuid: uuid, handles: try readHandleRange(), isPrimary: try readUInt8() != 0)
        while !isAtEnd {
            let kind = try readUInt8()
            var field = ByteReader(try read(Int(try readUInt16())))
            switch kind {
            case CachedField.include:
                let uuid = try field.readUUID(.bits128)
                let handles = try field.readHandleRange()
                service.includedServices.append(
                    RemoteIncludedService(
                        uuid: uuid, handles: handles, declarationHandle: try field.readHandle()))
            case CachedField.characteristic: service.characteristics.append(try field.readCharacteristic())
            default: break
            }
        }
        return service
    }

    /// Nil for a reason that only a later version defines.
    @_lifetime(self: copy self)
    fileprivate mutating func readProblem() throws(TruncatedBytes) -> DatabaseProblem? {
        let reason = DatabaseProblem.Reason.Kind(rawValue: try readUInt8())
        let type = try readUUID(.bits128)
        let handle = try readHandle()
        let hasRange = try readUInt8() != 0
        let range = try readHandleRange()
        let uuid = isAtEnd ? nil : try readUUID(.bits128)
        return reason.map {
            DatabaseProblem(.init($0), type, at: handle, declared: hasRange ? range : nil, uuid: uuid)
        }
    }

    @_lifetime(self: copy self)
    private mutating func readCharacteristic() throws(TruncatedBytes) -> RemoteCharacteristic {
        let uuid = try readUUID(.bits128)
        let range = try readHandleRange()
        let value = try readHandle()
        var characteristic = RemoteCharacteristic(
            uuid: uuid, properties: CharacteristicProperties(rawValue: try readUInt8()),
            declarationHandle: range.start, valueHandle: value, endHandle: range.end)
        while !isAtEnd {
            let kind = try readUInt8()
            var field = ByteReader(try read(Int(try readUInt16())))
            guard kind == CachedField.descriptor else { continue }
            let uuid = try field.readUUID(.bits128)
            characteristic.descriptors.append(
                RemoteDescriptor(uuid: uuid, handle: try field.readHandle()))
        }
        return characteristic
    }
}
