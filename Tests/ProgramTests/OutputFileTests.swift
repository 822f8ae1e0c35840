import BluetoothJSON
import Glibc
import Testing

/// Every option of the programs that names a file to write.
@Suite struct OutputFileTests {
    struct Output: Sendable, CustomTestStringConvertible {
        enum Kind: Equatable {
            /// Created, or with --force replaced: as a whole, or as its bytes come.
            case document, stream
            /// Appended to one of its own kind.
            case log
            /// A link or a socket, in whose place there must be nothing else.
            case port
        }

        /// The option, or the command with its argument.
        var name: String
        /// The command, to which the radio and the file are added.
        var command: String
        var kind: Kind
        /// The beginning of what is written.
        var start = ""

        var testDescription: String { name }

        func line(_ file: String, radio: String = "--simulate") -> String { "\(command) \(file) \(radio)" }
    }

    static let outputs = [
        Output(name: "--trace", command: "ble rssi --trace", kind: .stream, start: "btsnoop"),
        Output(name: "--echo", command: "linble send /proc/version --echo", kind: .stream, start: "Linux "),
        Output(name: "ble record file", command: "ble record --for 0", kind: .document, start: "{"),
        Output(name: "--report", command: "ble selftest --only scan.passive --report", kind: .document, start: "{"),
        Output(name: "--log", command: "linble bridge --pty $FOLDER/port --for 1 --log", kind: .log, start: "# linble"),
        Output(name: "--history", command: "ble shell </dev/null --history", kind: .log),
        Output(name: "--pty", command: "linble bridge --for 1 --pty", kind: .port),
        Output(name: "--unix", command: "linble bridge --for 1 --unix", kind: .port),
        Output(name: "--pty", command: "linble serve --for 1 --pty", kind: .port),
    ]

    /// The options and arguments with files that are read; the bonds' directory has a store of its own.
    static let inputs: Set = [
        "--irk", "--key", "--passkey", "--world", "--bonds", "--oob", "--file", "ble decode file", "ble update file",
        "linble send file",
    ]

    /// The options and arguments of a command, and of those below it, that are completed with files.
    private static func names(_ command: JSONValue, _ path: [String]) -> Set<String> {
        let own = command["arguments"].array.compactMap { argument -> String? in
            guard case .object(let kinds) = argument["completionKind"], ["file", "directory"].contains(kinds[0].0)
            else {
                return nil
            }
            let long = argument["names"].array.first { $0["kind"].string == "long" }
            return long.map { "--\($0["name"].string)" }
                ?? (path + [argument["valueName"].string]).joined(separator: " ")
        }
        return command["subcommands"].array.reduce(into: Set(own)) { names, subcommand in
            names.formUnion(self.names(subcommand, path + [subcommand["commandName"].string]))
        }
    }

    @Test func everyOptionThatNamesAFileIsTested() async throws {
        var names: Set<String> = []
        for program in ["ble", "linble"] {
            let help = try await run(program, ["--experimental-dump-help"])
            names.formUnion(Self.names(try JSONValue(reading: Array(help.output.utf8))["command"], [program]))
        }
        #expect(names == Self.inputs.union(Self.outputs.map(\.name)))
    }

    @Test(arguments: outputs) func aFileOfTheUsersStays(_ output: Output) async throws {
        // A shell that does not read from a terminal has no history; that of another kind is tested with its type.
        guard output.name != "--history" else { return }
        let force = output.kind == .log || output.kind == .port ? " --force" : ""
        let ended = try await inShell(
            "echo precious >$FOLDER/file; \(output.line("$FOLDER/file"))\(force) >/dev/null; echo $?; cat $FOLDER/file")
        #expect(ended.output == "73\nprecious\n", "\(ended.messages)")
        #expect(ended.messages.contains("/file"), "\(ended.messages)")
        if output.kind == .document || output.kind == .stream {
            #expect(
                ended.messages.contains("Choose another name, or replace the file with --force."), "\(ended.messages)")
        }
    }

    @Test(arguments: outputs) func whatCannotBeCreatedIsNamed(_ output: Output) async throws {
        guard output.name != "--history" else { return }
        let ended = try await inShell(
            "\(output.line("/nowhere/file")); echo $?; \(output.line("''")); echo $?; ls $FOLDER")
        #expect(ended.output == "73\n64\nerr\nout\n", "\(ended.output)")
        #expect(
            ended.messages.contains(": Cannot create /nowhere/file: there is no folder /nowhere.\n"),
            "\(ended.messages)")
        #expect(ended.messages.hasSuffix(": The name of the file to write is empty.\n"), "\(ended.messages)")
    }

    /// Whatever reads it, and before there is a device.
    @Test(
        arguments: [
            "linble send $FOLDER --simulate", "ble write 2A39 file:$FOLDER --simulate",
            "ble exec --file $FOLDER --simulate", "ble serve $FOLDER --simulate", "ble pair --oob $FOLDER --simulate",
            "ble read 2A19 --passkey $FOLDER --simulate", "ble read 2A19 --irk $FOLDER --simulate",
            "ble scan --key $FOLDER --simulate",
            "ble decode $FOLDER",
            "ble scan --world $FOLDER", "ble exec --simulate \"write 2A39 file:$FOLDER\"",
        ])
    func aFolderIsNoFile(_ command: String) async throws {
        let ended = try await inShell("\(command); echo $? $FOLDER")
        #expect(ended.output.hasPrefix("66 "), "\(ended.output)")
        let folder = ended.output.dropFirst(3).dropLast()
        #expect(ended.messages.hasSuffix(": \(folder): it is a folder.\n"), "\(ended.messages)")
    }

    @Test(arguments: outputs.filter { $0.kind != .port && $0.name != "--history" })
    func aFileIsWrittenAndWrittenAgain(_ output: Output) async throws {
        let again = output.kind == .log ? "" : " --force"
        let ended = try await inShell(
            """
            \(output.line("$FOLDER/file")) >/dev/null; echo $?; head -c \(output.start.utf8.count) $FOLDER/file; echo
            ln -s file $FOLDER/link; echo precious >$FOLDER/target; ln -s target $FOLDER/other
            \(output.line("$FOLDER/file"))\(again) >/dev/null; echo $?
            head -c \(output.start.utf8.count) $FOLDER/file; stat -c ' %a' $FOLDER/file
            \(output.line("$FOLDER/other")) --force >/dev/null; cat $FOLDER/target; ls $FOLDER | grep -c new
            """)
        #expect(
            ended.output == "0\n\(output.start)\n0\n\(output.start) 600\nprecious\n0\n", "\(ended.messages)")
    }

    /// Under another name, too, and although it may be replaced.
    @Test(arguments: outputs.filter { $0.kind != .port }) func aFileThatIsReadIsNotWritten(_ output: Output)
        async throws
    {
        let ended = try await inShell(
            """
            echo '{"devices":[]}' >$FOLDER/world; cp $FOLDER/world $FOLDER/copy
            ln $FOLDER/world $FOLDER/hard; ln -s world $FOLDER/soft
            for name in world hard soft; do
                \(output.line("$FOLDER/$name", radio: "--world $FOLDER/world")) --force; echo $?
            done
            cmp $FOLDER/world $FOLDER/copy && echo unchanged; ls $FOLDER | wc -l
            """)
        #expect(ended.output.filter { $0 != " " } == "73\n73\n73\nunchanged\n6\n", "\(ended.messages)")
        #expect(ended.messages.split(separator: "\n").count { $0.hasSuffix(" is a file that is read.") } == 3)
    }

    /// What a command reads besides its common options, also as a step.
    @Test(
        arguments: [
            "linble send $FOLDER/file", "ble write 2A39 file:$FOLDER/file", "ble exec \"write 2A39 file:$FOLDER/file\"",
            "ble exec --file $FOLDER/file", "ble exec - <$FOLDER/file",
            "ble serve $FOLDER/file", "ble pair --oob $FOLDER/file",
            "ble read 2A19 --passkey $FOLDER/file", "ble read 2A19 --irk $FOLDER/file",
        ])
    func aTraceDoesNotReplaceWhatIsRead(_ command: String) async throws {
        let ended = try await inShell(
            """
            echo precious >$FOLDER/file; ln $FOLDER/file $FOLDER/hard
            \(command) --simulate --force --trace $FOLDER/hard; echo $?; cat $FOLDER/file $FOLDER/hard
            """)
        #expect(ended.output == "73\nprecious\nprecious\n", "\(ended.messages)")
        #expect(ended.messages.hasSuffix("hard is a file that is read.\nChoose another name.\n"), "\(ended.messages)")
    }

    @Test func twoOutputsAreTwoFiles() async throws {
        let ended = try await inShell(
            """
            linble send /proc/version --simulate --echo $FOLDER/file --trace $FOLDER/./file; echo $?
            ls $FOLDER/file; linble send /proc/version --simulate --echo /dev/null --trace /dev/null >/dev/null; echo $?
            """)
        #expect(ended.output == "73\n0\n", "\(ended.messages)")
        #expect(ended.messages.contains("file is written twice.\nChoose another name.\n"), "\(ended.messages)")
    }
}

extension JSONValue {
    fileprivate subscript(_ name: String) -> JSONValue {
        guard case .object(let fields) = self else { return .null }
        return fields.first { $0.0 == name }?.1 ?? .null
    }

    fileprivate var array: [JSONValue] {
        guard case .array(let values) = self else { return [] }
        return values
    }

    fileprivate var string: String {
        guard case .string(let text) = self else { return "" }
        return text
    }
}
