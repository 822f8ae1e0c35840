import BluetoothPrimitives
import HCI
import Management

/// Finds keys, passkeys and out-of-band data in packets, so that a capture that is handed on gives nobody a key.
///
/// What stands behind the head of such a packet is left out of the file; its length stays. Keys that a peer distributes
/// (Core Vol 3 Part H §3.6) may be cut into several ACL packets, so the filter remembers links in the middle of one.
public struct SecretFilter: Sendable {
    /// How many bytes of a key are still to come, by connection handle.
    private var pending: [UInt16: Int] = [:]

    /// A filter that has seen nothing.
    public init() {}

    private static let commandHeader = 3
    private static let eventHeader = 2
    private static let controlHeader = 6
    private static let aclHeader = 4
    private static let l2capHeader = 4

    /// How many bytes from the front of the packet may be shown; nil when all may.
    public mutating func visibleByteCount(of packet: borrowing CapturedPacket) -> Int? {
        var reader = ByteReader(packet.payload)
        switch packet.kind {
        case .command:
            guard let opcode = try? reader.readUInt16() else { return nil }
            return HCIOpcode(rawValue: opcode).carriesSecret ? Self.commandHeader : nil
        case .event: return Self.visibleByteCount(ofEvent: packet.payload)
        case .controlCommand:
            guard (try? reader.skip(4)) != nil, let opcode = try? reader.readUInt16() else { return nil }
            return ManagementOpcode(rawValue: opcode).carriesSecret ? Self.controlHeader : nil
        case .controlEvent:
            guard (try? reader.skip(4)) != nil, let code = try? reader.readUInt16() else { return nil }
            if code == ManagementEventCode.commandComplete.rawValue, let opcode = try? reader.readUInt16() {
                // Behind the head come the command and its status.
                return ManagementOpcode(rawValue: opcode).answersWithSecret ? Self.controlHeader + 3 : nil
            }
            return ManagementEventCode(rawValue: code).carriesSecret ? Self.controlHeader : nil
        case .aclSent, .aclReceived: return visibleByteCount(ofACL: packet.payload)
        default: return nil
        }
    }

    private static func visibleByteCount(ofEvent event: RawSpan) -> Int? {
        var reader = ByteReader(event)
        guard let code = try? reader.readUInt8(), (try? reader.skip(1)) != nil else { return nil }
        switch HCIEventCode(rawValue: code) {
        case .commandComplete:
            guard (try? reader.skip(1)) != nil, let opcode = try? reader.readUInt16() else { return nil }
            return HCIOpcode(rawValue: opcode).answersWithSecret ? eventHeader + 4 : nil
        case .leMeta:
            guard let subevent = try? reader.readUInt8() else { return nil }
            return LESubeventCode(rawValue: subevent).carriesSecret ? eventHeader + 1 : nil
        default: return HCIEventCode(rawValue: code).carriesSecret ? eventHeader : nil
        }
    }

    private mutating func visibleByteCount(ofACL packet: RawSpan) -> Int? {
        var reader = ByteReader(packet)
        guard let head = try? reader.readUInt16(), (try? reader.skip(2)) != nil else { return nil }
        let handle = head & 0x0FFF
        guard head >> 12 & 3 != 1 else {
            guard let rest = pending[handle] else { return nil }
            pending[handle] = rest > reader.remaining ? rest - reader.remaining : nil
            return Self.aclHeader
        }
        pending[handle] = nil
        // A head that is cut leaves open whose channel it is, and one without its length where it ends.
        guard let length = try? reader.readUInt16() else {
            pending[handle] = .max
            return nil
        }
        guard reader.remaining >= 2, let channel = try? reader.readUInt16() else {
            pending[handle] = Int(length) + 2 - reader.remaining
            return nil
        }
        guard channel == 0x0006 || channel == 0x0007 else { return nil }
        let visible = Self.aclHeader + Self.l2capHeader
        // A code that comes in the next packet is hidden with what follows it.
        let code = try? reader.readUInt8()
        guard code.map(Self.isKeyDistribution) ?? (length > 0) else { return nil }
        let arrived = packet.byteCount - visible
        if Int(length) > arrived { pending[handle] = Int(length) - arrived }
        return visible + (code == nil ? 0 : 1)
    }

    /// Encryption Information, Identity Information and Signing Information (Core Vol 3 Part H §3.6.2, §3.6.4, §3.6.6).
    private static func isKeyDistribution(_ code: UInt8) -> Bool {
        code == 0x06 || code == 0x08 || code == 0x0A
    }
}
