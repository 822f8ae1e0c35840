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
    private let stream: PairingStream
    /// The opened adapter, and the links of it that are about to end, which have the directory that has this pairing.
    private var opened: (adapter: AdapterRecord, ending: WeakReference<LingeringLinks>)?
    private var isFollowing = false
    /// The state of the settings in the kernel.
    package private(set) var progress = KernelPairingSettings()
    private var isServing = false
    /// The callers that wait until the kernel has the settings.
    private var waiters = WaiterList<Void, BluetoothError>()
    /// Whether the kernel has lost keys and out-of-band data with the adapter.
    private var isRemoved = false

    package var receiver: (any PairingReceiver)? {
        get { stream.receiver }
        set { stream.receiver = newValue }
    }

    init(of kernel: any BluetoothKernel, by management: LoopBound<ManagementClient>, log: Logger) {
        mark = kernel.loop.components.mark("KernelPairing")
        self.kernel = kernel
        self.management = management
        self.log = log
        stream = PairingStream(KernelKeys(of: kernel, by: management, log: log), on: kernel.loop)
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
        ending.pairings = stream
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
        case .pairing(own, let event):
            // The links of other programs are theirs to pair.
            if case .question = event, case .others = authority { stream.report(event) } else { stream.handle(event) }
        case .event(own, let event as ManagementNewIdentityResolvingKey):
            if event.isStored { keys.announce(event.key, of: event.randomAddress) }
        case .connected(own, _):
            if isServing { putIntoForce() }
        case .event(own, is ManagementDeviceDisconnected):
            keys.linkEnded(isServing: isServing)
            stream.report(.linkEnded)
            if isServing { applySoon() }
        default: break
        }
    }

    private var keys: KernelKeys { stream.keys }

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
        if isNew { for (peer, data) in stream.outOfBandData { post(Self.command(data, peer)) } }
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
        stream.answered(peer)
        if let command = question.command(answer, to: peer) { post(command) }
    }

    package func disconnect(_ peer: BluetoothAddress, connectedAs connected: BluetoothAddress) {
        for address in [peer, connected] { stream.ends(address) }
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

    // MARK: Out-of-band data. The kernel has it for Secure Connections only: it refuses the values of legacy pairing.

    package nonisolated(nonsending) func makeOutOfBandData(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> OutOfBandData {
        let reply: ManagementReadLocalOutOfBandExtendedData.Reply
        do throws(BluetoothError) {
            reply = try await management.value.sendWhenIdle(
                ManagementReadLocalOutOfBandExtendedData(.lowEnergy), to: index)
        } catch {
            if error.cause == .management(.notSupported) {
                // Although LE does not use it, and the values of other devices are accepted.
                throw BluetoothError(
                    .unsupported, operation,
                    "The kernel creates out-of-band data only for a controller with Secure Simple Pairing, which a controller without "
                        + "BR/EDR lacks.",
                    remedy: "Use a dual-mode adapter (ble adapters), or transfer data in the opposite direction, which "
                        + "suffices: ble pair --oob",
                    cause: error.cause)
            }
            guard error.cause == .management(.rejected) else { throw error.about(operation) }
            // The peer would have to know the private address in advance.
            throw BluetoothError(
                .unsupported, operation,
                "The kernel creates no out-of-band data while this adapter uses private addresses.",
                remedy: BluetoothError.remedy(inCode: "AdapterConfiguration.privacy.", orRun: "oob --privacy off"),
                cause: error.cause)
        }
        guard let data = try? OutOfBandData(reply.structures) else {
            throw BluetoothError(
                .unsupported, operation, "The kernel has no values for Secure Connections on this adapter.",
                remedy: "In code, out-of-band data needs Secure Connections: setPairingAgent(_:secureConnections: .on)."
            )
        }
        return data
    }

    @discardableResult
    package func setOutOfBandData(
        _ data: OutOfBandData?, of peer: BluetoothAddress
    ) -> Promise<SecurityLevel, BluetoothError> {
        stream.outOfBandData[peer] = data
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
