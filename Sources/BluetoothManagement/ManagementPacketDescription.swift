import BluetoothPrimitives

extension ManagementPacket {
    /// A packet in one line: the adapter, the command's or event's name and its parameters, never a key or a passkey.
    ///
    /// - Parameters:
    ///   - packet: the packet as sent or received through the socket.
    ///   - isSent: whether it is a command, and not an event.
    public static func description(of packet: RawSpan, isSent: Bool) -> String {
        guard let packet = try? ManagementPacket(decoding: packet) else {
            return "malformed packet of \(packet.byteCount) bytes"
        }
        let adapter = packet.index == noController ? "" : "hci\(packet.index) "
        if isSent {
            let name = ManagementOpcode(rawValue: packet.code)
            do throws(TruncatedBytes) {
                // Commands without a type may contain keys of BR/EDR.
                let text = try packet.command()?.description ?? "\(name): \(packet.parameters.byteCount) bytes"
                return adapter + text
            } catch {
                return "\(adapter)malformed \(name) of \(packet.parameters.byteCount) bytes"
            }
        }
        guard let text = try? packet.eventText() else {
            return "\(adapter)malformed \(packet.eventCode) of \(packet.parameters.byteCount) bytes"
        }
        return adapter + text
    }
}
