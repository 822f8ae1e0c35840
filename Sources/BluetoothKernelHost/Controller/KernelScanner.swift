import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import Logging
import BluetoothManagement

/// The scanner of a controller that the kernel and other programs use as well: performs the actions of
/// ``ScannerStateMachine``.
//
// Lives on the loop, with the controller.
// Holds more than ten variables: it performs one machine's actions on two sockets, with three time limits.
final class KernelScanner: HostScanning, AdapterNoticeReceiver {
    private let mark: ComponentCount.Mark
    private let commands: HCICommandQueue
    private let management: ManagementClient
    private let kernel: any BluetoothKernel
    private let log: Logger
    private var ownAddress: OwnAddress
    private var machine = ScannerStateMachine()
    weak var receiver: (any HostReceiver)?
    /// The callers that wait until the scanner is reconciled.
    private var waiters = WaiterList<Void, BluetoothError>()
    /// Limit the wait for the kernel's answer to the end of a discovery, and that for other programs that use the scanner;
    /// schedule the change of a scan's private address.
    private var timers: (discovery: LoopTimer?, hold: LoopTimer?, privateAddress: LoopTimer?)
    /// Shows other programs that a scan is this one's which the kernel takes for a discovery.
    private let marks: AdapterMarks
    private var scanMark: (any AnyObject & Sendable)?

    init(
        _ ownAddress: OwnAddress, _ marks: AdapterMarks, _ commands: HCICommandQueue, _ management: ManagementClient,
        on kernel: any BluetoothKernel, log: Logger
    ) {
        mark = kernel.loop.components.mark("KernelScanner")
        (self.ownAddress, self.marks) = (ownAddress, marks)
        (self.commands, self.management, self.kernel, self.log) = (commands, management, kernel, log)
        // If this is not available, the adapter cannot be followed either, and the error is reported there.
        try? management.follow(self)
    }

    private var loop: EventLoop { kernel.loop }
    private var name: String { commands.name }

    /// Whether the kernel is powering the adapter off, according to its commands.
    var isLeaving: Bool { machine.hold == .leaving }

    /// Whether it needs to see other programs' commands.
    var needsSocket: Bool { machine.request != nil || machine.isBusy }

    /// The longest time for which the declared scan lets reports wait in the socket.
    var batching: Duration { machine.request?.batching ?? .zero }

    /// Records that other programs' commands are not observed for some time.
    func stoppedWatching() { machine.stoppedWatching() }

    // MARK: Declaring

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

    /// The kernel does not start connections automatically while it believes in a discovery that no program runs. Scans
    /// continue beside the attempt: the kernel connects from any scan's reports, and stops the scanner only while it
    /// creates the connection.
    nonisolated(nonsending) func prepareToConnect(timeout: Duration?) async {
        // A scanner that cannot be reconciled does not prevent a connection attempt; a controller that hangs does not
        // take longer than the caller's time limit.
        try? await reconcile(
            .init("prepare to connect", adapter: name), timeout: min(timeout ?? .seconds(15), .seconds(15)))
    }

    nonisolated(nonsending) func features(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> LEFeatures {
        try await commands.answer(to: LEReadLocalSupportedFeatures(), operation)
    }

    /// Ends the declared scan, if it runs, and starts it again; whatever was known of the controller's is forgotten.
    func restart() {
        machine.beginAnew()
        advance()
    }

    // MARK: Reconciling

    /// Waits until the controller's scan is the one declared.
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
        if batching == .zero { commands.receiveBatch() }
        while let action = machine.advance() {
            switch action {
            case .announceListening:
                log.notice(
                    "another program is discovering devices on \(name); this program shares its scan, which may report each device only once"
                )
            case .perform(let step): return perform(step)
            }
        }
        updateHoldTimer()
        scanMark = machine.request?.isDiscovery == true ? scanMark ?? marks.hold(.scanning) : nil
        guard machine.isReconciled else { return }
        waiters.succeedAll()
        if machine.request == nil { commands.closeIfIdle() }
    }

    private func perform(_ step: ScannerStateMachine.Step) {
        switch step {
        case .readSupportedCommands:
            commands.send(HCIReadLocalSupportedCommands()) { [self] in finish(step, $0.map { $0.scanFamily }) }
        case .endDiscovery(let types): endDiscovery(types)
        case .disable, .enable: send(enableCommand(step == .enable), for: step)
        case .setParameters(let settings):
            if settings.isDiscovery { hideScanner() }
            let (type, policy) = (ownAddress.type, settings.filterPolicy)
            if machine.family == .extended {
                send(
                    LESetExtendedScanParameters(
                        ownAddressType: type, filterPolicy: policy, le1M: settings.le1M, leCoded: settings.leCoded),
                    for: step)
            } else {
                let timing = settings.le1M ?? LEScanTiming(type: .passive, interval: 0x10, window: 0x10)
                send(LESetScanParameters(timing: timing, ownAddressType: type, filterPolicy: policy), for: step)
            }
        }
    }

    private func enableCommand(_ isOn: Bool) -> any HCICommand {
        if machine.family == .extended { LESetExtendedScanEnable(isEnabled: isOn) } else { LESetScanEnable(isOn) }
    }

    private func send(_ command: some HCICommand, for step: ScannerStateMachine.Step) {
        commands.send(command) { [self] in finish(step, $0.map { _ in nil }) }
    }

    /// - Parameter answer: the family of commands, if the step has read it.
    private func finish(_ step: ScannerStateMachine.Step, _ answer: Result<HCICommandFamily?, BluetoothError>) {
        guard commands.end == nil else { return }
        switch answer {
        case .success(let family?): machine.succeed(family)
        case .success:
            machine.succeed()
            if step == .disable { receiver?.receive(.scanStopped) }
            if step == .enable { updatePrivateAddressTimer() }
        case .failure(let error):
            if let status = error.cause?.controllerStatus {
                if machine.refuse(status) { fail(error) }
            } else {
                machine.fail()
                fail(error)
            }
        }
        advance()
    }

    // MARK: Privacy

    /// The time for which a scan uses the same private address (Core Vol 3 Part C §10.7.1.1 and Appendix A: the
    /// recommended time of private addresses).
    private static let privateAddressTime = Duration.seconds(900)

    /// Sets the scanner's address for scan requests if the adapter uses privacy: a non-resolvable one, since the key
    /// for resolvable ones is the kernel's.
    ///
    /// The controller refuses it while it uses its current address, which is then a private one of the kernel's.
    private func hideScanner() {
        guard ownAddress == .private else { return }
        var generator = SystemRandomNumberGenerator()
        commands.send(LESetRandomAddress(.randomNonResolvablePrivate(using: &generator))) { _ in }
    }

    /// Schedules the restart of an active scan with another address.
    private func updatePrivateAddressTimer() {
        guard ownAddress == .private, machine.request?.isDiscovery == true else {
            timers.privateAddress = nil
            return
        }
        timers.privateAddress = loop.makeTimer(of: self, after: Self.privateAddressTime) { scanner in
            scanner.machine.beginAnew()
            if scanner.machine.request != nil { scanner.advance() }
        }
    }

    private func fail(_ error: BluetoothError) {
        var error = error
        if error.cause == .controller(.commandDisallowed) {
            error = BluetoothError(
                .busy, error.operation, "Another program is using the scanner of \(name).",
                remedy: BluetoothError.otherProgramRemedy(kernel.environment()), cause: error.cause, isRetryable: true)
        }
        fail(error, isForGood: true)
    }

    /// Fails the waiting callers, and reports the failure: what is declared stays so until the receiver replaces it.
    func fail(_ reason: BluetoothError, isForGood: Bool) {
        waiters.failAll(reason)
        (timers.hold, timers.privateAddress) = (nil, nil)
        receiver?.receive(.scanEnded(reason, isForGood: isForGood))
    }

    // MARK: Absence of the adapter

    /// Ends or suspends the scanner: the adapter is off or absent, or closed for good.
    func end(_ reason: BluetoothError, isForGood: Bool) {
        (timers, scanMark) = ((nil, nil, nil), nil)
        // No other program would end the scan, and a kernel that believes in a discovery starts no connection.
        let isSwitchedOff = machine.mayBeOn && commands.sendLast(enableCommand(false))
        if isSwitchedOff || (isForGood && machine.leavesDiscovery) {
            management.perform(ManagementStopDiscovery(machine.typesToEnd), on: commands.index) { _ in }
        }
        fail(reason, isForGood: isForGood)
    }

    /// Resumes: the adapter is back.
    func resume(with ownAddress: OwnAddress) {
        self.ownAddress = ownAddress
        machine.forgetController()
        if machine.request != nil { advance() }
    }

    // MARK: Discoveries

    /// Requests the end of a discovery.
    ///
    /// The result is ignored if it is not available: without CAP_NET_ADMIN a discovery cannot be ended.
    private func endDiscovery(_ types: ManagementAddressTypes) {
        timers.discovery = loop.makeTimer(of: self, after: .seconds(2)) { $0.discoveryEnded(.unknown) }
        management.perform(ManagementStopDiscovery(types), on: commands.index) { [self] failure in
            discoveryEnded(ScannerStateMachine.DiscoveryEnd(failure))
        }
    }

    /// Handles the kernel's answer, or the time limit.
    private func discoveryEnded(_ end: ScannerStateMachine.DiscoveryEnd) {
        timers.discovery = nil
        guard machine.isEndingDiscovery else { return }
        machine.discoveryEnded(end, isDaemonRunning: kernel.environment().isBluetoothDaemonRunning)
        advance()
    }

    func receive(_ notice: AdapterNotice) {
        guard case .event(commands.index, let event as ManagementDiscovering) = notice else { return }
        machine.discoveryChanged(event.types, isOn: event.isDiscovering)
        if machine.request != nil { advance() }
    }

    // MARK: Other programs

    /// Receives the answer to a command of another program or of the kernel.
    func receiveOthers(_ command: AnyHCICommand, _ status: HCIStatus) {
        guard machine.otherCommand(command, status), machine.request != nil else { return }
        if !machine.mayBeOn { receiver?.receive(.scanStopped) }
        restartHold()
    }

    /// Handles the end of a connection attempt of any program: success or cancellation.
    func connectionAttemptEnded() {
        machine.connectionAttemptEnded()
        if machine.request != nil { restartHold() }
    }

    /// Handles the end of an extended scan with a duration, which this program's scans never have.
    func scanTimedOut() {
        machine.scannerWentOff()
        if machine.request != nil { advance() }
    }

    private func restartHold() {
        timers.hold = nil
        advance()
    }

    /// Limits the wait for other programs, as long as a scan is declared.
    private func updateHoldTimer() {
        guard let hold = machine.hold, machine.request != nil else { return timers.hold = nil }
        guard timers.hold == nil else { return }
        timers.hold = loop.makeTimer(of: self, after: hold.limit) { scanner in
            scanner.timers.hold = nil
            scanner.machine.holdEnded()
            scanner.advance()
        }
    }
}

extension ScannerStateMachine.DiscoveryEnd {
    init(_ failure: BluetoothError?) {
        switch failure?.cause {
        case nil where failure == nil: self = .ended
        case .management(.rejected): self = .none
        case .management(.invalidParameters): self = .otherTypes
        default: self = .unknown
        }
    }
}

extension ScanSettings {
    /// The settings in a scan command; nil for any other command.
    init?(_ command: AnyHCICommand) {
        if let legacy = command.as(LESetScanParameters.self) {
            self.init(le1M: legacy.timing, filterPolicy: legacy.filterPolicy)
        } else if let extended = command.as(LESetExtendedScanParameters.self) {
            self.init(le1M: extended.le1M, leCoded: extended.leCoded, filterPolicy: extended.filterPolicy)
        } else {
            return nil
        }
    }

    /// The smallest active scan: a window of 2.5 ms in 10.24 s that sends scan requests only to devices on the filter
    /// accept list.
    package static let leastActive = ScanSettings(
        le1M: LEScanTiming(type: .active, interval: 0x4000, window: 4), filterPolicy: .acceptList)

    /// Whether Linux takes the scan for a discovery: it examines the first PHY only.
    package var isDiscovery: Bool { (le1M ?? leCoded)?.type == .active }

    /// Whether this scan reports everything that `other` would.
    package func serves(_ other: ScanSettings) -> Bool {
        filterPolicy == .all && united(with: other) == self
    }
}
