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
        var content: AdvertisementContent
        let options: AdvertisingOptions
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
        _ content: AdvertisementContent, _ options: AdvertisingOptions, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> (id: UInt64, record: AdvertisingRecord) {
        if Task.isCancelled { throw .cancelled(operation) }
        let record = AdvertisingRecord(operation, on: loop)
        nextID += 1
        let id = nextID
        entries[id] = Entry(content: content, options: options, record: record)
        // Before any device can connect.
        offerConnections()
        host.advertise(content, options, as: id)
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
        if case .ended(let reason) = record.state.value { throw reason }
        guard let entry = entries[id] else { throw .cancelled(record.operation) }
        entries[id]?.content = content
        host.advertise(content, entry.options, as: id)
        do {
            try await waitUntilApplied(id, record.operation)
        } catch {
            // The former content remains, unless another call has replaced it meanwhile.
            if entries[id]?.content == content {
                entries[id]?.content = entry.content
                host.revert(id, to: entry.content)
            }
            throw error
        }
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
            .cancelled, entry.record.operation, "This program has stopped the advertising set.")
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
        guard let record = entries[id]?.record else { return }
        switch event {
        case .parameters(let parameters): record.parameters.withLock { $0 = parameters }
        case .state(.ended(let reason)): end(id, reason)
        case .state(let state): record.state.set(state)
        case .applied(let error): entries[id]?.waiters.resolveAll(error.map { .failure($0) } ?? .success(()))
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
            !$0.record.hasEnded && $0.options.kind == .connectable
        }
        incoming.offersChanged()
    }
}

/// The state of an advertising set, readable on any thread.
final class AdvertisingRecord: Sendable {
    let parameters = Mutex(AdvertisingSetParameters())
    let state: LatestValue<AdvertisingState>
    let operation: BluetoothError.Operation

    init(_ operation: BluetoothError.Operation, on loop: EventLoop) {
        self.operation = operation
        let notYet = BluetoothError(.busy, operation, "Advertising has not started yet.", isRetryable: true)
        state = LatestValue(.waiting(notYet), operation, on: loop)
    }

    /// Ends the set; only the first reason counts.
    func end(_ reason: BluetoothError) {
        state.set(.ended(reason))
        state.finish()
    }

    var hasEnded: Bool {
        if case .ended = state.value { true } else { false }
    }
}
