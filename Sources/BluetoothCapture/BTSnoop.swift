import BluetoothPrimitives

/// The datalink type of a btsnoop file, which determines the format of its packets.
public struct BTSnoopDatalink: RawRepresentable, Hashable, Sendable {
    /// The value in the file header.
    public let rawValue: UInt32

    /// The type with the value `rawValue`; files of unnamed types cannot be read.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// HCI packets of one adapter without a packet indicator: commands, events and ACL data, identified by the record's
    /// flags.
    public static let hci = BTSnoopDatalink(rawValue: 1001)
    /// HCI packets of one adapter with the packet indicator of a UART (H4).
    public static let h4 = BTSnoopDatalink(rawValue: 1002)
    /// Packets of Linux's monitor channel: all adapters, their registration and removal, management packets and notes.
    public static let monitor = BTSnoopDatalink(rawValue: 2001)
}

extension BTSnoopDatalink: CustomStringConvertible {
    /// The name of the type.
    public var description: String {
        switch self {
        case .hci: return "HCI"
        case .h4: return "H4"
        case .monitor: return "Linux monitor"
        default: return "datalink \(rawValue)"
        }
    }
}

/// An error for bytes that are not a readable btsnoop file.
public enum BTSnoopError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file has another identification.
    case notBTSnoop
    /// The file has another version than 1.
    case unsupportedVersion(UInt32)
    /// The datalink type is unsupported.
    case unsupportedDatalink(BTSnoopDatalink)
    /// The file ends within a record, as after its writer was killed.
    case truncated(TruncatedBytes)

    /// The error as text.
    public var description: String {
        switch self {
        case .notBTSnoop: return "not a btsnoop file"
        case .unsupportedVersion(let version): return "btsnoop version \(version)"
        case .unsupportedDatalink(let datalink): return "btsnoop with \(datalink)"
        case .truncated(let error): return "truncated btsnoop file: \(error)"
        }
    }
}

/// The format of packet captures that Wireshark and btmon read: a header, then records, all big-endian.
public enum BTSnoop {
    /// The size of the file header in bytes: identification, version and datalink type.
    public static var headerByteCount: Int { 16 }

    static let identification: [UInt8] = Array("btsnoop\0".utf8)
    static let version: UInt32 = 1
    /// Timestamps count microseconds from midnight of 0 AD in the proleptic calendar; this is 1970 in that count.
    static let unixEpoch: UInt64 = 0x00DC_DDB3_0F2F_8000

    /// Appends the file header.
    public static func encodeHeader(
        _ datalink: BTSnoopDatalink = .monitor, into writer: inout ByteWriter
    ) throws(BufferFull) {
        try writer.ensure(headerByteCount)
        try writer.write(identification)
        try writer.write(version.byteSwapped)
        try writer.write(datalink.rawValue.byteSwapped)
    }
}

/// A record of a btsnoop file.
public struct BTSnoopRecord: ~Escapable {
    /// The packet, as far as the file contains it.
    public var packet: CapturedPacket
    /// The time of capture in microseconds since 1970 in UTC.
    public var time: Int64
    /// The number of packets lost since the beginning of the capture.
    public var drops: UInt32
    /// The number of bytes missing at the end of the packet.
    public var truncatedByteCount: Int

    /// The size of the record header in bytes: two lengths, flags, drops and time.
    static var headerByteCount: Int { 24 }

    /// A record of a complete packet.
    @_lifetime(copy packet)
    public init(_ packet: consuming CapturedPacket, time: Int64, drops: UInt32 = 0, truncatedByteCount: Int = 0) {
        self.packet = packet
        self.time = time
        self.drops = drops
        self.truncatedByteCount = truncatedByteCount
    }

    /// Appends the record in the format of `datalink`; returns false and appends nothing when the format has no such
    /// packets.
    ///
    /// - Parameters:
    ///   - datalink: The datalink type of the file.
    ///   - visibleByteCount: The number of packet bytes before the ones that are replaced by zeros; nil for all.
    /// - Throws: ``BufferFull`` when the record does not fit; the writer is then unchanged.
    @discardableResult
    public func encode(
        as datalink: BTSnoopDatalink = .monitor, visibleByteCount: Int? = nil, into writer: inout ByteWriter
    ) throws(BufferFull) -> Bool {
        guard let (flags, packetType) = head(as: datalink) else { return false }
        let count = packet.payload.byteCount + (packetType == nil ? 0 : 1)
        try writer.ensure(Self.headerByteCount + count)
        try writer.write(UInt32(clamping: count + max(0, truncatedByteCount)).byteSwapped)
        try writer.write(UInt32(clamping: count).byteSwapped)
        try writer.write(flags.byteSwapped)
        try writer.write(drops.byteSwapped)
        try writer.write((UInt64(bitPattern: time) &+ BTSnoop.unixEpoch).byteSwapped)
        if let packetType { try writer.write(packetType) }
        let visible = min(max(0, visibleByteCount ?? .max), packet.payload.byteCount)
        try writer.write(packet.payload.extracting(first: visible))
        try writer.writeZeros(packet.payload.byteCount - visible)
        return true
    }

    /// The record's flags, and the packet indicator if the datalink type has one; nil when the type has no such
    /// packets.
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
    /// The flags and the packet indicator of an HCI packet of this kind in a file of one adapter: bit 0 is set from
    /// controller to host, bit 1 for commands and events.
    fileprivate var transport: (flags: UInt32, packetType: UInt8)? { Self.transports[self] }

    private static let transports: [CapturedPacketKind: (flags: UInt32, packetType: UInt8)] = [
        .command: (2, 1), .event: (3, 4), .aclSent: (0, 2), .aclReceived: (1, 2), .synchronousSent: (0, 3),
        .synchronousReceived: (1, 3), .isochronousSent: (0, 5), .isochronousReceived: (1, 5),
    ]

    /// The kind of a packet with this packet indicator; nil for an unassigned one.
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
