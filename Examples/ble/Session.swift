import ArgumentParser
import BluetoothLE
import ExampleSupport
import Synchronization

/// Steps on one link: the state between them, for `ble exec` and `ble shell`.
final class Session: Sendable {
    /// A step, parsed.
    struct Step: Sendable {
        var text: String
        var command: any StepCommand
    }

    /// A task that continues after its step: it watches the link, or prints subscribed values.
    typealias Background = @Sendable () async -> Void

    private struct Link {
        var connection: Connection
        var title: String
        var subscriptions: [(uuid: BluetoothUUID?, handle: AttributeHandle, stop: AsyncStream<Never>.Continuation)] = []
    }

    private struct State {
        var link: Link?
        /// How the link ended that the steps had; nil if they ended it.
        var loss: String?
        var device: CommonOptions
    }

    private let adapter: Adapter
    private let common: CommonOptions
    private let settings: RequestedSettings
    private let console: Console
    /// The program, for messages.
    private let program: String
    private let state: Mutex<State>

    /// - Parameter settings: the settings of links, if the step that connects has none.
    init(
        on adapter: Adapter, _ common: CommonOptions, _ settings: RequestedSettings, _ console: Console,
        program: String
    ) {
        (self.adapter, self.common, self.console, self.program) = (adapter, common, console, program)
        self.settings = settings
        state = Mutex(State(device: common))
    }

    /// The name or address of the connected device.
    var title: String? { state.withLock { $0.link?.title } }

    /// The link; nil while there is none.
    var connection: Connection? { state.withLock { $0.link?.connection } }

    /// Parses a step.
    /// - Throws: ``ProgramError`` with ``ExitStatus/usage``; help that was requested is the message of one with
    ///   ``ExitStatus/success``.
    static func parse(_ step: ShellWords.Step) throws -> Step {
        do {
            try checkName(of: step)
            var command = try SessionCommand.parseAsRoot(step.words)
            if let command = command as? any StepCommand {
                try command.options?.validateStep()
                try checkSettings(of: command)
                return Step(text: step.text, command: command)
            }
            // The built-in help.
            try command.run()
            throw CleanExit.helpRequest()
        } catch let error as ProgramError {
            throw error
        } catch {
            let (text, status) = SessionCommand.explanation(of: error, for: step.words)
            guard status != 0, let name = step.words.first else { throw ProgramError(.success, text) }
            // A step is typed without the program's name.
            let words = text.trimmingPrefix("ble ").replacing("Usage: ble ", with: "Usage: ")
                .replacing("'ble \(name) --help'", with: "'help \(name)'")
            throw ProgramError(.usage, String(words))
        }
    }

    /// Rejects the settings of a link for a step that works on the link there is.
    private static func checkSettings(of command: any StepCommand) throws {
        if let command = command as? ParametersCommand { return try command.checkStep() }
        guard let command = command as? any DeviceCommand, !command.link.settings.isEmpty else { return }
        throw ValidationError("The settings of the link belong to the steps connect and params.")
    }

    /// Lists the steps if that is requested, and rejects what is no step.
    private static func checkName(of step: ShellWords.Step) throws {
        guard let name = step.words.first, !name.hasPrefix("-") else { return }
        if step.words == ["help"] { throw ProgramError(.success, SessionCommand.overview) }
        if name == "help" || SessionCommand.names.contains(name) { return }
        let question = Suggestion.question(for: name, among: SessionCommand.names)
        throw ProgramError(
            .usage, "'\(printable(name))' is not a step.\(question)", remedy: "List the steps with the step help.")
    }

    /// The result of a step.
    struct Outcome: Sendable {
        /// The exit status of a failure, which was printed.
        var failure: ExitCode?
        /// What continues after the step.
        var background: [Background]
    }

    /// Runs a step, and prints its failure, unless the task was cancelled.
    func perform(_ step: Step) async -> Outcome {
        do {
            return Outcome(background: try await run(step))
        } catch {
            let failure = error as? SessionFailure
            let background = failure?.background ?? []
            guard !Task.isCancelled else { return Outcome(background: background) }
            let words = "\(program): \(printable(step.text))"
            return Outcome(failure: console.report(failure?.error ?? error, of: words), background: background)
        }
    }

    /// Runs a step.
    /// - Returns: what continues after it.
    private func run(_ step: Step) async throws -> [Background] {
        switch step.command {
        case let command as ConnectStep: return [try await connect(command)]
        case is DisconnectStep: try await disconnect()
        case let command as SubscribeStep: return try await subscribe(command)
        case let command as UnsubscribeStep: unsubscribe(command.attributes)
        case let command as SleepStep: try await Task.sleep(for: .seconds(command.seconds))
        case let command as ScanCommand: try await command.perform(on: adapter, console)
        case let command as any DeviceCommand: return try await perform(command)
        default: throw ProgramError(.usage, "'\(printable(step.text))' is not a step.")
        }
        return []
    }

    /// Ends the link, without waiting.
    func end() async {
        await takeLink()?.connection.disconnect(timeout: .zero)
    }

    // MARK: The link

    private func connect(_ step: ConnectStep) async throws -> Background {
        var device = try step.common.naming(step.device).inheriting(common)
        if device.name == nil, device.address == nil { device = state.withLock { $0.device } }
        let own = step.link.settings
        return try await connect(to: device, own.isEmpty ? settings : own)
    }

    private func connect(to device: CommonOptions, _ settings: RequestedSettings) async throws -> Background {
        guard title == nil else {
            throw ProgramError(
                .usage, "\(title ?? "A device") is connected already.", remedy: "End the link with: disconnect")
        }
        try device.validateDevice()
        let (connection, name) = try await device.openConnection(on: adapter, console, link: settings)
        let title = name.map { printable($0) } ?? connection.peer.digits
        state.withLock { state in
            (state.link, state.loss, state.device) = (Link(connection: connection, title: title), nil, device)
        }
        console.show("connected", to: connection.peer, named: title)
        return { [self] in
            let reason = await connection.disconnected()
            guard !Task.isCancelled else { return }
            linkEnded(connection, reason)
        }
    }

    private func disconnect() async throws {
        guard let link = takeLink() else { throw ProgramError(.usage, "No device is connected.") }
        await link.connection.disconnect(timeout: .zero)
        console.show("disconnected", to: link.connection.peer, named: link.title)
    }

    private func takeLink() -> Link? {
        state.withLock { state in
            defer { (state.link, state.loss) = (nil, nil) }
            for subscription in state.link?.subscriptions ?? [] { subscription.stop.finish() }
            return state.link
        }
    }

    private func linkEnded(_ connection: Connection, _ reason: BluetoothError) {
        let title = state.withLock { state -> String? in
            guard let link = state.link, link.connection === connection else { return nil }
            for subscription in link.subscriptions { subscription.stop.finish() }
            (state.link, state.loss) = (nil, "The link to \(link.title) has ended: \(reason.message)")
            return link.title
        }
        guard let title else { return }
        console.message(console.messages.yellow("\(title) has disconnected: \(reason.message)"))
    }

    /// The open link; connects if the command line names the device.
    private func connected() async throws -> (connection: Connection, background: [Background]) {
        let (link, loss, device) = state.withLock { ($0.link?.connection, $0.loss, $0.device) }
        if let link { return (link, []) }
        if let loss { throw ProgramError(.linkLost, loss, remedy: "Connect again with: connect") }
        guard device.name != nil || device.address != nil || device.simulate else {
            throw ProgramError(.usage, "No device is connected.", remedy: "Connect with: connect NAME")
        }
        let background = try await connect(to: device, settings)
        guard let connection = state.withLock({ $0.link?.connection }) else {
            throw ProgramError(.linkLost, "The link has ended.")
        }
        return (connection, [background])
    }

    // MARK: The other steps

    private static var choosesDevice: ProgramError {
        ProgramError(
            .usage, "This step works on the connected device.", remedy: "Choose the device with: connect")
    }

    private func perform(_ parsed: some DeviceCommand) async throws -> [Background] {
        var command = parsed
        guard command.common.name == nil, command.common.address == nil else { throw Self.choosesDevice }
        command.common = command.common.inheriting(common)
        try await command.prepare()
        guard command.common.name == nil, command.common.address == nil else { throw Self.choosesDevice }
        let (connection, background) = try await connected()
        let (ready, output, user) = (command, console.asJSON(command.common.json), state.withLock { $0.device })
        do {
            if !ready.common.asksToPair { await user.endAskingToPair(on: adapter) }
            if command.isPairing {
                try await command.common.preparePairing(on: adapter, console, always: true)
            }
            if type(of: command).isOnLoop {
                try await adapter.run { try await ready.perform(on: connection, output) }
            } else {
                try await ready.perform(on: connection, output)
            }
        } catch {
            if !ready.common.asksToPair { try? await user.preparePairing(on: adapter, console) }
            // The device stays connected, and its values keep coming.
            throw SessionFailure(
                error: await ready.common.namingPairing(error, on: connection), background: background)
        }
        if !ready.common.asksToPair { try? await user.preparePairing(on: adapter, console) }
        return background
    }

    private func subscribe(_ step: SubscribeStep) async throws -> [Background] {
        let (connection, background) = try await connected()
        let streams = try await connection.subscriptions(
            to: step.chosen, common.ofStep, console)
        return background
            + streams.map { attribute, decoder, values in
                let (stopped, stop) = AsyncStream.makeStream(of: Never.self)
                state.withLock { $0.link?.subscriptions.append((attribute.uuid, attribute.attributeHandle, stop)) }
                return { [self] in
                    try? await untilOneEnds([
                        { [self] in await show(values, of: attribute, decoder) }, { for await _ in stopped {} },
                    ])
                }
            }
    }

    private func show(
        _ values: BoundedStream<[UInt8]>, of attribute: ChosenAttribute, _ decoder: ValueDecoder
    ) async {
        do {
            for try await value in values { try console.show(value, sentBy: attribute, decoder) }
        } catch let error as BluetoothError {
            // The end of the link has its own message.
            guard error.code == .overflow else { return }
            console.message("\(attribute.title): \(error.message)")
        } catch {
            console.message("\(error)")
        }
    }

    private func unsubscribe(_ selectors: [AttributeSelector]) {
        state.withLock { state in
            state.link?.subscriptions.removeAll { subscription in
                let isChosen =
                    selectors.isEmpty
                    || selectors.contains { selector in
                        switch selector {
                        case .uuid(let uuid), .path(_, let uuid, _): subscription.uuid == uuid
                        case .name(let name): subscription.uuid.map { name.partial.contains($0) } ?? false
                        case .handle(let handle): subscription.handle == handle
                        }
                    }
                if isChosen { subscription.stop.finish() }
                return isChosen
            }
        }
    }
}

/// The failure of a step that leaves something running.
private struct SessionFailure: Error {
    var error: any Error
    var background: [Session.Background]
}

extension Console {
    fileprivate func show(_ event: String, to peer: BluetoothAddress, named title: String) {
        guard isJSON else { return message("\(event == "connected" ? "connected to" : "disconnected from") \(title)") }
        result([
            ("event", .string(event)), ("peer", .string(peer.digits)),
        ])
    }
}
