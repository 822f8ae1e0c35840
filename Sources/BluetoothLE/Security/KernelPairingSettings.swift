import BluetoothKernel
import BluetoothPrimitives
import KernelHost
import Logging
import Management

/// The pairing settings that the kernel should have, how far it has them, and the command it must be sent next.
///
/// One command is outstanding at a time. A settings change while commands are being sent begins anew after the
/// outstanding one, so the kernel never keeps a mixture.
struct KernelPairingSettings: Hashable {
    enum State: Hashable {
        /// The kernel was sent none, and needs them for the first pairing.
        case unsent
        /// A command is outstanding, and `rest` follows it.
        case sending(PairingSettings, rest: [ManagementCommand])
        /// A command is outstanding, but the adapter it was for is gone.
        case draining(thenSend: Bool)
        /// The kernel has these.
        case applied(PairingSettings)
        /// The kernel has only a part of them, or none as it has lost the adapter: they are sent whenever the adapter
        /// changes, as the devices begin pairings too.
        case lost
    }

    enum Action: Hashable {
        /// To be answered by ``answered(_:for:)``.
        case send(ManagementCommand)
        /// Resumes those who wait for the kernel to have the settings.
        case finish(BluetoothError?)
    }

    var wanted = PairingSettings()
    private(set) var state = State.unsent

    /// Whether the kernel has what it should have.
    var isApplied: Bool { state == .applied(wanted) }

    /// Has the kernel get the settings, also if it has them where another program may have changed them; what is being
    /// sent already is not sent twice.
    mutating func send(again: Bool, for adapter: AdapterInformation) -> Action? {
        switch state {
        case .unsent, .lost: return begin(adapter)
        case .applied(let settings): return again || settings != wanted ? begin(adapter) : nil
        case .sending: return nil
        case .draining:
            state = .draining(thenSend: true)
            return nil
        }
    }

    /// Sends again what the kernel had and has no more.
    mutating func resend(for adapter: AdapterInformation) -> Action? {
        if case .unsent = state { nil } else { send(again: false, for: adapter) }
    }

    /// Records how the kernel answered the outstanding command.
    mutating func answered(_ error: BluetoothError?, for adapter: AdapterInformation) -> Action? {
        switch state {
        case .unsent, .applied, .lost: return nil
        case .draining(thenSend: true): return begin(adapter)
        case .draining(thenSend: false):
            state = .lost
            return nil
        case .sending(let settings, var rest):
            guard settings == wanted else { return begin(adapter) }
            if let error {
                state = .lost
                return .finish(error)
            }
            guard !rest.isEmpty else {
                state = .applied(settings)
                return .finish(nil)
            }
            let next = rest.removeFirst()
            state = .sending(settings, rest: rest)
            return .send(next)
        }
    }

    /// Records that the adapter is gone, and with it what its kernel was sent.
    mutating func adapterLost(_ reason: BluetoothError) -> Action? {
        switch state {
        case .unsent, .lost: return nil
        case .applied:
            state = .lost
            return nil
        case .sending, .draining:
            state = .draining(thenSend: false)
            return .finish(reason)
        }
    }

    private mutating func begin(_ adapter: AdapterInformation) -> Action {
        var commands = wanted.commands(for: adapter)
        let first = commands.removeFirst()
        state = .sending(wanted, rest: commands)
        return .send(first)
    }
}

/// What an adapter brings to its pairings.
struct PairingSettings: Hashable, Sendable {
    var ioCapability = IOCapability.noInputNoOutput
    var isBondable = true
    var secureConnections = SecureConnectionsMode.on

    /// What tells the kernel so. LE-only adapters have no Secure Simple Pairing, and dual-mode ones need it.
    func commands(for adapter: AdapterInformation) -> [ManagementCommand] {
        var commands: [ManagementCommand] = [.setBondable(isBondable)]
        if adapter.supportedSettings.contains(.secureSimplePairing), adapter.currentSettings.contains(.brEDR) {
            commands.append(.setSecureSimplePairing(true))
        }
        if adapter.supportedSettings.contains(.secureConnections) || secureConnections == .only {
            commands.append(.setSecureConnections(secureConnections))
        }
        return commands + [.setIOCapability(ioCapability)]
    }
}

/// What the kernel is told of the pairings on one adapter.
//
// Lives on the loop, with the pairings.
final class PairingCommands {
    let adapter: AdapterFacts
    private let loop: EventLoop
    private let management: LoopBound<ManagementClient>
    private let log: Logger
    private(set) var settings = KernelPairingSettings()
    /// Those who wait until the kernel has the settings.
    private var waiters = WaiterList<Void, BluetoothError>()

    init(to adapter: AdapterFacts, by management: LoopBound<ManagementClient>, on loop: EventLoop, log: Logger) {
        self.adapter = adapter
        self.management = management
        self.loop = loop
        self.log = log
    }

    /// Has `onNotice` called with what the kernel tells.
    func follow(_ onNotice: @escaping (AdapterNotice) -> Void) {
        // Where that is not to be had, the adapter cannot be followed either, which is told there.
        _ = try? management.value.follow(onNotice)
    }

    /// Has the kernel get other settings; where it refuses, those before it.
    nonisolated(nonsending) func change(
        to wanted: PairingSettings, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        let before = settings.wanted
        settings.wanted = wanted
        do {
            try await send(operation, again: true)
        } catch {
            settings.wanted = before
            // The kernel may have a part of the new settings.
            resend()
            throw error
        }
    }

    /// Has the kernel get the settings, also if it has them where `again` says so.
    nonisolated(nonsending) func send(
        _ operation: BluetoothError.Operation, again: Bool
    ) async throws(BluetoothError) {
        let action = settings.send(again: again, for: adapter.information)
        guard !settings.isApplied else { return }
        let call = waiters.makePromise()
        perform(action)
        do {
            try await call.value(operation, timeout: nil, on: loop)
        } catch {
            throw error.about(operation)
        }
    }

    /// Sends the settings again if the kernel has lost them; until it has them all, whenever the adapter changes.
    func resend() { perform(settings.resend(for: adapter.information)) }

    /// The adapter is gone, and with it what its kernel was sent.
    func adapterIsGone(_ reason: BluetoothError) { perform(settings.adapterLost(reason)) }

    private func perform(_ action: KernelPairingSettings.Action?) {
        switch action {
        case nil: break
        case .send(let command):
            management.value.postWhenIdle(command, to: adapter.information.index) { [weak self] in self?.answered($0) }
        case .finish(let error): waiters.resolveAll(error.map { .failure($0) } ?? .success(()))
        }
    }

    private func answered(_ answer: ManagementClient.Answer) {
        var failure: BluetoothError?
        if case .failure(let error) = answer { failure = error }
        if let failure { log.debug("\(failure)") }
        perform(settings.answered(failure, for: adapter.information))
    }

    /// Hands the kernel the answer to a question.
    func reply(_ answer: PairingAnswer, to question: PairingQuestion, _ peer: BluetoothAddress) {
        if let command = question.command(answer, to: peer) { post(command) }
    }

    /// Has the kernel end a link, and calls `completion` when it has, or there was none.
    func disconnect(_ peer: BluetoothAddress, then completion: @escaping () -> Void = {}) {
        post(.disconnect(ManagementAddress(peer)), then: completion)
    }

    private func post(_ command: ManagementCommand, then completion: @escaping () -> Void = {}) {
        management.value.post(command, to: adapter.information.index) { [log] answer in
            if case .failure(let error) = answer {
                log.debug("\(error)")
                guard error.cause == .management(.notConnected) else { return }
            }
            completion()
        }
    }
}
