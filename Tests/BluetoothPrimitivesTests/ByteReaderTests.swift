import BluetoothPrimitives
import TestSupport
import Testing

@Suite struct ByteReaderTests {
    @Test func numbersAreReadLeastSignificantByteFirst() throws {
        let bytes = hex("01 0302 060504 0A090807 1211100F0E0D0C0B FF")
        var reader = ByteReader(bytes.span.bytes)
        let first = try reader.readUInt8()
        let second = try reader.readUInt16()
        let third = try reader.readUInt24()
        let fourth = try reader.readUInt32()
        let fifth = try reader.readUInt64()
        let sixth = try reader.readInt8()
        #expect(first == 0x01)
        #expect(second == 0x0203)
        #expect(third == 0x040506)
        #expect(fourth == 0x0708_090A)
        #expect(fifth == 0x0B0C_0D0E_0F10_1112)
        #expect(sixth == -1)
        let isAtEnd = reader.isAtEnd
        #expect(isAtEnd)
    }

    @Test func uuidsOfEveryWidthAreReadInWireOrder() throws {
        let bytes = hex("0D18 78563412 E8F376 90FFB8 5491 5A46 EB35 CAC9AD27")
        var reader = ByteReader(bytes.span.bytes)
        let short = try reader.readUUID(.bits16)
        let middle = try reader.readUUID(.bits32)
        let long = try reader.readUUID(.bits128)
        #expect(short == 0x180D)
        #expect(middle == 0x1234_5678)
        #expect(long == "27ADC9CA-35EB-465A-9154-B8FF9076F3E8")
    }

    @Test func addressesAreReadInWireOrder() throws {
        let bytes = hex("563412E598C0")
        var reader = ByteReader(bytes.span.bytes)
        let address = try reader.readAddress(.random)
        #expect(address == BluetoothAddress("C0:98:E5:12:34:56", kind: .random))
    }

    /// A read with its byte count and its name.
    struct Reading: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var needed: Int
        var read: @Sendable (inout ByteReader) throws(TruncatedBytes) -> Void

        init(
            _ name: String, _ needed: Int, _ read: @escaping @Sendable (inout ByteReader) throws(TruncatedBytes) -> Void
        ) {
            testDescription = name
            self.needed = needed
            self.read = read
        }
    }

    static let readings: [Reading] = [
        Reading("UInt8", 1) { (reader) throws(TruncatedBytes) in _ = try reader.readUInt8() },
        Reading("Int8", 1) { (reader) throws(TruncatedBytes) in _ = try reader.readInt8() },
        Reading("UInt16", 2) { (reader) throws(TruncatedBytes) in _ = try reader.readUInt16() },
        Reading("UInt24", 3) { (reader) throws(TruncatedBytes) in _ = try reader.readUInt24() },
        Reading("UInt32", 4) { (reader) throws(TruncatedBytes) in _ = try reader.readUInt32() },
        Reading("UInt64", 8) { (reader) throws(TruncatedBytes) in _ = try reader.readUInt64() },
        Reading("UUID 16", 2) { (reader) throws(TruncatedBytes) in _ = try reader.readUUID(.bits16) },
        Reading("UUID 32", 4) { (reader) throws(TruncatedBytes) in _ = try reader.readUUID(.bits32) },
        Reading("UUID 128", 16) { (reader) throws(TruncatedBytes) in _ = try reader.readUUID(.bits128) },
        Reading("address", 6) { (reader) throws(TruncatedBytes) in _ = try reader.readAddress(.public) },
        Reading("bytes", 5) { (reader) throws(TruncatedBytes) in _ = try reader.read(5) },
        Reading("skip", 7) { (reader) throws(TruncatedBytes) in try reader.skip(7) },
    ]

    @Test(arguments: readings)
    func truncationNamesTheShortageAndLeavesTheReaderWhereItWas(_ reading: Reading) throws {
        for length in 0..<reading.needed {
            let bytes = [UInt8](repeating: 0xA5, count: length + 1)
            var reader = ByteReader(bytes.span.bytes)
            try reader.skip(1)
            var thrown: TruncatedBytes?
            do throws(TruncatedBytes) {
                try reading.read(&reader)
            } catch {
                thrown = error
            }
            let offset = reader.offset
            #expect(thrown == TruncatedBytes(offset: 1, needed: reading.needed, available: length))
            #expect(offset == 1)
        }
        let bytes = [UInt8](repeating: 0xA5, count: reading.needed)
        var reader = ByteReader(bytes.span.bytes)
        try reading.read(&reader)
        let isAtEnd = reader.isAtEnd
        #expect(isAtEnd)
    }

    @Test(arguments: [-1, Int.min, 4, Int.max])
    func countsThatCannotBeReadThrow(_ count: Int) throws {
        let bytes = hex("010203")
        var reader = ByteReader(bytes.span.bytes)
        var thrown: [TruncatedBytes] = []
        do throws(TruncatedBytes) { _ = try reader.read(count) } catch { thrown.append(error) }
        do throws(TruncatedBytes) { try reader.skip(count) } catch { thrown.append(error) }
        let offset = reader.offset
        #expect(thrown == Array(repeating: TruncatedBytes(offset: 0, needed: count, available: 3), count: 2))
        #expect(offset == 0)
    }

    @Test func theRestMayBeEmpty() throws {
        let bytes = hex("010203")
        var reader = ByteReader(bytes.span.bytes)
        try reader.skip(1)
        let rest = [UInt8](reader.readRemaining())
        let nothing = [UInt8](reader.readRemaining())
        #expect(rest == [2, 3])
        #expect(nothing == [])
        let none: [UInt8] = []
        var empty = ByteReader(none.span.bytes)
        let count = empty.readRemaining().byteCount
        #expect(count == 0)
    }

    @Test func truncationHasADescription() {
        #expect(
            TruncatedBytes(offset: 3, needed: 16, available: 5).description
                == "16 bytes needed at offset 3, 5 available")
    }
}
