import Testing

@testable import ExampleSupport

/// Lines of steps, split as in a shell.
@Suite struct ShellWordsTests {
    @Test(
        arguments: [
            ("", []), (" ;\n; # nothing", []), ("read 2A19", [["read", "2A19"]]),
            ("a b;c", [["a", "b"], ["c"]]), ("a\nb\r\nc", [["a"], ["b"], ["c"]]), ("a\t b ", [["a", "b"]]),
            ("a 'b; c' d", [["a", "b; c", "d"]]), (#"a "b \" c""#, [["a", #"b " c"#]]), ("a ''", [["a", ""]]),
            (#"a b\ c\;d"#, [["a", "b c;d"]]), ("a # b\nc#d", [["a"], ["c#d"]]), ("text:'x y'z", [["text:x yz"]]),
            ("a \\\nb", [["a", "b"]]), ("a 'b\nc'", [["a", "b\nc"]]), (#"'a\'"#, [[#"a\"#]]), (#"a\"#, [[#"a\"#]]),
        ] as [(String, [[String]])])
    func aTextIsSplitIntoSteps(_ text: String, _ steps: [[String]]) throws {
        #expect(try ShellWords.steps(in: text).map(\.words) == steps)
    }

    @Test(arguments: [("a 'b", 1), ("a\nb \"c;\nd", 2)]) func aQuoteMustBeClosed(_ text: String, _ line: Int) {
        let error = #expect(throws: ProgramError.self) { _ = try ShellWords.steps(in: text) }
        #expect(error?.status == .usage)
        #expect(error?.message == "A quote in line \(line) is not closed.")
    }

    @Test func aStepHasItsTextForMessages() throws {
        let steps = try ShellWords.steps(in: " connect 'a b' # first\n read 2A19 ;")
        #expect(steps.map(\.text) == ["connect 'a b'", "read 2A19"])
    }
}

/// The step that a user is typing.
@Suite struct UnfinishedStepTests {
    @Test(
        arguments: [
            ("", [], "", 0), ("re", [], "re", 2), ("read ", ["read"], "", 0), ("read 2A", ["read"], "2A", 2),
            ("read 2A19; wr", [], "wr", 2), ("read 2A19;", [], "", 0), ("connect 'My D", ["connect"], "My D", 5),
            (#"connect My\ D"#, ["connect"], "My D", 5), (#"connect "a"b"#, ["connect"], "ab", 4),
            ("connect '", ["connect"], "", 1), (#"connect \"#, ["connect"], "", 1), ("a\nb c", ["b"], "c", 1),
            ("connect ''", ["connect"], "", 2),
        ] as [(String, [String], String, Int)])
    func theLastStepIsSplit(_ text: String, _ words: [String], _ last: String, _ count: Int) {
        #expect(ShellWords.unfinished(in: text) == .init(words: words, last: last, count: count))
    }

    @Test func aCommentIsNoStep() { #expect(ShellWords.unfinished(in: "read # 2A") == nil) }

    @Test(arguments: [
        "LINBLE-Z1", "My Device", "it's", "", "a;b", "#1", "漢字", #"a\b"#, "\u{301}a", "\u{903}a", "a '\u{301}b",
    ])
    func aQuotedWordIsReadAsItself(_ word: String) throws {
        #expect(try ShellWords.steps(in: "connect " + ShellWords.quoted(word)).first?.words == ["connect", word])
    }
}
