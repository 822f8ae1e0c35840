import BluetoothPrimitives

/// Disconnection Complete (Core Vol 4 Part E §7.7.5).
public struct HCIDisconnectionComplete: Hashable, Sendable, CustomStringConvertible {
    /// The status; unless it is success, the connection persists and ``reason`` is meaningless.
    public var status: HCIStatus
    /// The connection.
    public var handle: ConnectionHandle
    /// The reason for the disconnection.
    public var reason: HCIStatus

    /// The end of a connection.
    public init(status: HCIStatus = .success, handle: ConnectionHandle, reason: HCIStatus) {
        self.status = status
        self.handle = handle
        self.reason = reason
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        status = try reader.readStatus()
        handle = try reader.readConnectionHandle()
        reason = try reader.readStatus()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(status)
        try writer.write(handle)
        try writer.write(reason)
    }

    /// The connection and the reason, or the status of a failure.
    public var description: String { "handle \(handle), \(status.isSuccess ? reason : status)" }
}

/// Encryption Change (Core Vol 4 Part E §7.7.8).
public struct HCIEncryptionChange: Hashable, Sendable, CustomStringConvertible {
    /// The status; unless it is success, the encryption is unchanged.
    public var status: HCIStatus
    /// The connection.
    public var handle: ConnectionHandle
    /// Whether the connection is now encrypted.
    public var isEncrypted: Bool

    /// A change of encryption.
    public init(status: HCIStatus = .success, handle: ConnectionHandle, isEncrypted: Bool) {
        self.status = status
        self.handle = handle
        self.isEncrypted = isEncrypted
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        status = try reader.readStatus()
        handle = try reader.readConnectionHandle()
        isEncrypted = try reader.readBool()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(status)
        try writer.write(handle)
        try writer.write(isEncrypted)
    }

    /// The connection and its encryption.
    public var description: String {
        "handle \(handle), \(status.isSuccess ? (isEncrypted ? "encrypted" : "not encrypted") : status.description)"
    }
}

/// Command Complete (Core Vol 4 Part E §7.7.14).
public struct HCICommandComplete: ~Escapable {
    /// The completed command.
    public var opcode: HCIOpcode
    /// The number of commands that the controller accepts now.
    public var allowedCommandPackets: UInt8
    /// The return parameters, which nearly always begin with the status. ``HCIReturnParameters`` decodes them.
    public var returnParameters: RawSpan

    /// The completion of a command with encoded return parameters.
    @_lifetime(copy returnParameters)
    public init(opcode: HCIOpcode, allowedCommandPackets: UInt8 = 1, returnParameters: RawSpan) {
        self.opcode = opcode
        self.allowedCommandPackets = allowedCommandPackets
        self.returnParameters = returnParameters
    }

    /// The first byte of the return parameters; nil when there are none.
    public var status: HCIStatus? {
        var reader = ByteReader(returnParameters)
        return try? reader.readStatus()
    }

    /// The command, its status and its return parameters.
    public var description: String {
        let answer =
            opcode.returnsSecret ? "\(returnParameters.byteCount) bytes" : [UInt8](returnParameters).hexadecimal
        return "\(opcode), \(status?.description ?? "no answer"), \(answer)"
    }
}

/// Command Status (Core Vol 4 Part E §7.7.15).
public struct HCICommandStatus: Hashable, Sendable, CustomStringConvertible {
    /// Success for a pending command, or the reason for its refusal.
    public var status: HCIStatus
    /// The number of commands that the controller accepts now.
    public var allowedCommandPackets: UInt8
    /// The command.
    public var opcode: HCIOpcode

    /// The status of a command.
    public init(status: HCIStatus, allowedCommandPackets: UInt8 = 1, opcode: HCIOpcode) {
        self.status = status
        self.allowedCommandPackets = allowedCommandPackets
        self.opcode = opcode
    }

    init(reading reader: inout ByteReader) throws(TruncatedBytes) {
        status = try reader.readStatus()
        allowedCommandPackets = try reader.readUInt8()
        opcode = HCIOpcode(rawValue: try reader.readUInt16())
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(status)
        try writer.write(allowedCommandPackets)
        try writer.write(opcode.rawValue)
    }

    /// The command and its status.
    public var description: String { "\(opcode), \(status)" }
}

/// The connections of a Number Of Completed Packets event, decoded during iteration (Core Vol 4 Part E §7.7.19).
public struct HCICompletedPackets: ~Escapable {
    /// The number of remaining connections.
    public private(set) var remainingCount: Int
    private var reader: ByteReader

    @_lifetime(copy reader)
    init(reading reader: consuming ByteReader) throws(TruncatedBytes) {
        let count = Int(try reader.readUInt8())
        guard reader.remaining >= 4 * count else {
            throw TruncatedBytes(offset: reader.offset, needed: 4 * count, available: reader.remaining)
        }
        remainingCount = count
        self.reader = reader
    }

    /// The next connection and the number of its completed packets, or nil after the last.
    @_lifetime(self: copy self)
    public mutating func next() -> (handle: ConnectionHandle, count: UInt16)? {
        // The initializer has verified the number of bytes.
        guard remainingCount > 0, let handle = try? reader.readConnectionHandle(), let count = try? reader.readUInt16()
        else { return nil }
        remainingCount -= 1
        return (handle, count)
    }

    /// The connections and the numbers of their packets.
    public var description: String {
        var walk = self
        var parts: [String] = []
        while let (handle, count) = walk.next() { parts.append("handle \(handle) \(count)") }
        return parts.joined(separator: ", ")
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        var walk = self
        try writer.write(UInt8(truncatingIfNeeded: remainingCount))
        while let (handle, count) = walk.next() {
            try writer.write(handle)
            try writer.write(count)
        }
    }

    /// The event packet with its leading 0x04 for the packets in `completed`.
    ///
    /// - Throws: `BufferFull` for more than 63 connections, the maximum of one event.
    public static func packet(
        _ completed: [(handle: ConnectionHandle, count: UInt16)]
    ) throws(BufferFull) -> [UInt8] {
        var writer = ByteWriter(capacity: HCIEvent.maximumByteCount)
        guard let length = UInt8(exactly: 1 + 4 * completed.count) else {
            throw BufferFull(needed: 1 + 4 * completed.count, available: 255)
        }
        try writer.write(HCIPacketType.event.rawValue)
        try writer.write(HCIEventCode.numberOfCompletedPackets.rawValue)
        try writer.write(length)
        try writer.write(UInt8(truncatingIfNeeded: completed.count))
        for (handle, count) in completed {
            try writer.write(handle)
            try writer.write(count)
        }
        return writer.bytes
    }
}

/// A change of an adapter, sent by the Linux kernel on raw sockets that are bound to no adapter.
public struct HCIDeviceEvent: Hashable, Sendable, CustomStringConvertible {
    /// The kind of a change.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The value as sent.
        public let rawValue: UInt16

        /// The kind with the value `rawValue`.
        public init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The adapter was registered; the kernel may not have initialized it yet.
        public static let registered = Kind(rawValue: 1)
        /// The adapter was unregistered.
        public static let unregistered = Kind(rawValue: 2)
        /// The adapter was powered on.
        public static let up = Kind(rawValue: 3)
        /// The adapter was powered off.
        public static let down = Kind(rawValue: 4)

        /// The name of the kind.
        public var description: String {
            switch self {
            case .registered: return "registered"
            case .unregistered: return "unregistered"
            case .up: return "up"
            case .down: return "down"
            default: return "device event \(rawValue)"
            }
        }
    }

    /// The kind of the change.
    public var kind: Kind
    /// The index of the adapter: 0 is hci0.
    public var deviceIndex: UInt16

    /// The type of stack internal events about adapters.
    private static let type: UInt16 = 0x0001

    /// A change of the adapter hci`deviceIndex`.
    public init(_ kind: Kind, deviceIndex: UInt16) {
        self.kind = kind
        self.deviceIndex = deviceIndex
    }

    /// Nil for another type of stack internal event.
    init?(reading reader: inout ByteReader) throws(TruncatedBytes) {
        guard try reader.readUInt16() == Self.type else { return nil }
        kind = Kind(rawValue: try reader.readUInt16())
        deviceIndex = try reader.readUInt16()
    }

    func write(to writer: inout ByteWriter) throws(BufferFull) {
        try writer.write(Self.type)
        try writer.write(kind.rawValue)
        try writer.write(deviceIndex)
    }

    /// The adapter and its change.
    public var description: String { "hci\(deviceIndex) \(kind)" }
}
