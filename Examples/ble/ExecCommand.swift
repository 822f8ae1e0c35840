import ArgumentParser
import BluetoothLE
import ExampleSupport

struct ExecCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec", abstract: "Run several steps on one link.",
        discussion: """
            The steps are commands separated by ; or line breaks, with words quoted as in a shell and comments after \
            #: connect, disconnect, explore, read, write, notify, subscribe, unsubscribe, pair, rssi, params, bench, \
            scan and sleep. They take the options of the commands of the same names; the options of ble exec itself \
            apply to all steps. subscribe prints values while the next steps run. With -n or -a, the first step that \
            needs a link connects.

            All steps are checked before the first runs. Exits at the first failure with its status.

            EXAMPLES:
              ble exec "connect Pulse-Z1; read 2A19; write 2A39 01; disconnect"
              ble exec -n Pulse-Z1 "read 2A00; notify 2A37 --count 2" rssi
              echo 'connect pulse; read 2A19' | ble exec -
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Argument(help: "Steps, or - to read them from standard input.")
    var steps: [String] = []

    @Option(help: ArgumentHelp("Read the steps from this file.", valueName: "file"), completion: .file())
    var file: String?

    @Flag(name: [.customShort("k"), .long], help: "Continue after a failure; exit with the status of the last one.")
    var keepGoing = false

    func validate() throws {
        guard !steps.isEmpty || file != nil else {
            throw ValidationError("Give steps, such as \"connect Pulse-Z1; read 2A19\", or - for standard input.")
        }
    }

    func run() async throws {
        let (common, settings) = (common, link.settings)
        let (steps, file, keepGoing) = (steps, file, keepGoing)
        try await common.run("ble exec", reading: [file, steps.contains("-") ? "-" : nil]) { console in
            var texts: [String] = []
            if let file { texts.append(try await Self.text(of: file)) }
            for step in steps { texts.append(step == "-" ? try await Self.text(of: step) : step) }
            let parsed: [Session.Step]
            do {
                parsed = try Self.steps(in: texts)
            } catch let help as ProgramError where help.status == .success {
                return console.message(help.message)
            }
            try common.checkFiles(reading: parsed.flatMap { ($0.command as? any DeviceCommand)?.inputs ?? [] })
            try await common.withAdapter(console) { adapter in
                let session = Session(on: adapter, common, settings, console, program: "ble exec")
                try await session.run(parsed, keepGoing: keepGoing)
            }
        }
    }

    private static func steps(in texts: [String]) throws -> [Session.Step] {
        try texts.flatMap { try ShellWords.steps(in: $0) }.map { step in
            try Task.checkCancellation()
            return try Session.parse(step)
        }
    }

    private static func text(of path: String) async throws -> String {
        guard let text = String(validating: try await contents(of: path, limit: 1 << 20), as: UTF8.self) else {
            let name = path == "-" ? "Standard input" : printable(path)
            throw ProgramError(.badData, "\(name) is not text in UTF-8.")
        }
        return text
    }
}

extension Session {
    /// Runs steps, and ends the link. A failure is printed with its step.
    fileprivate func run(_ steps: [Step], keepGoing: Bool) async throws {
        let status = await withDiscardingTaskGroup { group in
            var last: ExitCode?
            for step in steps {
                if step.command is ExitStep { break }
                let outcome = await perform(step)
                for task in outcome.background { group.addTask { await task() } }
                last = outcome.failure ?? last
                if Task.isCancelled || (last != nil && !keepGoing) { break }
            }
            await end()
            group.cancelAll()
            return last
        }
        try Task.checkCancellation()
        if let status { throw status }
    }
}
