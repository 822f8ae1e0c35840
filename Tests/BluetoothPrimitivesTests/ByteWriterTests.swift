import BluetoothPrimitives
import TestSupport
import Testing

@Suite struct ByteWriterTests {
    @Test func numbersAreWrittenLeastSignificantByteFirst() throws {
        var writer = ByteWriter(capacity: 64)
        try writer.write(0x01 as UInt8)
        try writer.write(0x0203 as UInt16)
        try writer.writeUInt24(0xFF04_0506)
        try writer.write(0x0708_090A as UInt32)
        try writer.write(0x0B0C_0D0E_0F10_1112 as UInt64)
        try writer.write(-1 as Int8)
        #expect(writer.bytes == hex("01 0302 060504 0A090807 1211100F0E0D0C0B FF"))
        #expect(writer.count == 19)
        #expect(writer.remaining == 45)
    }

    @Test func uuidsAreWrittenInTheirShortestWidthByDefault() throws {
        let long: BluetoothUUID = "27ADC9CA-35EB-465A-9154-B8FF9076F3E8"
        let longOnTheAir = hex("E8F37690FFB854915A46EB35CAC9AD27")
        let table: [(BluetoothUUID, BluetoothUUID.Width?, [UInt8])] = [
            (0x180D, nil, hex("0D18")),
            (0x180D, .bits16, hex("0D18")),
            (0x180D, .bits32, hex("0D180000")),
            (0x180D, .bits128, hex("FB349B5F80000080001000000D180000")),
            (0x1234_5678, nil, hex("78563412")),
            (0x1234_5678, .bits16, hex("FB349B5F800000800010000078563412")),
            (0x1234_5678, .bits128, hex("FB349B5F800000800010000078563412")),
            (long, nil, longOnTheAir), (long, .bits16, longOnTheAir), (long, .bits32, longOnTheAir),
        ]
        for (uuid, width, expected) in table {
            var writer = ByteWriter(capacity: 16)
            try writer.write(uuid, width: width)
            #expect(writer.bytes == expected)
        }
    }

    /// A write with its byte count and its name.
    struct Writing: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var needed: Int
        var write: @Sendable (inout ByteWriter) throws(BufferFull) -> Void

        init(_ name: String, _ needed: Int, _ write: @escaping @Sendable (inout ByteWriter) throws(BufferFull) -> Void)
        {
            testDescription = name
            self.needed = needed
            self.write = write
        }
    }

    static let writings: [Writing] = [
        Writing("UInt8", 1) { (writer) throws(BufferFull) in try writer.write(1 as UInt8) },
        Writing("Int8", 1) { (writer) throws(BufferFull) in try writer.write(-1 as Int8) },
        Writing("UInt16", 2) { (writer) throws(BufferFull) in try writer.write(1 as UInt16) },
        Writing("UInt24", 3) { (writer) throws(BufferFull) in try writer.writeUInt24(1) },
        Writing("UInt32", 4) { (writer) throws(BufferFull) in try writer.write(1 as UInt32) },
        Writing("UInt64", 8) { (writer) throws(BufferFull) in try writer.write(1 as UInt64) },
        Writing("address", 6) { (writer) throws(BufferFull) in try writer.write(BluetoothAddress(1, kind: .public)) },
        Writing("UUID 16", 2) { (writer) throws(BufferFull) in try writer.write(0x180D as BluetoothUUID) },
        Writing("UUID 32", 4) { (writer) throws(BufferFull) in try writer.write(0x1234_5678 as BluetoothUUID) },
        Writing("UUID 128", 16) { (writer) throws(BufferFull) in
            try writer.write(0x180D as BluetoothUUID, width: .bits128)
        },
        Writing("array", 5) { (writer) throws(BufferFull) in try writer.write([1, 2, 3, 4, 5]) },
        Writing("span", 3) { (writer) throws(BufferFull) in
            let bytes: [UInt8] = [1, 2, 3]
            try writer.write(bytes.span.bytes)
        },
        Writing("head and span", 5) { (writer) throws(BufferFull) in
            let bytes: [UInt8] = [8, 9]
            try writer.write(first: 3, of: 0x0403_0201, bytes.span.bytes)
        },
        Writing("zeros", 9) { (writer) throws(BufferFull) in try writer.writeZeros(9) },
    ]

    @Test(arguments: writings)
    func aFullBufferNamesTheShortageAndStaysAsItWas(_ writing: Writing) throws {
        for room in 0..<writing.needed {
            var writer = ByteWriter(capacity: 1 + room)
            try writer.write(0xA5 as UInt8)
            var thrown: BufferFull?
            do throws(BufferFull) {
                try writing.write(&writer)
            } catch {
                thrown = error
            }
            #expect(thrown == BufferFull(needed: writing.needed, available: room))
            #expect(writer.bytes == [0xA5])
        }
        var writer = ByteWriter(capacity: writing.needed)
        try writing.write(&writer)
        #expect(writer.remaining == 0)
        #expect(writer.count == writing.needed)
    }

    @Test func aCapacityThatShrinksStopsWritingAndKeepsWhatIsThere() throws {
        var writer = ByteWriter(capacity: 4)
        try writer.write(0x0102_0304 as UInt32)
        writer.capacity = 2
        #expect(writer.remaining == 0)
        #expect(throws: BufferFull(needed: 1, available: 0)) { try writer.write(1 as UInt8) }
        #expect(writer.count == 4)
        try writer.write([])
        writer.capacity = 5
        try writer.write(5 as UInt8)
        #expect(writer.bytes == [4, 3, 2, 1, 5])
    }

    @Test(arguments: [Int.min, -1, 0]) func negativeSizesCountAsZero(_ size: Int) throws {
        var writer = ByteWriter(capacity: size)
        #expect(writer.remaining == 0)
        try writer.writeZeros(size)
        #expect(writer.bytes == [])
    }

    @Test func aWriterGrowsAndKeepsWhatItWrote() throws {
        var writer = ByteWriter(growingTo: 600)
        var expected: [UInt8] = []
        for number in UInt8(0)..<60 {
            let bytes = [UInt8](repeating: number, count: 7)
            try writer.write(first: 3, of: 0xFF03_0201, bytes.span.bytes)
            expected += [1, 2, 3] + bytes
            #expect(writer.bytes == expected)
        }
        #expect([UInt8](writer.span) == expected)
        writer.removeAll()
        #expect(writer.bytes == [])
        try writer.write(first: 8, of: 0x0807_0605_0403_0201, RawSpan())
        #expect(writer.bytes == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test func aHugeCapacityTakesNoMemory() throws {
        var writer = ByteWriter(capacity: .max)
        try writer.write(1 as UInt8)
        #expect(writer.bytes == [1])
    }

    @Test func truncatingAndReplacingIgnoreWhatWasNotWritten() throws {
        var writer = ByteWriter(capacity: 8)
        try writer.write([1, 2, 3])
        writer.replace(at: 1, with: 9)
        writer.replace(at: 3, with: 9)
        writer.replace(at: -1, with: 9)
        #expect(writer.bytes == [1, 9, 3])
        writer.truncate(to: 3)
        writer.truncate(to: -1)
        writer.truncate(to: 99)
        #expect(writer.bytes == [1, 9, 3])
        writer.truncate(to: 1)
        #expect(writer.bytes == [1])
        writer.removeAll()
        #expect(writer.count == 0)
        #expect(writer.remaining == 8)
    }

    @Test func shortageHasADescription() {
        #expect(BufferFull(needed: 16, available: 5).description == "16 bytes needed, 5 available")
    }

    @Test func writingAndReadingAreInverse() throws {
        let address = try #require(BluetoothAddress("C0:98:E5:12:34:56", kind: .random))
        let uuids: [BluetoothUUID] = [0x180D, 0x1234_5678, "27ADC9CA-35EB-465A-9154-B8FF9076F3E8"]
        var writer = ByteWriter(capacity: 64)
        try writer.write(address)
        for uuid in uuids { try writer.write(uuid) }
        var reader = ByteReader(writer.bytes.span.bytes)
        let readAddress = try reader.readAddress(.random)
        var readUUIDs: [BluetoothUUID] = []
        for width in BluetoothUUID.Width.allCases { readUUIDs.append(try reader.readUUID(width)) }
        #expect(readAddress == address)
        #expect(readUUIDs == uuids)
    }
}
