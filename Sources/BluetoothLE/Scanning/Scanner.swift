import BluetoothAdvertising
import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import Logging

/// The scans on an adapter: the host's combined scan settings, and the delivery of reports to each scan.
//
// Lives on the loop, with the session.
final class Scanner {
    private let mark: ComponentCount.Mark
    private let adapterRecord: AdapterRecord
    /// The host, which retains the receiver of its events, and so this object. The session holds both.
    private weak var host: (any HostScanning)?
    private let identities: DeviceIdentities
    private let health: RadioHealth
    private let loop: EventLoop
    private let log: Logger
    private var subscribers = ScanSubscribers()
    private var lastID: UInt64 = 0
    /// The timer that releases reports without a scan response.
    private var responseTimer: (timer: LoopTimer, deadline: KernelInstant)?

    init(
        _ host: any HostScanning, of adapterRecord: AdapterRecord, _ identities: DeviceIdentities,
        _ health: RadioHealth, on loop: EventLoop, log: Logger
    ) {
        mark = loop.components.mark("Scanner")
        (self.host, self.adapterRecord, self.identities, self.loop, self.log) = (
            host, adapterRecord, identities, loop, log
        )
        self.health = health
    }

    private var name: String { adapterRecord.information.name }

    /// Adds a scan; returns when the controller scans for it, or when the scan is pending until another program
    /// releases the scanner.
    ///
    /// The stream retains `owner` until its consumer has left, so that it can report the adapter's state changes.
    nonisolated(nonsending) func scan(
        _ options: ScanOptions, for owner: some AnyObject & Sendable
    ) async throws(BluetoothError) -> BoundedStream<Advertisement> {
        let operation = BluetoothError.Operation("scan", adapter: name)
        guard let host else { throw .cancelled(operation) }
        let settings = try await settings(options, of: host, operation)
        lastID += 1
        let id = lastID
        let channel = StreamChannel<Advertisement>(
            capacity: options.bufferCapacity, policy: .dropOldest, operation: operation, from: loop
        ) { $0.missedBefore = $1 }
        subscribers.add(
            ScanSession(id: id, options: options, settings: settings, channel: channel),
            deviceLimit: options.deviceLimit)
        do {
            try await host.scan(subscribers.request ?? settings, operation)
        } catch {
            leave(id)
            throw error
        }
        health.scanChanged(isOn: true)
        if let duration = options.duration { setTimer(of: id, to: duration) }
        let bound = LoopBound(self, on: loop)
        return BoundedStream(channel: channel) { [owner, loop] in
            loop.execute { withExtendedLifetime(owner) { bound.value.leave(id) } }
        }
    }

    /// The settings for a scan; the controller's features are read only if LE Coded is requested.
    private nonisolated(nonsending) func settings(
        _ options: ScanOptions, of host: any HostScanning, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> ScanSettings {
        var hasCoded = false
        if options.leCoded != nil {
            hasCoded = try await host.features(operation).isSuperset(of: [.leCoded, .extendedAdvertising])
            if !hasCoded { log.notice("\(name) cannot scan on LE Coded") }
        }
        guard let settings = ScanSettings(options, hasCoded: hasCoded) else {
            let isPossible = options.leCoded != nil
            throw BluetoothError(
                isPossible ? .unsupported : .invalidArgument, operation,
                isPossible ? "\(name) cannot scan on LE Coded." : "A scan needs at least one PHY.")
        }
        return settings
    }

    private func leave(_ id: UInt64) {
        subscribers.remove(id)
        declare()
    }

    /// Declares to the host what is requested now.
    private func declare() {
        let request = subscribers.request
        host?.setScan(request)
        if request == nil { health.scanChanged(isOn: false) }
    }

    /// Schedules the end of a scan after its duration.
    private func setTimer(of id: UInt64, to duration: Duration) {
        let timer = loop.makeTimer(of: self) { scanner in
            // The reports that a batch has left unread come first.
            if var request = scanner.subscribers.request, request.batching > .zero {
                request.batching = .zero
                scanner.host?.setScan(request)
            }
            scanner.subscribers.finish(id)
            scanner.declare()
        }
        timer.set(after: duration)
        subscribers.setTimer(timer, of: id)
    }

    // MARK: Reports

    /// Delivers reports to all scans. A malformed report is skipped with the rest of its event.
    func receive(_ reports: AdvertisingReports) {
        let now = loop.now
        health.heard(at: now)
        let deadline = subscribers.receive(reports, at: now, identities) { error in
            log.debug("malformed advertising report: \(error)", metadata: ["adapter": "\(name)"])
        }
        if let deadline { setResponseTimer(to: deadline) }
    }

    /// Schedules the delivery of held reports whose scan response does not arrive in time.
    private func setResponseTimer(to deadline: KernelInstant) {
        // Another scan's deadline may be later.
        if let set = responseTimer?.deadline, set <= deadline { return }
        let timer = loop.makeTimer(of: self) { $0.releaseHeld() }
        timer.set(at: deadline)
        responseTimer = (timer, deadline)
    }

    private func releaseHeld() {
        responseTimer = nil
        subscribers.releaseHeld(at: loop.now)
        if let next = subscribers.nextDeadline { setResponseTimer(to: next) }
    }

    func scanStopped() { subscribers.scanStopped() }

    /// Ends the scans that do not wait for the adapter: the recovery has left it unusable.
    func recoveryFailed(_ reason: BluetoothError) {
        subscribers.finish(reason, isForGood: false)
        declare()
    }

    /// Ends the scans that do not wait for the adapter, and declares the others from now on: the host's scan has ended.
    func scanEnded(_ reason: BluetoothError, isForGood: Bool) {
        let before = subscribers.request
        // The recovery takes the adapter away, or notices that it does not answer, and brings all scans back.
        let isKept =
            isForGood
            ? [.timedOut, .adapterOff].contains(reason.code) && health.keepsScans : health.willRestoreAdapter
        if isKept { subscribers.scanStopped() } else { subscribers.finish(reason, isForGood: isForGood) }
        if subscribers.request != before { declare() }
    }
}
