import Advertising
import BluetoothKernel
import BluetoothPrimitives
import HCI

extension Controller {
    /// Adds a consumer of what the controller hears; returns when the controller scans for it.
    ///
    /// The stream keeps `owner` for as long as somebody reads it, as that is who tells when the adapter is switched off.
    func scan(
        _ options: ScanOptions, for owner: some AnyObject & Sendable
    ) async throws(BluetoothError) -> BoundedStream<Advertisement> {
        let operation = BluetoothError.Operation("scan", adapter: name)
        let id = scanning.makeID()
        let channel = StreamChannel<Advertisement>(
            capacity: options.bufferCapacity, policy: .dropOldest, operation: operation, from: loop)
        scanning.sessions.append(ScanSession(id: id, options: options, channel: channel))
        do {
            try await bringInLine(operation)
        } catch {
            leave(id)
            throw error
        }
        return BoundedStream(channel: channel) { [self, owner, loop] in
            loop.execute { withExtendedLifetime(owner) { self.assumeIsolated { $0.leave(id) } } }
        }
    }

    private func leave(_ id: UInt64) {
        scanning.sessions.removeAll { $0.id == id }
        takeScanSteps()
    }

    /// Leaves the scanner to the kernel, which needs it to make a connection, until ``resumeScans()``.
    ///
    /// Returns after `timeout` at the latest, so that a controller that hangs does not take longer than the caller has.
    func suspendScans(timeout: Duration?) async {
        scanning.suspensions += 1
        // A scan that cannot be stopped does not keep a connection from being tried.
        try? await bringInLine(
            .init("pause the scan", adapter: name), timeout: min(timeout ?? .seconds(15), .seconds(15)))
    }

    /// Goes on with the scans.
    func resumeScans() {
        scanning.suspensions -= 1
        takeScanSteps()
    }

    /// Goes on with the scans after another program has made a connection. For our own they are suspended.
    func scannerWasUsed() {
        if scanning.scannerWasUsed() { takeScanSteps() }
    }

    /// Waits until the controller does what everybody together wants.
    private func bringInLine(
        _ operation: BluetoothError.Operation, timeout: Duration = .seconds(15)
    ) async throws(BluetoothError) {
        if let closeReason { throw closeReason }
        let call = PendingCall<Void>()
        scanning.waiters.append(call)
        takeScanSteps()
        try await call.value(operation, timeout: timeout, on: loop)
    }

    private func takeScanSteps() {
        guard closeReason == nil else { return }
        if let step = scanning.takeStep() {
            if let command = command(for: step) {
                send(command) { [self] answer in finish(step, answer) }
            } else {
                endDiscovery()
            }
        } else if !scanning.isBusy {
            let waiters = scanning.waiters
            scanning.waiters = []
            for waiter in waiters { waiter.succeed(()) }
            if scanning.sessions.isEmpty { closeIfIdle() }
        }
    }

    private func finish(_ step: Scanning.Step, _ answer: Answer) {
        switch answer {
        case .success(.supportedCommands(let support)): scanning.succeed(support.scanFamily)
        case .success: scanning.succeed()
        case .failure(let error):
            if case .controller(let status) = error.cause {
                let isForeign = kernel.environment().isBluetoothDaemonRunning
                if scanning.refuse(status, isForeign: isForeign) { failScans(step, error) }
            } else {
                scanning.fail()
                failScans(step, error)
            }
        }
        takeScanSteps()
    }

    private func failScans(_ step: Scanning.Step, _ error: BluetoothError) {
        var error = error
        if error.cause == .controller(.commandDisallowed) {
            error = BluetoothError(
                .busy, error.operation, "Another program is scanning on \(name).", remedy: BluetoothError.daemonRemedy,
                cause: error.cause, isRetryable: true)
        }
        endScans(error)
    }

    /// Ends all scans and everybody who waits for one.
    func endScans(_ reason: BluetoothError) {
        for session in scanning.sessions { session.channel.finish(reason) }
        for waiter in scanning.waiters { waiter.fail(reason) }
        scanning.sessions = []
        scanning.waiters = []
    }

    /// Asks for the end of a discovery of no type at all, which is what the kernel takes a raw scan for.
    ///
    /// One that a program began through the management interface has a type and is left alone. The outcome does not
    /// matter: older kernels know of no discovery, and without CAP_NET_ADMIN it cannot be helped.
    private func endDiscovery() {
        let timer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.discoveryEnded() } }
        timer.set(after: .seconds(2))
        discoveryTimer = timer
        management.assumeIsolated {
            $0.post(.stopDiscovery([]), to: index) { [weak self] _ in self?.assumeIsolated { $0.discoveryEnded() } }
        }
    }

    /// The kernel has answered, or is not going to.
    private func discoveryEnded() {
        discoveryTimer = nil
        guard scanning.isEndingDiscovery else { return }
        scanning.succeed()
        takeScanSteps()
    }

    /// The command that ends the scan without waiting for anything, for when the socket is about to be closed; nil
    /// when there is none of ours.
    var lastScanCommand: HCICommand? { scanning.mayBeOn ? command(for: .disable) : nil }

    /// The command for a step; nil for the one that is the kernel's.
    private func command(for step: Scanning.Step) -> HCICommand? {
        let isExtended = scanning.family == .extended
        switch step {
        case .readSupportedCommands: return .readLocalSupportedCommands
        case .endDiscovery: return nil
        case .disable, .enable:
            let isOn = step == .enable
            return isExtended
                ? .leSetExtendedScanEnable(LEExtendedScanEnable(isEnabled: isOn))
                : .leSetScanEnable(isOn, duplicates: .disabled)
        case .setParameters(let settings):
            let timing = LEScanTiming(
                type: settings.isActive ? .active : .passive, interval: settings.interval, window: settings.window)
            return isExtended
                ? .leSetExtendedScanParameters(
                    LEExtendedScanParameters(ownAddressType: ownAddressType, le1M: timing))
                : .leSetScanParameters(LEScanParameters(timing: timing, ownAddressType: ownAddressType))
        }
    }

    /// Hands what was heard to everybody who listens. A malformed report loses itself and those behind it in its event.
    func receive(_ reports: AdvertisingReports) {
        var reports = reports
        let now = loop.now
        do {
            while let report = try reports.next() {
                for index in scanning.sessions.indices { scanning.sessions[index].receive(report, at: now) }
            }
        } catch {
            log.debug("malformed advertising report: \(error)", metadata: ["adapter": "\(name)"])
        }
    }
}
