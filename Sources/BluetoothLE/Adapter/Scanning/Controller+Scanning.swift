import Advertising
import BluetoothKernel
import BluetoothPrimitives
import HCI
import KernelHost
import Management

extension Controller {
    /// Adds a consumer of what the controller hears; returns when the controller scans for it, or is going to as soon
    /// as the kernel has made the connection, or ended the discovery, for which another program uses it.
    ///
    /// The stream keeps `owner` for as long as somebody reads it, as that is who tells when the adapter is switched off.
    nonisolated(nonsending) func scan(
        _ options: ScanOptions, for owner: some AnyObject & Sendable
    ) async throws(BluetoothError) -> BoundedStream<Advertisement> {
        let operation = BluetoothError.Operation("scan", adapter: name)
        let settings = try await settings(options, operation)
        let id = makeStreamID()
        let channel = StreamChannel<Advertisement>(
            capacity: options.bufferCapacity, policy: .dropOldest, operation: operation, from: loop
        ) { $0.missedBefore = $1 }
        audience.add(
            ScanSession(id: id, options: options, settings: settings, channel: channel),
            deviceLimit: options.deviceLimit)
        do {
            try await reconcileScanner(operation)
        } catch {
            leave(id)
            throw error
        }
        let bound = LoopBound(self, on: loop)
        return BoundedStream(channel: channel) { [owner, loop] in
            loop.execute { withExtendedLifetime(owner) { bound.value.leave(id) } }
        }
    }

    /// What is asked of the controller for a consumer, which is asked for its features only if that makes a difference.
    private nonisolated(nonsending) func settings(
        _ options: ScanOptions, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> ScanSettings {
        var hasCoded = false
        if options.leCoded != nil {
            if case .leFeatures(let features) = try await features(operation) {
                hasCoded = features.contains(.leCoded) && features.contains(.extendedAdvertising)
            }
            if !hasCoded { log.notice("\(name) cannot scan on LE Coded") }
        }
        guard let settings = ScanSettings(options, hasCoded: hasCoded) else {
            closeIfIdle()
            let isPossible = options.leCoded != nil
            throw BluetoothError(
                isPossible ? .unsupported : .invalidArgument, operation,
                isPossible ? "\(name) cannot scan on LE Coded." : "A scan needs at least one PHY.")
        }
        return settings
    }

    private func leave(_ id: UInt64) {
        audience.remove(id)
        advanceScanner()
    }

    /// Reconciles the scanner before a connection is made: the kernel begins none by itself while it thinks of a
    /// discovery that nobody means.
    ///
    /// Scans go on beside the attempt: the kernel connects from what any scan reports, and takes the scanner only while
    /// it makes the connection. Returns after `timeout` at the latest, so that a controller that hangs does not take
    /// longer than the caller has.
    nonisolated(nonsending) func prepareToConnect(timeout: Duration?) async {
        // A scanner that cannot be reconciled does not keep a connection from being tried.
        try? await reconcileScanner(
            .init("prepare to connect", adapter: name), timeout: min(timeout ?? .seconds(15), .seconds(15)))
    }

    /// Waits until the controller does what everybody together wants.
    private nonisolated(nonsending) func reconcileScanner(
        _ operation: BluetoothError.Operation, timeout: Duration = .seconds(15)
    ) async throws(BluetoothError) {
        if let closeReason { throw closeReason }
        let call = scanWaiters.makePromise()
        advanceScanner()
        try await call.value(operation, timeout: timeout, on: loop)
    }

    func advanceScanner() {
        guard closeReason == nil else { return }
        scanner.request = audience.request
        while let action = scanner.advance() {
            switch action {
            case .announceListening:
                log.notice(
                    "another program discovers devices on \(name); its scan is listened to meanwhile, which may report each device only once"
                )
            case .perform(let step): return perform(step)
            }
        }
        updateHoldTimer()
        guard scanner.isReconciled else { return }
        scanWaiters.succeedAll()
        if audience.isEmpty { closeIfIdle() }
    }

    private func perform(_ step: ScannerStateMachine.Step) {
        if let command = command(for: step) {
            if case .setParameters(let settings) = step, settings.isDiscovery { hideScanner() }
            send(command) { [self] answer in finish(step, answer) }
        } else if case .endDiscovery(let types) = step {
            endDiscovery(types)
        }
    }

    private func finish(_ step: ScannerStateMachine.Step, _ answer: HCICommandQueue.Answer) {
        guard closeReason == nil else { return }
        switch answer {
        case .success(.supportedCommands(let support)): scanner.succeed(support.scanFamily)
        case .success:
            scanner.succeed()
            if step == .disable { audience.scanStopped() }
            if step == .enable { updatePrivateAddressTimer() }
        case .failure(let error):
            if case .controller(let status) = error.cause {
                if scanner.refuse(status) { failScans(error) }
            } else {
                scanner.fail()
                failScans(error)
            }
        }
        advanceScanner()
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
        send(.leSetRandomAddress(.randomNonResolvablePrivate(using: &generator))) { _ in }
    }

    /// Has a scan that asks begin anew with another address when it is time.
    private func updatePrivateAddressTimer() {
        guard ownAddress == .private, scanner.request?.isDiscovery == true else {
            privateAddressTimer = nil
            return
        }
        let timer = loop.makeLocalTimer { [weak self] in
            guard let self else { return }
            scanner.beginAnew()
            if !audience.isEmpty { advanceScanner() }
        }
        timer.set(after: Self.privateAddressTime)
        privateAddressTimer = timer
    }

    private func failScans(_ error: BluetoothError) {
        var error = error
        if error.cause == .controller(.commandDisallowed) {
            error = BluetoothError(
                .busy, error.operation, "Another program keeps the scanner of \(name) busy.",
                remedy: BluetoothError.daemonRemedy, cause: error.cause, isRetryable: true)
        }
        endScans(error)
    }

    /// Ends all scans and everybody who waits for one; unless it is for good, those that are to be resumed stay.
    func endScans(_ reason: BluetoothError, isForGood: Bool = true) {
        audience.finish(reason, isForGood: isForGood)
        scanner.request = audience.request
        scanWaiters.failAll(reason)
        (holdTimer, privateAddressTimer) = (nil, nil)
    }

    // MARK: Discoveries

    /// Asks for the end of a discovery.
    ///
    /// The outcome does not matter where it cannot be had: without CAP_NET_ADMIN it cannot be helped.
    private func endDiscovery(_ types: ManagementAddressTypes) {
        let timer = loop.makeLocalTimer { [weak self] in self?.discoveryEnded(.unknown) }
        timer.set(after: .seconds(2))
        discoveryTimer = timer
        management.value.post(.stopDiscovery(types), to: index) { [weak self] answer in
            self?.discoveryEnded(ScannerStateMachine.DiscoveryEnd(answer))
        }
    }

    /// The kernel has answered, or is not going to.
    private func discoveryEnded(_ end: ScannerStateMachine.DiscoveryEnd) {
        discoveryTimer = nil
        guard scanner.isEndingDiscovery else { return }
        scanner.discoveryEnded(end, isDaemonRunning: kernel.environment().isBluetoothDaemonRunning)
        advanceScanner()
    }

    /// Begins to follow what the kernel tells of discoveries.
    func followDiscoveries() {
        // Where that is not to be had, the adapter cannot be followed either, which is told there.
        _ = try? management.value.follow { [weak self] notice in
            guard case .discovering(let index, let types, let isOn) = notice else { return }
            if let self, self.index == index { discoveryChanged(types, isOn: isOn) }
        }
    }

    private func discoveryChanged(_ types: ManagementAddressTypes, isOn: Bool) {
        scanner.discoveryChanged(types, isOn: isOn)
        if !audience.isEmpty { advanceScanner() }
    }

    // MARK: Others

    /// Another program's command, or one of the kernel's, was answered.
    func receiveOthers(_ command: HCICommand, _ status: HCIStatus) {
        guard scanner.otherCommand(command, status), !audience.isEmpty else { return }
        if !scanner.mayBeOn { audience.scanStopped() }
        restartHold()
    }

    /// A connection was made for somebody, or an attempt given up.
    func connectionAttemptEnded() {
        scanner.connectionAttemptEnded()
        if !audience.isEmpty { restartHold() }
    }

    /// An extended scan with a time limit, which ours have not, is over.
    func scanTimedOut() {
        scanner.scannerWentOff()
        if !audience.isEmpty { advanceScanner() }
    }

    private func restartHold() {
        holdTimer?.cancel()
        holdTimer = nil
        advanceScanner()
    }

    /// Waits for others to be done, as long as somebody listens.
    private func updateHoldTimer() {
        guard let hold = scanner.hold, !audience.isEmpty else { return holdTimer = nil }
        guard holdTimer == nil else { return }
        let timer = loop.makeLocalTimer { [weak self] in
            guard let self else { return }
            holdTimer = nil
            scanner.holdEnded()
            advanceScanner()
        }
        timer.set(after: hold.limit)
        holdTimer = timer
    }

    // MARK: Commands

    /// The command that ends the scan without waiting for anything, for when the socket is about to be closed; nil
    /// when there is none of ours.
    var lastScanCommand: HCICommand? { scanner.mayBeOn ? command(for: .disable) : nil }

    /// The command for a step; nil for the one that is the kernel's.
    private func command(for step: ScannerStateMachine.Step) -> HCICommand? {
        let isExtended = scanner.family == .extended
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

    /// Hands what was heard to everybody who listens. A malformed report loses itself and those behind it in its event.
    func receive(_ reports: AdvertisingReports) {
        guard !audience.isEmpty else { return }
        var reports = reports
        let now = loop.now
        do {
            while let report = try reports.next() {
                audience.receive(report, at: now, resolving: &resolution, naming: &heardNames)
            }
        } catch {
            log.debug("malformed advertising report: \(error)", metadata: ["adapter": "\(name)"])
        }
        updateScanResponseTimer()
    }

    /// Has the next report handed out that has waited long enough for its scan response.
    private func updateScanResponseTimer() {
        guard let deadline = audience.nextDeadline else { return }
        // Another scan may wait longer.
        if let set = scanResponseTimer?.deadline, set <= deadline { return }
        let timer = loop.makeLocalTimer { [weak self] in
            guard let self else { return }
            scanResponseTimer = nil
            audience.releaseHeld(at: loop.now)
            updateScanResponseTimer()
        }
        timer.set(at: deadline)
        scanResponseTimer = (timer, deadline)
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
