import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

/// A malformed PDU with its expected defect.
struct Malformed: Sendable, CustomTestStringConvertible {
    let bytes: [UInt8]
    let problem: ATTDecodingError.Problem
    let offset: Int
    var testDescription: String { "\(bytes.hexadecimal): \(problem)" }

    init(_ bytes: String, _ problem: ATTDecodingError.Problem, at offset: Int) {
        self.bytes = hex(bytes)
        self.problem = problem
        self.offset = offset
    }
}

private let malformedFromClient = [
    Malformed("02", .truncated(needed: 2, available: 0), at: 1),
    Malformed("02 17", .truncated(needed: 2, available: 1), at: 1),
    Malformed("02 1700 00", .trailingBytes(1), at: 3),
    Malformed("04 0100 FF", .truncated(needed: 4, available: 3), at: 1),
    Malformed("04 0100 FFFF 00", .trailingBytes(1), at: 5),
    Malformed("06 0100 FF", .truncated(needed: 4, available: 3), at: 1),
    Malformed("06 0100 FFFF 00", .truncated(needed: 2, available: 1), at: 5),
    Malformed("08 0100", .truncated(needed: 4, available: 2), at: 1),
    Malformed("08 0100 FFFF", .attributeTypeLength(0), at: 5),
    Malformed("08 0100 FFFF 000028", .attributeTypeLength(3), at: 5),
    Malformed("08 0100 FFFF 00000028", .attributeTypeLength(4), at: 5),
    Malformed("08 0100 FFFF 9ECADC240EE5A9E093F3A3B5010040", .attributeTypeLength(15), at: 5),
    Malformed("08 0100 FFFF 9ECADC240EE5A9E093F3A3B50100406E00", .attributeTypeLength(17), at: 5),
    Malformed("0A 03", .truncated(needed: 2, available: 1), at: 1),
    Malformed("0A 0300 00", .trailingBytes(1), at: 3),
    Malformed("0C 0300 16", .truncated(needed: 2, available: 1), at: 3),
    Malformed("0C 0300 1600 0000", .trailingBytes(2), at: 5),
    Malformed("0E", .truncated(needed: 4, available: 0), at: 1),
    Malformed("0E 0300", .truncated(needed: 4, available: 2), at: 1),
    Malformed("0E 0300 0700 01", .truncated(needed: 2, available: 1), at: 5),
    Malformed("10 0100 FFFF 00", .attributeTypeLength(1), at: 5),
    Malformed("12 04", .truncated(needed: 2, available: 1), at: 1),
    Malformed("16 0300 02", .truncated(needed: 2, available: 1), at: 3),
    Malformed("18", .truncated(needed: 1, available: 0), at: 1),
    Malformed("18 01 00", .trailingBytes(1), at: 2),
    Malformed("1E 00", .trailingBytes(1), at: 1),
    Malformed("20 0300", .truncated(needed: 4, available: 2), at: 1),
    Malformed("20 0300 0700 01", .truncated(needed: 2, available: 1), at: 5),
    Malformed("52", .truncated(needed: 2, available: 0), at: 1),
    Malformed("D2 04", .truncated(needed: 2, available: 1), at: 1),
    Malformed("D2 0400 07000000 EFCDAB89674523", .truncated(needed: 12, available: 11), at: 3),
    Malformed("D2 0400", .truncated(needed: 12, available: 0), at: 3),
]

private let malformedFromServer = [
    Malformed("01 0A 0300", .truncated(needed: 1, available: 0), at: 4),
    Malformed("01 0A 03", .truncated(needed: 2, available: 1), at: 2),
    Malformed("01", .truncated(needed: 1, available: 0), at: 1),
    Malformed("01 0A 0300 02 00", .trailingBytes(1), at: 5),
    Malformed("03 17", .truncated(needed: 2, available: 1), at: 1),
    Malformed("03 1700 00", .trailingBytes(1), at: 3),
    Malformed("05", .truncated(needed: 1, available: 0), at: 1),
    Malformed("05 00 0100 0028", .unknownFormat(0), at: 1),
    Malformed("05 03 0100 0028", .unknownFormat(3), at: 1),
    Malformed("05 01", .truncated(needed: 4, available: 0), at: 2),
    Malformed("05 01 0100 0028 0200", .truncated(needed: 4, available: 2), at: 6),
    Malformed("05 02 0100 0028", .truncated(needed: 18, available: 4), at: 2),
    Malformed("07", .truncated(needed: 4, available: 0), at: 1),
    Malformed("07 0100 0700 10", .truncated(needed: 4, available: 1), at: 5),
    Malformed("09", .truncated(needed: 1, available: 0), at: 1),
    Malformed("09 00 0200", .entryLength(0, minimum: 2), at: 1),
    Malformed("09 01 0200", .entryLength(1, minimum: 2), at: 1),
    Malformed("09 07", .truncated(needed: 7, available: 0), at: 2),
    Malformed("09 07 0200 020300002A 0400", .truncated(needed: 7, available: 2), at: 9),
    Malformed("11", .truncated(needed: 1, available: 0), at: 1),
    Malformed("11 00", .entryLength(0, minimum: 4), at: 1),
    Malformed("11 03 0100 05", .entryLength(3, minimum: 4), at: 1),
    Malformed("11 06 0100 0500 00", .truncated(needed: 6, available: 5), at: 2),
    Malformed("11 06 0100 0500 0018 0600", .truncated(needed: 6, available: 2), at: 8),
    Malformed("13 00", .trailingBytes(1), at: 1),
    Malformed("17 0300 02", .truncated(needed: 2, available: 1), at: 3),
    Malformed("17 03", .truncated(needed: 2, available: 1), at: 1),
    Malformed("19 00", .trailingBytes(1), at: 1),
    Malformed("1B 03", .truncated(needed: 2, available: 1), at: 1),
    Malformed("1D", .truncated(needed: 2, available: 0), at: 1),
    Malformed("21", .truncated(needed: 4, available: 0), at: 1),
    Malformed("21 0100 AA", .truncated(needed: 4, available: 3), at: 1),
    Malformed("23", .truncated(needed: 4, available: 0), at: 1),
    Malformed("23 0300 0200 06", .truncated(needed: 2, available: 1), at: 5),
    Malformed("23 0300 0100 06 07", .truncated(needed: 2, available: 1), at: 6),
    Malformed("23 0300 0100 06 0700 00", .truncated(needed: 2, available: 1), at: 8),
    Malformed("23 0300 FFFF 06", .truncated(needed: 65535, available: 1), at: 5),
]

@Suite("Malformed PDUs")
struct MalformedTests {
    @Test("A client's malformed PDU is refused with the defect and its offset", arguments: malformedFromClient)
    func client(_ malformed: Malformed) {
        let expected = ATTDecodingError(
            opcode: ATTOpcode(malformed.bytes[0]), problem: malformed.problem, offset: malformed.offset)
        #expect(throws: expected) { _ = try ATTClientPDU(decoding: malformed.bytes.span.bytes) }
    }

    @Test("A server's malformed PDU is refused with the defect and its offset", arguments: malformedFromServer)
    func server(_ malformed: Malformed) {
        let expected = ATTDecodingError(
            opcode: ATTOpcode(malformed.bytes[0]), problem: malformed.problem, offset: malformed.offset)
        #expect(throws: expected) { _ = try ATTServerPDU(decoding: malformed.bytes.span.bytes) }
    }

    @Test("An empty PDU has no opcode")
    func empty() {
        let nothing: [UInt8] = []
        let expected = ATTDecodingError(opcode: nil, problem: .truncated(needed: 1, available: 0), offset: 0)
        #expect(throws: expected) { _ = try ATTClientPDU(decoding: nothing.span.bytes) }
        #expect(throws: expected) { _ = try ATTServerPDU(decoding: nothing.span.bytes) }
        #expect(ATTOpcode(of: nothing.span.bytes) == nil)
    }

    @Test("The error names the PDU, the offset and the defect")
    func text() {
        func text(_ opcode: UInt8?, _ problem: ATTDecodingError.Problem, _ offset: Int) -> String {
            ATTDecodingError(opcode: opcode.map { ATTOpcode($0) }, problem: problem, offset: offset).description
        }
        #expect(text(nil, .truncated(needed: 1, available: 0), 0) == "malformed PDU: no opcode")
        #expect(
            text(0x0A, .truncated(needed: 2, available: 1), 1)
                == "malformed Read Request at offset 1: 2 bytes needed, 1 available")
        #expect(text(0x13, .trailingBytes(3), 1) == "malformed Write Response at offset 1: 3 bytes after the end")
        #expect(
            text(0x08, .attributeTypeLength(3), 5)
                == "malformed Read By Type Request at offset 5: attribute type of 3 bytes")
        #expect(
            text(0x05, .unknownFormat(9), 1) == "malformed Find Information Response at offset 1: unknown format 0x09")
        #expect(
            text(0x09, .entryLength(1, minimum: 2), 1)
                == "malformed Read By Type Response at offset 1: entry length 1 is less than 2")
    }
}

@Suite("Arbitrary bytes from a peer")
struct MutationTests {
    /// Decodes the bytes in both directions and reads every field; a decoded PDU must encode to the same bytes.
    private func survive(_ bytes: [UInt8], printing: Bool) {
        do throws(ATTDecodingError) {
            let pdu = try ATTClientPDU(decoding: bytes.span.bytes)
            var writer = ByteWriter(capacity: bytes.count)
            try? pdu.encode(into: &writer)
            if writer.bytes != bytes { Issue.record("\(bytes.hexadecimal) became \(writer.bytes.hexadecimal)") }
            if printing, pdu.description.isEmpty { Issue.record("\(bytes.hexadecimal) prints nothing") }
        } catch {
            check(error, bytes)
        }
        do throws(ATTDecodingError) {
            let pdu = try ATTServerPDU(decoding: bytes.span.bytes)
            var writer = ByteWriter(capacity: bytes.count)
            try? pdu.encode(into: &writer)
            if writer.bytes != bytes { Issue.record("\(bytes.hexadecimal) became \(writer.bytes.hexadecimal)") }
            if printing, pdu.description.isEmpty { Issue.record("\(bytes.hexadecimal) prints nothing") }
            walk(pdu, bytes)
        } catch {
            check(error, bytes)
        }
    }

    private func check(_ error: ATTDecodingError, _ bytes: [UInt8]) {
        if error.opcode?.rawValue != bytes.first || !(0...bytes.count).contains(error.offset) {
            Issue.record("\(bytes.hexadecimal): \(error)")
        }
    }

    /// Iterates over a list and compares the number of entries with `count`, or their bytes with the PDU's.
    private func walk(_ pdu: borrowing ATTServerPDU, _ bytes: [UInt8]) {
        var expected = 0
        var found = 0
        switch copy pdu {
        case .findInformationResponse(var list):
            expected = list.count
            while list.next() != nil { found += 1 }
        case .findByTypeValueResponse(var list):
            expected = list.count
            while list.next() != nil { found += 1 }
        case .readByTypeResponse(var list):
            expected = list.count
            while let entry = list.next() { found += entry.value.byteCount == list.valueLength ? 1 : 1000 }
        case .readByGroupTypeResponse(var list):
            expected = list.count
            while let entry = list.next() { found += entry.value.byteCount == list.valueLength ? 1 : 1000 }
        case .readMultipleVariableResponse(var list):
            while let entry = list.next() {
                found += 1
                expected += entry.value.byteCount <= entry.length ? 1 : 1000
            }
        case .multipleHandleValueNotification(var list):
            var rest = bytes.count - 1
            while let entry = list.next() {
                found += 1
                rest -= 4 + entry.value.byteCount
            }
            expected = rest == 0 ? found : -1
        default: return
        }
        if found != expected || found == 0 { Issue.record("\(bytes.hexadecimal): \(found) of \(expected) entries") }
    }

    @Test("Every truncation and single-byte change is decoded or refused in both directions", arguments: allVectors)
    func mutationsSurvive(_ vector: Vector) {
        survive(vector.bytes, printing: true)
        for (index, bytes) in mutations(of: vector.bytes).enumerated() {
            survive(bytes, printing: index % 8 == 0)
        }
    }

    @Test("Every vector as the body of every opcode is decoded or refused")
    func everyOpcode() {
        for body in [hex(""), hex("01"), hex("0100"), hex("0402000100"), hex("060100050000180600FFFF0D18")] {
            for opcode in UInt8.min...UInt8.max {
                survive([opcode] + body, printing: true)
            }
        }
    }

    @Test("Every PDU of two bytes is decoded or refused")
    func everyPairOfBytes() {
        for opcode in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                survive([opcode, second], printing: false)
            }
        }
    }

    @Test("An unassigned opcode is never an error")
    func unknownOpcodes() throws {
        let known = Set(allVectors.map { $0.bytes[0] }).filter { ATTOpcode($0).isKnown }
        #expect(known.count == 31)
        for opcode in UInt8.min...UInt8.max where !known.contains(opcode) {
            #expect(!ATTOpcode(opcode).isKnown)
            #expect(ATTOpcode(opcode).isSentByClient)
            for body in [[], [0], [UInt8](repeating: 0xFF, count: 22)] as [[UInt8]] {
                let bytes = [opcode] + body
                guard case .unknown = try ATTClientPDU(decoding: bytes.span.bytes) else {
                    Issue.record("\(bytes.hexadecimal) decodes as an assigned server PDU")
                    continue
                }
                guard case .unknown = try ATTServerPDU(decoding: bytes.span.bytes) else {
                    Issue.record("\(bytes.hexadecimal) decodes as an assigned client PDU")
                    continue
                }
            }
        }
    }
}
