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

    @Test("Find Information Response (Core Vol 3 Part F §3.4.3.2)")
    func information() throws {
        let bytes = hex("05 01 0100 0028 0200 0328")
        guard case .findInformationResponse(var list) = try ATTServerPDU(decoding: bytes.span.bytes) else {
            Issue.record("no Find Information Response")
            return
        }
        var found: [ATTInformationList.Entry] = []
        while let entry = list.next() { found.append(entry) }
        #expect(found == [.init(handle: 1, type: 0x2800), .init(handle: 2, type: 0x2803)])
        let width = list.typeWidth
        #expect(width == .bits16)
    }

    @Test("Find By Type Value Response (Core Vol 3 Part F §3.4.3.4)")
    func ranges() throws {
        let bytes = hex("07 0100 0700 2000 1000")
        guard case .findByTypeValueResponse(var list) = try ATTServerPDU(decoding: bytes.span.bytes) else {
            Issue.record("no Find By Type Value Response")
            return
        }
        var found: [AttributeHandleRange] = []
        while let range = list.next() { found.append(range) }
        #expect(found == [.init(start: 1, end: 7), .init(start: 0x20, end: 0x10)])
        #expect(found.map(\.isValid) == [true, false])
    }

    @Test("Read By Type Response (Core Vol 3 Part F §3.4.4.2)")
    func attributeData() throws {
        let bytes = hex("09 07 0200 020300002A 0400 020500012A")
        guard case .readByTypeResponse(var list) = try ATTServerPDU(decoding: bytes.span.bytes) else {
            Issue.record("no Read By Type Response")
            return
        }
        var handles: [AttributeHandle] = []
        var values: [[UInt8]] = []
        while let entry = list.next() {
            handles.append(entry.handle)
            values.append([UInt8](entry.value))
        }
        #expect(handles == [2, 4])
        #expect(values == [hex("020300002A"), hex("020500012A")])
    }

    @Test("Read By Group Type Response (Core Vol 3 Part F §3.4.4.10)")
    func groupData() throws {
        let bytes = hex("11 06 0100 0500 0018 0600 FFFF 0D18")
        guard case .readByGroupTypeResponse(var list) = try ATTServerPDU(decoding: bytes.span.bytes) else {
            Issue.record("no Read By Group Type Response")
            return
        }
        var ranges: [AttributeHandleRange] = []
        var values: [[UInt8]] = []
        while let entry = list.next() {
            ranges.append(entry.range)
            values.append([UInt8](entry.value))
        }
        #expect(ranges == [.init(start: 1, end: 5), .init(start: 6, end: 0xFFFF)])
        #expect(values == [[0x00, 0x18], [0x0D, 0x18]])
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
        let count = list.count
        #expect(count == expected.count)
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

    @Test("Multiple Handle Value Notification (Core Vol 3 Part F §3.4.7.4)")
    func handleLengthValues() throws {
        let bytes = hex("23 0300 0200 0648 0700 0000 0900 0100 FF")
        guard case .multipleHandleValueNotification(var list) = try ATTServerPDU(decoding: bytes.span.bytes) else {
            Issue.record("no Multiple Handle Value Notification")
            return
        }
        let count = list.count
        #expect(count == 3)
        var handles: [AttributeHandle] = []
        var values: [[UInt8]] = []
        while let entry = list.next() {
            handles.append(entry.handle)
            values.append([UInt8](entry.value))
        }
        #expect(handles == [3, 7, 9])
        #expect(values == [[0x06, 0x48], [], [0xFF]])
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
