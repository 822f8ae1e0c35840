import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// A filter for keys, passkeys and out-of-band data, so that a shared capture contains no secrets.
///
/// The file omits the bytes after the header of such a packet and keeps its length. A key distribution PDU
/// (Core Vol 3 Part H §3.6) may be fragmented into several ACL packets, so a fragment is shown only if the filter has
/// seen the beginning of its PDU and that is not a key.
public struct SecretFilter: Sendable {
    /// The number of remaining bytes of PDUs without keys.
    private(set) var unfinished: [FrameJoiner.Path: Int] = [:]

    /// The maximum number of stored PDUs. The rest of a dropped one is omitted.
    static let capacity = 256

    /// A filter without stored PDUs.
    public init() {}

    private static let commandHeader = 3
    private static let eventHeader = 2
    private static let controlHeader = 6
    private static let aclHeader = 4
    private static let l2capHeader = 4

    /// The number of leading bytes that may be shown; nil for all.
    public mutating func visibleByteCount(of packet: borrowing CapturedPacket) -> Int? {
        var reader = ByteReader(packet.payload)
        switch packet.kind {
        case .command:
            guard let opcode = try? reader.readUInt16() else { return nil }
            return HCIOpcode(rawValue: opcode).carriesSecret ? Self.commandHeader : nil
        case .event:
            if let handle = Self.disconnectedHandle(in: packet.payload) {
                // The next link with this handle is independent of the incomplete PDUs of this one.
                for isSent in [true, false] {
                    unfinished[FrameJoiner.Path(adapter: packet.adapter, handle: handle, isSent: isSent)] = nil
                }
            }
            return Self.visibleByteCount(ofEvent: packet.payload)
        case .newIndex, .deletedIndex, .openedIndex, .closedIndex:
            if !unfinished.isEmpty {
                unfinished = unfinished.filter { [adapter = packet.adapter] in $0.key.adapter != adapter }
            }
            return nil
        case .controlCommand:
            guard (try? reader.skip(4)) != nil, let opcode = try? reader.readUInt16() else { return nil }
            return ManagementOpcode(rawValue: opcode).carriesSecret ? Self.controlHeader : nil
        case .controlEvent:
            guard (try? reader.skip(4)) != nil, let code = try? reader.readUInt16() else { return nil }
            if code == ManagementEventCode.commandComplete.rawValue, let opcode = try? reader.readUInt16() {
                // The header is followed by the command and its status.
                return ManagementOpcode(rawValue: opcode).returnsSecret ? Self.controlHeader + 3 : nil
            }
            return ManagementEventCode(rawValue: code).carriesSecret ? Self.controlHeader : nil
        case .aclSent, .aclReceived: return visibleByteCount(ofACL: packet)
        default: return nil
        }
    }

    private static func visibleByteCount(ofEvent event: RawSpan) -> Int? {
        var reader = ByteReader(event)
        guard let code = try? reader.readUInt8(), (try? reader.skip(1)) != nil else { return nil }
        switch HCIEventCode(code) {
        case .commandComplete:
            guard (try? reader.skip(1)) != nil, let opcode = try? reader.readUInt16() else { return nil }
            return HCIOpcode(rawValue: opcode).returnsSecret ? eventHeader + 4 : nil
        case .leMeta:
            guard let subevent = try? reader.readUInt8() else { return nil }
            return HCIEventCode(subevent: subevent).carriesSecret ? eventHeader + 1 : nil
        default: return HCIEventCode(code).carriesSecret ? eventHeader : nil
        }
    }

    private static func disconnectedHandle(in event: RawSpan) -> UInt16? {
        var reader = ByteReader(event)
        guard (try? reader.readUInt8()) == HCIDisconnectionComplete.code.code, (try? reader.skip(1)) != nil,
            (try? reader.readUInt8()) == 0
        else { return nil }
        return (try? reader.readUInt16()).map { $0 & 0x0FFF }
    }

    private mutating func visibleByteCount(ofACL packet: borrowing CapturedPacket) -> Int? {
        var reader = ByteReader(packet.payload)
        guard let head = try? reader.readUInt16(), (try? reader.skip(2)) != nil else { return nil }
        let path = FrameJoiner.Path(adapter: packet.adapter, handle: head & 0x0FFF, isSent: packet.kind == .aclSent)
        guard head >> 12 & 3 != 1 else {
            guard let rest = unfinished[path] else { return Self.aclHeader }
            unfinished[path] = rest > reader.remaining ? rest - reader.remaining : nil
            return nil
        }
        unfinished[path] = nil
        // Without a complete header the channel is unknown, and the rest is hidden.
        guard let length = try? reader.readUInt16(), let channel = try? reader.readUInt16() else { return nil }
        let rest = Int(length) - reader.remaining
        if channel == 0x0006 || channel == 0x0007 {
            // A code in the next packet is hidden together with the bytes after it.
            guard let code = try? reader.readUInt8() else { return nil }
            // Encryption Information, Identity Information and Signing Information (Core Vol 3 Part H §3.6.2, §3.6.4,
            // §3.6.6).
            if [0x06, 0x08, 0x0A].contains(code) { return Self.aclHeader + Self.l2capHeader + 1 }
        }
        guard rest > 0 else { return nil }
        if unfinished.count >= Self.capacity { unfinished.remove(at: unfinished.startIndex) }
        unfinished[path] = rest
        return nil
    }
}
