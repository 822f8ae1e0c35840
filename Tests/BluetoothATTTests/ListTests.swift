import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

@Suite("Lists iterate over the bytes")
struct ListTests {
    @Test("Read Multiple and Read Multiple Variable Request (Core Vol 3 Part F §3.4.4.7, §3.4.4.11)")
    func handles() throws {
        for opcode in ["0E", "20"] {
            let bytes = hex(opcode + "0300 0700 0300")
            var found: [AttributeHandle] = []
            var counts: [Int] = []
            switch try ATTClientPDU(decoding: bytes.span.bytes) {
            case .readMultipleRequest(var list), .readMultipleVariableRequest(var list):
                counts.append(list.count)
                while let handle = list.next() {
                    found.append(handle)
                    counts.append(list.count)
                }
            default: Issue.record("no list of handles")
            }
            #expect(found == [3, 7, 3])
            #expect(counts == [3, 2, 1, 0])
        }
    }

    @Test(
        "Read Multiple Variable Response, whole and cut (Core Vol 3 Part F §3.4.4.12)",
        arguments: [
            ("21 0100 AA 0200 BBCC", ["AA", "BBCC"], [1, 2], false),
            ("21 0100 AA 0300 BBCC", ["AA", "BBCC"], [1, 3], true),
            ("21 0100 AA 0300", ["AA", ""], [1, 3], true),
            ("21 0100 AA 03", ["AA"], [1], false),
            ("21 0500 AABB", ["AABB"], [5], true),
        ] as [(String, [String], [Int], Bool)])
    func lengthValues(_ text: String, _ expected: [String], _ lengths: [Int], _ cut: Bool) throws {
        let bytes = hex(text)
        guard case .readMultipleVariableResponse(var list) = try ATTServerPDU(decoding: bytes.span.bytes) else {
            Issue.record("no Read Multiple Variable Response")
            return
        }
        var values: [String] = []
        var found: [Int] = []
        var isTruncated = false
        while let entry = list.next() {
            #expect(!isTruncated, "only the last value can be cut")
            values.append([UInt8](entry.value).hexadecimal)
            found.append(entry.length)
            isTruncated = entry.isTruncated
        }
        #expect(values == expected)
        #expect(found == lengths)
        #expect(isTruncated == cut)
    }

    @Test("A copy of a list has a position of its own, and encoding writes the remaining entries")
    func copies() throws {
        let bytes = hex("09 03 0200 AA 0400 BB")
        guard case .readByTypeResponse(var list) = try ATTServerPDU(decoding: bytes.span.bytes) else {
            Issue.record("no Read By Type Response")
            return
        }
        let whole = list
        _ = list.next()
        let counts = [whole.count, list.count]
        #expect(counts == [2, 1])
        var writer = ByteWriter(capacity: 23)
        try ATTServerPDU.readByTypeResponse(list).encode(into: &writer)
        #expect(writer.bytes == hex("09 03 0400 BB"))
    }
}
