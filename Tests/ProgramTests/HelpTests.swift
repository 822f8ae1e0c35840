import ArgumentParser
import BluetoothSystem
import Glibc
import Testing

@testable import ExampleSupport
@testable import ble
@testable import linble

/// The examples in the help of every command, which users type first.
@Suite(.serialized) struct HelpTests {
    struct Example: Sendable, CustomTestStringConvertible {
        var root: String
        var path: [String]
        var line: String

        var testDescription: String { line }
        /// The words after the program's name.
        var arguments: [String] {
            words(of: line.split(separator: "| ").last.map(String.init) ?? line).dropFirst().map { $0 }
        }
    }

    struct Command: Sendable, CustomTestStringConvertible {
        var root: String
        var path: [String]
        var discussion: String

        var testDescription: String { ([root] + path).joined(separator: " ") }

        var examples: [Example] {
            guard
                let section = discussion.split(separator: "EXAMPLES:\n", omittingEmptySubsequences: false).dropFirst()
                    .last
            else { return [] }
            return section.split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("  ") }.map {
                Example(root: root, path: path, line: String($0.dropFirst(2)))
            }
        }

        /// The help, wide enough not to wrap.
        private var help: String {
            let root: any ParsableCommand.Type = root == "ble" ? BleCommand.self : LinbleCommand.self
            return HelpTests.type(root, path).map { root.helpMessage(for: $0, columns: 1000) } ?? ""
        }

        var optionsWithValue: [String] { help.matches(of: /\n  (?:-\w, )?(--[a-z-]+) </).map { String($0.1) } }

        /// `--option value` for each value after "such as" in the help of an option.
        var optionExamples: [[String]] {
            // The help of an option with a long name begins on the next line.
            return help.replacing(/\n {10,}/, with: " ").split(separator: "\n").flatMap { line -> [[String]] in
                guard let option = line.firstMatch(of: /(--[a-z-]+) </),
                    let values = line.firstMatch(of: /such as ([^;)]+)/)
                else { return [] }
                return values.1.split(separator: " or ").map { value in
                    let word = value.prefix { $0 != " " }
                    return [String(option.1), String(word.last == "." || word.last == "," ? word.dropLast() : word)]
                }
            }
        }
    }

    private static func type(_ command: any ParsableCommand.Type, _ path: [String]) -> (any ParsableCommand.Type)? {
        guard let name = path.first else { return command }
        return command.configuration.subcommands.first { $0._commandName == name }
            .flatMap { type($0, Array(path.dropFirst())) }
    }

    private static func tree(_ type: any ParsableCommand.Type, _ root: String, _ path: [String] = []) -> [Command] {
        [Command(root: root, path: path, discussion: type.configuration.discussion)]
            + type.configuration.subcommands
            .flatMap { tree($0, root, path + [$0._commandName]) }
    }

    static let commands = tree(BleCommand.self, "ble") + tree(LinbleCommand.self, "linble")
    static let examples = commands.flatMap(\.examples)

    /// Parses a command line as the program does.
    private static func parse(_ root: String, _ arguments: [String]) throws {
        if root == "ble" {
            _ = try BleCommand.parseAsRoot(arguments)
        } else {
            _ = try LinbleCommand.parseAsRoot(arguments)
        }
    }

    @Test(arguments: HelpTests.commands) func everyCommandHasExamples(_ command: Command) throws {
        #expect(!command.examples.isEmpty)
        for example in command.examples {
            let line = example.line.split(separator: "| ").last ?? ""
            #expect(words(of: String(line)).starts(with: [command.root]), "\(example.line)")
            // The example is one of this command.
            #expect(command.path.allSatisfy { example.arguments.contains($0) }, "\(example.line)")
            // The help does not wrap it.
            #expect(example.line.count <= 78, "\(example.line)")
            #expect(throws: Never.self) { try Self.parse(command.root, example.arguments) }
        }
    }

    @Test(arguments: HelpTests.commands) func everyValueInTheHelpIsAccepted(_ command: Command) throws {
        // All common options apply to one that names a device.
        let examples = command.examples
        let base = try #require(examples.first { command.path.isEmpty && $0.line.contains(" -n ") } ?? examples.first)
            .arguments
        for option in command.optionExamples {
            // Some belong to one use of the command, of which there is an example.
            let bases = [base] + examples.map(\.arguments)
            #expect(bases.contains { (try? Self.parse(command.root, $0 + option)) != nil }, "\(option)")
        }
    }

    @Test func namesAreExplainedByWhatTheyDo() {
        func help(_ command: any ParsableCommand.Type, _ root: any ParsableCommand.Type) -> String {
            root.helpMessage(for: command, columns: 1000)
        }
        let served = [
            help(ServeCommand.self, BleCommand.self), help(AdvertiseCommand.self, BleCommand.self),
            help(LinbleServeCommand.self, LinbleCommand.self),
        ]
        for text in served { #expect(text.contains(/-n, --name <name> +The name to advertise\./)) }
        for text in [help(ReadCommand.self, BleCommand.self), help(ScanCommand.self, BleCommand.self)] {
            #expect(text.contains(/-n, --name <name> +The device's advertised name/))
        }
        // Several adapters where they have a meaning.
        #expect(help(ReadCommand.self, BleCommand.self).contains("hci0,hci1"))
        for text in served + [help(PairCommand.self, BleCommand.self)] { #expect(!text.contains("hci0,hci1")) }
    }

    @Test func aNameToAdvertiseMayPrecedeTheCommand() throws {
        for arguments in [["-n", "Own", "serve", "battery"], ["serve", "battery", "-n", "Own"]] {
            let command = try #require(try BleCommand.parseAsRoot(arguments) as? ServeCommand)
            #expect(command.scoped.common.name == "Own")
        }
    }

    @Test func theHelpOfOptionsHasExamples() {
        let all = Self.commands.flatMap(\.optionExamples)
        for option in [["--rssi", "-80"], ["--power", "-10"], ["--manufacturer", "004C:0215"]] {
            #expect(all.contains(option), "\(option)")
        }
    }

    @Test(arguments: HelpTests.commands) func anInvalidValueIsAnsweredWithAnExample(_ command: Command) {
        for option in command.optionsWithValue {
            let arguments = command.path + [option, "?"]
            do {
                try Self.parse(command.root, arguments)
            } catch {
                let text =
                    command.root == "ble"
                    ? BleCommand.explanation(of: error, for: arguments).text
                    : LinbleCommand.explanation(of: error, for: arguments).text
                guard text.contains("The value '?' is invalid for") else { continue }
                #expect(text.contains(#/such as |default: \d|one of |\d to /#), "\(text)")
            }
        }
    }

    @Test(arguments: HelpTests.commands) func helpNeedsNoParsing(_ command: Command) throws {
        let program: any ProgramCommand.Type = command.root == "ble" ? BleCommand.self : LinbleCommand.self
        for flag in ["--help", "-h"] {
            let arguments = command.path + [flag]
            let error = try #require(throws: (any Error).self) {
                var asked = try program.parseAsRoot(arguments)
                try asked.run()
            }
            let (parsed, help) = (program.explanation(of: error, for: arguments).text, program.help(for: arguments))
            #expect(help == parsed)
        }
        // What is more than names of commands is parsed.
        #expect(program.help(for: command.path) == nil)
        #expect(program.help(for: command.path + ["-v", "--help"]) == nil)
    }

    @Test func theNotationsInTheHelpAreParsed() {
        let notations = AttributeSelector.help.matches(of: /\(([^)]+)\)/).map { String($0.1) }
        #expect(notations.count == 4)
        for notation in notations { #expect(AttributeSelector(notation) != nil, "\(notation)") }
    }

}

/// That the examples run, in parts side by side: most of them wait.
@Suite struct HelpExampleTests {
    /// The commands that run until they are stopped.
    private static let endless = ["scan", "notify", "advertise", "serve", "bridge"]
    private static let parts = 8

    @Test(arguments: 0..<parts) func everyExampleRuns(_ part: Int) async throws {
        for (number, example) in HelpTests.examples.enumerated() where number % Self.parts == part {
            try await Self.run(example)
        }
    }

    private static func run(_ example: HelpTests.Example) async throws {
        try await withFolder { folder in
            let device = try #require(HelpTests.commands.first { $0.path == ["serve"] && $0.root == "ble" }).discussion
                .split(separator: "\n\n").first { $0.contains("{\"name\"") }
            let files =
                "printf '%s' '\(device ?? "")' >device.json; cp '\(world)' .; printf 123456 >pin.txt; printf abc >value.bin; printf abc >data.bin"
            try SystemFiles.replace("\(folder)/zephyr.signed.bin", with: UpdateTests.image)
            var line = example.line
            if !line.contains("--simulate") { line += " --simulate" }
            // Neither a link nor a port that another program may have.
            line = line.replacing("/tmp/", with: "").replacing("--tcp 4000", with: "--tcp 0")
            let isEndless = endless.contains { example.arguments.contains($0) } || line.contains("--watch")
            if isEndless, !line.contains("--count"), !line.contains("--once"), !line.contains("--clear") {
                line += " --for 2"
            }
            if example.path == ["bench"], !line.contains("--count"), !line.contains("--for") { line += " --for 0.1" }
            if example.path == ["selftest"], !line.contains("--only") { line += " --only advertise" }
            let session =
                example.line.contains("session.btsnoop")
                ? "; ble explore --simulate -a C0:98:E5:12:34:58 --trace session.btsnoop" : ""
            #expect(await shell("cd \(folder) && PATH='\(builtFolder)':$PATH && { \(files)\(session) >seen; }") == 0)
            let script = try #require(fopen("\(folder)/script", "w"))
            fputs(line + "\n", script)
            fclose(script)
            let status = await shell(
                "cd \(folder); PATH='\(builtFolder)':$PATH timeout 120 sh script </dev/null >out 2>err")
            #expect(status == 0, "\(line): \(contents(of: "\(folder)/err"))")
            // Without a user, the interactive ones have nothing to print.
            let isInteractive = line.contains("terminal") || line.hasPrefix("ble shell")
            #expect(!contents(of: "\(folder)/out").isEmpty || line.contains("send") || isInteractive, "\(line)")
        }
    }
}

/// A file with several devices.
let world = #filePath.replacing(
    "/Tests/ProgramTests/HelpTests.swift", with: "/Examples/CoreBluetoothCentral/world.json")

/// The words of a command line, split as the shell does.
private func words(of line: String) -> [String] {
    var words: [String] = []
    var (word, quote) = ("", Character?.none)
    for character in line {
        switch character {
        case quote: quote = nil
        case "'" where quote == nil, "\"" where quote == nil: quote = character
        case " " where quote == nil:
            if !word.isEmpty { words.append(word) }
            word = ""
        default: word.append(character)
        }
    }
    return word.isEmpty ? words : words + [word]
}
