import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

@Suite struct SeveralValueTests {
    private static func text(_ count: Int) -> String { [UInt8](repeating: 0xAA, count: count).hexadecimal }

    /// Read Using Characteristic UUID, Core Vol 3 Part G §4.8.2.
    static let byUUID: [Transcript] = [
        Transcript("none", ValueReadByUUID(0x2A19), ["08 0100 FFFF 192A": "01 08 0100 0A"], ""),
        Transcript(
            "two of one length in one answer, another in the next", ValueReadByUUID(0x2A19),
            [
                "08 0100 FFFF 192A": "09 03 0300 01 0700 02", "08 0800 FFFF 192A": "09 04 0900 0102",
                "08 0A00 FFFF 192A": "01 08 0A00 0A",
            ], "0003=01 0007=02 0009=0102"),
        Transcript(
            "the last handle of the range ends it",
            ValueReadByUUID(0x2A19, in: AttributeHandleRange(start: 2, end: 3)),
            ["08 0200 0300 192A": "09 03 0300 01"], "0003=01"),
        Transcript(
            "a UUID of 128 bits", ValueReadByUUID("27ADC9CA-35EB-465A-9154-B8FF9076F3E8"),
            ["08 0100 FFFF \(longUUID)": "09 02 FFFF"], "FFFF="),
        Transcript(
            "a value that fills the answer is read separately", ValueReadByUUID(0x2A19),
            [
                "08 0100 FFFF 192A": "09 15 0300" + text(19), "08 0400 FFFF 192A": "01 08 0400 0A",
                "0A 0300": "0B" + text(20),
            ], "0003=" + text(20)),
        Transcript(
            "and read on where it fills that answer, too", ValueReadByUUID(0x2A19),
            [
                "08 0100 FFFF 192A": "09 15 0300" + text(19), "08 0400 FFFF 192A": "01 08 0400 0A",
                "0A 0300": "0B" + text(22), "0C 0300 1600": "0D BB",
            ], "0003=" + text(22) + "BB"),
        Transcript(
            "a value that just fills that answer is not long", ValueReadByUUID(0x2A19),
            [
                "08 0100 FFFF 192A": "09 15 0300" + text(19), "08 0400 FFFF 192A": "01 08 0400 0A",
                "0A 0300": "0B" + text(22), "0C 0300 1600": "01 0C 0300 0B",
            ], "0003=" + text(22)),
        Transcript(
            "a value that fills the answer and does not go on", ValueReadByUUID(0x2A19),
            [
                "08 0100 FFFF 192A": "09 15 0300" + text(19), "08 0400 FFFF 192A": "01 08 0400 0A",
                "0A 0300": "0B" + text(19),
            ], "0003=" + text(19)),
        Transcript(
            "values of 253 bytes may go on, each of them", mtu: 517,
            ValueReadByUUID(0x2A19, in: AttributeHandleRange(start: 1, end: 5)),
            [
                "08 0100 0500 192A": "09 FF 0300" + text(253) + "0500" + text(253),
                "0A 0500": "0B" + text(512), "0A 0300": "0B" + text(253),
            ], "0003=" + text(253) + " 0005=" + text(512)),
        Transcript(
            "a value that may not be read", ValueReadByUUID(0x2A19), ["08 0100 FFFF 192A": "01 08 0300 05"],
            "refused 05"),
        Transcript(
            "a value that may not be read on", ValueReadByUUID(0x2A19),
            [
                "08 0100 FFFF 192A": "09 15 FFFF" + text(19), "0A FFFF": "01 0A FFFF 05",
            ], "refused 05"),
        Transcript(
            "handles that go back", ValueReadByUUID(0x2A19), ["08 0100 FFFF 192A": "09 03 0300 01 0300 02"],
            "violation"),
        Transcript(
            "a range that holds nothing", ValueReadByUUID(0x2A19, in: AttributeHandleRange(start: 2, end: 1)), [:],
            "invalid"),
        Transcript("an answer of another kind", ValueReadByUUID(0x2A19), ["08 0100 FFFF 192A": "0B 01"], "violation"),
    ]

    /// Read Multiple Variable Length Characteristic Values, Core Vol 3 Part G §4.8.5.
    static let variable: [Transcript] = [
        Transcript("none", MultipleValueRead([]), [:], "invalid"),
        Transcript("a single value is read separately", MultipleValueRead([3]), ["0A 0300": "0B 01"], "01"),
        Transcript(
            "three in one answer", MultipleValueRead([3, 7, 5]),
            ["20 0300 0700 0500": "21 0100 01 0000 0200 0203"], "01 - 0203"),
        Transcript(
            "one for which the answer has no room is asked for again", MultipleValueRead([3, 5, 7]),
            [
                "20 0300 0500 0700": "21 0A00" + text(10) + "0A00" + text(8),
                "20 0500 0700": "21 0A00" + text(10) + "0300 010203",
            ], text(10) + " " + text(10) + " 010203"),
        Transcript(
            "the last one is read separately", MultipleValueRead([3, 5]),
            ["20 0300 0500": "21 0A00" + text(10) + "0B00" + text(8), "0A 0500": "0B" + text(11)],
            text(10) + " " + text(11)),
        Transcript(
            "one that fits into no answer is read on where it was cut", MultipleValueRead([3, 5, 7]),
            [
                "20 0300 0500 0700": "21 0100 01 1600" + text(17), "0C 0500 1100": "0D" + text(5), "0A 0700": "0B 07",
            ], "01 " + text(22) + " 07"),
        Transcript(
            "one that fits into an answer of its own only is not long", MultipleValueRead([3, 5, 7]),
            ["20 0300 0500 0700": "21 1500" + text(20), "0A 0300": "0B" + text(21), "20 0500 0700": "21 0000 0000"],
            text(21) + " - -"),
        Transcript(
            "a first one that was cut is read on", MultipleValueRead([3, 5]),
            [
                "20 0300 0500": "21 2C00" + text(20), "0C 0300 1400": "0D" + text(22), "0C 0300 2A00": "0D AAAA",
                "0A 0500": "0B 01",
            ], text(44) + " 01"),
        Transcript(
            "a length that was cut is as if it were not there", MultipleValueRead([3, 5]),
            ["20 0300 0500": "21 1300" + text(19) + "01", "0A 0500": "0B 01"], text(19) + " 01"),
        Transcript(
            "a server that answers fewer than fit is asked for the rest", MultipleValueRead([3, 5, 7]),
            ["20 0300 0500 0700": "21 0200 0102", "20 0500 0700": "21 0100 01 0100 02"], "0102 01 02"),
        Transcript(
            "no more handles than fit into a request", MultipleValueRead((1...13).map { AttributeHandle($0) }),
            [
                "20 0100 0200 0300 0400 0500 0600 0700 0800 0900 0A00 0B00":
                    "21" + String(repeating: "0000", count: 11),
                "20 0C00 0D00": "21 0000 0000",
            ], [String](repeating: "-", count: 13).joined(separator: " ")),
        Transcript(
            "a server that does not support the request is asked one by one", MultipleValueRead([3, 5]),
            ["20 0300 0500": "01 20 0000 06", "0A 0300": "0B 01", "0A 0500": "0B 02"], "01 02, not supported"),
        Transcript(
            "a server that cuts values where the answer has room is believed nothing", mtu: 64,
            MultipleValueRead([3, 5, 7]),
            [
                "20 0300 0500 0700": "21 1400" + text(16) + "0100 01 0100 02", "0A 0300": "0B" + text(20),
                "0A 0500": "0B 01", "0A 0700": "0B 02",
            ], text(20) + " 01 02, not supported"),
        Transcript(
            "nor is one that answers with more than the ATT_MTU", MultipleValueRead([3, 5]),
            ["20 0300 0500": "21 0A00" + text(10) + "0B00" + text(11), "0A 0300": "0B 01", "0A 0500": "0B 02"],
            "01 02, not supported"),
        Transcript(
            "a server without support", MultipleValueRead([3, 5], isSupported: false),
            ["0A 0300": "0B 01", "0A 0500": "0B 02"], "01 02, not supported"),
        Transcript(
            "the refusal of one is that of all", MultipleValueRead([3, 5]), ["20 0300 0500": "01 20 0500 02"],
            "refused 02"),
        Transcript(
            "a refusal one by one", MultipleValueRead([3, 5], isSupported: false),
            ["0A 0300": "0B 01", "0A 0500": "01 0A 0500 02"], "refused 02"),
        Transcript(
            "more values than were asked for", MultipleValueRead([3, 5]),
            ["20 0300 0500": "21 0100 01 0100 02 0100 03"], "violation"),
        Transcript(
            "a value that is too long", MultipleValueRead([3, 5]), ["20 0300 0500": "21 0102" + text(20)],
            "violation"),
        Transcript(
            "an answer of the other request", MultipleValueRead([3, 5]), ["20 0300 0500": "0F 0102"], "violation"),
    ]

    private static func write(_ handle: AttributeHandle, _ value: String, at offset: Int = 0) -> AttributeWrite {
        AttributeWrite(handle, offset: offset, value: hex(value))
    }

    /// Reliable Writes, Core Vol 3 Part G §4.9.5.
    static let reliableWrites: [Transcript] = [
        Transcript("nothing", ReliableWrite([]), [:], "invalid"),
        Transcript(
            "two values, one of them in pieces, and a part of a third",
            ReliableWrite([write(3, "0102"), write(5, text(20)), write(7, "FF", at: 0x1FF)]),
            [
                "16 0300 0000 0102": "17 0300 0000 0102", "16 0500 0000" + text(18): "17 0500 0000" + text(18),
                "16 0500 1200 AAAA": "17 0500 1200 AAAA", "16 0700 FF01 FF": "17 0700 FF01 FF", "18 01": "19",
            ], "done"),
        Transcript(
            "an empty value between", ReliableWrite([write(3, "01"), write(5, ""), write(7, "02")]),
            [
                "16 0300 0000 01": "17 0300 0000 01", "16 0500 0000": "17 0500 0000",
                "16 0700 0000 02": "17 0700 0000 02", "18 01": "19",
            ], "done"),
        Transcript(
            "a refusal of a later value: nothing is written", ReliableWrite([write(3, "01"), write(5, "02")]),
            ["16 0300 0000 01": "17 0300 0000 01", "16 0500 0000 02": "01 16 0500 03", "18 00": "19"], "refused 03"),
        Transcript(
            "a full queue: nothing is written", ReliableWrite([write(3, "01"), write(5, "02")]),
            ["16 0300 0000 01": "17 0300 0000 01", "16 0500 0000 02": "01 16 0500 09", "18 00": "19"], "refused 09"),
        Transcript(
            "an echo of the value before: nothing is written", ReliableWrite([write(3, "01"), write(5, "01")]),
            ["16 0300 0000 01": "17 0300 0000 01", "16 0500 0000 01": "17 0300 0000 01", "18 00": "19"],
            "violation"),
        Transcript(
            "a part whose echo has another offset: nothing is written", ReliableWrite([write(3, "01", at: 4)]),
            ["16 0300 0400 01": "17 0300 0000 01", "18 00": "19"], "violation"),
        Transcript("an offset below zero", ReliableWrite([write(3, "01"), write(5, "01", at: -1)]), [:], "invalid"),
        Transcript("an offset behind all values", ReliableWrite([write(3, "", at: 513)]), [:], "invalid"),
        Transcript("a part that ends behind all values", ReliableWrite([write(3, "0102", at: 511)]), [:], "invalid"),
        Transcript(
            "the server cannot write what it holds", ReliableWrite([write(3, "01"), write(5, "02")]),
            ["16 0300 0000 01": "17 0300 0000 01", "16 0500 0000 02": "17 0500 0000 02", "18 01": "01 18 0500 0D"],
            "refused 0D"),
    ]

    @Test("values are read by their type, Core Vol 3 Part G §4.8.2", arguments: byUUID)
    func readByUUID(_ transcript: Transcript) { transcript.check() }

    @Test("values of any length are read together, Core Vol 3 Part G §4.8.5", arguments: variable)
    func readVariable(_ transcript: Transcript) { transcript.check() }

    @Test("several values are written together or not at all, Core Vol 3 Part G §4.9.5", arguments: reliableWrites)
    func writeReliably(_ transcript: Transcript) { transcript.check() }

    // MARK: The package's server

    /// Ten values of these lengths at the handles 3, 5, 7 …
    private static func fixture(_ lengths: [Int], mtu: Int) throws -> (fixture: ServerFixture, values: [[UInt8]]) {
        let values = lengths.enumerated().map { index, count in [UInt8](repeating: UInt8(index + 1), count: count) }
        let characteristics = values.map {
            GATTCharacteristic(0xFFF1, properties: [.read, .write], value: .stored($0))
        }
        return (try ServerFixture([GATTService(0xFFF0, characteristics: characteristics)], mtu: mtu), values)
    }

    private static func handles(_ count: Int) -> [AttributeHandle] {
        (0..<count).map { AttributeHandle(UInt16(3 + 2 * $0)) }
    }

    @Test("all kinds of read return the same values", .seeded, arguments: SeededGenerator.seeds(60))
    func ways(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let mtu = [23, 24, 64, 185, 247, 517].randomElement(using: &generator) ?? 23
        let longest = generator.oneIn(3) ? 512 : 30
        let lengths = (0..<Int.random(in: 1...12, using: &generator)).map { _ in
            generator.oneIn(4)
                ? mtu - 4 + Int.random(in: 0...3, using: &generator) : .random(in: 0...longest, using: &generator)
        }.map { min($0, 512) }
        var (fixture, values) = try Self.fixture(lengths, mtu: mtu)
        let handles = Self.handles(lengths.count)
        let variable = try fixture.perform(MultipleValueRead(handles))
        #expect(variable.output.values == values)
        #expect(variable.output.isSupported)
        let byUUID = try fixture.perform(ValueReadByUUID(0xFFF1)).output
        #expect(byUUID == zip(handles, values).map { RemoteValue(handle: $0, value: $1) })
        var single = 0
        for handle in handles { single += try fixture.perform(ValueRead(handle)).requests }
        // A length takes two bytes, so that a value may fit only a response of its own.
        #expect(variable.requests <= single + lengths.count { $0 > mtu - 3 })
    }

    static let counts: [(mtu: Int, variable: Int, byUUID: Int)] = [
        (23, 20, 41), (247, 2, 3), (517, 1, 2),
    ]

    @Test("twenty values of twenty bytes take this number of requests", arguments: counts)
    func requestCounts(mtu: Int, variable: Int, byUUID: Int) throws {
        let lengths = [Int](repeating: 20, count: 20)
        var fixture = try Self.fixture(lengths, mtu: mtu).fixture
        #expect(try fixture.perform(MultipleValueRead(Self.handles(20))).requests == variable)
        #expect(try fixture.perform(ValueReadByUUID(0xFFF1)).requests == byUUID)
    }

    @Test("several values and parts are written together or not at all")
    func write() throws {
        var fixture = try Self.fixture([3, 5, 0], mtu: 23).fixture
        let long = [UInt8](repeating: 9, count: 100)
        _ = try fixture.perform(
            ReliableWrite([
                AttributeWrite(3, value: [7]), AttributeWrite(5, offset: 4, value: [8, 8]),
                AttributeWrite(7, value: long),
            ]))
        #expect(fixture.database.attribute(at: 3)?.storedValue == [7])
        #expect(fixture.database.attribute(at: 5)?.storedValue == [2, 2, 2, 2, 8, 8])
        #expect(fixture.database.attribute(at: 7)?.storedValue == long)

        let refused = ReliableWrite([AttributeWrite(3, value: [1]), AttributeWrite(5, offset: 9, value: [1])])
        #expect(try fixture.failure(of: refused) == "refused 07")
        #expect(fixture.database.attribute(at: 3)?.storedValue == [7])
    }
}
