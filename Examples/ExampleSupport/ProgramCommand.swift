import ArgumentParser

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

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

    /// The text and the exit status for an error of parsing or running a command, a request for help included.
    public static func explanation(of error: any Error, for arguments: [String]) -> (text: String, status: Int32) {
        let status = exitCode(for: error).rawValue
        let text = fullMessage(for: error)
        let (name, mistyped) = command(in: arguments)
        if status == 0 {
            // The parser answers a request for help on something unknown with the overview.
            if let mistyped, arguments.first == "help" { return (mistyped, ExitStatus.usage.rawValue) }
            return (HelpLayout.arranged(text), status)
        }
        guard status == ExitStatus.usage.rawValue, !(error is ExitCode) else { return (text, status) }
        if let mistyped { return (mistyped, status) }
        return (suggesting(text.hasPrefix("Error: ") ? "\(name): \(text.dropFirst(7))" : text), status)
    }

    /// The message on a value that is none of an option's, with the one that was probably meant.
    private static func suggesting(_ text: String) -> String {
        let message = /The value '([^']*)' is invalid for [^\n]*\. Please provide one of ([^\n]*)\./
        guard let match = text.firstMatch(of: message) else { return text }
        let values = match.2.matches(of: /'([^']*)'/).map { String($0.1) }
        let end = match.range.upperBound
        return text[..<end] + Suggestion.question(for: String(match.1), among: values) + text[end...]
    }

    /// The name of the command that the arguments choose, and the message on the first word that should be a command and
    /// is none; nil if there is no such word.
    static func command(in arguments: [String]) -> (name: String, mistyped: String?) {
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
            return (name, "\(message)\nList the commands with: \(name) --help")
        }
        return (name, nil)
    }
}

/// `exit(3)`, which the commands' own `exit` hides.
private func end(_ status: Int32) -> Never { exit(status) }

/// The common options that are followed by a value.
let namesWithValue: Set<String> = [
    "-n", "--name", "-a", "--address", "--address-type", "--pick", "--find-time", "-t", "--timeout", "--security",
    "--passkey", "-i", "--adapter", "--bonds", "--trace", "--profile", "--service", "--write", "--notify", "--mtu",
    "--chunk", "--pace", "--baud",
    "--world", "--privacy", "--min-key-size", "--irk",
]
