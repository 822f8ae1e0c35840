import TestSupport
import Testing

@testable import ExampleSupport

/// The keys in a terminal's bytes (ECMA-48 §5.4, xterm's bracketed paste).
@Suite struct KeyDecoderTests {
    private static func keys(_ bytes: some Sequence<UInt8>) -> [Key] {
        var decoder = KeyDecoder()
        return bytes.compactMap { decoder.take($0) }
    }

    private static let table: [([UInt8], [Key])] = [
        ([0x61], [.text("a")]), ([0x0D], [.enter]), ([0x0A], [.enter]), ([0x09], [.tab]),
        ([0x7F], [.backspace]), ([0x08], [.backspace]), ([0x01], [.control("a")]), ([0x1A], [.control("z")]),
        ([0x1B, 0x62], [.alt("b")]), ([0x1B, 0x46], [.alt("f")]), ([0x1B, 0x7F], [.alt("\u{7F}")]),
        (Array("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D".utf8), [.up, .down, .right, .left]),
        (Array("\u{1B}OA\u{1B}OH\u{1B}OF".utf8), [.up, .home, .end]),
        (
            Array("\u{1B}[H\u{1B}[F\u{1B}[1~\u{1B}[4~\u{1B}[7~\u{1B}[8~\u{1B}[3~".utf8),
            [.home, .end, .home, .end, .home, .end, .delete]
        ),
        (Array("\u{1B}[1;5C\u{1B}[1;3D".utf8), [.wordRight, .wordLeft]),
        (Array("é漢😀".utf8), [.text("é"), .text("漢"), .text("😀")]),
        (Array("\u{1B}[200~a\r\nb\u{1B}[201~c".utf8), [.paste("a\r\nb"), .text("c")]),
        // Ctrl-C ends a paste whose end does not come.
        (Array("\u{1B}[200~ab\u{03}c".utf8), [.control("c"), .text("c")]),
        // Unknown sequences, and sequences that are too long, are no keys.
        (Array("\u{1B}[5~\u{1B}[15;2~\u{1B}OPx".utf8), [.text("x")]),
        (Array("\u{1B}[\(String(repeating: "1;", count: 100))Ax".utf8), [.up, .text("x")]),
        // A sequence that is broken off, and a second ESC, begin anew.
        (Array("\u{1B}[1\u{1B}[Ax\u{1B}\u{1B}[B".utf8), [.up, .text("x"), .down]),
        // Not UTF-8: alone, truncated, overlong, a surrogate, above the last.
        ([0x80, 0xFF, 0xC0, 0x61], [.text("a")]), ([0xE6, 0xBC, 0x61], [.text("a")]),
        ([0xE0, 0x80, 0x80, 0x61], [.text("a")]), ([0xED, 0xA0, 0x80, 0x61], [.text("a")]),
        ([0xF4, 0x90, 0x80, 0x80, 0x61], [.text("a")]), ([0xC2, 0x85, 0x61], [.text("a")]),
        ([0x00, 0x1C, 0x1F], []),
    ]

    @Test(arguments: table) func bytesAreKeys(_ bytes: [UInt8], _ keys: [Key]) {
        #expect(Self.keys(bytes) == keys)
    }

    @Test func pastedTextIsBounded() {
        let text = String(repeating: "x", count: 3 * KeyDecoder.mostPastedBytes)
        let keys = Self.keys("\u{1B}[200~\(text)\u{1B}[201~y".utf8)
        #expect(keys == [.paste(String(text.prefix(KeyDecoder.mostPastedBytes))), .text("y")])
    }
}

/// The editing of a line, key by key.
@Suite struct LineEditorTests {
    /// Keys by their usual names, and characters.
    private static func edited(_ keys: String, history: [String] = []) -> (LineEditor, [LineEditor.Action?]) {
        var editor = LineEditor(history: LineHistory(history))
        let actions = keys.utf8.map { editor.take($0) }
        return (editor, actions)
    }

    /// The line with `|` at the cursor.
    private static func shown(_ editor: LineEditor) -> String {
        let (line, cursor) = (editor.line, editor.line.cursor)
        return String(line.characters[..<cursor]) + "|" + String(line.characters[cursor...])
    }

    private static let table: [(keys: String, line: String)] = [
        ("abc", "abc|"), ("abc\u{7F}", "ab|"), ("ab\u{01}c", "c|ab"), ("ab\u{01}\u{05}c", "abc|"),
        ("ab\u{02}c", "ac|b"), ("ab\u{02}\u{02}\u{06}c", "ac|b"), ("ab\u{1B}[D\u{1B}[3~", "a|"),
        ("ab\u{01}\u{04}", "|b"), ("read 2A19\u{17}", "read |"), ("read 2A19\u{15}", "|"),
        ("ab cd\u{1B}b\u{0B}", "ab |"), ("ab cd\u{17}\u{01}\u{19}", "cd|ab "),
        ("ab cd\u{01}\u{1B}f", "ab| cd"), ("ab cd\u{01}\u{1B}d", "| cd"), ("ab-cd\u{1B}\u{7F}", "ab-|"),
        ("ab-cd\u{17}", "|"), ("ab\u{14}", "ba|"), ("abc\u{02}\u{14}", "acb|"), ("a\u{14}", "a|"),
        // The accent belongs to the letter before it.
        ("e\u{301}x\u{02}\u{7F}", "|x"), ("漢\u{02}a", "a|漢"),
        ("\u{1B}[200~read\t2A19\r\nread 2A00\n\u{1B}[201~", "read 2A19\nread 2A00|"),
        ("a\u{1B}[200~\u{07}\u{1B}[3~b\u{1B}[201~", "a[3~b|"),
    ]

    @Test(arguments: table) func keysEditTheLine(_ keys: String, _ line: String) {
        #expect(Self.shown(Self.edited(keys).0) == line)
    }

    @Test(
        arguments: [
            ("ab\r", .accept("ab")), ("\r", .accept("")), ("ab\u{03}", .interrupt), ("\u{04}", .endOfInput),
            ("ab\u{04}", .bell), ("\u{0C}", .clearScreen), ("\u{1A}", .suspend), ("a\u{0F}", .bell), ("\u{19}", .bell),
            ("re\t", .complete("re", listsAll: false)), ("re\t\t", .complete("re", listsAll: true)),
            ("re\ta\t", .complete("rea", listsAll: false)), ("read\u{02}\t", .complete("rea", listsAll: false)),
            ("\u{7F}", .bell), ("\u{1B}[A", .bell), ("\u{1B}[C", .bell),
        ] as [(String, LineEditor.Action)])
    func theLastKeyHasAnEffect(_ keys: String, _ action: LineEditor.Action) {
        #expect(Self.edited(keys).1.last == action)
    }

    @Test func anAcceptedOrDiscardedLineLeavesAnEmptyOne() {
        for end in ["\r", "\u{03}"] { #expect(Self.shown(Self.edited("abc" + end).0) == "|") }
    }

    @Test(arguments: [
        ("\u{1B}[A", "two|"), ("\u{1B}[A\u{1B}[A", "one|"), ("\u{10}\u{10}\u{10}", "one|"),
        // What was typed comes back.
        ("thr\u{1B}[A\u{1B}[B", "thr|"), ("thr\u{1B}[A\u{1B}[A\u{0E}\u{0E}\u{0E}", "thr|"), ("x\u{1B}[B", "x|"),
        ("\u{1B}[A!\r\u{1B}[A", "two|"),
        // Search: the newest match, the next older one, none, and back.
        ("\u{12}o", "two|"), ("\u{12}o\u{12}", "one|"), ("\u{12}on", "one|"), ("\u{12}oz", "two|"),
        ("x\u{12}on\u{07}", "x|"), ("x\u{12}on\u{03}", "x|"), ("\u{12}tw\u{01}", "|two"), ("\u{12}on\u{7F}", "two|"),
        ("x\u{12}\u{7F}", "x|"),
    ]) func earlierLinesComeBack(_ keys: String, _ line: String) {
        #expect(Self.shown(Self.edited(keys, history: ["one", "two"]).0) == line)
    }

    @Test func theSearchReplacesThePrompt() {
        #expect(Self.edited("\u{12}tw", history: ["two"]).0.searchPrompt == "(search: tw) ")
        #expect(Self.edited("\u{12}x", history: ["two"]).0.searchPrompt == "(failing search: x) ")
        #expect(Self.edited("\u{12}tw\r", history: ["two"]).1.last == .accept("two"))
    }

    @Test func linesAreRememberedOnce() {
        var history = LineHistory(["one"])
        let areAdded = ["one", "", " two", "two"].map { history.add($0) }
        #expect(areAdded == [false, false, false, true])
        for number in 0..<LineHistory.capacity { _ = history.add("\(number)") }
        #expect(history.lines.count == LineHistory.capacity)
        #expect(history.lines.first == "0")
    }

    @Test func aCompletionReplacesTheWord() {
        var editor = Self.edited("read bat").0
        editor.complete(3, with: "battery-level ")
        #expect(Self.shown(editor) == "read battery-level |")
        editor.complete(100, with: "x")
        #expect(Self.shown(editor) == "x|")
    }

    @Test func noBytesAreAFailure() {
        var generator = SeededGenerator(seed: 1)
        var editor = LineEditor(history: LineHistory(["one", "漢字", "a\nb"]))
        var drawing = LineDrawing()
        // Bytes of keys are as frequent as all others.
        let frequent = Array("\u{1B}[~;1AD3O\r\t\u{12}\u{10}\u{0E}\u{15}\u{17}\u{19}漢e\u{301}".utf8)
        for _ in 0..<30_000 {
            let number = generator.next()
            let byte =
                number % 2 == 0 ? UInt8(truncatingIfNeeded: number >> 8) : frequent[Int(number >> 8) % frequent.count]
            if case .accept(let text)? = editor.take(byte) { _ = editor.remember(text) }
            #expect((0...editor.line.characters.count).contains(editor.line.cursor))
            if number % 8 == 0 {
                _ = drawing.frame(prompt: "ble> ", editor.line, width: Int(number >> 16) % 100)
            }
        }
    }
}

/// The row of a line on a terminal.
@Suite struct LineDrawingTests {
    /// The text on the row, and the column of the cursor.
    private static func row(
        _ drawing: inout LineDrawing, _ prompt: String, _ line: EditedLine, width: Int
    ) -> (text: String, column: Int) {
        let frame = drawing.frame(prompt: prompt, line, width: width)
        let parts = frame.split(separator: "\u{1B}[K\r", omittingEmptySubsequences: false)
        let digits = parts.last?.dropFirst(2).dropLast() ?? ""
        return (String(parts[0].dropFirst()), Int(digits) ?? 0)
    }

    @Test func aShortLineIsShownWhole() {
        var drawing = LineDrawing()
        var line = EditedLine("漢a\nb")
        #expect(Self.row(&drawing, "> ", line, width: 20) == ("> 漢a↵b", 7))
        line.moveToStart()
        line.moveRight()
        #expect(Self.row(&drawing, "> ", line, width: 20) == ("> 漢a↵b", 4))
        line = EditedLine("a\u{1B}b")
        #expect(Self.row(&drawing, "", line, width: 20).text == #"a\u{1B}b"#)
    }

    @Test func aLongLineScrolls() {
        var drawing = LineDrawing()
        var line = EditedLine("0123456789")
        // Six cells after the prompt; the last of them is the cursor's.
        #expect(Self.row(&drawing, "> ", line, width: 9) == ("> 56789", 7))
        line.moveToStart()
        #expect(Self.row(&drawing, "> ", line, width: 9) == ("> 012345", 2))
        for _ in 0..<6 { line.moveRight() }
        #expect(Self.row(&drawing, "> ", line, width: 9) == ("> 123456", 7))
        // Wide characters are never cut.
        line = EditedLine("漢字漢字")
        #expect(Self.row(&drawing, "> ", line, width: 9).text == "> 漢字")
    }

    @Test func theCursorIsAlwaysOnTheRow() {
        for width in 1...40 {
            var drawing = LineDrawing()
            var line = EditedLine("ab漢字e\u{301}😀cd ef gh ij kl")
            for _ in 0...line.characters.count {
                let row = Self.row(&drawing, "Pulse-Z1> ", line, width: width)
                #expect(row.column < max(width, 2), "\(width)")
                #expect(cellWidth(row.text) <= max(width, 2), "\(width)")
                line.moveLeft()
            }
        }
    }

    @Test func textsFillColumns() {
        #expect(columns(["a", "bb", "ccc", "d", "e"], width: 15) == ["a    ccc  e", "bb   d"])
        #expect(columns(["a long text"], width: 5) == ["a l…"])
        #expect(columns([], width: 5) == [])
        #expect(["read", "record"].commonPrefix == "re")
        #expect([String]().commonPrefix == "")
    }
}
