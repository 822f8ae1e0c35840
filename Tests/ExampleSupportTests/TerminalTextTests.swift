import Testing

@testable import ExampleSupport

/// A terminal's screen, with the escape sequences that redrawn tables need.
private struct Screen {
    let width: Int
    private(set) var rows: [[String]] = [[]]
    private(set) var row = 0
    private(set) var column = 0

    init(width: Int) { self.width = width }

    /// The same text in a terminal of another width, which breaks longer lines anew.
    func resized(to width: Int) -> Screen {
        var screen = Screen(width: width)
        screen.write(lines.joined(separator: "\n"))
        return screen
    }

    var lines: [String] {
        rows.map { row in
            var line = row.joined()
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    mutating func write(_ text: String) {
        var rest = Substring(text).unicodeScalars
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r": column = 0
            case "\n": newLine()
            case "\u{1B}":
                rest.removeFirst()
                let number = rest.prefix { $0.properties.numericType != nil }
                rest.removeFirst(number.count)
                obey(rest.removeFirst(), Int(String(String.UnicodeScalarView(number))) ?? 0)
            default: put(scalar)
            }
        }
    }

    private mutating func newLine() {
        row += 1
        column = 0
        if row == rows.count { rows.append([]) }
    }

    private mutating func obey(_ command: Unicode.Scalar, _ count: Int) {
        switch command {
        case "A": row = max(0, row - max(1, count))
        case "H": (row, column) = (0, 0)
        case "K": rows[row].removeSubrange(min(column, rows[row].count)...)
        case "J" where count == 2: for index in rows.indices { rows[index] = [] }
        case "J":
            rows[row].removeSubrange(min(column, rows[row].count)...)
            rows.removeSubrange((row + 1)...)
        default: Issue.record("unknown command \(command)")
        }
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        let count = cellWidth(String(scalar))
        guard count > 0 else {
            if column > 0 { rows[row][column - 1].unicodeScalars.append(scalar) }
            return
        }
        if column + count > width { newLine() }
        while rows[row].count < column + count { rows[row].append(" ") }
        rows[row][column] = String(scalar)
        if count == 2 { rows[row][column + 1] = "" }
        column += count
    }
}

@Suite struct TerminalTextTests {
    @Test(
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("漢字キーボード", 14), ("ｶﾅ", 2), ("😀", 2), ("한글", 4),
            ("\u{1112}\u{1161}\u{11AB}", 2),
            ("👨\u{200D}👩\u{200D}👧", 6), ("\u{200B}", 0), ("a\u{200D}b", 2), ("❤\u{FE0F}", 1), ("▁█░…─", 5), ("שלום", 4),
            ("สวัสดี", 4), ("नमस्ते", 4), ("\u{1FAE8}", 2),
        ] as [(String, Int)])
    func aTextHasTheWidthThatTerminalsCount(_ text: String, _ width: Int) {
        #expect(cellWidth(text) == width)
    }

    @Test(
        arguments: [
            ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("abcd", 1, "…"), ("abcd", 0, ""), ("漢字", 4, "漢字"), ("漢字", 3, "漢…"),
            ("漢字", 2, "…"), ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("👨\u{200D}👩\u{200D}👧!", 6, "…"), ("👨\u{200D}👩\u{200D}👧!!", 7, "👨\u{200D}👩\u{200D}👧…"),
        ] as [(String, Int, String)])
    func aTextIsTruncatedBetweenCharacters(_ text: String, _ width: Int, _ shorter: String) {
        #expect(shortened(text, toCells: width) == shorter)
        #expect(cellWidth(shorter) <= width)
    }

    @Test(
        arguments: [
            ("one two three", 13, ["one two three"]), ("one two three", 8, ["one two", "  three"]),
            ("└─ 2A04  = 06 00 28", 13, ["└─ 2A04  = 06", "   00 28"]),
            ("│  ├─ 2A04 Name", 12, ["│  ├─ 2A04", "│  │  Name"]), ("    a remedy", 10, ["    a", "    remedy"]),
            // Below the text, if it is far to the right.
            ("        a remedy", 13, ["        a", "  remedy"]), ("        remedies", 13, ["  remedies"]),
            // A longer word ends with a part of it, or with a byte.
            (
                "id CA010005-1234-5678-9ABC-DEF012345678", 30,
                ["id CA010005-1234-5678-9ABC-", "  DEF012345678"]
            ),
            ("at /usr/lib/swift/linux", 16, ["at /usr/lib/", "  swift/linux"]),
            ("= 00112233445566", 9, ["= 001122", "  334455", "  66"]),
            // Escape sequences have no width.
            ("\u{1B}[1mbold\u{1B}[0m text", 9, ["\u{1B}[1mbold\u{1B}[0m text"]), ("漢字 漢字", 6, ["漢字", "  漢字"]),
        ] as [(String, Int, [String])])
    func aLineIsBrokenBetweenWords(_ line: String, _ width: Int, _ lines: [String]) {
        #expect(wrapped(line, toCells: width) == lines)
    }

    @Test(arguments: 4...60) func noBrokenLineIsWiderThanTheTerminal(_ width: Int) {
        let uuid = "CA010005-1234-5678-9ABC-DEF012345678"
        for line in ["\(uuid) \(uuid)", String(repeating: "0011", count: 40), "/usr/local/bin/漢字/x y z"] {
            let lines = wrapped(line, toCells: width)
            #expect(lines.allSatisfy { cellWidth($0) <= width }, "\(lines)")
            #expect(lines.joined().filter { $0 != " " } == line.filter { $0 != " " })
        }
    }

    // MARK: Tables

    private static func table(_ names: [String] = ["LINBLE-Z1", "漢字キーボード", "e\u{301}te\u{301} 😀"]) -> Table {
        var table = Table([
            Table.Column("ADDRESS"), Table.Column("TYPE", omission: 1), Table.Column("RSSI", .right),
            Table.Column("", omission: 3), Table.Column("ADV", .right, omission: 2), Table.Column("NAME", minimum: 29),
            Table.Column("SERVICES / DATA", omission: 4, minimum: 16),
        ])
        let data = ["27ADC9CA-35EB-465A-9154-B8FF9076F3E8", "180D 1809", ""]
        for (index, name) in names.enumerated() {
            table.add([
                "C0:98:E5:12:34:56", "random", "-58", "▅▅▅▅▅▅▅▅", "152ms", name, data[index % data.count],
            ])
        }
        return table
    }

    @Test func columnsAreAligned() {
        let lines = Self.table().lines
        let starts = lines.map { line in
            (line.firstRange(of: "SERVICES") ?? line.firstRange(of: "27AD") ?? line.firstRange(of: "180D")).map {
                cellWidth(line[..<$0.lowerBound])
            }
        }
        #expect(starts == [66, 66, 66, nil])
    }

    @Test(
        arguments: [
            (200, "ADDRESS            TYPE    RSSI              ADV  NAME            SERVICES / DATA"),
            (80, "ADDRESS            RSSI              ADV  NAME            SERVICES / DATA"),
            (64, "ADDRESS            RSSI  NAME            SERVICES / DATA"),
            (40, "ADDRESS            RSSI  NAME"),
        ])
    func aNarrowTerminalKeepsTheName(_ width: Int, _ titles: String) {
        let lines = Self.table().lines(fitting: width)
        #expect(lines.first == titles)
        #expect(lines.allSatisfy { cellWidth($0) <= width })
        #expect(lines[1].contains("LINBLE-Z1"))
        #expect(lines[2].contains("漢字キーボード"))
        #expect(lines[3].contains("e\u{301}te\u{301} 😀"))
    }

    @Test(arguments: 1...100) func noLineIsWiderThanTheTerminal(_ width: Int) {
        let long = String(repeating: "漢", count: 100)
        for line in Self.table([long, "", "x"]).lines(fitting: width) { #expect(cellWidth(line) <= width) }
    }

    @Test func aLongNameLeavesRoomForTheRest() {
        let lines = Self.table([String(repeating: "x", count: 100), "short"]).lines(fitting: 80)
        #expect(lines[0].hasSuffix("SERVICES / DATA"))
        #expect(lines[1].contains("xxxxxxxx… "))
    }

    @Test func theFinalTableIsComplete() {
        let lines = Self.table().wholeLines(fitting: 40)
        #expect(
            lines == [
                "ADDRESS            RSSI  NAME", "  SERVICES / DATA", "C0:98:E5:12:34:56   -58  LINBLE-Z1",
                "  27ADC9CA-35EB-465A-9154-B8FF9076F3E8", "C0:98:E5:12:34:56   -58  漢字キーボード", "  180D 1809",
                "C0:98:E5:12:34:56   -58  e\u{301}te\u{301} 😀",
            ])
        #expect(Self.table().wholeLines(fitting: 200) == Self.table().lines)
        // Numbers are below their heading, or absent.
        var numbers = Table([Table.Column("throughput"), Table.Column("corrupted", .right, omission: 1)])
        numbers.add(["Write Commands", "0"])
        #expect(numbers.wholeLines(fitting: 20) == ["throughput", "Write Commands"])
        #expect(numbers.wholeLines(fitting: 40) == numbers.lines)
    }

    @Test func oneIsSingular() {
        #expect([0, 1, 2].map { quantity($0, "packet") } == ["0 packets", "1 packet", "2 packets"])
    }

    // MARK: Redrawing

    @Test(arguments: [40, 64, 80, 200]) func aTableIsRedrawnCleanly(_ width: Int) {
        var (text, screen) = (LiveText(), Screen(width: width))
        screen.write("$ ble scan\n")
        for count in [1, 3, 2, 3] {
            let names = ["漢字キーボード漢字キーボード", "👨👩👧", "plain"].prefix(count)
            screen.write(text.frame(Self.table(Array(names)).lines(fitting: width), in: (width, 24)))
            #expect(screen.lines.count == count + 3)
            #expect(screen.column == 0)
        }
        // The terminal's echo of Ctrl-C.
        screen.write("^C")
        let whole = Self.table().wholeLines(fitting: 200)
        screen.write(text.last(whole))
        if width == 200 { #expect(screen.lines == ["$ ble scan"] + whole + [""]) }
        #expect(!screen.lines.joined().contains("^C"))
    }

    @Test(arguments: [20, 40, 70]) func aNarrowerTerminalHasNothingOfTheWiderTable(_ width: Int) {
        var (text, screen) = (LiveText(), Screen(width: 80))
        screen.write("$ ble scan\n" + text.frame(Self.table().lines(fitting: 80), in: (80, 24)))
        screen = screen.resized(to: width)
        let lines = Self.table().lines(fitting: width)
        screen.write(text.frame(lines, in: (width, 24)))
        #expect(screen.lines.prefix(4) == lines[...])
        #expect(screen.lines.dropFirst(4).joined().isEmpty)
        // Also when the scan ends just then.
        screen = screen.resized(to: 16)
        screen.write(text.last(["the end"], toCells: 16))
        #expect(screen.lines.filter { !$0.isEmpty } == ["the end"])
    }

    @Test func aTableHigherThanTheTerminalCountsTheRest() {
        var text = LiveText()
        let lines = ["TITLE"] + (1...40).map { "row \($0)" }
        var screen = Screen(width: 40)
        for _ in 0..<3 {
            screen.write(text.frame(lines, in: (40, 5)))
            #expect(screen.lines == ["TITLE", "row 1", "row 2", "… 38 more", ""])
        }
        screen.write(text.last(lines))
        #expect(screen.lines == lines + [""])
        // No count if all lines fit.
        var other = LiveText()
        #expect(!other.frame(lines, in: (40, 42)).contains("more"))
        // No terminal is too small.
        _ = other.frame(lines, in: (1, 1))
    }

    @Test func aLineAsWideAsTheTerminalKeepsItsLastCharacter() {
        var (text, screen) = (LiveText(), Screen(width: 5))
        for _ in 0..<2 { screen.write(text.frame(["12345", "ab"], in: (5, 9))) }
        #expect(screen.lines == ["12345", "ab", ""])
    }

    @Test(arguments: 1...120) func aBarStaysOnItsLine(_ width: Int) {
        let style = Style(descriptor: -1)
        for done in [0, 5, 63_488, 200_000] {
            for rate in [0, 999, 55_600, 1_234_567.0] {
                let line = progressText("sending", done, of: 200_000, rate: rate, width: width, style: style)
                #expect(cellWidth(line) <= width)
            }
        }
    }

    @Test(
        arguments: [
            (77, "sending ██████████░░░░░░░░░░░░░░░░░░░░░░░░  31 %   63488/200000 B   55.6 kB/s"),
            (45, "sending ██████░░░░░░░░░░░░░  31 %   55.6 kB/s"),
            (32, "sending █████░░░░░░░░░░░░░  31 %"), (20, "sending  31 %"), (8, "sending…"),
        ])
    func aNarrowBarOmitsNumbers(_ width: Int, _ line: String) {
        let style = Style(descriptor: -1)
        #expect(progressText("sending", 63_488, of: 200_000, rate: 55_600, width: width, style: style) == line)
    }
}
