import ArgumentParser

/// The root command of a program.
public protocol ProgramCommand: AsyncParsableCommand {}

/// The root command of a program whose commands use a device.
public protocol DeviceProgram: ProgramCommand, Sendable {
    /// The common options, which may precede the command.
    var common: CommonOptions { get }
}

extension ProgramCommand {
    /// Runs the program with the command line's arguments, and exits. Help is arranged so that a command's own options
    /// come first; a mistyped command is answered with the one that was probably meant. ``prepareStandardStreams()`` comes
    /// first, before the call, with which the task changes threads and the runtime opens files.
    public static func runProgram() async -> Never {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let help = help(for: arguments) {
            print(fitted(help, to: STDOUT_FILENO))
            end(ExitStatus.success.rawValue)
        }
        do {
            var command = try await asyncParseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let (text, status) = explanation(of: error, for: arguments)
            if status != 0 {
                if !text.isEmpty { writeAll(fitted(text, to: STDERR_FILENO) + "\n", to: STDERR_FILENO) }
            } else if !text.isEmpty {
                print(fitted(text, to: STDOUT_FILENO))
            }
            end(status)
        }
        end(ExitStatus.success.rawValue)
    }

    /// The help that names of commands and `--help` ask for; to parse them would take most of the program's time.
    static func help(for arguments: [String]) -> String? {
        guard arguments.last == "--help" || arguments.last == "-h" else { return nil }
        var node = self as any ParsableCommand.Type
        for name in arguments.dropLast() {
            let commands = node.configuration.subcommands
            guard let next = commands.first(where: { $0._commandName == name }) else { return nil }
            node = next
        }
        return HelpLayout.arranged(helpMessage(for: node))
    }

    /// The text and the exit status for an error of parsing or running a command, a request for help included.
    public static func explanation(of error: any Error, for arguments: [String]) -> (text: String, status: Int32) {
        let status = exitCode(for: error).rawValue
        let text = fullMessage(for: error)
        if status == 0 {
            // The parser answers a request for help on something unknown with the overview.
            let mistyped = arguments.first == "help" ? command(in: arguments).mistyped : nil
            return mistyped.map { ($0, ExitStatus.usage.rawValue) } ?? (HelpLayout.arranged(text), status)
        }
        guard status == ExitStatus.usage.rawValue, !(error is ExitCode) else { return (text, status) }
        let (command, name, mistyped) = command(in: arguments)
        if let mistyped { return (mistyped, status) }
        // The parser names the usage of the program if an option belongs to all its commands.
        let usage = text.firstRange(of: "Usage: ")?.lowerBound ?? text.endIndex
        let message = plain(String(text[..<usage].trimmingPrefix("Error: ")), for: arguments)
        return (
            "\(name): \(message)Usage: \(usageString(for: command))\n  See '\(name) --help' for more information.",
            status
        )
    }

    /// A message of the parser in plain words, with the value that was probably meant.
    private static func plain(_ message: String, for arguments: [String]) -> String {
        message.replacing(/The value '([^']*)' is invalid for [^\n]*\. Please provide one of ([^\n]*)\./) { match in
            let values = match.2.matches(of: /'([^']*)'/).map { String($0.1) }
            return match.0 + Suggestion.question(for: String(match.1), among: values)
        }.replacing(/Value to be set with flag '([^']*)' had already been set with flag '([^']*)'/) { match in
            "Give either \(match.2) or \(match.1), not both."
        }.replacing(/(Unknown option '--([^']*)')\. Did you mean '--([^']*)'\?/) { match in
            Suggestion.nearest(to: String(match.2), among: [String(match.3)]) == nil ? match.1 : match.0
        }.replacing(/Missing value for '(-[^ ']+)/) { match in
            // A negative number looks like an option to the parser.
            let next = arguments.drop { $0 != match.1 }.dropFirst().first ?? ""
            return Double(next) == nil ? match.0 : "The value '\(next)' is invalid for '\(match.1)"
        }
    }

    /// The command that the arguments choose with its name, and the message on the first word that should be a command
    /// and is none; nil if there is no such word.
    static func command(
        in arguments: [String]
    ) -> (type: any ParsableCommand.Type, name: String, mistyped: String?) {
        var (node, path) = (self as any ParsableCommand.Type, [_commandName])
        var rest = arguments[...]
        var name: String { path.joined(separator: " ") }
        while let argument = rest.popFirst() {
            if argument == "--" { break }
            if argument.hasPrefix("-") {
                if namesWithValue.contains(argument) { rest = rest.dropFirst() }
                continue
            }
            let commands = node.configuration.subcommands
            if commands.isEmpty { break }
            if argument == "help" { continue }
            let next = commands.first {
                $0._commandName == argument || $0.configuration.aliases.contains(argument)
            }
            if let next {
                node = next
                path.append(argument)
                continue
            }
            let question = Suggestion.question(for: argument, among: commands.map { $0._commandName })
            let message = "\(name): '\(printable(argument))' is not a command.\(question)"
            return (node, name, "\(message)\nList the commands with: \(name) --help")
        }
        if let usual = node.configuration.defaultSubcommand { (node, path) = (usual, path + [usual._commandName]) }
        return (node, name, nil)
    }

    /// The program's options that are followed by a value.
    private static var namesWithValue: Set<String> {
        let options = helpMessage(columns: 1000).matches(of: /(?:(-\w), )?(--[a-z-]+) </)
        return Set(options.flatMap { [$0.1 ?? $0.2, $0.2].map(String.init) })
    }
}

/// `exit(3)`, which the commands' own `exit` hides.
private func end(_ status: Int32) -> Never { exit(status) }
