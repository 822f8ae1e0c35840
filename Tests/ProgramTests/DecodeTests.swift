import ExampleSupport
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
        let missing = try await inShell("ble decode $FOLDER/f")
        #expect(missing.status == 66)
        let truncated = try await inShell(
            """
            cd $FOLDER && ble read --simulate 2A19 --trace t.btsnoop >/dev/null && head -c 2000 t.btsnoop >f; ble decode f
            """)
        #expect(truncated.status == 65)
        #expect(truncated.lines.count > 3)
        #expect(truncated.messages.contains("it ends within record"))
    }
}
