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
