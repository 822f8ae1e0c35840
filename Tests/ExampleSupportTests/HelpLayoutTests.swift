import Testing

@testable import ExampleSupport

/// Help screens and the answers to mistyped words.
@Suite struct HelpLayoutTests {
    @Test func whatBelongsToTheCommandComesFirst() {
        let screen = """
            OVERVIEW: Does it.

            EXAMPLES:
              tool do

            USAGE: tool [<options>]
                   <subcommand>

            DEVICE:
              -n, --name <name>       The name.

            OUTPUT:
              --json                  Lines.

            OPTIONS:
              --version               Show the version.

            SUBCOMMANDS:
              do                      Do it.

              See 'tool help <subcommand>' for detailed help.
            """
        #expect(
            HelpLayout.arranged(screen) == """
                OVERVIEW: Does it.

                EXAMPLES:
                  tool do

                USAGE: tool [<options>]
                       <subcommand>

                OPTIONS:
                  --version               Show the version.

                SUBCOMMANDS:
                  do                      Do it.

                DEVICE:
                  -n, --name <name>       The name.

                OUTPUT:
                  --json                  Lines.

                  See 'tool help <subcommand>' for detailed help.
                """)
    }

    @Test func aLongUsageIsBrokenBetweenWords() {
        let options = (1...12).map { "[--option-\($0)]" }.joined(separator: " ")
        let lines = HelpLayout.arranged("USAGE: tool \(options)\n\nOPTIONS:\n  --version").split(separator: "\n")
        #expect(lines.prefix(3).allSatisfy { $0.count <= 80 })
        #expect(lines[1].hasPrefix("       [--option-") && lines[0].hasPrefix("USAGE: tool [--option-1] "))
        #expect(lines.joined(separator: " ").contains("[--option-12]"))
    }

    @Test(arguments: ["", "ble 1.0", "USAGE: tool", "OPTIONS:\n  --json"])
    func anotherTextIsLeftAlone(_ text: String) {
        #expect(HelpLayout.arranged(text) == text)
    }

    private static let commands = ["scan", "serve", "explore", "read", "write", "notify", "pair", "params", "rssi"]

    @Test(
        arguments: [
            ("scna", "scan"), ("sacn", "scan"), ("SCAN", "scan"), ("sca", "scan"), ("exlpore", "explore"),
            ("rea", "read"), ("expl", "explore"), ("par", "pair"), ("foo", nil), ("", nil), ("notification", nil),
            ("x", nil),
        ] as [(String, String?)])
    func aMistypedCommandIsRecognised(_ typed: String, _ meant: String?) {
        #expect(Suggestion.nearest(to: typed, among: Self.commands) == meant)
        // Half of the letters are no likeness.
        #expect(Suggestion.nearest(to: "0x", among: ["tx"]) == nil)
    }

    @Test(
        arguments: [
            ("", "", 0), ("a", "", 1), ("", "ab", 2), ("ab", "ba", 1), ("abc", "acb", 1), ("kitten", "sitting", 3),
            ("scan", "scan", 0),
        ] as [(String, String, Int)])
    func aSwapIsOneMistake(_ left: String, _ right: String, _ distance: Int) {
        #expect(Suggestion.distance(left, right) == distance)
        #expect(Suggestion.distance(right, left) == distance)
    }
}
