import BluetoothLE
import BluetoothHost
import BluetoothLoop
import BluetoothSockets

/// The scans of a group, each on all its adapters.
//
// Lives on the loop, with the group.
final class GroupScans {
    private let mark: ComponentCount.Mark
    private let members: GroupMembers
    /// Oldest first; their streams own them. Those that have ended are removed with the next one.
    private var scans: [WeakReference<GroupScan>] = []

    init(_ members: GroupMembers) {
        mark = members.loop.components.mark("GroupScans")
        self.members = members
    }

    var open: [GroupScan] { scans.compactMap(\.object).filter(\.isOpen) }

    /// Begins a scan on all adapters that can be used.
    /// - Parameter owner: retained until the stream ends.
    nonisolated(nonsending) func scan(
        _ options: ScanOptions, for owner: some AnyObject & Sendable
    ) async throws(BluetoothError) -> BoundedStream<GroupAdvertisement> {
        let operation = BluetoothError.Operation("scan")
        if let end = members.end { throw end.about(operation) }
        let scan = GroupScan(options, by: members, operation)
        scans = (open + [scan]).map { WeakReference(to: $0) }
        do throws(BluetoothError) {
            try await scan.begin()
        } catch {
            scan.finish(error)
            throw error
        }
        let (channel, loop) = (scan.channel, members.loop)
        let bound = LoopBound(scan, on: loop)
        return BoundedStream(channel: channel) {
            channel.abandon()
            loop.execute { withExtendedLifetime(owner) { bound.value.finish(nil) } }
        }
    }

    /// Begins to scan on adapters that have come, and ends the scans of those that have left the group.
    func adaptersChanged(without removed: Int?) {
        for scan in open { scan.adaptersChanged(without: removed) }
    }

    /// Ends all scans, as the group is closed.
    func close(_ reason: BluetoothError) {
        for scan in open { scan.finish(reason.about(.init("scan"))) }
    }
}

/// A scan of a group: a scan of each adapter, and the stream of what they receive together.
//
// Lives on the loop; its stream owns it.
// Holds more than ten variables: it has a scan for each adapter, what they receive together, and the time of both.
final class GroupScan {
    private let mark: ComponentCount.Mark
    private let members: GroupMembers
    private let options: ScanOptions
    private let operation: BluetoothError.Operation
    let channel: StreamChannel<GroupAdvertisement>
    private(set) var merger: ScanMerger
    /// The scans of the adapters: one task for each.
    private var tasks: [Int: Task<Void, Never>] = [:]
    /// The failures that another attempt does not repair, until the adapter was away.
    private var failures: [Int: BluetoothError] = [:]
    private lazy var timer = members.loop.makeTimer(of: self) { $0.finish(nil) }
    private lazy var retryTimer = members.loop.makeTimer(of: self) { $0.retry() }
    private(set) var isOpen = true

    init(_ options: ScanOptions, by members: GroupMembers, _ operation: BluetoothError.Operation) {
        let loop = members.loop
        mark = loop.components.mark("GroupScan")
        (self.options, self.members, self.operation) = (options, members, operation)
        channel = StreamChannel(
            capacity: options.bufferCapacity, policy: .dropOldest, operation: operation, from: loop
        ) { element, count in element.advertisement.missedBefore += count }
        let isActive = [options.le1M, options.leCoded].contains { $0?.isActive == true }
        merger = ScanMerger(options.duplicates, isActive: isActive, deviceLimit: options.deviceLimit)
    }

    /// The delay before another attempt on an adapter.
    private static let retryDelay = Duration.seconds(30)

    /// Begins to scan; returns when each adapter scans, or has failed to.
    nonisolated(nonsending) func begin() async throws(BluetoothError) {
        var calls: [Promise<Void, BluetoothError>] = []
        for member in members.all where member.adapter.state.isReady { calls.append(start(member)) }
        if calls.isEmpty, options.whenAdapterUnavailable == .end { throw members.unavailable(operation) }
        var failure: BluetoothError?
        // One that waits for adapters need not have one yet.
        var isScanning = options.whenAdapterUnavailable == .resume
        for call in calls {
            do throws(BluetoothError) {
                try await call.value(operation, timeout: nil, on: members.loop)
                isScanning = true
            } catch {
                if Task.isCancelled { throw error }
                // An adapter that was closed or removed meanwhile no longer belongs to the group.
                if error.code != .cancelled { failure = failure ?? error }
            }
        }
        guard isScanning, isOpen else { throw failure ?? members.unavailable(operation) }
        guard let duration = options.duration else { return }
        timer.set(after: duration)
    }

    /// Starts the scan of one adapter; the result reports whether it scans.
    @discardableResult
    private func start(_ member: GroupMembers.Member) -> Promise<Void, BluetoothError> {
        let call = Promise<Void, BluetoothError>()
        let scan = SessionReference(self, in: DetachedSession(on: members.loop))
        var options = options
        // The merger needs every report, for the signals.
        options.duplicates = .all
        options.duration = nil
        options.whenAdapterUnavailable = .resume
        let (id, adapter, wanted) = (member.id, member.adapter, options)
        failures[id] = nil
        // One task for the scan of an adapter.
        tasks[id] = Task(executorPreference: members.loop) {
            do throws(BluetoothError) {
                let stream = try await adapter.scan(wanted)
                call.succeed()
                for try await report in stream { await scan { $0.receive(report, from: id) } }
                await scan { $0.ended(id, nil) }
            } catch {
                call.fail(error)
                await scan { $0.ended(id, error) }
            }
        }
        return call
    }

    private func receive(_ report: Advertisement, from id: Int) {
        guard isOpen, let member = members[id] else { return }
        if report.missedBefore > 0 { channel.recordMissed(report.missedBefore) }
        var report = report
        report.missedBefore = 0
        guard let delivery = merger.receive(report, from: id) else { return record(report, from: id) }
        record(delivery.advertisement, from: id)
        let signals = delivery.signals.compactMap { signal -> GroupAdvertisement.Signal? in
            let information = (signal.member == id ? member : members[signal.member])?.adapter.information
            return information.map {
                GroupAdvertisement.Signal(adapter: $0.name, address: $0.address, rssi: signal.rssi, time: signal.time)
            }
        }
        channel.send(GroupAdvertisement(advertisement: delivery.advertisement, signals: signals))
    }

    private func record(_ report: Advertisement, from id: Int) {
        guard let address = report.address else { return }
        members.record(SignalTable.Signal(member: id, rssi: report.rssi, time: report.time), of: address)
    }

    /// Handles the end of the scan of one adapter.
    private func ended(_ id: Int, _ reason: BluetoothError?) {
        guard isOpen, tasks.removeValue(forKey: id) != nil, let reason else { return }
        if !reason.concernsAdapter { failures[id] = reason }
        let waits = options.whenAdapterUnavailable == .resume && reason.concernsAdapter
        if tasks.isEmpty, !waits { return finish(reason) }
        retryTimer.set(after: Self.retryDelay)
    }

    /// Begins to scan again on adapters on which that has failed, although they can be used.
    private func retry() {
        failures = failures.filter { [.notPermitted, .unsupported, .invalidArgument].contains($0.value.code) }
        adaptersChanged()
    }

    func adaptersChanged(without removed: Int? = nil) {
        guard isOpen else { return }
        if let removed { merger.remove(removed) }
        for (id, task) in tasks where members[id] == nil {
            task.cancel()
            tasks[id] = nil
        }
        failures = failures.filter { members[$0.key] != nil }
        for member in members.all {
            guard member.adapter.state.isReady else {
                failures[member.id] = nil
                continue
            }
            if tasks[member.id] == nil, failures[member.id] == nil { start(member) }
        }
        if options.whenAdapterUnavailable == .end, !members.all.contains(where: { $0.adapter.state.isReady }) {
            finish(members.unavailable(operation))
        }
    }

    /// Ends the scan: with an error, or regularly.
    func finish(_ reason: BluetoothError?) {
        guard isOpen else { return }
        isOpen = false
        timer.cancel()
        retryTimer.cancel()
        for task in tasks.values { task.cancel() }
        tasks = [:]
        channel.finish(reason)
    }
}
