import ArgumentParser
import BluetoothLE
import ExampleSupport

struct ShellCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shell", abstract: "Work with a device interactively, step by step on one link.",
        discussion: """
            The steps are those of ble exec: connect, disconnect, explore, read, write, notify, subscribe, \
            unsubscribe, pair, rssi, params, bench, scan and sleep. A line can have several, separated by ; and help \
            STEP lists the options of one. To leave, type exit or press Ctrl-D.

            Tab completes steps, options, device names and the attributes of the connected device; the arrow keys and \
            Ctrl-R recall earlier lines, which are stored in a file. Lines that begin with a space or contain a \
            passkey, --irk, --key or --oob are not stored. Ctrl-C cancels the running step, or discards the line.

            If standard input is not a terminal, its lines are the steps. A failed line does not end the shell, which \
            then exits with the status of the last failure.

            EXAMPLES:
              ble shell Pulse-Z1
              echo 'read 2A19' | ble shell -n Pulse-Z1
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Argument(help: "The name or address of the device to connect to, as with -n or -a.")
    var device: String?

    @Option(
        help: ArgumentHelp(
            "Store the lines in this file (default: history beside the bonds).", valueName: "file"),
        completion: .file())
    var history: String?

    @Flag(name: .customLong("no-history"), help: "Store no lines.")
    var keepsNoHistory = false

    func run() async throws {
        let (options, settings, device) = (common, link.settings, device)
        let historyFile = keepsNoHistory ? nil : HistoryFile(history)
        try await options.run("ble shell", writing: [historyFile?.path]) { console in
            let common = try options.naming(device)
            try await common.withAdapter(console) { adapter in
                let session = Session(on: adapter, common, settings, console, program: "ble shell")
                let completion = StepCompletion(of: session, on: adapter)
                let terminal = InteractiveTerminal(
                    history: historyFile, warn: { _ = console.report($0, of: "ble shell") },
                    complete: { await completion.completion(of: $0) })
                let shell = Shell(session, on: terminal, console)
                try await shell.run(isConnecting: common.name != nil || common.address != nil)
            }
        }
    }
}

/// A loop over lines of steps, typed at a terminal or read from standard input.
private struct Shell: Sendable {
    private let session: Session
    private let terminal: InteractiveTerminal?
    private let console: Console

    init(_ session: Session, on terminal: InteractiveTerminal?, _ console: Console) {
        (self.session, self.terminal, self.console) = (session, terminal, console)
        if let terminal { console.write(above: terminal) }
    }

    /// Runs until the user leaves or the input ends, and ends the link.
    /// - Throws: the status of the last failure, if the lines are not typed at a terminal.
    func run(isConnecting: Bool) async throws {
        terminal?.start()
        defer { terminal?.stop() }
        let status = await withDiscardingTaskGroup { group in
            if let terminal { group.addTask { await terminal.run() } }
            var status = isConnecting ? await perform("connect", &group).status : nil
            let input = LineInput()
            while !Task.isCancelled, let line = await nextLine(input) {
                let result = await perform(line, &group)
                status = result.status ?? status
                if result.isLast { break }
            }
            await session.end()
            group.cancelAll()
            return status
        }
        try Task.checkCancellation()
        if terminal == nil, let status { throw status }
    }

    private var prompt: String { (session.title ?? "ble") + "> " }

    /// The next line; nil if the user leaves or the input ends.
    private func nextLine(_ input: LineInput) async -> String? {
        guard let terminal else { return await input.next() }
        while !Task.isCancelled {
            switch await terminal.readLine(prompt) {
            case .line(let line):
                remember(line, on: terminal)
                return line
            case .interrupted: continue
            case .ended: return nil
            }
        }
        return nil
    }

    private func remember(_ line: String, on terminal: InteractiveTerminal) {
        guard !["passkey", "--irk", "--key", "--oob"].contains(where: { line.contains($0) }) else { return }
        var line = line
        while line.last?.isWhitespace == true { line.removeLast() }
        do { try terminal.remember(line) } catch { _ = console.report(error, of: "ble shell") }
    }

    /// Runs the steps of a line up to the first failure; returns its status, and whether a step leaves the shell.
    private func perform(
        _ line: String, _ group: inout DiscardingTaskGroup
    ) async -> (status: ExitCode?, isLast: Bool) {
        let steps: [Session.Step]
        do {
            steps = try ShellWords.steps(in: line).map { try Session.parse($0) }
        } catch let help as ProgramError where help.status == .success {
            console.result(help.message)
            return (nil, false)
        } catch {
            return (console.report(error, of: "ble shell"), false)
        }
        for step in steps {
            if step.command is ExitStep { return (nil, true) }
            let (outcome, isInterrupted) = await attempt(step)
            for task in outcome?.background ?? [] {
                group.addTask {
                    await task()
                    // The link may have ended.
                    terminal?.setPrompt(prompt)
                }
            }
            if isInterrupted {
                console.message(console.messages.yellow("cancelled: \(printable(step.text))"))
                return (ExitCode(ExitStatus.interrupted.rawValue), false)
            }
            if let failure = outcome?.failure { return (failure, false) }
            if Task.isCancelled { return (nil, true) }
        }
        return (nil, false)
    }

    private func attempt(_ step: Session.Step) async -> (Session.Outcome?, isInterrupted: Bool) {
        guard let terminal else { return (await session.perform(step), false) }
        return await terminal.interruptible { await session.perform(step) }
    }
}
