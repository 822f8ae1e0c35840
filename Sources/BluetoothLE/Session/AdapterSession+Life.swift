import BluetoothKernel
import BluetoothPrimitives
import KernelHost

/// What an adapter remembers of its ups and downs.
struct AdapterLife {
    /// Whether the program may switch it on.
    let power: PowerPolicy
    /// Whether it is to hide its address; nil is as it is.
    let privacy: PrivacyMode?
    /// Whether the kernel has to be told so again, having lost the adapter.
    var isPrivacyDue = false
    /// Whether it is to be on, as far as this program knows: it was when it was last seen, and nobody has powered it off.
    var isMeantOn = true
    /// Whether this program has powered it off.
    var isSwitchedOffHere = false
    /// Brings it back, while that is going on.
    var restoration: Task<Void, Never>?
    /// Whether it has to be looked at again when that is done.
    var isRestorationDue = false
    /// Why it could not be brought back.
    var restorationFailure: BluetoothError?
    /// Who waits for it to be ready.
    var readyWaiters = WaiterList<Void, BluetoothError>()

    init(power: PowerPolicy, privacy: PrivacyMode? = nil) {
        (self.power, self.privacy) = (power, privacy)
    }

    /// Takes note of another state.
    mutating func stateChanged(from before: AdapterState, to now: AdapterState) {
        switch now {
        case .poweredOn:
            (isMeantOn, isSwitchedOffHere) = (true, false)
            restorationFailure = nil
        case .poweredOff, .lowEnergyOff:
            // Somebody has done that, unless the adapter was away, or blocked.
            if before == .poweredOn { isMeantOn = power == .keepOn && !isSwitchedOffHere }
        case .absent:
            restorationFailure = nil
            isPrivacyDue = true
        case .blocked, .unsupported: restorationFailure = nil
        }
    }

    /// Whether this program has to do something for the adapter to be ready.
    func hasToRestore(_ state: AdapterState, hidesAddress: Bool) -> Bool {
        switch state {
        case .poweredOff: isMeantOn && power != .leave
        case .lowEnergyOff: isMeantOn
        // One that another program has switched on when it was plugged in again knows nothing of what is wanted here.
        case .poweredOn:
            isPrivacyDue && power != .leave && privacy.map { ($0 != .off) != hidesAddress } ?? false
        case .blocked, .absent, .unsupported: false
        }
    }
}

// MARK: - States

extension AdapterSession {
    nonisolated var state: AdapterState { standing.value }

    nonisolated var states: BoundedStream<AdapterState> { standing.stream(keeping: self) }

    func ready(timeout: Duration?) async throws(BluetoothError) {
        if let end { throw end }
        monitor.value.refresh()
        guard !standing.value.isReady else { return }
        let call = life.readyWaiters.makePromise()
        let operation = operation("wait for the adapter")
        do {
            try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            guard error.code == .timedOut else { throw error }
            throw life.restorationFailure ?? .unavailable(standing.value, operation) ?? error
        }
    }

    /// Brings the adapter into the state that is wanted.
    private var preparation: AdapterPreparation {
        AdapterPreparation(
            on: kernel, by: management, knowing: LoopBound(bondKeeper.value, on: loop), privacy: life.privacy)
    }

    func setPowered(_ isOn: Bool) async throws(BluetoothError) {
        if let end { throw end }
        let state = standing.value
        let operation = operation("power \(isOn ? "on" : "off")")
        if state == .absent, let error = BluetoothError.unavailable(state, operation) { throw error }
        if isOn {
            facts.update(try await preparation.prepare(information, power: .powerOn))
        } else {
            life.isSwitchedOffHere = true
            do throws(BluetoothError) {
                try await preparation.setPowered(false, information.index)
            } catch {
                // What nobody waits for any more may still come about.
                if standing.value.isReady, ![.cancelled, .timedOut].contains(error.code) {
                    life.isSwitchedOffHere = false
                }
                throw error
            }
        }
    }
}

// MARK: - What happens

extension AdapterSession {
    /// Begins to follow what happens to the adapter.
    func begin() {
        linkMaker.session = self
        channels.session = self
        monitor.value.follow(
            { [weak self] change in self?.assumeIsolated { $0.take(change) } },
            onEnd: { [weak self] reason in self?.assumeIsolated { $0.finish(reason) } })
        followBonds()
        controller.value.followDiscoveries()
        controller.value.setUnreachableHandler { [weak self] in self?.assumeIsolated { $0.lookAtAdapter() } }
        advertising.onOffersChanged = { [weak incoming] in incoming?.offersChanged() }
        pairings.value.follow()
        // What has happened since it was chosen.
        let now = monitor.value.adapter(information.index)
        update(now.flatMap { isThisOne($0) ? $0 : nil })
    }

    /// Takes in what has happened to the adapter before it is told.
    func lookAtAdapter() {
        monitor.value.look(at: information.index)
    }

    private func take(_ change: AdapterChange) {
        let isHere = standing.value != .absent
        switch change {
        case .removed(let adapter):
            if isHere, adapter.index == information.index { update(nil) }
        case .changed(let adapter):
            if isHere, adapter.index == information.index { update(adapter) }
        case .added(let adapter):
            if !isHere, isThisOne(adapter) { update(adapter) }
        }
    }

    /// Whether an adapter that appears is this one. One without a public address cannot be told from another such.
    private func isThisOne(_ other: AdapterInformation) -> Bool {
        let known = information
        return other.publicAddress == known.publicAddress && other.manufacturer == known.manufacturer
    }

    /// Takes over what is known of the adapter; nil when it is gone.
    private func update(_ now: AdapterInformation?) {
        guard end == nil else { return }
        if let now { facts.update(now) }
        let (before, state) = (standing.value, now?.state ?? .absent)
        guard state != before else { return }
        // A kernel that has lost an adapter has lost its keys.
        if before == .absent { bondKeeper.value.reload(information.index) }
        life.stateChanged(from: before, to: state)
        log.debug("\(information.name): \(state)")
        let reason = BluetoothError.unavailable(state, operation("use the adapter"))
        pairings.value.adapterChanged(state == .absent ? reason : nil)
        if state.isReady {
            controller.value.comeBack(as: information)
        } else if let reason {
            controller.value.leave(reason)
            linkEnds.completeAll(reason)
        }
        standing.set(state)
        if let reason {
            advertising.adapterLeaves(reason, isAbsent: state == .absent)
        } else {
            advertising.adapterComesBack()
        }
        if state.isReady { life.readyWaiters.succeedAll() }
        restoreIfNeeded()
    }

    /// Ends everything that waits for the adapter.
    func endLife(_ reason: BluetoothError) {
        life.restoration?.cancel()
        life.readyWaiters.failAll(reason)
        linkEnds.close()
        standing.finish(reason.code == .cancelled ? nil : reason)
    }

    // MARK: Coming back

    /// Has the adapter switched on again where that is this program's business.
    private func restoreIfNeeded() {
        guard life.hasToRestore(standing.value, hidesAddress: information.usesPrivateAddresses) else { return }
        guard life.restoration == nil else {
            life.isRestorationDue = true
            return
        }
        life.restoration = Task(executorPreference: loop) { [weak self] in await self?.restore() }
    }

    private func restore() async {
        repeat {
            life.isRestorationDue = false
            defer { life.isPrivacyDue = false }
            do throws(BluetoothError) {
                facts.update(
                    try await preparation.prepare(information, power: life.power == .leave ? .leave : .powerOn))
            } catch {
                log.debug("not brought back: \(error)")
                life.restorationFailure = error
            }
        } while life.isRestorationDue && end == nil
            && life.hasToRestore(standing.value, hidesAddress: information.usesPrivateAddresses)
        life.restoration = nil
    }
}
