import BluetoothAdvertising
import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import Logging
import BluetoothManagement

/// The advertising of a program on an adapter: sends the changes to the kernel and follows its events.
//
// Lives on the loop, with the session.
// Holds more than ten variables: most are what it is given to send one table of sets.
final class KernelAdvertising: HostAdvertising, AdapterNoticeReceiver {
    private let mark: ComponentCount.Mark
    private let adapter: AdapterRecord
    private let management: ManagementClient
    private let kernel: any BluetoothKernel
    private let instances: AdvertisingInstances
    private let log: Logger
    private var table = AdvertisingTable()
    /// The task that sends changes to the kernel; nil while there are none.
    private var worker: Task<Void, Never>?
    private var isClosed = false
    weak var receiver: (any HostReceiver)?

    init(of adapter: AdapterRecord, on kernel: any BluetoothKernel, by management: ManagementClient, log: Logger) {
        mark = management.loop.components.mark("KernelAdvertising")
        (self.adapter, self.kernel, self.management, self.log) = (adapter, kernel, management, log)
        instances = AdvertisingInstances(of: adapter, by: management)
        // If this is not available, the adapter cannot be followed either, and the error is reported there.
        try? management.follow(self)
    }

    private var marks: AdapterMarks { AdapterMarks(of: adapter.information, on: kernel) }

    private var operation: BluetoothError.Operation { .init("advertise", adapter: adapter.information.name) }

    private func report(_ id: UInt64, _ event: AdvertisingEvent) { receiver?.receive(.advertising(id, event)) }

    // MARK: Declaring

    func advertise(_ content: AdvertisementContent, _ options: AdvertisingOptions, as id: UInt64) {
        if table[id] == nil {
            table[id] = .init(content: content, options: options)
        } else {
            table[id]?.content = content
            advance(id, .resend)
        }
        applyPendingChanges()
    }

    func revert(_ id: UInt64, to content: AdvertisementContent) {
        guard var entry = table[id] else { return }
        entry.content = content
        table[id] = entry
        // The kernel was not sent content that cannot be encoded.
        if case .advertising = entry.progress.state, entry.sent == content { return }
        advance(id, .resend)
        applyPendingChanges()
    }

    func stop(_ id: UInt64, _ reason: BluetoothError) {
        advance(id, .end(reason))
        applyPendingChanges()
    }

    nonisolated(nonsending) func removeForeign(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Int {
        try await instances.removeAll(where: { !table.instances.contains($0) && marks.isLeft($0) }, operation)
    }

    nonisolated(nonsending) func capacity() async -> (count: Int, inUse: Int)? {
        guard let features = try? await instances.features(.init("read the advertising sets")) else { return nil }
        // The kernel does not list an instance whose number exceeds their count.
        return (Int(features.maximumInstances), table.instances.union(features.instances).count)
    }

    // MARK: Events

    func receive(_ notice: AdapterNotice) {
        let own = adapter.information.index
        switch notice {
        case .advertisingRemoved(own, let instance):
            table.leftovers.remove(instance)
            if let id = table.id(of: instance) { advance(id, .instanceRemoved) }
        case .connected(own, isByPeer: true):
            // The event does not name the set to which the central has connected.
            for id in table.ids {
                guard let entry = table[id], entry.progress.hasBegun, entry.options.kind == .connectable,
                    entry.options.continuesWhileConnected
                else { continue }
                advance(id, .resend)
            }
            applyPendingChanges()
        case .disconnected(own):
            for id in table.ids { advance(id, .linkEnded) }
            applyPendingChanges()
        default: break
        }
    }

    /// Pauses the sets, or ends those that do not wait for the adapter, which is off, blocked or absent.
    /// - Parameter comesBack: whether the adapter is only temporarily unavailable; then all sets wait.
    func adapterBecameUnavailable(_ reason: BluetoothError, comesBack: Bool) {
        // An absent adapter has lost its instances as well.
        let isAbsent = adapter.state == .absent
        if isAbsent { table.leftovers = [] }
        table.leftoverTimer = nil
        for id in table.ids {
            let resumes = comesBack || table[id]?.options.whenAdapterUnavailable == .resume
            advance(id, .adapterLeft(reason, isAbsent: isAbsent, resumes: resumes))
        }
        applyPendingChanges()
    }

    /// Sends all sets again: the controller may have forgotten them.
    func sendAgain() {
        for id in table.ids { advance(id, .resend) }
        applyPendingChanges()
    }

    /// Resumes the sets: the adapter can be used again.
    func adapterBecameAvailable() { applyPendingChanges() }

    /// Ends all sets for this reason: the adapter is closed.
    func end(_ reason: BluetoothError) {
        isClosed = true
        // No more answers are awaited from now on.
        if adapter.state.isReady {
            for instance in table.leftovers {
                management.sendLast(ManagementRemoveAdvertising(instance), to: adapter.information.index)
            }
        }
        for id in table.ids { advance(id, .end(reason)) }
        applyPendingChanges()
    }

    /// Feeds an input to a set's state machine and performs the actions.
    private func advance(_ id: UInt64, _ input: AdvertisingProgress.Input) {
        guard var entry = table[id] else { return }
        let before = entry.progress.state
        let actions = entry.progress.receive(input)
        if entry.progress.state != before { entry.timer = timer(of: id, for: entry.progress) }
        let isRenumbered = entry.parameters.instance != entry.progress.instance
        entry.parameters.instance = entry.progress.instance
        if isRenumbered { entry.mark = entry.progress.instance.flatMap { marks.hold(.advertising, $0) } }
        table[id] = entry
        if isRenumbered { report(id, .parameters(entry.parameters)) }
        for action in actions {
            switch action {
            case .report(let state): report(id, .state(state))
            case .settle(let error): report(id, .applied(error))
            case .end(let reason): report(id, .state(.ended(reason)))
            }
        }
    }

    private func timer(of id: UInt64, for progress: AdvertisingProgress) -> LoopTimer? {
        guard let limit = progress.limit else { return nil }
        let timer = management.loop.makeTimer(of: self) { $0.stateIsOver(id) }
        timer.set(after: limit)
        return timer
    }

    private func stateIsOver(_ id: UInt64) {
        if table[id]?.progress.state == .lost {
            let reason = BluetoothError(
                .busy, operation, "Another program has removed the advertisement.",
                remedy: kernel.environment().isBluetoothDaemonRunning
                    ? "BlueZ's daemon does so when it starts: start after it, or stop it." : nil, isRetryable: true)
            advance(id, .lossExplained(reason))
        } else {
            advance(id, .retry)
        }
        applyPendingChanges()
    }

    // MARK: Sending changes

    /// Starts the task that sends the changes to the kernel, one at a time.
    private func applyPendingChanges() {
        guard worker == nil, nextWork != nil else { return }
        let own = LoopBound(self, on: management.loop)
        worker = Task(executorPreference: management.loop) { await own.value.reconcileKernel() }
    }

    private nonisolated(nonsending) func reconcileKernel() async {
        while let work = nextWork {
            switch work {
            case .add(let id): await add(id)
            case .remove(let id): await remove(id)
            case .removeInstance(let instance): await removeInstance(instance)
            }
        }
        worker = nil
    }

    private var nextWork: AdvertisingTable.Work? { table.next(isReady: !isClosed && adapter.state.isReady) }

    private nonisolated(nonsending) func remove(_ id: UInt64) async {
        if let instance = table[id]?.progress.instance {
            advance(id, .use(nil))
            if adapter.state.isReady { await removeInstance(instance) } else { table.leftovers.insert(instance) }
        }
        table[id] = nil
        report(id, .removed)
    }

    /// Removes an instance; one that no longer exists is no error.
    private nonisolated(nonsending) func removeInstance(_ instance: UInt8) async {
        table.leftovers.remove(instance)
        do throws(BluetoothError) {
            try await instances.remove(instance)
        } catch {
            log.debug("\(error)")
            guard adapter.state != .absent else { return }
            // It may still be on the air, or will be when the adapter is back.
            table.leftovers.insert(instance)
            guard adapter.state.isReady else { return }
            log.warning("the kernel did not remove advertising instance \(instance): \(error)")
            let timer = management.loop.makeTimer(of: self) { advertising in
                advertising.table.leftoverTimer = nil
                advertising.applyPendingChanges()
            }
            timer.set(after: AdvertisingProgress.retryInterval)
            table.leftoverTimer = timer
        }
    }

    private nonisolated(nonsending) func add(_ id: UInt64) async {
        advance(id, .beginSending)
        do throws(BluetoothError) {
            try await put(id)
            advance(id, .sent)
        } catch {
            log.debug("\(error)")
            advance(id, .refused(error))
        }
    }

    /// Reports the instances that a killed program may have left; a daemon's look the same.
    private func reportLeftovers(_ features: AdvertisingFeatures) {
        let left = features.instances.filter { marks.isLeft($0) && !table.instances.contains($0) }
        guard !left.isEmpty, !kernel.environment().isBluetoothDaemonRunning else { return }
        log.notice("the advertising instances \(left) belong to no running program: ble advertise --clear removes them")
    }

    /// Sends a set to the kernel, for the first time or again.
    private nonisolated(nonsending) func put(_ id: UInt64) async throws(BluetoothError) {
        let features = try await instances.features(operation)
        guard let entry = table[id], !entry.progress.hasEnded else { return }
        if table.ids == [id], !entry.progress.hasBegun { reportLeftovers(features) }
        let flags = try features.flags(entry.content, entry.options, operation)
        let plan = try AdvertisingPlan(entry.content, entry.options, features.limits, operation)
        let own = entry.progress.instance
        let instance = if let own { own } else { try features.freeInstance(table.instances, operation) }
        advance(id, .use(instance))
        do throws(BluetoothError) {
            let power = try await instances.put(plan, flags, as: instance, operation)
            guard var now = table[id] else { return }
            now.sent = entry.content
            now.parameters.payloads = plan.payloads
            now.parameters.transmitPower = features.limits.canSetTransmitPower ? power : nil
            table[id] = now
            report(id, .parameters(now.parameters))
        } catch {
            if table[id]?.progress.instance == instance {
                advance(id, .use(nil))
                await removeInstance(instance)
            }
            throw error
        }
    }
}
