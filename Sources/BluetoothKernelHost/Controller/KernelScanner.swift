import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import Logging
import BluetoothManagement

/// The scanner of a controller that the kernel and other programs use as well: carries out what
/// ``ScannerStateMachine`` says.
//
// Lives on the loop, with the controller.
final class KernelScanner: HostScanning {
    private let mark: ComponentCount.Mark
    private let commands: HCICommandQueue
    private let management: ManagementClient
    private let kernel: any BluetoothKernel
    private let log: Logger
    private var ownAddress: OwnAddress
    private var machine = ScannerStateMachine()
    var receiver: (any HostScanReceiver)?
    /// Who waits for the controller to do as it is told.
    private var waiters = WaiterList<Void, BluetoothError>()
    /// Ends the wait for the kernel's answer to the end of a discovery.
    private var discoveryTimer: LoopTimer?
    /// Ends the wait for others that use the scanner.
    private var holdTimer: LoopTimer?
    /// Has a scan shown another address.
    private var privateAddressTimer: LoopTimer?

    init(
        _ ownAddress: OwnAddress, _ commands: HCICommandQueue, _ management: ManagementClient,
        on kernel: any BluetoothKernel, log: Logger
    ) {
        mark = kernel.loop.components.mark("KernelScanner")
        self.ownAddress = ownAddress
        (self.commands, self.management, self.kernel, self.log) = (commands, management, kernel, log)
        // Where that is not to be had, the adapter cannot be followed either, which is told there.
        _ = try? management.follow { [weak self] notice in
            guard case .discovering(let index, let types, let isOn) = notice else { return }
            if let self, self.commands.index == index { discoveryChanged(types, isOn: isOn) }
        }
    }

    private var loop: EventLoop { kernel.loop }
    private var name: String { commands.name }

    /// Whether the kernel is powering the adapter off, as far as its commands tell.
    var isLeaving: Bool { machine.hold == .leaving }

    /// Whether it needs to see what others do.
    var needsSocket: Bool { machine.request != nil || machine.isBusy }

    /// What others do is not seen for a while.
    func stoppedWatching() { machine.stoppedWatching() }

    // MARK: What is wanted

    func setScan(_ wanted: ScanSettings?) {
        machine.request = wanted
        advance()
    }

    nonisolated(nonsending) func scan(
        _ wanted: ScanSettings, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        machine.request = wanted
        try await reconcile(operation)
    }

    /// The kernel begins no connection by itself while it thinks of a discovery that nobody means. Scans go on beside the
    /// attempt: the kernel connects from what any scan reports, and takes the scanner only while it makes the connection.
    nonisolated(nonsending) func prepareToConnect(timeout: Duration?) async {
        // A scanner that cannot be reconciled does not keep a connection from being tried; a controller that hangs does not
        // take longer than the caller has.
        try? await reconcile(
            .init("prepare to connect", adapter: name), timeout: min(timeout ?? .seconds(15), .seconds(15)))
    }

    nonisolated(nonsending) func features(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> LEFeatures {
        let call = Promise<HCIReturnParameters, BluetoothError>()
        commands.send(.leReadLocalSupportedFeatures) { call.resolve($0.mapError { $0.about(operation) }) }
        let answer = try await call.value(operation, timeout: .seconds(10), on: loop)
        guard case .leFeatures(let features) = answer else { throw .unreadable(operation) }
        return features
    }

    // MARK: Doing it

    /// Waits until the controller does what everybody together wants.
    private nonisolated(nonsending) func reconcile(
        _ operation: BluetoothError.Operation, timeout: Duration = .seconds(15)
    ) async throws(BluetoothError) {
        if let end = commands.end { throw end }
        let call = waiters.makePromise()
        advance()
        try await call.value(operation, timeout: timeout, on: loop)
    }

    private func advance() {
        guard commands.end == nil else { return }
        while let action = machine.advance() {
            switch action {
            case .announceListening:
                log.notice(
                    "another program discovers devices on \(name); its scan is listened to meanwhile, which may report each device only once"
                )
            case .perform(let step): return perform(step)
            }
        }
        updateHoldTimer()
        guard machine.isReconciled else { return }
        waiters.succeedAll()
        if machine.request == nil { commands.restIfIdle() }
    }

    private func perform(_ step: ScannerStateMachine.Step) {
        if let command = command(for: step) {
            if case .setParameters(let settings) = step, settings.isDiscovery { hideScanner() }
            commands.send(command) { [self] answer in finish(step, answer) }
        } else if case .endDiscovery(let types) = step {
            endDiscovery(types)
        }
    }

    private func finish(_ step: ScannerStateMachine.Step, _ answer: HCICommandQueue.Answer) {
        guard commands.end == nil else { return }
        switch answer {
        case .success(.supportedCommands(let support)): machine.succeed(support.scanFamily)
        case .success:
            machine.succeed()
            if step == .disable { receiver?.scanStopped() }
            if step == .enable { updatePrivateAddressTimer() }
        case .failure(let error):
            if case .controller(let status) = error.cause {
                if machine.refuse(status) { fail(error) }
            } else {
                machine.fail()
                fail(error)
            }
        }
        advance()
    }

    // MARK: Privacy

    /// How long a scan asks with the same private address (Core Vol 3 Part C §10.7.1.1 and Appendix A: the recommended
    /// time of private addresses).
    private static let privateAddressTime = Duration.seconds(900)

    /// Gives the controller an address to ask scannable devices with, where the adapter hides its own: one of which nobody
    /// at all can tell whose it is, as the key for others is the kernel's.
    ///
    /// It is refused while the controller uses the one it has, which is a private one of the kernel's then.
    private func hideScanner() {
        guard ownAddress == .private else { return }
        var generator = SystemRandomNumberGenerator()
        commands.send(.leSetRandomAddress(.randomNonResolvablePrivate(using: &generator))) { _ in }
    }

    /// Has a scan that asks begin anew with another address when it is time.
    private func updatePrivateAddressTimer() {
        guard ownAddress == .private, machine.request?.isDiscovery == true else {
            privateAddressTimer = nil
            return
        }
        let timer = loop.makeLocalTimer { [weak self] in
            guard let self else { return }
            machine.beginAnew()
            if machine.request != nil { advance() }
        }
        timer.set(after: Self.privateAddressTime)
        privateAddressTimer = timer
    }

    private func fail(_ error: BluetoothError) {
        var error = error
        if error.cause == .controller(.commandDisallowed) {
            error = BluetoothError(
                .busy, error.operation, "Another program keeps the scanner of \(name) busy.",
                remedy: BluetoothError.daemonRemedy, cause: error.cause, isRetryable: true)
        }
        fail(error, isForGood: true)
    }

    /// Ends all scans and everybody who waits for one; unless it is for good, those that are to be resumed stay.
    func fail(_ reason: BluetoothError, isForGood: Bool) {
        machine.request = receiver?.scanEnded(reason, isForGood: isForGood)
        waiters.failAll(reason)
        (holdTimer, privateAddressTimer) = (nil, nil)
    }

    // MARK: The adapter leaves

    /// The adapter is off, or gone, or nobody needs it any more.
    func end(_ reason: BluetoothError, isForGood: Bool) {
        (discoveryTimer, holdTimer, privateAddressTimer) = (nil, nil, nil)
        // Nobody else would end the scan, and a kernel that thinks of a discovery makes no connection.
        let isSwitchedOff = machine.mayBeOn && (command(for: .disable).map { commands.sendLast($0) } ?? false)
        if isSwitchedOff || (isForGood && machine.leavesDiscovery) {
            management.post(.stopDiscovery(machine.typesToEnd), to: commands.index) { _ in }
        }
        fail(reason, isForGood: isForGood)
    }

    /// The adapter is back.
    func comeBack(as ownAddress: OwnAddress) {
        self.ownAddress = ownAddress
        machine.forgetController()
        if machine.request != nil { advance() }
    }

    // MARK: Discoveries

    /// Asks for the end of a discovery.
    ///
    /// The outcome does not matter where it cannot be had: without CAP_NET_ADMIN it cannot be helped.
    private func endDiscovery(_ types: ManagementAddressTypes) {
        let timer = loop.makeLocalTimer { [weak self] in self?.discoveryEnded(.unknown) }
        timer.set(after: .seconds(2))
        discoveryTimer = timer
        management.post(.stopDiscovery(types), to: commands.index) { [weak self] answer in
            self?.discoveryEnded(ScannerStateMachine.DiscoveryEnd(answer))
        }
    }

    /// The kernel has answered, or is not going to.
    private func discoveryEnded(_ end: ScannerStateMachine.DiscoveryEnd) {
        discoveryTimer = nil
        guard machine.isEndingDiscovery else { return }
        machine.discoveryEnded(end, isDaemonRunning: kernel.environment().isBluetoothDaemonRunning)
        advance()
    }

    private func discoveryChanged(_ types: ManagementAddressTypes, isOn: Bool) {
        machine.discoveryChanged(types, isOn: isOn)
        if machine.request != nil { advance() }
    }

    // MARK: Others

    /// Another program's command, or one of the kernel's, was answered.
    func receiveOthers(_ command: HCICommand, _ status: HCIStatus) {
        guard machine.otherCommand(command, status), machine.request != nil else { return }
        if !machine.mayBeOn { receiver?.scanStopped() }
        restartHold()
    }

    /// A connection was made for somebody, or an attempt given up.
    func connectionAttemptEnded() {
        machine.connectionAttemptEnded()
        if machine.request != nil { restartHold() }
    }

    /// An extended scan with a time limit, which ours have not, is over.
    func scanTimedOut() {
        machine.scannerWentOff()
        if machine.request != nil { advance() }
    }

    private func restartHold() {
        holdTimer?.cancel()
        holdTimer = nil
        advance()
    }

    /// Waits for others to be done, as long as somebody listens.
    private func updateHoldTimer() {
        guard let hold = machine.hold, machine.request != nil else { return holdTimer = nil }
        guard holdTimer == nil else { return }
        let timer = loop.makeLocalTimer { [weak self] in
            guard let self else { return }
            holdTimer = nil
            machine.holdEnded()
            advance()
        }
        timer.set(after: hold.limit)
        holdTimer = timer
    }

    // MARK: Commands

    /// The command for a step; nil for the one that is the kernel's.
    private func command(for step: ScannerStateMachine.Step) -> HCICommand? {
        let isExtended = machine.family == .extended
        switch step {
        case .readSupportedCommands: return .readLocalSupportedCommands
        case .endDiscovery: return nil
        case .disable, .enable:
            let isOn = step == .enable
            return isExtended
                ? .leSetExtendedScanEnable(LEExtendedScanEnable(isEnabled: isOn))
                : .leSetScanEnable(isOn, duplicates: .disabled)
        case .setParameters(let settings):
            guard !isExtended else {
                return .leSetExtendedScanParameters(
                    LEExtendedScanParameters(
                        ownAddressType: ownAddress.type, filterPolicy: settings.filterPolicy, le1M: settings.le1M,
                        leCoded: settings.leCoded))
            }
            let timing = settings.le1M ?? LEScanTiming(type: .passive, interval: 0x10, window: 0x10)
            return .leSetScanParameters(
                LEScanParameters(timing: timing, ownAddressType: ownAddress.type, filterPolicy: settings.filterPolicy))
        }
    }
}

extension ScannerStateMachine.DiscoveryEnd {
    init(_ answer: ManagementClient.Answer) {
        switch answer {
        case .success: self = .ended
        case .failure(let error):
            switch error.cause {
            case .management(.rejected): self = .none
            case .management(.invalidParameters): self = .otherTypes
            default: self = .unknown
            }
        }
    }
}

extension ScanSettings {
    /// What somebody told the controller; nil for any other command.
    init?(_ command: HCICommand) {
        switch command {
        case .leSetScanParameters(let parameters):
            self.init(le1M: parameters.timing, filterPolicy: parameters.filterPolicy)
        case .leSetExtendedScanParameters(let parameters):
            self.init(le1M: parameters.le1M, leCoded: parameters.leCoded, filterPolicy: parameters.filterPolicy)
        default: return nil
        }
    }

    /// The least of an active scan there is: it listens for 2.5 ms of 10.24 s and asks nobody for a scan response that
    /// is not on the accept list.
    package static let leastActive = ScanSettings(
        le1M: LEScanTiming(type: .active, interval: 0x4000, window: 4), filterPolicy: .acceptList)

    /// Whether Linux takes it for a discovery: it looks at the first PHY only.
    package var isDiscovery: Bool { (le1M ?? leCoded)?.type == .active }

    /// Whether who asks for `other` hears from this all that it would from its own.
    package func serves(_ other: ScanSettings) -> Bool {
        filterPolicy == .all && united(with: other) == self
    }
}
