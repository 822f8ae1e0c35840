import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import Logging

/// The state machine of an adapter's power and presence: tracks its state, notifies followers, and restores the
/// adapter.
//
// Confined to the event loop, with the session.
final class AdapterLife {
    private let mark: ComponentCount.Mark
    /// A change of state, or the end.
    enum Turn {
        /// Before a change of state is published; with the reason if the adapter cannot be used.
        case changing(from: AdapterState, to: AdapterState, BluetoothError?)
        /// After the change has been published.
        case changed(AdapterState, BluetoothError?)
        /// The adapter is closed, or its state can no longer be followed.
        case ended(BluetoothError)
    }

    private enum Restoration {
        case none
        case underWay(Task<Void, Never>, isDueAgain: Bool)
    }

    private let facts: AdapterFacts
    private let standing: LatestValue<AdapterState>
    private let directory: any HostDirectory
    private let knowledge: any AdapterKnowledge
    private let log: Logger
    private var upkeep: AdapterUpkeep
    private var restoration = Restoration.none
    /// The error of the last restoration.
    private var restorationFailure: BluetoothError?
    private var readyWaiters = WaiterList<Void, BluetoothError>()
    /// The reason of the end; nil before.
    private(set) var end: BluetoothError?
    /// The followers, the session's components first.
    private var followers = HandlerList<Turn>()

    init(
        of facts: AdapterFacts, _ standing: LatestValue<AdapterState>, _ wish: AdapterWish,
        in directory: any HostDirectory, knowing knowledge: any AdapterKnowledge, log: Logger
    ) {
        mark = directory.loop.components.mark("AdapterLife")
        (self.facts, self.standing, self.directory, self.knowledge, self.log) = (
            facts, standing, directory, knowledge, log
        )
        upkeep = AdapterUpkeep(wish)
    }

    private var loop: EventLoop { directory.loop }

    private func operation(_ name: String) -> BluetoothError.Operation {
        BluetoothError.Operation(name, adapter: facts.information.name)
    }

    // MARK: Followers

    /// Adds a follower of all turns from now on; the returned number removes it.
    func follow(_ follower: @escaping (Turn) -> Void) -> UInt64 { followers.add(follower) }

    func unfollow(_ number: UInt64) { followers.remove(number) }

    /// Begins to follow the host, and applies the changes since the adapter was selected.
    func begin() {
        directory.follow(
            { [weak self] change in self?.take(change) }, onEnd: { [weak self] reason in self?.finish(reason) })
        let now = directory.adapter(facts.information.index)
        update(now.flatMap { isThisOne($0) ? $0 : nil })
    }

    /// Ends the machine: the program has closed the adapter, or its state can no longer be followed.
    func finish(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        log.debug("\(reason)")
        if case .underWay(let task, _) = restoration { task.cancel() }
        readyWaiters.failAll(reason)
        standing.finish(reason.code == .cancelled ? nil : reason)
        followers(.ended(reason))
        followers.removeAll()
        directory.close(reason)
    }

    // MARK: State

    /// Reads the adapter's state before the host reports a change.
    func look() { directory.look(at: facts.information.index) }

    /// Throws the reason if the adapter cannot be used now.
    func checkUsable() throws(BluetoothError) {
        if let end { throw end }
        if let error = BluetoothError.unavailable(standing.value, operation("use the adapter")) { throw error }
    }

    nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError) {
        if let end { throw end }
        directory.refresh()
        guard !standing.value.isReady else { return }
        let call = readyWaiters.makePromise()
        let operation = operation("wait for the adapter")
        do {
            try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            guard error.code == .timedOut else { throw error }
            throw restorationFailure ?? .unavailable(standing.value, operation) ?? error
        }
    }

    nonisolated(nonsending) func setPowered(_ isOn: Bool) async throws(BluetoothError) {
        if let end { throw end }
        let state = standing.value
        if state == .absent, let error = BluetoothError.unavailable(state, operation("power \(isOn ? "on" : "off")")) {
            throw error
        }
        if isOn { return try await prepare(power: .powerOn) }
        upkeep.isSwitchedOffHere = true
        do throws(BluetoothError) {
            try await directory.setPowered(false, facts.information.index)
        } catch {
            // A command whose caller has stopped waiting may still take effect.
            if standing.value.isReady, ![.cancelled, .timedOut].contains(error.code) {
                upkeep.isSwitchedOffHere = false
            }
            throw error
        }
    }

    private nonisolated(nonsending) func prepare(power: PowerPolicy) async throws(BluetoothError) {
        let wish = AdapterWish(power: power, privacy: upkeep.wish.privacy)
        facts.update(try await directory.prepare(facts.information, wish, knowing: knowledge))
    }

    // MARK: Events

    private func take(_ change: AdapterChange) {
        let isHere = standing.value != .absent
        switch change {
        case .removed(let adapter):
            if isHere, adapter.index == facts.information.index { update(nil) }
        case .changed(let adapter):
            if isHere, adapter.index == facts.information.index { update(adapter) }
        case .added(let adapter):
            if !isHere, isThisOne(adapter) { update(adapter) }
        }
    }

    /// Whether an added adapter is this one. Adapters without a public address cannot be told apart.
    private func isThisOne(_ other: AdapterInformation) -> Bool {
        let known = facts.information
        return other.publicAddress == known.publicAddress && other.manufacturer == known.manufacturer
    }

    /// Applies the adapter's present information; nil if it was removed.
    private func update(_ now: AdapterInformation?) {
        guard end == nil else { return }
        if let now { facts.update(now) }
        let (before, state) = (standing.value, now?.state ?? .absent)
        guard state != before else { return }
        upkeep.stateChanged(from: before, to: state)
        if state != .poweredOff, state != .lowEnergyOff { restorationFailure = nil }
        log.debug("\(facts.information.name): \(state)")
        let reason = BluetoothError.unavailable(state, operation("use the adapter"))
        followers(.changing(from: before, to: state, reason))
        standing.set(state)
        followers(.changed(state, reason))
        if state.isReady { readyWaiters.succeedAll() }
        restoreIfNeeded()
    }

    // MARK: Restoration

    private var isRestorationNeeded: Bool {
        upkeep.isNeeded(in: standing.value, hidesAddress: facts.information.usesPrivateAddresses)
    }

    /// Restores the adapter if its policy requires that.
    private func restoreIfNeeded() {
        guard end == nil, isRestorationNeeded else { return }
        if case .underWay(let task, _) = restoration {
            restoration = .underWay(task, isDueAgain: true)
            return
        }
        let life = LoopBound(WeakReference(to: self), on: loop)
        let task = Task(executorPreference: loop) { await life.value.object?.restore() ?? () }
        restoration = .underWay(task, isDueAgain: false)
    }

    private nonisolated(nonsending) func restore() async {
        while case .underWay(let task, _) = restoration {
            restoration = .underWay(task, isDueAgain: false)
            do throws(BluetoothError) {
                try await prepare(power: upkeep.wish.power == .leave ? .leave : .powerOn)
            } catch {
                log.debug("restoration failed: \(error)")
                restorationFailure = error
            }
            upkeep.prepared()
            guard case .underWay(_, isDueAgain: true) = restoration, end == nil, isRestorationNeeded else { break }
        }
        restoration = .none
    }

    // MARK: Inspection

    /// The number of callers that wait for the adapter to be ready.
    var waiterCount: Int { readyWaiters.count }
    /// Whether a restoration is under way.
    var isRestoring: Bool { if case .underWay = restoration { true } else { false } }
}
