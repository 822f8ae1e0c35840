import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

@Suite("Every PDU in both directions")
struct RoundTripTests {
    @Test("A client's PDU prints its fields and encodes to the same bytes", arguments: clientVectors)
    func client(_ vector: Vector) throws {
        let pdu = try ATTClientPDU(decoding: vector.bytes.span.bytes)
        let text = pdu.description
        let opcode = pdu.opcode
        #expect(text == vector.text)
        #expect(opcode.rawValue == vector.bytes[0])
        #expect(opcode.isSentByClient)
        #expect(try reencodedByClient(vector.bytes) == vector.bytes)
    }

    @Test("A server's PDU prints its fields and encodes to the same bytes", arguments: serverVectors)
    func server(_ vector: Vector) throws {
        let pdu = try ATTServerPDU(decoding: vector.bytes.span.bytes)
        let text = pdu.description
        let opcode = pdu.opcode
        #expect(text == vector.text)
        #expect(opcode.rawValue == vector.bytes[0])
        #expect(opcode.isSentByClient != opcode.isKnown)
        #expect(try reencodedByServer(vector.bytes) == vector.bytes)
    }

    @Test("A PDU that does not fit leaves the writer unchanged", arguments: allVectors)
    func doesNotFit(_ vector: Vector) throws {
        for capacity in 0..<vector.bytes.count {
            var writer = ByteWriter(capacity: 3 + capacity)
            try writer.write([1, 2, 3])
            if ATTOpcode(vector.bytes[0]).isSentByClient {
                let pdu = try ATTClientPDU(decoding: vector.bytes.span.bytes)
                do {
                    try pdu.encode(into: &writer)
                    Issue.record("fitted into \(capacity) bytes")
                } catch {
                    #expect(error.available < error.needed)
                }
            } else {
                let pdu = try ATTServerPDU(decoding: vector.bytes.span.bytes)
                do {
                    try pdu.encode(into: &writer)
                    Issue.record("fitted into \(capacity) bytes")
                } catch {
                    #expect(error.available < error.needed)
                }
            }
            #expect(writer.bytes == [1, 2, 3])
        }
    }

    @Test("A PDU of the other direction decodes as unknown", arguments: allVectors)
    func otherDirection(_ vector: Vector) throws {
        let opcode = ATTOpcode(vector.bytes[0])
        guard opcode.isKnown else { return }
        let unknown: [UInt8]?
        if opcode.isSentByClient {
            guard case .unknown(let found, let parameters) = try ATTServerPDU(decoding: vector.bytes.span.bytes) else {
                Issue.record("decoded as a server's PDU")
                return
            }
            unknown = [found.rawValue] + [UInt8](parameters)
        } else {
            guard case .unknown(let found, let parameters) = try ATTClientPDU(decoding: vector.bytes.span.bytes) else {
                Issue.record("decoded as a client's PDU")
                return
            }
            unknown = [found.rawValue] + [UInt8](parameters)
        }
        #expect(unknown == vector.bytes)
    }

    @Test("A 128-bit type with a 16-bit form equals the 16-bit type and is sent in 16 bits (Core Vol 3 Part F §3.2.1)")
    func typeInLongForm() throws {
        let bytes = hex("08 0100 FFFF FB349B5F80000080001000000D180000")
        guard case .readByTypeRequest(_, let type) = try ATTClientPDU(decoding: bytes.span.bytes) else {
            Issue.record("not a Read By Type Request")
            return
        }
        #expect(type == 0x180D)
        var writer = ByteWriter(capacity: 23)
        try ATTClientPDU.readByTypeRequest(.all, type: type).encode(into: &writer)
        #expect(writer.bytes == hex("08 0100 FFFF 0D18"))
    }

    @Test("A 32-bit type is sent in 128 bits (Core Vol 3 Part F §3.2.1)")
    func typeOf32Bits() throws {
        var writer = ByteWriter(capacity: 23)
        try ATTClientPDU.readByTypeRequest(.all, type: 0x1234_5678).encode(into: &writer)
        #expect(writer.bytes == hex("08 0100 FFFF FB349B5F8000008000100000 78563412"))
    }
}

@Suite("Encoding from fields")
struct EncodingTests {
    private func encoded(client pdu: borrowing ATTClientPDU) throws -> String {
        var writer = ByteWriter(capacity: AttributeProtocol.defaultMTU)
        try pdu.encode(into: &writer)
        return writer.bytes.hexadecimal
    }

    private func encoded(server pdu: borrowing ATTServerPDU) throws -> String {
        var writer = ByteWriter(capacity: AttributeProtocol.defaultMTU)
        try pdu.encode(into: &writer)
        return writer.bytes.hexadecimal
    }

    @Test("A client's PDUs are written from their fields")
    func client() throws {
        let value: [UInt8] = [0xAA, 0xBB]
        let bytes = value.span.bytes
        let range = AttributeHandleRange(start: 0x0102, end: 0x0304)
        let signature = ATTAuthenticationSignature(signCounter: 1, messageAuthenticationCode: 2)
        #expect(try encoded(client: .exchangeMTURequest(clientReceiveMTU: 517)) == "020502")
        #expect(try encoded(client: .findInformationRequest(range)) == "0402010403")
        #expect(try encoded(client: .findByTypeValueRequest(range, type: 0x2800, value: bytes)) == "06020104030028AABB")
        #expect(try encoded(client: .readByTypeRequest(range, type: 0x2803)) == "08020104030328")
        #expect(try encoded(client: .readRequest(0x0102)) == "0A0201")
        #expect(try encoded(client: .readBlobRequest(0x0102, offset: 3)) == "0C02010300")
        #expect(try encoded(client: .readByGroupTypeRequest(range, groupType: 0x2800)) == "10020104030028")
        #expect(try encoded(client: .writeRequest(0x0102, value: bytes)) == "120201AABB")
        #expect(try encoded(client: .writeCommand(0x0102, value: bytes)) == "520201AABB")
        #expect(
            try encoded(client: .signedWriteCommand(0x0102, value: bytes, signature: signature))
                == "D20201AABB010000000200000000000000")
        #expect(try encoded(client: .prepareWriteRequest(0x0102, offset: 3, value: bytes)) == "1602010300AABB")
        #expect(try encoded(client: .executeWriteRequest(.writeAll)) == "1801")
        #expect(try encoded(client: .executeWriteRequest(.cancelAll)) == "1800")
        #expect(try encoded(client: .handleValueConfirmation) == "1E")
        #expect(try encoded(client: .unknown(ATTOpcode(0x7F), parameters: bytes)) == "7FAABB")
    }

    @Test("A server's PDUs are written from their fields")
    func server() throws {
        let value: [UInt8] = [0xAA, 0xBB]
        let bytes = value.span.bytes
        let error = ATTError(requestOpcode: .readRequest, handle: 0x0102, code: .attributeNotFound)
        #expect(try encoded(server: .errorResponse(error)) == "010A02010A")
        #expect(try encoded(server: .exchangeMTUResponse(serverReceiveMTU: 23)) == "031700")
        #expect(try encoded(server: .readResponse(value: bytes)) == "0BAABB")
        #expect(try encoded(server: .readBlobResponse(value: bytes)) == "0DAABB")
        #expect(try encoded(server: .readMultipleResponse(values: bytes)) == "0FAABB")
        #expect(try encoded(server: .writeResponse) == "13")
        #expect(try encoded(server: .prepareWriteResponse(0x0102, offset: 3, value: bytes)) == "1702010300AABB")
        #expect(try encoded(server: .executeWriteResponse) == "19")
        #expect(try encoded(server: .handleValueNotification(0x0102, value: bytes)) == "1B0201AABB")
        #expect(try encoded(server: .handleValueIndication(0x0102, value: bytes)) == "1D0201AABB")
        #expect(try encoded(server: .unknown(ATTOpcode(0x25), parameters: bytes)) == "25AABB")
    }

    @Test("A value that fills the ATT_MTU fits and one byte more does not")
    func fillsMTU() throws {
        let limit = ATTValueLimits(mtu: 23).notification
        #expect(limit == 20)
        let whole = [UInt8](repeating: 7, count: limit)
        #expect(try encoded(server: .handleValueNotification(3, value: whole.span.bytes)).utf8.count == 46)
        let tooLong = [UInt8](repeating: 7, count: limit + 1)
        #expect(throws: BufferFull(needed: 24, available: 23)) {
            try encoded(server: .handleValueNotification(3, value: tooLong.span.bytes))
        }
    }
}
