import BluetoothPrimitives

extension AttributeProtocol {
    /// A PDU in one line, whoever sent it: its name and fields, values in hexadecimal. What cannot be read is told with
    /// its bytes.
    public static func description(of pdu: RawSpan) -> String {
        guard let opcode = ATTOpcode(of: pdu) else { return "empty PDU" }
        do throws(ATTDecodingError) {
            return opcode.isSentByClient
                ? try ATTClientPDU(decoding: pdu).description : try ATTServerPDU(decoding: pdu).description
        } catch {
            return "malformed \(opcode) \([UInt8](pdu).hexadecimal) (\(error))"
        }
    }
}
