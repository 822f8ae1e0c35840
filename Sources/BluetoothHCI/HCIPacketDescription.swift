import BluetoothPrimitives

extension HCIPacketType {
    /// A packet with its leading type in one line: the name and parameters of a command or event, the connection and
    /// length of data. A malformed packet appears with its size and defect; keys never appear.
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
