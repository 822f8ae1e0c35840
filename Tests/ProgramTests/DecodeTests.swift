import BluetoothJSON
import BluetoothPrimitives
import ExampleSupport
import TestSupport
import Testing

/// `ble decode` with captures of the simulated radio.
@Suite(.serialized) struct DecodeTests {
    private func timeless(_ lines: [String]) -> [String] { lines.map(\.timeless) }

    @Test func aScansReportsAreDecodedAsTheScanPrintedThem() async throws {
        let ended = try await inShell(
            """
            cd $FOLDER && ble scan --simulate --json --raw --duplicates --for 1 --trace t.btsnoop >scan.txt &&
            ble decode t.btsnoop --json --raw --only adv >decoded.txt; cat scan.txt; echo; cat decoded.txt
            """)
        #expect(ended.status == 0, "\(ended.messages)")
        let halves = ended.output.split(separator: "\n\n").map { timeless($0.split(separator: "\n").map(String.init)) }
        try #require(halves.count == 2)
        #expect(halves[0].count > 5)
        // The last reports may come after the scan has ended.
        #expect(halves[0] == Array(halves[1].prefix(halves[0].count)))
    }

    @Test func theValuesOfASessionAreDecodedAsTheyWerePrinted() async throws {
        let ended = try await inShell(
            """
            cd $FOLDER && ble read --simulate 2A19 --trace t.btsnoop && ble decode t.btsnoop --only att &&
            ble decode - --only link <t.btsnoop && ble decode t.btsnoop --only att -a 00:00:00:00:00:01 &&
            ble decode t.btsnoop --json --all
            """)
        #expect(ended.status == 0, "\(ended.messages)")
        let value = try #require(ended.lines.first)
        #expect(value.contains("97 %"))
        #expect(ended.lines.contains { $0.contains("ATT ←") && $0.hasSuffix("Read Response  \(value)") })
        #expect(ended.lines.contains { $0.contains("connected as central") })
        let schema = try Schema(named: "lines")
        for line in ended.lines where line.hasPrefix("{") {
            let value = try #require(try? JSONValue(reading: Array(line.utf8)), "\(line)")
            #expect(schema.errors(in: value).isEmpty, "\(schema.errors(in: value)) in \(line)")
        }
    }

    @Test func otherToolsCountTheSamePackets() async throws {
        guard await shell("command -v tshark >/dev/null") == 0 else { return }
        let ended = try await inShell(
            """
            cd $FOLDER && ble read --simulate 2A19 --trace t.btsnoop >/dev/null && tshark -r t.btsnoop 2>/dev/null | wc -l &&
            ble decode t.btsnoop 2>&1 >/dev/null
            """)
        #expect(ended.status == 0, "\(ended.messages)")
        let count = try #require(ended.lines.first)
        #expect(ended.lines.last?.hasPrefix("\(count) packets of btsnoop") == true, "\(ended.output)")
    }

    @Test func otherFilesAreRefusedAndTruncatedOnesShown() async throws {
        let other = try await inShell("echo hello >$FOLDER/f; ble decode $FOLDER/f")
        #expect(other.status == 65)
        #expect(other.messages.contains("neither btsnoop nor PacketLogger"))
        #expect(try await inShell("ble decode $FOLDER/f").status == 66)
        let truncated = try await inShell(
            """
            cd $FOLDER && ble read --simulate 2A19 --trace t.btsnoop >/dev/null && head -c 2000 t.btsnoop >f; ble decode f
            """)
        #expect(truncated.status == 65)
        #expect(truncated.lines.count > 3)
        #expect(truncated.messages.contains("it ends within record"))
    }

    private static let header = "6274736E6F6F7000 00000001 000003EA"

    /// A file of btsnoop (UART) with these packets, each with its time and the bytes that the recorder left out.
    static func capture(_ packets: [(bytes: String, time: Int64, missing: Int)]) -> [UInt8] {
        func number(_ value: some FixedWidthInteger) -> [UInt8] {
            (0..<value.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        return packets.reduce(into: hex(header)) { file, packet in
            let bytes = hex(packet.bytes)
            file += number(UInt32(bytes.count + packet.missing)) + number(UInt32(bytes.count)) + number(UInt32(1))
            file += number(UInt32(0)) + number(packet.time) + bytes
        }
    }

    private static func decoded(_ file: [UInt8], _ options: [String]) async throws -> Ended {
        try await withFolder { folder in
            try NewFile("\(folder)/f", replacesExisting: false).write(file)
            return try await run("ble", ["decode", "\(folder)/f"] + options)
        }
    }

    /// btsnoop counts from the year 0; a recorder without a clock writes 0.
    @Test(arguments: [0, -1, Int64.min, Int64.max, 0x00E0_3AB4_4A67_6000]) func everyTimeIsOne(_ time: Int64)
        async throws
    {
        let ended = try await Self.decoded(Self.capture([("02 4020 0700 0300 0400 1B1200", time, 0)]), ["--json"])
        #expect(ended.status == 0, "\(ended.messages)")
        let schema = try Schema(named: "lines")
        let line = try JSONValue(reading: Array(try #require(ended.lines.first).utf8))
        #expect(schema.errors(in: line).isEmpty, "\(schema.errors(in: line)) in \(line)")
    }

    /// Of a name in another encoding, what is not UTF-8 would be lost.
    @Test(arguments: [
        ("43 61 66 E9", #""name":"Caf""#, #""nameBytes":"436166E9""#), ("D6 D0", #""name":"""#, #""nameBytes":"D6D0""#),
    ])
    func theBytesOfANameArePrinted(_ name: String, _ text: String, _ bytes: String) async throws {
        let count = hex(name).count
        let length = [count + 1, count + 2, count + 14].map { [UInt8($0)].hexadecimal }
        let report = "04 3E \(length[2]) 02 01 00 01 563412E598C0 \(length[1]) \(length[0]) 09 \(name) C0"
        let ended = try await Self.decoded(Self.capture([(report, 0x00E0_3AB4_4A67_6000, 0)]), ["--json"])
        #expect(ended.output.contains(text) && ended.output.contains(bytes), "\(ended.output)\(ended.messages)")
        let schema = try Schema(named: "lines")
        let line = try JSONValue(reading: Array(try #require(ended.lines.first).utf8))
        #expect(schema.errors(in: line).isEmpty, "\(schema.errors(in: line)) in \(line)")
    }

    @Test(
        arguments: [
            ("D4C3B2A1 0200 0400", "pcap", "tshark -r IN -F btsnoop -w OUT"),
            ("0A0D0D0A 1C00 0000 4D3C2B1A", "pcapng", "tshark -r IN -F btsnoop -w OUT"),
            ("3D3D3D3D3D3D3D3D 0A", "the text of an Android bug report", "btsnooz.py IN > OUT"),
            ("1F8B0800 00000000", "gzip", "gunzip"),
        ])
    func anotherFormatIsNamedWithItsConversion(_ start: String, _ name: String, _ remedy: String) async throws {
        let ended = try await Self.decoded(hex(start), [])
        #expect(ended.status == 65)
        #expect(ended.messages.contains("neither btsnoop nor PacketLogger, but \(name)"), "\(ended.messages)")
        #expect(ended.messages.contains(remedy), "\(ended.messages)")
    }
}
