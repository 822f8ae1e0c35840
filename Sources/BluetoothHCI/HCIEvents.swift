import BluetoothPrimitives

/// Disconnection Complete (Core Vol 4 Part E §7.7.5).
public struct HCIDisconnectionComplete: Hashable, Sendable, CustomStringConvertible {
    /// Whether the connection ended; if not, ``reason`` says nothing.
    public var status: HCIStatus
    /// Which connection.
    public var handle: ConnectionHandle
    /// Why it ended.
    public var reason: HCIStatus

    /// A connection that ended.
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

    /// The connection and why it ended.
    public var description: String { "handle \(handle), \(status.isSuccess ? reason : status)" }
}

/// Encryption Change (Core Vol 4 Part E §7.7.8).
public struct HCIEncryptionChange: Hashable, Sendable, CustomStringConvertible {
    /// Whether encryption changed, or why not.
    public var status: HCIStatus
    /// Which connection.
    public var handle: ConnectionHandle
    /// Whether the connection is encrypted now.
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

    /// The connection and whether it is encrypted.
    public var description: String {
        "handle \(handle), \(status.isSuccess ? (isEncrypted ? "encrypted" : "not encrypted") : status.description)"
    }
}

/// Command Complete (Core Vol 4 Part E §7.7.14).
public struct HCICommandComplete: ~Escapable {
    /// Which command.
    public var opcode: HCIOpcode
    /// How many more commands the controller takes now.
    public var allowedCommandPackets: UInt8
    /// The command's answer; nearly always its first byte is the status. ``HCIReturnParameters`` reads it.
    public var returnParameters: RawSpan

    /// The answer to a command, given as bytes.
    @_lifetime(copy returnParameters)
    public init(opcode: HCIOpcode, allowedCommandPackets: UInt8 = 1, returnParameters: RawSpan) {
        self.opcode = opcode
        self.allowedCommandPackets = allowedCommandPackets
        self.returnParameters = returnParameters
    }

    /// The first byte of the answer; nil when the answer is empty.
    public var status: HCIStatus? {
        var reader = ByteReader(returnParameters)
        return try? reader.readStatus()
    }

    /// The command and its answer.
    public var description: String {
        let answer =
            opcode.answersWithSecret ? "\(returnParameters.byteCount) bytes" : [UInt8](returnParameters).hexadecimal
        return "\(opcode), \(status?.description ?? "no answer"), \(answer)"
    }
}

/// Command Status (Core Vol 4 Part E §7.7.15).
public struct HCICommandStatus: Hashable, Sendable, CustomStringConvertible {
    /// Success when the command is being carried out, or why it is refused.
    public var status: HCIStatus
    /// How many more commands the controller takes now.
    public var allowedCommandPackets: UInt8
    /// Which command.
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

/// The connections of a Number Of Completed Packets event, decoded while walking (Core Vol 4 Part E §7.7.19).
public struct HCICompletedPackets: ~Escapable {
    /// How many connections are still to come.
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

    /// The next connection and how many of its packets were sent, or nil after the last.
    @_lifetime(self: copy self)
    public mutating func next() -> (handle: ConnectionHandle, count: UInt16)? {
        // There are as many bytes as the count asks for: the initialiser has seen to it.
        guard remainingCount > 0, let handle = try? reader.readConnectionHandle(), let count = try? reader.readUInt16()
        else { return nil }
        remainingCount -= 1
        return (handle, count)
    }

    /// The connections and their counts.
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

    /// The event as a packet with its leading 0x04, for a controller that has sent packets of `completed`.
    ///
    /// Throws ``BufferFull`` for more than 63 connections, which one event cannot hold.
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

/// What the Linux kernel tells on raw sockets bound to no adapter: something happened to one.
public struct HCIDeviceEvent: Hashable, Sendable, CustomStringConvertible {
    /// What happened.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The number in the packet.
        public let rawValue: UInt16

        /// A kind of any value.
        public init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The adapter is there; the kernel may not have set it up yet.
        public static let registered = Kind(rawValue: 1)
        /// The adapter is gone.
        public static let unregistered = Kind(rawValue: 2)
        /// The adapter was switched on.
        public static let up = Kind(rawValue: 3)
        /// The adapter was switched off.
        public static let down = Kind(rawValue: 4)

        /// The kind in words.
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

    /// What happened.
    public var kind: Kind
    /// To which adapter: 0 is hci0.
    public var deviceIndex: UInt16

    /// The stack internal event that tells about adapters.
    private static let type: UInt16 = 0x0001

    /// Something that happened to the adapter hci`deviceIndex`.
    public init(_ kind: Kind, deviceIndex: UInt16) {
        self.kind = kind
        self.deviceIndex = deviceIndex
    }

    /// Returns nil for a stack internal event that tells something else.
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

    /// The adapter and what happened to it.
    public var description: String { "hci\(deviceIndex) \(kind)" }
}
