import ArgumentParser

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The root command of a program.
public protocol ProgramCommand: AsyncParsableCommand {}

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
        if status == 0 { return (HelpLayout.arranged(text), status) }
        guard status == ExitStatus.usage.rawValue, !(error is ExitCode), let mistyped = mistypedCommand(in: arguments)
        else { return (text, status) }
        return (mistyped, status)
    }

    /// The message on the first word that should be a command and is none; nil if there is no such word.
    static func mistypedCommand(in arguments: [String]) -> String? {
        var (node, path) = (self as any ParsableCommand.Type, [_commandName])
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" { return nil }
            if argument.hasPrefix("-") {
                if CommonOptions.namesWithValue.contains(argument) { rest = rest.dropFirst() }
                continue
            }
            let commands = node.configuration.subcommands
            if commands.isEmpty { return nil }
            if argument == "help" { continue }
            let next = commands.first {
                $0._commandName == argument || $0.configuration.aliases.contains(argument)
            }
            if let next {
                node = next
                path.append(argument)
                continue
            }
            let name = path.joined(separator: " ")
            let start = "\(name): '\(printable(argument))' is not a command."
            if let nearest = Suggestion.nearest(to: argument, among: commands.map { $0._commandName }) {
                return "\(start) Did you mean \(nearest)?\nList the commands with: \(name) --help"
            }
            return "\(start)\nList the commands with: \(name) --help"
        }
        return nil
    }
}

/// `exit(3)`, which the commands' own `exit` hides.
private func end(_ status: Int32) -> Never { exit(status) }

extension CommonOptions {
    /// The common options that are followed by a value.
    static let namesWithValue: Set<String> = [
        "-n", "--name", "-a", "--address", "--address-type", "--pick", "--find-time", "-t", "--timeout", "--security",
        "--passkey", "-i", "--adapter", "--bonds", "--trace", "--profile", "--mtu", "--chunk", "--pace", "--baud",
        "--world", "--privacy", "--min-key-size", "--irk",
    ]
}
