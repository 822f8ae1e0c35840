import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import Logging
import BluetoothManagement

/// The advertising of a program on an adapter: sends the changes to the kernel and follows its events.
//
// Lives on the loop, with the session.
final class KernelAdvertising: HostAdvertising, AdapterNoticeReceiver {
    private let mark: ComponentCount.Mark
    private let adapter: AdapterRecord
    private let management: ManagementClient
    private let kernel: any BluetoothKernel
    private let log: Logger
    private var table = AdvertisingTable()
    /// The task that sends changes to the kernel; nil while there are none.
    private var worker: Task<Void, Never>?
    private var isClosed = false
    weak var receiver: (any HostReceiver)?

    init(of adapter: AdapterRecord, on kernel: any BluetoothKernel, by management: ManagementClient, log: Logger) {
        mark = management.loop.components.mark("KernelAdvertising")
        (self.adapter, self.kernel, self.management, self.log) = (adapter, kernel, management, log)
        // If this is not available, the adapter cannot be followed either, and the error is reported there.
        try? management.follow(self)
    }

    private var index: UInt16 { adapter.information.index }

    private var marks: AdapterMarks { AdapterMarks(of: adapter.information, on: kernel) }

    private var operation: BluetoothError.Operation { .init("advertise", adapter: adapter.information.name) }

    private func report(_ id: UInt64, _ event: AdvertisingEvent) { receiver?.receive(.advertising(id, event)) }

    // MARK: Declaring

    nonisolated(nonsending) func limits(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> AdvertisingLimits {
        do {
            return try await features().limits(table.instances)
        } catch {
            throw error.code == .cancelled ? .cancelled(operation) : error
        }
    }

    func advertise(_ request: AdvertisingRequest, as id: UInt64) {
        if table[id] == nil {
            table[id] = .init(request: request)
        } else {
            table[id]?.request = request
            advance(id, .resend)
        }
        applyPendingChanges()
    }

    func stop(_ id: UInt64, _ reason: BluetoothError) {
        advance(id, .end(reason))
        applyPendingChanges()
    }

    nonisolated(nonsending) func removeForeign() async throws(BluetoothError) -> Int {
        let features = try await features()
        var count = 0
        // The kernel does not list all instances, so each number is tried; it reports one that does not exist.
        for instance in 1...max(1, features.maximumInstances) {
            let isForeign = !table.instances.contains(instance) && marks.isLeft(instance)
            if isForeign, try await remove(instance) { count += 1 }
        }
        return count
    }

    // MARK: Events

    func receive(_ notice: AdapterNotice) {
        let own = index
        switch notice {
        case .event(own, let event as ManagementAdvertisingRemoved):
            table.leftovers.remove(event.value)
            if let id = table.id(of: event.value) { advance(id, .instanceRemoved) }
        case .connected(own, isByPeer: true):
            // The event does not name the set to which the central has connected.
            for id in table.ids {
                guard let entry = table[id], entry.progress.hasBegun, entry.request.options.kind == .connectable,
                    entry.request.options.continuesWhileConnected
                else { continue }
                advance(id, .resend)
            }
            applyPendingChanges()
        case .event(own, is ManagementDeviceDisconnected):
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
            let resumes = comesBack || table[id]?.request.options.whenAdapterUnavailable == .resume
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
                management.sendLast(ManagementRemoveAdvertising(instance), to: index)
            }
        }
        for id in table.ids { advance(id, .end(reason)) }
        applyPendingChanges()
    }

    /// Feeds an input to a set's state machine and reports the events.
    private func advance(_ id: UInt64, _ input: AdvertisingProgress.Input) {
        guard var entry = table[id] else { return }
        let before = entry.progress.state
        let events = entry.progress.receive(input)
        if entry.progress.state != before { entry.timer = timer(of: id, for: entry.progress) }
        let isRenumbered = table[id]?.progress.instance != entry.progress.instance
        if isRenumbered { entry.mark = entry.progress.instance.flatMap { marks.hold(.advertising, $0) } }
        table[id] = entry
        if isRenumbered { reportParameters(of: id) }
        for event in events { report(id, event) }
    }

    private func reportParameters(of id: UInt64) {
        guard let entry = table[id] else { return }
        report(id, .parameters(instance: entry.progress.instance, transmitPower: entry.transmitPower))
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

    private nonisolated(nonsending) func features() async throws(BluetoothError) -> AdvertisingFeatures {
        try await management.sendWhenIdle(ManagementReadAdvertisingFeatures(), to: index)
    }

    /// Removes an instance; false when there was none.
    @discardableResult
    private nonisolated(nonsending) func remove(_ instance: UInt8) async throws(BluetoothError) -> Bool {
        do throws(BluetoothError) {
            try await management.sendWhenIdle(ManagementRemoveAdvertising(instance), to: index)
            return true
        } catch {
            guard error.cause == .management(.invalidParameters) else { throw error }
            return false
        }
    }

    /// Removes an instance; one that no longer exists is no error.
    private nonisolated(nonsending) func removeInstance(_ instance: UInt8) async {
        table.leftovers.remove(instance)
        do throws(BluetoothError) {
            try await remove(instance)
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
        if table[id]?.progress.instance == nil {
            let features = try await features()
            guard let progress = table[id]?.progress, !progress.hasEnded else { return }
            if table.ids == [id], !progress.hasBegun { reportLeftovers(features) }
            var instance: UInt8
            repeat {
                instance = try features.freeInstance(table.instances, marks, operation)
                advance(id, .use(instance))
            } while table[id]?.mark == nil && !marks.isLeft(instance)  // another program was faster
        }
        guard let entry = table[id], let instance = entry.progress.instance else { return }
        do throws(BluetoothError) {
            let limits = try await management.sendWhenIdle(
                ManagementAddExtendedAdvertisingParameters(entry.request, as: instance), to: index)
            let payloads = entry.request.payloads
            try await management.sendWhenIdle(
                ManagementAddExtendedAdvertisingData(
                    instance: instance, advertisingData: payloads.advertising, scanResponse: payloads.scanResponse),
                to: index)
            table[id]?.transmitPower = Int(limits.transmitPower)
            reportParameters(of: id)
        } catch {
            // It is removed, or only half configured.
            if table[id]?.progress.instance == instance {
                advance(id, .use(nil))
                await removeInstance(instance)
            }
            throw error
        }
    }
}
