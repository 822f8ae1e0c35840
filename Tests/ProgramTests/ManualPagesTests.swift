import BluetoothJSON
import Testing

@testable import ManualPages

@Suite struct ManualPagesTests {
    private static func manual(of program: String) async throws -> Manual {
        let dump = try await run(program, ["--experimental-dump-help"])
        let description = try CommandDescription(dumpedHelp: JSONValue(reading: Array(dump.output.utf8)))
        return Manual(program: try #require(description), date: "2026-01-31", source: "swift-bluetooth-le 1.2.3")
    }

    @Test(arguments: ["ble", "linble"]) func everyCommandAndOptionHasItsPlaceInAPage(_ program: String) async throws {
        let manual = try await Self.manual(of: program)
        let pages = Dictionary(uniqueKeysWithValues: manual.pages)
        for command in [manual.program] + manual.program.subcommands {
            let isProgram = command.name == program
            let name = isProgram ? program : "\(program)-\(command.name)"
            let page = try #require(pages["\(name).1"])
            #expect(page.hasPrefix(".TH \"\(Roff.escape(name.uppercased()))\" 1 2026-01-31 "))
            for argument in command.arguments + (isProgram ? [] : command.subcommands.flatMap(\.arguments)) {
                let heading = argument.kind == .positional ? argument.valueName : argument.names.first ?? ""
                let isListed = page.contains(".TP\n\\fB\(Roff.escape(heading))\\fR")
                #expect(isListed || page.contains(".TP\n\\fI\(Roff.escape(heading))\\fR"), "\(name) \(heading)")
            }
            for example in HelpText(command.discussion).examples {
                #expect(page.contains("\n\(Roff.escape(example))\n"), "\(name): \(example)")
            }
        }
    }

    @Test(arguments: ["ble", "linble"]) func everyPageHasTheCustomarySectionsInOrder(_ program: String) async throws {
        let customary = [
            "NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "ENVIRONMENT", "FILES", "CAPABILITIES", "EXAMPLES",
            "SEE ALSO",
        ]
        for (name, page) in try await Self.manual(of: program).pages {
            let titles = page.split(separator: "\n").filter { $0.hasPrefix(".SH ") }.map { String($0.dropFirst(4)) }
            #expect(titles.filter(customary.contains) == customary, "\(name)")
            #expect(page.contains("\\fB0\\fR\nSuccess."), "\(name)")
            #expect(page.utf8.allSatisfy { $0 < 0x80 }, "\(name)")
        }
    }

    @Test func aHelpTextIsDividedIntoSections() {
        let text = HelpText(
            """
            One sentence
            that continues.

              a literal line

              after an empty one
            NOTE: Not a section of its own text.

            EXIT STATUS: 0 success; 1 failure.

            EXAMPLES:
              ble scan
              ble doctor
            """)
        #expect(
            text.introduction == [
                .paragraph("One sentence that continues."), .literal(["a literal line", "", "after an empty one"]),
            ])
        #expect(text.sections.map(\.title) == ["NOTE", "EXIT STATUS", "EXAMPLES"])
        #expect(text["EXIT STATUS"] == [.paragraph("0 success; 1 failure.")])
        #expect(text.examples == ["ble scan", "ble doctor"])
        #expect(HelpText("").introduction.isEmpty)
        #expect(HelpText("https://example.org: a link").sections.isEmpty)
    }

    @Test func textHasNoMeaningToRoff() {
        #expect(Roff.escape("a-b\\n 'x' ~^`") == "a\\-b\\en \\(aqx\\(aq \\(ti\\(ha\\(ga")
        #expect(Roff.escape("−3 µs 😀") == "\\[u2212]3 \\[u00B5]s \\[u1F600]")
        var page = Roff(title: "a", date: "2026-01-31", source: "b")
        page.section("NAME")
        page.write(prose: "A word, then --power-on, and a range of 1-2.")
        page.paragraph(".TH is not a request here")
        page.literal([".so /etc/passwd", "'br"])
        #expect(
            page.text.split(separator: "\n").dropFirst(3) == [
                ".SH NAME", "A word, then \\fB\\-\\-power\\-on\\fR, and a range of 1\\-2.", ".PP",
                "\\&.TH is not a request here", ".PP", ".RS 4", ".EX", "\\&.so /etc/passwd", "\\(aqbr", ".EE", ".RE",
            ])
    }

    @Test func whatIsNotADescriptionIsRefused() async throws {
        for text in ["", "{", "[]", "{\"command\":{}}"] {
            let ended = try await run("ManualPages", ["--date", "2026-01-31", "/nonexistent"], input: text)
            #expect(ended.status != 0 && !ended.messages.isEmpty)
        }
    }
}
