import BluetoothPrimitives

extension HCIPacketType {
    /// A packet with its type in front, in one line: an event's or command's name and parameters, of data its
    /// connection and length. What cannot be read is told with its bytes, but never what may be a key.
    public static func description(of packet: RawSpan) -> String {
        var reader = ByteReader(packet)
        guard let byte = try? reader.readUInt8() else { return "empty packet" }
        let type = HCIPacketType(rawValue: byte)
        do throws(HCIDecodingError) {
            switch type {
            case .event: return try HCIEvent(decoding: packet).description
            case .command: return try HCICommand(decoding: packet).description
            case .acl:
                guard let handle = try? reader.readUInt16(), let count = try? reader.readUInt16() else { break }
                return "ACL data: handle \(ConnectionHandle(rawValue: handle)), \(count) bytes"
            default: return "\(type): \(reader.remaining) bytes"
            }
        } catch {
            return "malformed \(type) of \(packet.byteCount) bytes (\(error))"
        }
        return "malformed \(type) of \(packet.byteCount) bytes"
    }
}
