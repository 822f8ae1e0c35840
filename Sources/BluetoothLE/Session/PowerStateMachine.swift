import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging
import Synchronization

/// The state machine of an adapter's power and presence: tracks its state, notifies followers, and restores the
/// adapter.
//
// Confined to the event loop, with the session.
// Holds more than ten variables: an adapter's state, those that wait for it, and the restoration under way, four by itself.
package final class PowerStateMachine: DirectoryReceiver {
    private let mark: ComponentCount.Mark
    /// A change of state, or the end.
    package enum Turn {
        /// Before a change of state is published; with the reason if the adapter cannot be used.
        case changing(from: AdapterState, to: AdapterState, BluetoothError?)
        /// After the change has been published.
        case changed(from: AdapterState, to: AdapterState, BluetoothError?)
        /// The adapter is closed, or its state can no longer be followed.
        case ended(BluetoothError)
    }

    /// The restoration under way, the error of the last one, and the next attempt.
    struct Restoration {
        enum Progress {
            case none
            case underWay(Task<Void, Never>, isDueAgain: Bool)
        }

        var progress = Progress.none
        var failure: BluetoothError?
        /// The number of failures in a row.
        var failureCount = 0

        /// The time until the next attempt: half a minute, then twice as long each time, up to an hour.
        var retryDelay: Duration { min(.seconds(30) * (1 << min(max(failureCount - 1, 0), 7)), .seconds(3600)) }
    }

    private let adapterRecord: AdapterRecord
    private let stateSource: LatestValue<AdapterState>
    private let directory: any HostDirectory
    private let store: any AdapterStore
    /// The adapter's recovery, whose steps power the adapter on themselves.
    private let health: RadioHealth
    private let log: Logger
    private var rules: RestorationRules
    private var restoration = Restoration()
    private lazy var retryTimer = loop.makeTimer(of: self) { $0.retry() }
    private var readyWaiters = WaiterList<Void, BluetoothError>()
    /// The reason of the end; nil before.
    package private(set) var end: BluetoothError?
    /// The followers, the session's components first.
    private var followers = HandlerList<Turn>()

    init(
        of adapterRecord: AdapterRecord, _ stateSource: LatestValue<AdapterState>, _ requirements: AdapterRequirements,
        in directory: any HostDirectory, store: any AdapterStore, health: RadioHealth, log: Logger
    ) {
        mark = directory.loop.components.mark("PowerStateMachine")
        (self.adapterRecord, self.stateSource, self.directory, self.store, self.health, self.log) = (
            adapterRecord, stateSource, directory, store, health, log
        )
        rules = RestorationRules(requirements)
    }

    private var loop: EventLoop { directory.loop }

    private func operation(_ name: String) -> BluetoothError.Operation {
        BluetoothError.Operation(name, adapter: adapterRecord.information.name)
    }

    // MARK: Followers

    /// Adds a follower of all turns from now on; the returned number removes it.
    package func follow(_ follower: @escaping (Turn) -> Void) -> UInt64 { followers.add(follower) }

    package func unfollow(_ number: UInt64) { followers.remove(number) }

    /// Begins to follow the host, and applies the changes since the adapter was selected.
    func begin() {
        directory.receiver = self
        let now = directory.adapter(adapterRecord.information.id)
        update(now.flatMap { isThisOne($0) ? $0 : nil })
    }

    /// Ends the machine: the program has closed the adapter, or its state can no longer be followed.
    func finish(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        log.debug("\(reason)")
        if case .underWay(let task, _) = restoration.progress { task.cancel() }
        retryTimer.cancel()
        readyWaiters.failAll(reason)
        stateSource.finish(reason.code == .cancelled ? nil : reason)
        followers(.ended(reason))
        followers.removeAll()
        directory.close(reason)
    }

    // MARK: State

    /// Throws the reason if the adapter cannot be used now.
    func checkUsable() throws(BluetoothError) {
        if let end { throw end }
        if let error = reason(stateSource.value) { throw error }
    }

    nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError) {
        if let end { throw end }
        directory.refresh(nil)
        guard !stateSource.value.isReady else { return }
        let call = readyWaiters.makePromise()
        let operation = operation("wait for the adapter")
        do {
            try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            guard error.code == .timedOut else { throw error }
            throw restoration.failure ?? reason(stateSource.value, operation.name) ?? error
        }
    }

    nonisolated(nonsending) func setPowered(_ isOn: Bool) async throws(BluetoothError) {
        if let end { throw end }
        let state = stateSource.value
        if state == .absent, let error = reason(state, "power \(isOn ? "on" : "off")") { throw error }
        if isOn { return try await prepare(power: .powerOn) }
        rules.switchOff(in: state)
        do throws(BluetoothError) {
            try await directory.bring(adapterRecord.information, to: .off, store: store)
        } catch {
            // A command whose caller has stopped waiting may still take effect.
            if stateSource.value.isReady, ![.cancelled, .timedOut].contains(error.code) {
                rules.isSwitchedOffHere = false
            }
            throw error
        }
    }

    private nonisolated(nonsending) func prepare(power: PowerPolicy) async throws(BluetoothError) {
        let requirements = AdapterRequirements(power: power, privacy: rules.requirements.privacy)
        adapterRecord.update(
            try await directory.bring(adapterRecord.information, to: .ready(requirements), store: store))
    }

    // MARK: Events

    package func receive(_ event: DirectoryEvent) {
        switch event {
        case .changed(let change): handle(change)
        case .ended(let reason): finish(reason)
        }
    }

    private func handle(_ change: AdapterChange) {
        let isHere = stateSource.value != .absent
        let known = adapterRecord.information
        let adapter = change.adapter
        switch change.kind {
        case .removed:
            guard adapter.id == known.id else { return }
            if isHere { update(nil) } else if directory.adapter(known.id) == nil { health.replacementWasRemoved() }
        case .changed:
            if isHere, adapter.id == known.id { update(adapter) }
        case .added:
            guard !isHere else { return }
            if isThisOne(adapter) {
                update(adapter)
            } else if isOtherAddress(adapter) {
                health.addressChanged(from: known.publicAddress, to: adapter.publicAddress)
            }
        }
    }

    /// Whether an added adapter is this one's controller with another address: it was not unplugged, or by a step.
    private func isOtherAddress(_ other: AdapterInformation) -> Bool {
        let known = adapterRecord.information
        guard other.id == known.id, other.manufacturer == known.manufacturer else { return false }
        return other.formerAddress == known.publicAddress || health.willRestoreAdapter
    }

    /// The reason why the adapter cannot be used in a state; nil if it can.
    private func reason(_ state: AdapterState, _ name: String = "use the adapter") -> BluetoothError? {
        let known = adapterRecord.information
        if state == .absent, let other = directory.adapter(known.id), other.formerAddress == known.publicAddress {
            return .addressChanged(operation(name), from: known.publicAddress, to: other.publicAddress)
        }
        return .unavailable(state, operation(name))
    }

    /// Whether an added adapter is this one. Adapters without a public address cannot be told apart.
    private func isThisOne(_ other: AdapterInformation) -> Bool {
        let known = adapterRecord.information
        return other.publicAddress == known.publicAddress && other.manufacturer == known.manufacturer
    }

    /// Applies the adapter's present information; nil if it was removed.
    private func update(_ now: AdapterInformation?) {
        guard end == nil else { return }
        if let now { record(now) }
        let (before, state) = (stateSource.value, now?.state ?? .absent)
        guard state != before else { return }
        if state == .poweredOff, directory.isSwitchedOff(adapterRecord.information.id) {
            rules.isSwitchedOffHere = true
        }
        rules.stateChanged(from: before, to: state, byRecovery: health.isRecovering)
        if state != .poweredOff, state != .lowEnergyOff { (restoration.failure, restoration.failureCount) = (nil, 0) }
        log.debug("\(adapterRecord.information.name): \(state)")
        let reason = reason(state)
        followers(.changing(from: before, to: state, reason))
        stateSource.set(state)
        adapterRecord.state = state
        // One that was plugged in, or is no longer blocked, is off as well.
        if before.isReady, state == .poweredOff, !rules.isSwitchedOffHere { health.wasPoweredOff() }
        followers(.changed(from: before, to: state, reason))
        if state.isReady { readyWaiters.succeedAll() }
        restoreIfNeeded()
    }

    /// Records the information, and whether another program has switched the adapter's private addresses: this one does
    /// so only as it requires.
    private func record(_ now: AdapterInformation) {
        defer { adapterRecord.update(now) }
        let isHidden = now.usesPrivateAddresses
        guard stateSource.value != .absent, isHidden != adapterRecord.information.usesPrivateAddresses else { return }
        let isStranger =
            rules.requirements.privacy.map { ($0 != .off) != isHidden } ?? !adapterRecord.isStranger.load(
                ordering: .relaxed)
        adapterRecord.isStranger.store(isStranger, ordering: .relaxed)
        guard isStranger else { return }
        log.notice("another program has switched the private addresses of \(now.name) \(isHidden ? "on" : "off")")
    }

    // MARK: Restoration

    private var isRestorationNeeded: Bool {
        rules.isNeeded(in: stateSource.value, hidesAddress: adapterRecord.information.usesPrivateAddresses)
    }

    /// Restores the adapter if its policy requires that.
    private func restoreIfNeeded() {
        guard end == nil, isRestorationNeeded else { return }
        // A step of the recovery powers the adapter on itself.
        guard !health.isRecovering else {
            // That of another session may end without this one's knowledge.
            if health.isRecoveredElsewhere { retryTimer.set(after: restoration.retryDelay) }
            return
        }
        if case .underWay(let task, _) = restoration.progress {
            restoration.progress = .underWay(task, isDueAgain: true)
            return
        }
        let machine = LoopBound(WeakReference(to: self), on: loop)
        let task = Task(executorPreference: loop) { await machine.value.object?.restore() ?? () }
        restoration.progress = .underWay(task, isDueAgain: false)
    }

    private nonisolated(nonsending) func restore() async {
        var failure: BluetoothError?
        while case .underWay(let task, _) = restoration.progress {
            restoration.progress = .underWay(task, isDueAgain: false)
            failure = nil
            do throws(BluetoothError) {
                try await prepare(power: rules.mayPowerOn ? .powerOn : .leave)
            } catch {
                log.debug("restoration failed: \(error)")
                (failure, restoration.failure) = (error, error)
            }
            rules.prepared()
            guard case .underWay(_, isDueAgain: true) = restoration.progress, end == nil, isRestorationNeeded else {
                break
            }
        }
        restoration.progress = .none
        if let failure { restorationFailed(failure) }
    }

    private func restorationFailed(_ reason: BluetoothError) {
        guard end == nil, isRestorationNeeded else { return }
        restoration.failureCount += 1
        // What this program may not do, it may not do later either.
        guard ![.notPermitted, .unsupported].contains(reason.code) else { return }
        retryTimer.set(after: restoration.retryDelay)
        health.restorationFailed(reason)
    }

    private func retry() {
        guard end == nil, isRestorationNeeded else { return }
        if health.isRecovering { retryTimer.set(after: restoration.retryDelay) } else { restoreIfNeeded() }
    }

    // MARK: Inspection

    /// The number of callers that wait for the adapter to be ready.
    var waiterCount: Int { readyWaiters.count }
    /// Whether a restoration is under way.
    var isRestoring: Bool { if case .underWay = restoration.progress { true } else { false } }
}
