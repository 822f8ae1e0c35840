import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging
import BluetoothManagement

/// The kernel's pairing on one adapter: settings, keys, questions and events.
//
// Lives on the loop, with the pairings.
// Holds more than ten variables: the settings, keys and data of one adapter are restored together.
package final class KernelPairing: HostPairing, AdapterNoticeReceiver {
    private let mark: ComponentCount.Mark
    private let kernel: any BluetoothKernel
    private let management: LoopBound<ManagementClient>
    private let log: Logger
    private let procedures: PairingProcedures
    /// The opened adapter, and the links of it that are about to end, which have the directory that has this pairing.
    private var opened: (adapter: AdapterRecord, ending: WeakReference<LingeringLinks>)?
    /// The events of stored keys that had no receiver yet.
    private var early: [PairingEvent] = []
    private var isFollowing = false
    /// The state of the settings in the kernel.
    package private(set) var progress = KernelPairingSettings()
    private var isServing = false
    /// The callers that wait until the kernel has the settings.
    private var waiters = WaiterList<Void, BluetoothError>()
    /// Whether the kernel has lost keys and out-of-band data with the adapter.
    private var isRemoved = false

    package weak var receiver: (any PairingReceiver)? {
        didSet {
            let events = early
            early = []
            for event in events { receiver?.receive(event) }
        }
    }

    init(of kernel: any BluetoothKernel, by management: LoopBound<ManagementClient>, log: Logger) {
        mark = kernel.loop.components.mark("KernelPairing")
        self.kernel = kernel
        self.management = management
        self.log = log
        procedures = PairingProcedures(KernelKeys(of: kernel, by: management, log: log), on: kernel.loop)
    }

    /// Begins with an adapter that is being prepared, and whose stored keys have been read.
    func begin(_ index: UInt16, _ store: any AdapterStore) {
        follow()
        keys.begin(index, store)
        if isServing { keys.load() }
    }

    /// Begins with an opened adapter.
    func begin(_ adapter: AdapterRecord, _ ending: LingeringLinks) {
        opened = (adapter, WeakReference(to: ending))
        ending.pairings = procedures
        keys.index = adapter.information.index
        follow()
    }

    private func follow() {
        guard !isFollowing else { return }
        // If this is not available, the adapter cannot be followed either, and the error is reported there.
        isFollowing = (try? management.value.follow(self)) != nil
    }

    package var keyStatus: KeyStatus { keys.status }

    package func hasKey(_ addresses: [BluetoothAddress]) -> Bool { keys.exist(addresses) }

    package var authority: PairingAuthority {
        let operation = BluetoothError.Operation("pair", adapter: opened?.adapter.information.name)
        let environment = kernel.environment()
        if environment.isBluetoothDaemonRunning { return .others(.pairing(operation, .ownedByDaemon)) }
        if environment.hasNetAdmin { return .ours }
        return .notPermitted(.notPermitted(operation, executable: environment.executablePath))
    }

    // MARK: Events

    package func receive(_ notice: AdapterNotice) {
        let own = index
        switch notice {
        case .pairing(own, let event): handle(event)
        case .identityResolvingKey(own, let key, let address): keys.announce(key, of: address)
        case .longTermKey(own, let key): handle(.keys(keys.made(key), isStored: true))
        case .unpaired(own, let peer):
            keys.forget(peer)
            handle(.keysForgotten(peer))
        case .connected(own, _):
            if isServing { putIntoForce() }
        case .disconnected(own):
            keys.linkEnded(isServing: isServing)
            report(.linkEnded)
            if isServing { applySoon() }
        default: break
        }
    }

    /// Follows the course of a pairing, and passes its events on.
    private func handle(_ event: PairingEvent) {
        switch event {
        case .question where isPairedByOthers: report(event)
        case .question(let question, let peer):
            procedures.asked(question, peer)
            report(event)
        case .keys(let made, let isStored):
            procedures.made(made, isStored: isStored)
            report(event)
        case .failed(let peer, _): report(.failed(peer, procedures.failed(peer)))
        case .keysForgotten, .linkEnded: report(event)
        }
    }

    private var isPairedByOthers: Bool { if case .others = authority { true } else { false } }

    private var keys: KernelKeys { procedures.keys }

    private func report(_ event: PairingEvent) {
        if let receiver { return receiver.receive(event) }
        switch event {
        case .keys(_, isStored: true), .keysForgotten: if early.count < 64 { early.append(event) }
        default: break
        }
    }

    // MARK: Settings

    package nonisolated(nonsending) func change(
        to wanted: PairingSettings, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        guard let information else { throw .noAdapter(operation) }
        let hasSecureConnections = information.supportedFeatures.contains(.secureConnections)
        guard wanted.secureConnections != .only || hasSecureConnections else {
            throw BluetoothError(.unsupported, operation, "The adapter has no LE Secure Connections.")
        }
        let before = progress.wanted
        progress.wanted = wanted
        if progress.state == .unsent { return }
        do throws(BluetoothError) {
            try await apply().value(operation, timeout: nil, on: kernel.loop)
        } catch {
            progress.wanted = before
            // The kernel may have a part of the new settings.
            if let now = self.information { perform(progress.resend(for: now)) }
            throw error.about(operation)
        }
    }

    @discardableResult
    package func apply() -> Promise<Void, BluetoothError> {
        let call = waiters.makePromise()
        if let information { perform(progress.send(for: information)) } else { failWaiters() }
        return call
    }

    private func applySoon() {
        if case .ours = authority, let information { perform(progress.send(for: information)) }
    }

    private func putIntoForce() {
        keys.load()
        applySoon()
    }

    package func setServing(_ isServing: Bool) {
        guard isServing != self.isServing else { return }
        self.isServing = isServing
        if isServing { putIntoForce() }
    }

    package func release() { if !isServing { release(isLast: false) } }

    private func release(isLast: Bool) {
        guard let information else { return }
        for command in progress.release(for: information, isLast: isLast) {
            management.value.perform(command.base, on: index) { [weak self] _ in self?.progress.restored() }
        }
    }

    package func close() {
        isServing = false
        release(isLast: true)
        management.value.unfollow(self)
        isFollowing = false
        failWaiters()
    }

    /// Ends the waits for settings of an adapter that is closed, of which no more answers are followed.
    private func failWaiters() {
        waiters.failAll(BluetoothError(.cancelled, .init("pair"), "This program has closed the adapter."))
    }

    /// Sends the settings again if the kernel has lost them, at each change of the adapter until it has them all.
    package func adapterChanged(removed reason: BluetoothError?) {
        if let reason {
            isRemoved = true
            return perform(progress.adapterLost(reason))
        }
        guard let information else { return }
        let isNew = isRemoved
        isRemoved = false
        if isNew {
            keys.index = information.index
            keys.adapterIsNew()
            if isServing { keys.load() }
        }
        perform(progress.resend(for: information))
        if isNew { for (peer, data) in procedures.outOfBandData { post(Self.command(data, peer)) } }
    }

    private var information: AdapterInformation? { opened?.adapter.information }

    private var index: UInt16 { information?.index ?? keys.index }

    private func perform(_ action: KernelPairingSettings.Action?) {
        switch action {
        case nil: break
        case .send(let command):
            management.value.perform(command.base, on: index, whenIdle: true) { [weak self] in self?.answered($0) }
        case .finish(let error): waiters.resolveAll(error.map { .failure($0) } ?? .success(()))
        }
    }

    private func answered(_ failure: BluetoothError?) {
        if let failure { log.debug("\(failure)") }
        if let information { perform(progress.answered(failure, for: information)) }
    }

    package func reply(_ answer: PairingAnswer, to question: PairingQuestion, _ peer: BluetoothAddress) {
        procedures.answered(peer)
        if let command = question.command(answer, to: peer) { post(command) }
    }

    package func disconnect(_ peer: BluetoothAddress, connectedAs connected: BluetoothAddress) {
        for address in [peer, connected] { procedures.ends(address) }
        guard let ending = opened?.ending.object else { return }
        ending.linkGoesDown(connected)
        guard kernel.environment().hasNetAdmin else { return }
        post(ManagementDisconnect(ManagementAddress(peer))) { [weak ending] in ending?.linkIsDown(connected) }
    }

    // MARK: Keys

    @discardableResult
    package func loadKeys(evenIfEmpty: Bool) -> Promise<Void, BluetoothError> { keys.load(evenIfEmpty: evenIfEmpty) }

    @discardableResult
    package func removeKeys(of peer: BluetoothAddress, disconnect: Bool) -> Promise<Void, BluetoothError> {
        keys.remove(peer, disconnect: disconnect)
    }

    // MARK: Out-of-band data

    @discardableResult
    package func setOutOfBandData(
        _ data: OutOfBandData?, of peer: BluetoothAddress
    ) -> Promise<SecurityLevel, BluetoothError> {
        procedures.outOfBandData[peer] = data
        let call = Promise<SecurityLevel, BluetoothError>()
        // The kernel refuses a higher level for which the capabilities do not suffice, before it looks at the data.
        let level = progress.wanted.ioCapability == .noInputNoOutput ? SecurityLevel.medium : .high
        if let data {
            management.value.perform(
                Self.command(data, peer), on: index, whenIdle: true, isAbandoned: { call.isResolved }
            ) { error in call.resolve(error.map { .failure($0) } ?? .success(level)) }
        } else {
            call.succeed(level)
            // Remove Remote OOB Data is for BR/EDR only; values of zero count as none.
            post(ManagementAddRemoteOutOfBandData(ManagementAddress(peer), confirmation: .zero, random: .zero))
        }
        return call
    }

    private static func command(_ data: OutOfBandData, _ peer: BluetoothAddress) -> ManagementAddRemoteOutOfBandData {
        ManagementAddRemoteOutOfBandData(ManagementAddress(peer), confirmation: data.confirmation, random: data.random)
    }

    // MARK: Commands

    nonisolated(nonsending) func send<Command: ManagementCommand>(
        _ command: Command
    ) async throws(BluetoothError) -> Command.Reply {
        try await management.value.sendWhenIdle(command, to: index)
    }

    private func post(_ command: some ManagementCommand, then completion: @escaping () -> Void = {}) {
        management.value.perform(command, on: index) { [log] error in
            if let error {
                log.debug("\(error)")
                // Newer kernels answer Disconnect with the second.
                guard [.management(.notConnected), .management(.disconnected)].contains(error.cause) else { return }
            }
            completion()
        }
    }
}
