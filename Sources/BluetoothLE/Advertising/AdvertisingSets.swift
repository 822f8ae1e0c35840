import Advertising
import BluetoothHost
import BluetoothKernel
import Logging

/// What a program advertises on an adapter: has the kernel told of it, and follows what becomes of it.
///
/// A component of the adapter's session.
final class AdvertisingSets {
    private let mark: ComponentCount.Mark
    private let host: any HostAdvertising
    private let facts: AdapterFacts
    private let standing: LatestValue<AdapterState>
    private let localServer: LocalServer
    private let links: LinkRegistry
    private let loop: EventLoop
    private let log: Logger
    private var table = AdvertisingTable()
    /// Tells the kernel what it has to be told; there is none while that is nothing.
    private var worker: Task<Void, Never>?
    private var isClosed = false
    /// Called when devices may be able to connect that were not, or the other way round.
    var onOffersChanged: () -> Void = {}

    init(
        of facts: AdapterFacts, _ standing: LatestValue<AdapterState>, _ host: any HostAdvertising,
        _ localServer: LocalServer, _ links: LinkRegistry, on loop: EventLoop, log: Logger
    ) {
        mark = loop.components.mark("AdvertisingSets")
        self.facts = facts
        self.standing = standing
        self.host = host
        self.localServer = localServer
        self.links = links
        self.loop = loop
        self.log = log
    }

    /// Whether devices can connect to anything of it.
    var takesConnections: Bool { table.takesConnections }

    private func operation(_ name: String) -> BluetoothError.Operation {
        BluetoothError.Operation(name, adapter: facts.information.name)
    }

    /// Begins to advertise; returns once the kernel has been told.
    nonisolated(nonsending) func begin(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> (id: UInt64, record: AdvertisingRecord) {
        if Task.isCancelled { throw .cancelled(operation) }
        try host.follow { [weak self] event in self?.take(event) }
        let record = AdvertisingRecord(operation, on: loop)
        let id = table.add(content, options, record)
        // Before anybody can connect.
        onOffersChanged()
        do {
            try await settles(id, operation)
        } catch {
            beginToStop(id)
            throw error
        }
        return (id, record)
    }

    /// Removes every instance that is not of these, and says how many there were.
    nonisolated(nonsending) func removeForeign() async throws(BluetoothError) -> Int {
        try await host.removeAll(but: { table.instances }, operation("read the advertising features"))
    }

    // MARK: One set

    nonisolated(nonsending) func update(
        _ id: UInt64, _ content: AdvertisementContent, _ record: AdvertisingRecord
    ) async throws(BluetoothError) {
        if case .ended(let reason) = record.standing.value { throw reason }
        guard let before = table[id]?.content else { throw .cancelled(record.operation) }
        table[id]?.content = content
        advertise(id, .resend)
        do {
            try await settles(id, record.operation)
        } catch {
            // What was said before goes on, unless somebody has said something else meanwhile.
            if table[id]?.content == content {
                table[id]?.content = before
                // The kernel may have been told; what cannot be said at all it was not.
                if error.code != .invalidArgument { advertise(id, .resend) }
                workOff()
            }
            throw error
        }
    }

    nonisolated(nonsending) func stop(_ id: UInt64) async {
        guard let record = table[id]?.record else { return }
        beginToStop(id)
        // That it was stopped is no error; a cancelled task does not wait.
        try? await settles(id, record.operation)
    }

    /// Has the kernel get rid of a set as soon as it can be told.
    func beginToStop(_ id: UInt64) {
        guard let entry = table[id] else { return }
        let reason = BluetoothError(
            .cancelled, entry.record.operation, "The advertisement was stopped by this program.")
        advertise(id, .end(reason))
        workOff()
    }

    /// Has something happen to a set, and does what follows of it.
    private func advertise(_ id: UInt64, _ input: AdvertisingProgress.Input) {
        guard var entry = table[id] else { return }
        let (before, instance) = (entry.progress.state, entry.progress.instance)
        let actions = entry.progress.receive(input)
        if entry.progress.state != before { entry.timer = timer(of: id, for: entry.progress) }
        table[id] = entry
        if entry.progress.instance != instance {
            entry.record.facts.withLock { $0.instance = entry.progress.instance }
        }
        for action in actions {
            switch action {
            case .report(let state): entry.record.standing.set(state)
            case .settle(let error):
                table[id]?.waiters.resolveAll(error.map { .failure($0) } ?? .success(()))
            case .end(let reason):
                entry.record.end(reason)
                table[id]?.waiters.failAll(reason)
                onOffersChanged()
            }
        }
    }

    private func timer(of id: UInt64, for progress: AdvertisingProgress) -> LoopTimer? {
        guard let limit = progress.limit else { return nil }
        let timer = loop.makeLocalTimer { [weak self] in self?.stateIsOver(id) }
        timer.set(after: limit)
        return timer
    }

    private func stateIsOver(_ id: UInt64) {
        guard let entry = table[id] else { return }
        if entry.progress.state == .lost {
            let reason = BluetoothError(
                .busy, entry.record.operation, "Another program has removed the advertisement.",
                remedy: "BlueZ's daemon does so when it starts: begin after it, or stop it.", isRetryable: true)
            advertise(id, .lossExplained(reason))
        } else {
            // While there are links, the end of one is waited for.
            advertise(id, .retry(hasLinks: !links.all.isEmpty))
        }
        workOff()
    }

    /// Waits until the kernel has been told of a set.
    private nonisolated(nonsending) func settles(
        _ id: UInt64, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        guard let call = table[id]?.waiters.makePromise() else { return }
        workOff()
        try await call.value(operation, timeout: nil, on: loop)
    }

    // MARK: Telling the kernel

    /// Tells the kernel what it has to be told, one thing after the other: it is at work on one change at a time.
    private func workOff() {
        guard worker == nil, nextWork != nil else { return }
        let sets = LoopBound(self, on: loop)
        worker = Task(executorPreference: loop) { await sets.value.tellKernel() }
    }

    private nonisolated(nonsending) func tellKernel() async {
        while let work = nextWork { await carryOut(work) }
        worker = nil
    }

    private var nextWork: AdvertisingTable.Work? {
        table.next(isReady: !isClosed && standing.value.isReady)
    }

    private nonisolated(nonsending) func carryOut(_ work: AdvertisingTable.Work) async {
        switch work {
        case .add(let id): await add(id)
        case .remove(let id):
            if let instance = table[id]?.progress.instance {
                advertise(id, .use(nil))
                if standing.value.isReady { await remove(instance) } else { table.leftovers.insert(instance) }
            }
            var waiters = table[id]?.waiters
            table[id] = nil
            waiters?.succeedAll()
        case .removeInstance(let instance): await remove(instance)
        }
    }

    /// Removes an instance; one that is not there any more is no problem.
    private nonisolated(nonsending) func remove(_ instance: UInt8) async {
        table.leftovers.remove(instance)
        do throws(BluetoothError) {
            try await host.remove(instance)
        } catch {
            log.debug("\(error)")
            guard standing.value != .absent else { return }
            // It may still be on the air, or will be when the adapter is back.
            table.leftovers.insert(instance)
            guard standing.value.isReady else { return }
            log.warning("the kernel did not take back advertising instance \(instance): \(error)")
            let timer = loop.makeLocalTimer { [weak self] in
                self?.table.leftoverTimer = nil
                self?.workOff()
            }
            timer.set(after: AdvertisingProgress.retryInterval)
            table.leftoverTimer = timer
        }
    }

    private nonisolated(nonsending) func add(_ id: UInt64) async {
        advertise(id, .beginSending)
        do throws(BluetoothError) {
            try await put(id)
            advertise(id, .sent)
        } catch {
            log.debug("\(error)")
            advertise(id, .refused(error))
        }
    }

    /// Has the kernel advertise a set, for the first time or again.
    private nonisolated(nonsending) func put(_ id: UInt64) async throws(BluetoothError) {
        let operation = operation("advertise")
        let capacity = try await host.capacity(operation)
        guard let entry = table[id], !entry.progress.hasEnded else { return }
        let instance = try capacity.instance(
            entry.content, entry.options, own: entry.progress.instance, taken: table.instances, operation)
        advertise(id, .use(instance.number))
        do throws(BluetoothError) {
            let power = try await instance.put(operation)
            entry.record.facts.withLock { ($0.payloads, $0.transmitPower) = (instance.payloads, power) }
        } catch {
            if table[id]?.progress.instance == instance.number {
                advertise(id, .use(nil))
                await remove(instance.number)
            }
            throw error
        }
    }

    // MARK: What happens

    private func take(_ event: AdvertisingEvent) {
        switch event {
        case .removed(let instance):
            table.leftovers.remove(instance)
            if let id = table.id(of: instance) { advertise(id, .instanceRemoved) }
        case .connectedByPeer:
            for id in table.ids {
                guard let entry = table[id], entry.progress.hasBegun, entry.options.kind == .connectable,
                    entry.options.continuesWhileConnected
                else { continue }
                advertise(id, .resend)
            }
            workOff()
        case .linkEnded:
            for id in table.ids { advertise(id, .linkEnded) }
            workOff()
        }
    }

    /// The adapter is off, blocked or away, where its instances go as well.
    func adapterLeaves(_ reason: BluetoothError, isAbsent: Bool) {
        if isAbsent { table.leftovers = [] }
        table.leftoverTimer = nil
        for id in table.ids {
            let resumes = table[id]?.options.whenAdapterLeaves == .resume
            advertise(id, .adapterLeft(reason, isAbsent: isAbsent, resumes: resumes))
        }
        workOff()
    }

    /// The adapter can be used again.
    func adapterComesBack() {
        workOff()
    }

    /// Ends everything because the adapter is being closed, and waits until the kernel knows.
    nonisolated(nonsending) func stopAll() async {
        for id in table.ids { beginToStop(id) }
        await worker?.value
    }

    /// Ends everything without the kernel being told.
    func close(_ reason: BluetoothError) {
        isClosed = true
        for id in table.ids { advertise(id, .end(reason)) }
        workOff()
    }
}
