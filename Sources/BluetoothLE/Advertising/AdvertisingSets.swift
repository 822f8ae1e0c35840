import BluetoothAdvertising
import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import Synchronization

/// The advertising sets of an adapter: their content, their state as the host reports it, and the callers that wait for
/// a change.
///
/// A component of the adapter's session.
final class AdvertisingSets {
    private struct Entry {
        var request: AdvertisingRequest
        let limits: AdvertisingLimits
        let record: AdvertisingRecord
        /// The callers that wait until the host has applied the last change.
        var waiters = WaiterList<Void, BluetoothError>()
    }

    private let mark: ComponentCount.Mark
    private let host: any HostAdvertising
    /// Listens while any set is connectable.
    private let incoming: IncomingLinks
    private let loop: EventLoop
    private var entries: [UInt64: Entry] = [:]
    private var nextID: UInt64 = 0

    init(_ host: any HostAdvertising, _ incoming: IncomingLinks, on loop: EventLoop) {
        mark = loop.components.mark("AdvertisingSets")
        (self.host, self.incoming, self.loop) = (host, incoming, loop)
    }

    /// Creates an advertising set; returns once it is on the air.
    nonisolated(nonsending) func begin(
        _ content: AdvertisementContent, _ options: AdvertisingOptions, within limits: AdvertisingLimits,
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> (id: UInt64, record: AdvertisingRecord) {
        if Task.isCancelled { throw .cancelled(operation) }
        let request = try AdvertisingRequest(content, options, within: limits, operation)
        let record = AdvertisingRecord(operation, on: loop)
        nextID += 1
        let id = nextID
        entries[id] = Entry(request: request, limits: limits, record: record)
        // Before any device can connect.
        offerConnections()
        host.advertise(request, as: id)
        do {
            try await waitUntilApplied(id, operation)
        } catch {
            beginToStop(id)
            throw error
        }
        return (id, record)
    }

    nonisolated(nonsending) func update(
        _ id: UInt64, _ content: AdvertisementContent, _ record: AdvertisingRecord
    ) async throws(BluetoothError) {
        if let reason = record.state.value.closed { throw reason }
        guard let entry = entries[id] else { throw .cancelled(record.operation) }
        let request = try AdvertisingRequest(content, entry.request.options, within: entry.limits, record.operation)
        declare(request, as: id)
        do {
            try await waitUntilApplied(id, record.operation)
        } catch {
            // The former content remains, unless another call has replaced it meanwhile.
            if entries[id]?.request == request { declare(entry.request, as: id) }
            throw error
        }
    }

    /// Replaces a set's request.
    private func declare(_ request: AdvertisingRequest, as id: UInt64) {
        entries[id]?.request = request
        host.advertise(request, as: id)
    }

    nonisolated(nonsending) func stop(_ id: UInt64) async {
        guard let record = entries[id]?.record else { return }
        beginToStop(id)
        // Stopping is no error here; a cancelled task does not wait.
        try? await waitUntilApplied(id, record.operation)
    }

    /// Ends a set and has the host remove it as soon as possible.
    func beginToStop(_ id: UInt64) {
        guard let entry = entries[id], !entry.record.hasEnded else { return }
        let reason = BluetoothError(
            .cancelled, entry.record.operation, "This program has closed the advertising set.")
        end(id, reason)
        host.stop(id, reason)
    }

    /// Ends all sets, as the adapter is being closed, and waits until the host has removed them.
    nonisolated(nonsending) func stopAll() async {
        let ids = entries.keys.sorted()
        for id in ids { beginToStop(id) }
        for id in ids {
            guard let call = entries[id]?.waiters.makePromise() else { continue }
            // A cancelled task waits as well.
            _ = try? await call.value(from: loop) {}
        }
    }

    /// Waits until the host has applied the last change.
    private nonisolated(nonsending) func waitUntilApplied(
        _ id: UInt64, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        guard let call = entries[id]?.waiters.makePromise() else { return }
        try await call.value(operation, timeout: nil, on: loop)
    }

    func handle(_ event: AdvertisingEvent, of id: UInt64) {
        guard let entry = entries[id] else { return }
        let record = entry.record
        switch event {
        case .parameters(let instance, let power):
            record.parameters.withLock {
                $0.instance = instance
                $0.transmitPower = entry.limits.canSetTransmitPower ? power : nil
            }
        case .state(let state): if let reason = state.closed { end(id, reason) } else { record.state.set(state) }
        case .applied(let error?): entries[id]?.waiters.failAll(error)
        case .applied(nil):
            record.parameters.withLock { $0.payloads = entry.request.payloads }
            entries[id]?.waiters.succeedAll()
        case .removed:
            var waiters = entries.removeValue(forKey: id)?.waiters
            waiters?.succeedAll()
        }
    }

    private func end(_ id: UInt64, _ reason: BluetoothError) {
        guard let record = entries[id]?.record, !record.hasEnded else { return }
        record.end(reason)
        entries[id]?.waiters.failAll(reason)
        offerConnections()
    }

    private func offerConnections() {
        incoming.isAdvertised = entries.values.contains {
            !$0.record.hasEnded && $0.request.options.kind == .connectable
        }
        incoming.offersChanged()
    }
}

/// The state of an advertising set, readable on any thread.
final class AdvertisingRecord: Sendable {
    /// The parameters of the set on the air.
    struct Parameters {
        var payloads = AdvertisingPayloads([])
        var transmitPower: Int?
        var instance: UInt8?
    }

    let parameters = Mutex(Parameters())
    let state: LatestValue<AdvertisingState>
    let operation: BluetoothError.Operation

    init(_ operation: BluetoothError.Operation, on loop: EventLoop) {
        self.operation = operation
        let notYet = BluetoothError(.busy, operation, "Advertising has not started yet.", isRetryable: true)
        state = LatestValue(.waiting(notYet), operation, on: loop)
    }

    /// Ends the set; only the first reason counts.
    func end(_ reason: BluetoothError) {
        state.set(.closed(reason))
        state.finish()
    }

    var hasEnded: Bool { state.value.closed != nil }
}
