import BluetoothPrimitives

/// How the packets of a btsnoop file are laid out.
public struct BTSnoopDatalink: RawRepresentable, Hashable, Sendable {
    /// The number in the file's header.
    public let rawValue: UInt32

    /// A layout of any number; files of those without a name here cannot be read.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// HCI packets without a packet type, which the record's flags tell instead: commands, events and ACL data of one
    /// adapter.
    public static let hci = BTSnoopDatalink(rawValue: 1001)
    /// HCI packets with the packet type of a UART (H4) in front, of one adapter.
    public static let h4 = BTSnoopDatalink(rawValue: 1002)
    /// What Linux' monitor channel tells: all adapters, their coming and going, management packets and notes.
    public static let monitor = BTSnoopDatalink(rawValue: 2001)
}

extension BTSnoopDatalink: CustomStringConvertible {
    /// The layout in words.
    public var description: String {
        switch self {
        case .hci: return "HCI"
        case .h4: return "H4"
        case .monitor: return "Linux monitor"
        default: return "datalink \(rawValue)"
        }
    }
}

/// Why bytes are not a btsnoop file that can be read.
public enum BTSnoopError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file begins with something else.
    case notBTSnoop
    /// A version other than 1.
    case unsupportedVersion(UInt32)
    /// Packets laid out in a way that is not known here.
    case unsupportedDatalink(BTSnoopDatalink)
    /// The file ends within a record, as it does when the program that wrote it was killed.
    case truncated(TruncatedBytes)

    /// What is wrong.
    public var description: String {
        switch self {
        case .notBTSnoop: return "not a btsnoop file"
        case .unsupportedVersion(let version): return "btsnoop version \(version)"
        case .unsupportedDatalink(let datalink): return "btsnoop with \(datalink)"
        case .truncated(let error): return "truncated btsnoop file: \(error)"
        }
    }
}

/// The file format of packet captures that Wireshark and btmon read: a header, then records, all big-endian.
public enum BTSnoop {
    /// The bytes of the file's header: identification, version and datalink.
    public static var headerByteCount: Int { 16 }

    static let identification: [UInt8] = Array("btsnoop\0".utf8)
    static let version: UInt32 = 1
    /// Times are microseconds since midnight of 0 AD in the proleptic calendar; this many lie before 1970.
    static let unixEpoch: UInt64 = 0x00DC_DDB3_0F2F_8000

    /// Appends the header with which a file begins.
    public static func encodeHeader(
        _ datalink: BTSnoopDatalink = .monitor, into writer: inout ByteWriter
    ) throws(BufferFull) {
        guard writer.remaining >= headerByteCount else {
            throw BufferFull(needed: headerByteCount, available: writer.remaining)
        }
        try writer.write(identification)
        try writer.write(bigEndian: version)
        try writer.write(bigEndian: datalink.rawValue)
    }
}

/// One record of a btsnoop file.
public struct BTSnoopRecord: ~Escapable {
    /// The packet, as much of it as the file has.
    public var packet: CapturedPacket
    /// When it was captured, in microseconds since 1970 in UTC.
    public var time: Int64
    /// How many packets have been lost since the capture began.
    public var drops: UInt32
    /// How many bytes of the packet's end were left out of the file.
    public var cutByteCount: Int

    /// The bytes in front of the packet: two lengths, flags, drops and time.
    static var headerByteCount: Int { 24 }

    /// A whole packet.
    @_lifetime(copy packet)
    public init(_ packet: consuming CapturedPacket, time: Int64, drops: UInt32 = 0, cutByteCount: Int = 0) {
        self.packet = packet
        self.time = time
        self.drops = drops
        self.cutByteCount = cutByteCount
    }

    /// Appends the record as files with this datalink have it; returns false and appends nothing when they cannot have
    /// such a packet.
    ///
    /// - Parameters:
    ///   - datalink: how the file's packets are laid out.
    ///   - visibleByteCount: from here on zeros are written in place of the packet's bytes; nil for none.
    /// - Throws: ``BufferFull`` when the record does not fit; the writer is then as it was.
    @discardableResult
    public func encode(
        as datalink: BTSnoopDatalink = .monitor, visibleByteCount: Int? = nil, into writer: inout ByteWriter
    ) throws(BufferFull) -> Bool {
        guard let (flags, packetType) = head(as: datalink) else { return false }
        let count = packet.payload.byteCount + (packetType == nil ? 0 : 1)
        guard writer.remaining >= Self.headerByteCount + count else {
            throw BufferFull(needed: Self.headerByteCount + count, available: writer.remaining)
        }
        try writer.write(bigEndian: UInt32(clamping: count + max(0, cutByteCount)))
        try writer.write(bigEndian: UInt32(clamping: count))
        try writer.write(bigEndian: flags)
        try writer.write(bigEndian: drops)
        try writer.write(bigEndian: UInt64(bitPattern: time) &+ BTSnoop.unixEpoch)
        if let packetType { try writer.write(packetType) }
        let visible = min(max(0, visibleByteCount ?? .max), packet.payload.byteCount)
        try writer.write(packet.payload.extracting(first: visible))
        try writer.writeZeros(packet.payload.byteCount - visible)
        return true
    }

    /// The record's flags, and the byte in front of the packet where the datalink has one; nil when it cannot have such
    /// a packet.
    private func head(as datalink: BTSnoopDatalink) -> (flags: UInt32, packetType: UInt8?)? {
        switch datalink {
        case .monitor: return (UInt32(packet.adapter) << 16 | UInt32(packet.kind.rawValue), nil)
        case .h4: return packet.kind.transport.map { ($0.flags, $0.packetType) }
        case .hci:
            guard let transport = packet.kind.transport, transport.packetType != 3, transport.packetType != 5 else {
                return nil
            }
            return (transport.flags, nil)
        default: return nil
        }
    }
}

extension CapturedPacketKind {
    /// How an HCI packet of this kind stands in a file of one adapter: bit 0 of the flags is set from controller to
    /// host, bit 1 for commands and events.
    fileprivate var transport: (flags: UInt32, packetType: UInt8)? {
        switch self {
        case .command: return (2, 1)
        case .event: return (3, 4)
        case .aclSent: return (0, 2)
        case .aclReceived: return (1, 2)
        case .synchronousSent: return (0, 3)
        case .synchronousReceived: return (1, 3)
        case .isochronousSent: return (0, 5)
        case .isochronousReceived: return (1, 5)
        default: return nil
        }
    }

    /// The kind of a packet with this type of a UART; nil for a type that does not exist.
    init?(packetType: UInt8, isReceived: Bool) {
        switch packetType {
        case 1: self = .command
        case 2: self = isReceived ? .aclReceived : .aclSent
        case 3: self = isReceived ? .synchronousReceived : .synchronousSent
        case 4: self = .event
        case 5: self = isReceived ? .isochronousReceived : .isochronousSent
        default: return nil
        }
    }
}

extension ByteWriter {
    /// Writes a number with its most significant byte first.
    mutating func write(bigEndian value: UInt32) throws(BufferFull) {
        try write(value.byteSwapped)
    }

    /// Writes a number with its most significant byte first.
    mutating func write(bigEndian value: UInt64) throws(BufferFull) {
        try write(value.byteSwapped)
    }
}
