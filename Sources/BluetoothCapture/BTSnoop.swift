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

/// The format of packet captures that Wireshark and btmon read: a header, then records, all big-endian.
public enum BTSnoop {
    /// The size of the file header in bytes: identification, version and datalink type.
    public static var headerByteCount: Int { 16 }

    static let identification: [UInt8] = Array("btsnoop\0".utf8)
    static let version: UInt32 = 1
    /// Timestamps count microseconds from midnight of 0 AD in the proleptic calendar; this is 1970 in that count.
    static let unixEpoch: UInt64 = 0x00DC_DDB3_0F2F_8000

    /// The size of the record header in bytes: two lengths, flags, drops and time.
    static var recordHeaderByteCount: Int { 24 }

    /// Appends the header of a file with the packets of Linux's monitor channel.
    public static func encodeHeader(into writer: inout ByteWriter) throws(BufferFull) {
        try writer.ensure(headerByteCount)
        try writer.write(identification)
        try writer.write(version.byteSwapped)
        try writer.write(BTSnoopDatalink.monitor.rawValue.byteSwapped)
    }

    /// Appends the record of a packet of the monitor channel.
    ///
    /// - Parameters:
    ///   - packet: The packet.
    ///   - time: The time of capture in microseconds since 1970 in UTC.
    ///   - drops: The number of packets lost since the beginning of the capture.
    ///   - visibleByteCount: The number of packet bytes before the ones that are replaced by zeros; nil for all.
    ///   - writer: The writer of the file.
    /// - Throws: ``BufferFull`` when the record does not fit; the writer is then unchanged.
    public static func encode(
        _ packet: borrowing CapturedPacket, time: Int64, drops: UInt32 = 0, visibleByteCount: Int? = nil,
        into writer: inout ByteWriter
    ) throws(BufferFull) {
        let payload = packet.payload
        try writer.ensure(recordHeaderByteCount + payload.byteCount)
        let count = UInt32(clamping: payload.byteCount).byteSwapped
        // The length on the air, and in the file.
        try writer.write(count)
        try writer.write(count)
        try writer.write((UInt32(packet.adapter) << 16 | UInt32(packet.kind.rawValue)).byteSwapped)
        try writer.write(drops.byteSwapped)
        try writer.write((UInt64(bitPattern: time) &+ unixEpoch).byteSwapped)
        let visible = min(max(0, visibleByteCount ?? .max), payload.byteCount)
        try writer.write(payload.extracting(first: visible))
        try writer.writeZeros(payload.byteCount - visible)
    }
}

extension CapturedPacketKind {
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
