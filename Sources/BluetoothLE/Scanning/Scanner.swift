import BluetoothAdvertising
import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import Logging

/// The scans on one adapter: what the host has to scan for all of them, and what each of them hears.
//
// Lives on the loop, with the session.
final class Scanner: HostScanReceiver {
    private let mark: ComponentCount.Mark
    private let facts: AdapterFacts
    /// Keeps this, and not the other way round; the session has both.
    private weak var host: (any HostScanning)?
    private let heard: HeardDevices
    private let loop: EventLoop
    private let log: Logger
    private var audience = ScanAudience()
    private var lastID: UInt64 = 0
    /// Ends the wait of first reports for their scan responses.
    private var responseTimer: (timer: LoopTimer, deadline: KernelInstant)?

    init(_ host: any HostScanning, of facts: AdapterFacts, _ heard: HeardDevices, on loop: EventLoop, log: Logger) {
        mark = loop.components.mark("Scanner")
        (self.host, self.facts, self.heard, self.loop, self.log) = (host, facts, heard, loop, log)
        host.receiver = self
    }

    private var name: String { facts.information.name }

    /// Adds a consumer of what the controller hears; returns when the controller scans for it, or is going to as soon
    /// as another program lets it.
    ///
    /// The stream keeps `owner` for as long as somebody reads it, as that is who tells when the adapter is switched off.
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
        audience.add(
            ScanSession(id: id, options: options, settings: settings, channel: channel),
            deviceLimit: options.deviceLimit)
        do {
            try await host.scan(audience.request ?? settings, operation)
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
        audience.remove(id)
        host?.setScan(audience.request)
    }

    // MARK: What is heard

    /// Hands what was heard to everybody who listens. A malformed report loses itself and those behind it in its event.
    func receive(_ reports: AdvertisingReports) {
        let deadline = audience.receive(reports, at: loop.now, from: heard) { error in
            log.debug("malformed advertising report: \(error)", metadata: ["adapter": "\(name)"])
        }
        if let deadline { setResponseTimer(to: deadline) }
    }

    /// Has the next report handed out that has waited long enough for its scan response.
    private func setResponseTimer(to deadline: KernelInstant) {
        // Another scan may wait longer.
        if let set = responseTimer?.deadline, set <= deadline { return }
        let timer = loop.makeLocalTimer { [weak self] in
            guard let self else { return }
            responseTimer = nil
            audience.releaseHeld(at: loop.now)
            if let next = audience.nextDeadline { setResponseTimer(to: next) }
        }
        timer.set(at: deadline)
        responseTimer = (timer, deadline)
    }

    func scanStopped() { audience.scanStopped() }

    func scanEnded(_ reason: BluetoothError, isForGood: Bool) -> ScanSettings? {
        audience.finish(reason, isForGood: isForGood)
        return audience.request
    }
}
