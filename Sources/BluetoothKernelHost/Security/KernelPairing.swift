import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging
import BluetoothManagement

/// The kernel's pairing on one adapter: settings, questions and events.
//
// Lives on the loop, with the pairings.
package final class KernelPairing: HostPairing, AdapterNoticeReceiver {
    private let mark: ComponentCount.Mark
    private let adapter: AdapterRecord
    private let kernel: any BluetoothKernel
    private let management: LoopBound<ManagementClient>
    private let ending: LingeringLinks
    private let log: Logger
    /// The state of the settings in the kernel.
    package private(set) var progress = KernelPairingSettings()
    private var isServing = false
    private var onEvent: (PairingEvent) -> Void = { _ in }
    /// The callers that wait until the kernel has the settings.
    private var waiters = WaiterList<Void, BluetoothError>()

    init(
        on adapter: AdapterRecord, of kernel: any BluetoothKernel, management: LoopBound<ManagementClient>,
        _ ending: LingeringLinks, log: Logger
    ) {
        mark = kernel.loop.components.mark("KernelPairing")
        self.adapter = adapter
        self.kernel = kernel
        (self.management, self.ending) = (management, ending)
        self.log = log
    }

    package var settings: PairingSettings { progress.wanted }

    package var authority: PairingAuthority {
        let operation = BluetoothError.Operation("pair", adapter: adapter.information.name)
        let environment = kernel.environment()
        if environment.isBluetoothDaemonRunning { return .others(.pairing(operation, .ownedByDaemon)) }
        if environment.hasNetAdmin { return .ours }
        return .notPermitted(.notPermitted(operation, executable: environment.executablePath))
    }

    package func follow(_ onEvent: @escaping (PairingEvent) -> Void) {
        self.onEvent = onEvent
        // If this is not available, the adapter cannot be followed either, and the error is reported there.
        try? management.value.follow(self)
    }

    package func receive(_ notice: AdapterNotice) {
        let own = adapter.information.index
        switch notice {
        case .pairing(own, let event): onEvent(event)
        case .longTermKey(own, let key): onEvent(.keyMade(key.address, MadeKey(kind: key.kind, isStored: true)))
        case .unpaired(own, let peer): onEvent(.keysForgotten(peer))
        case .connected(own, _), .disconnected(own): if isServing { applySoon() }
        default: break
        }
    }

    package nonisolated(nonsending) func change(
        to wanted: PairingSettings, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        guard wanted.secureConnections != .only || adapter.information.supportedFeatures.contains(.secureConnections)
        else { throw BluetoothError(.unsupported, operation, "The adapter has no LE Secure Connections.") }
        let before = progress.wanted
        progress.wanted = wanted
        if progress.state == .unsent { return }
        do {
            try await apply(operation)
        } catch {
            progress.wanted = before
            // The kernel may have a part of the new settings.
            adapterChanged()
            throw error
        }
    }

    package nonisolated(nonsending) func apply(_ operation: BluetoothError.Operation) async throws(BluetoothError) {
        let action = progress.send(for: adapter.information)
        let call = waiters.makePromise()
        perform(action)
        do {
            try await call.value(operation, timeout: nil, on: kernel.loop)
        } catch {
            throw error.about(operation)
        }
    }

    package func setServing(_ isServing: Bool) {
        guard isServing != self.isServing else { return }
        self.isServing = isServing
        if isServing { applySoon() }
    }

    package func applySoon() {
        if case .ours = authority { perform(progress.send(for: adapter.information)) }
    }

    package func release(isLast: Bool) {
        guard !isServing else { return }
        for command in progress.release(for: adapter.information, isLast: isLast) {
            management.value.perform(command.base, on: adapter.information.index) { [weak self] _ in
                self?.progress.restored()
            }
        }
    }

    /// Sends the settings again if the kernel has lost them, at each change of the adapter until it has them all.
    package func adapterChanged() { perform(progress.resend(for: adapter.information)) }

    package func adapterWasRemoved(_ reason: BluetoothError) { perform(progress.adapterLost(reason)) }

    private func perform(_ action: KernelPairingSettings.Action?) {
        switch action {
        case nil: break
        case .send(let command):
            management.value.perform(command.base, on: adapter.information.index, whenIdle: true) { [weak self] in
                self?.answered($0)
            }
        case .finish(let error): waiters.resolveAll(error.map { .failure($0) } ?? .success(()))
        }
    }

    private func answered(_ failure: BluetoothError?) {
        if let failure { log.debug("\(failure)") }
        perform(progress.answered(failure, for: adapter.information))
    }

    package func reply(_ answer: PairingAnswer, to question: PairingQuestion, _ peer: BluetoothAddress) {
        if let command = question.command(answer, to: peer) { post(command) }
    }

    package func disconnect(_ peer: BluetoothAddress, connectedAs connected: BluetoothAddress) {
        ending.linkGoesDown(connected)
        guard kernel.environment().hasNetAdmin else { return }
        post(ManagementDisconnect(ManagementAddress(peer))) { [ending] in ending.linkIsDown(connected) }
    }

    nonisolated(nonsending) func send<Command: ManagementCommand>(
        _ command: Command
    ) async throws(BluetoothError) -> Command.Reply {
        try await management.value.sendWhenIdle(command, to: adapter.information.index)
    }

    func post(_ command: some ManagementCommand, then completion: @escaping () -> Void = {}) {
        management.value.perform(command, on: adapter.information.index) { [log] error in
            if let error {
                log.debug("\(error)")
                // Newer kernels answer Disconnect with the second.
                guard [.management(.notConnected), .management(.disconnected)].contains(error.cause) else { return }
            }
            completion()
        }
    }
}
