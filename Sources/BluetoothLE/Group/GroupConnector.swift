import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The connects of a group.
//
// Lives on the loop, with the group.
final class GroupConnector {
    private let mark: ComponentCount.Mark
    private let members: GroupMembers
    private var loop: EventLoop { members.loop }

    init(_ members: GroupMembers) {
        mark = members.loop.components.mark("GroupConnector")
        self.members = members
    }

    /// Connects to a device by the adapter that ``GroupChooser`` chooses.
    nonisolated(nonsending) func connect(
        to peer: BluetoothAddress, _ options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        let operation = BluetoothError.Operation("connect", peer: peer)
        var chooser = GroupChooser(waitsForAdapter: options.waitsForAdapter, waitsForRoom: options.slotTimeout != nil)
        var deadline = options.timeout.map { loop.now.advanced(by: $0) }
        let patience = options.slotTimeout.map { loop.now.advanced(by: $0) }
        var failure: BluetoothError?
        while true {
            if Task.isCancelled { throw .cancelled(operation) }
            if let end = members.end { throw end.about(operation) }
            let seen = members.version
            let candidates = await members.candidates(for: peer)
            switch chooser.next(candidates) {
            case .connect(let id):
                let result = await attempt(id, peer, options, until: deadline, isSliced: true)
                if let connection = try settle(result, of: id, &chooser, &failure) { return connection }
            case .race(let ids):
                let outcome = await race(ids, peer, options, until: deadline)
                for (id, result) in outcome.results {
                    if let connection = try settle(result, of: id, &chooser, &failure) { return connection }
                }
                // All have had the remaining time, unless there is another adapter, or they have no room.
                let isOver = outcome.results.contains { chooser.isUnreachable($0.id) }
                if isOver, !outcome.isInterrupted, let failure { throw failure }
            case .waitForRoom(let ids):
                let start = loop.now
                guard let patience else { throw failure ?? .linkLimitReached(operation, nil) }
                let admitted = try await waitForRoom(ids, until: patience, operation)
                deadline = deadline?.advanced(by: start.duration(to: loop.now))
                chooser.roomChanged()
                guard let admitted, let slots = members[admitted.id]?.slots else { continue }
                let result = await attempt(admitted.id, peer, options, until: deadline, isSliced: true)
                // Room that others have taken is not passed on.
                slots.leave(admitted.place, hasLink: result.hasTakenRoom)
                if let connection = try settle(result, of: admitted.id, &chooser, &failure) { return connection }
            case .waitForAdapter:
                do throws(BluetoothError) {
                    try await members.changed(since: seen, operation, until: deadline)
                } catch {
                    throw error.code == .timedOut ? unavailable(candidates, operation) : error
                }
            case .fail:
                throw failure ?? unavailable(candidates, operation)
            }
            if members.version != seen { chooser.adaptersChanged() }
            if let deadline, loop.now >= deadline {
                throw failure ?? .timedOut(operation, after: options.timeout ?? .zero)
            }
        }
    }

    /// The error if no adapter that may have the link can be used.
    private func unavailable(
        _ candidates: [GroupChooser.Candidate], _ operation: BluetoothError.Operation
    ) -> BluetoothError {
        guard let bonded = candidates.first(where: \.hasBond), let member = members[bonded.id] else {
            return members.unavailable(operation)
        }
        let name = member.adapter.information.name
        var reason =
            BluetoothError.unavailable(member.adapter.state, operation)
            ?? BluetoothError(.noAdapter, operation, "\(name) cannot be used.")
        reason.message += " The bond with the device is one of \(name), so no other adapter connects to it."
        return reason
    }

    /// Records the result of an attempt; returns its connection.
    /// - Throws: an error that no other adapter can help.
    private func settle(
        _ result: Result<Connection, BluetoothError>, of id: Int, _ chooser: inout GroupChooser,
        _ failure: inout BluetoothError?
    ) throws(BluetoothError) -> Connection? {
        switch result {
        case .success(let connection): return connection
        case .failure(let error):
            guard let outcome = GroupChooser.AttemptOutcome(error) else { throw error }
            chooser.record(outcome, of: id)
            // What the device says is more informative than the state of an adapter.
            if failure == nil || outcome != .left { failure = error }
            return nil
        }
    }

    // MARK: Attempts

    /// Connects by one adapter.
    private nonisolated(nonsending) func attempt(
        _ id: Int, _ peer: BluetoothAddress, _ options: ConnectionOptions, until deadline: KernelInstant?,
        isSliced: Bool
    ) async -> Result<Connection, BluetoothError> {
        guard let adapter = members[id]?.adapter else {
            return .failure(BluetoothError(.noAdapter, .init("connect", peer: peer), "The adapter has left the group."))
        }
        return await Self.attempt(adapter, peer, options.onOne(until: deadline, now: loop.now, isSliced: isSliced))
    }

    private nonisolated(nonsending) static func attempt(
        _ adapter: Adapter, _ peer: BluetoothAddress, _ options: ConnectionOptions
    ) async -> Result<Connection, BluetoothError> {
        do throws(BluetoothError) {
            return .success(try await adapter.connect(to: peer, options: options))
        } catch {
            return .failure(error)
        }
    }

    /// The results of attempts by several adapters.
    private struct RaceOutcome {
        var results: [(id: Int, result: Result<Connection, BluetoothError>)] = []
        /// Whether another adapter may take part.
        var isInterrupted = false
    }

    private enum RaceEvent: Sendable {
        case result(Int, Result<Connection, BluetoothError>)
        case changed
    }

    /// Connects by several adapters at once; the first link counts, and all other attempts are cancelled. Ends early
    /// when another adapter can take part.
    private nonisolated(nonsending) func race(
        _ ids: [Int], _ peer: BluetoothAddress, _ options: ConnectionOptions, until deadline: KernelInstant?
    ) async -> RaceOutcome {
        let options = options.onOne(until: deadline, now: loop.now, isSliced: false)
        let entrants = ids.compactMap { id in members[id].map { (id, $0.adapter) } }
        let loop = loop
        let connector = SessionReference(self, in: DetachedSession(on: loop))
        return await withTaskGroup(of: RaceEvent.self, returning: RaceOutcome.self) { group in
            for (id, adapter) in entrants {
                group.addTask(executorPreference: loop) {
                    .result(id, await Self.attempt(adapter, peer, options))
                }
            }
            group.addTask(executorPreference: loop) {
                await connector { await $0.othersMayConnect(than: ids, to: peer) }
                return .changed
            }
            var outcome = RaceOutcome()
            var winner: (id: Int, connection: Connection)?
            var isOver = false
            for await event in group {
                switch event {
                case .changed: outcome.isInterrupted = !isOver
                case .result(let id, .success(let connection)):
                    if winner == nil {
                        winner = (id, connection)
                    } else {
                        // The device accepts several links.
                        await connection.disconnect(timeout: .zero)
                    }
                case .result(let id, .failure(let error)):
                    if !isOver || error.code != .cancelled { outcome.results.append((id, .failure(error))) }
                }
                isOver = winner != nil || outcome.isInterrupted || outcome.results.count == entrants.count
                if isOver { group.cancelAll() }
            }
            if let winner { outcome.results = [(winner.id, .success(winner.connection))] }
            return outcome
        }
    }

    /// Waits until an adapter that is none of these may connect to the device.
    private nonisolated(nonsending) func othersMayConnect(than ids: [Int], to peer: BluetoothAddress) async {
        while true {
            let seen = members.version
            let pool = GroupChooser.pool(await members.candidates(for: peer))
            if pool.contains(where: { $0.isReady && !$0.isFull && !ids.contains($0.id) }) { return }
            do throws(BluetoothError) {
                try await members.changed(since: seen, .init("connect", peer: peer), until: nil)
            } catch { return }
        }
    }

    // MARK: Room

    private struct Place: Sendable {
        var id: Int
        var place: UInt64
    }

    /// Waits until one of these adapters has room for another link; nil if one may have it already.
    private nonisolated(nonsending) func waitForRoom(
        _ ids: [Int], until patience: KernelInstant, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> Place? {
        var places: [(place: Place, slots: SessionReference<LinkSlots>)] = []
        let domain = DetachedSession(on: loop)
        for id in ids {
            guard let slots = members[id]?.slots else { continue }
            guard slots.isFull else {
                for waiting in places { waiting.slots.value.leave(waiting.place.place, hasLink: false) }
                return nil
            }
            places.append((Place(id: id, place: slots.enterRefused()), SessionReference(slots, in: domain)))
        }
        let loop = loop
        let (admitted, failure) = await withTaskGroup(of: Result<Place, BluetoothError>.self) { group in
            for (place, slots) in places {
                group.addTask(executorPreference: loop) {
                    do throws(BluetoothError) {
                        try await slots { (slots) async throws(BluetoothError) in
                            try await slots.waitForTurn(place.place, until: patience, operation)
                        }
                        return .success(place)
                    } catch {
                        return .failure(error)
                    }
                }
            }
            var admitted: Place?
            var failure: BluetoothError?
            for await result in group {
                switch result {
                case .success(let place): if admitted == nil { admitted = place }
                case .failure(let error): if failure == nil { failure = error }
                }
                group.cancelAll()
            }
            return (admitted, failure)
        }
        for (place, slots) in places where place.place != admitted?.place || place.id != admitted?.id {
            slots.value.leave(place.place, hasLink: false)
        }
        if let admitted { return admitted }
        // An adapter that leaves makes the decision a new one.
        if let failure, !failure.concernsAdapter { throw failure }
        return nil
    }
}

extension GroupChooser {
    fileprivate func isUnreachable(_ id: Int) -> Bool { outcome(of: id) == .unreachable }
}

extension GroupChooser.AttemptOutcome {
    /// The outcome that an error stands for; nil if another adapter does not help.
    fileprivate init?(_ error: BluetoothError) {
        switch error.code {
        case .linkLimitReached: self = .full
        case _ where error.concernsAdapter: self = .left
        case .timedOut, .connectionFailed, .busy, .failed: self = .unreachable
        default: return nil
        }
    }
}

extension Result<Connection, BluetoothError> {
    /// Whether room was taken, by this attempt or by another.
    fileprivate var hasTakenRoom: Bool {
        switch self {
        case .success: true
        case .failure(let error): error.code == .linkLimitReached
        }
    }
}

extension ConnectionOptions {
    /// The options of an attempt by one adapter.
    fileprivate func onOne(until deadline: KernelInstant?, now: KernelInstant, isSliced: Bool) -> ConnectionOptions {
        var options = self
        options.waitsForAdapter = false
        options.slotTimeout = nil
        options.attributeTimeout = attributeTimeout ?? timeout
        options.timeout = deadline.map { max(.zero, now.duration(to: $0)) }
        if isSliced { options.timeout = min(options.timeout ?? GroupChooser.slice, GroupChooser.slice) }
        return options
    }
}
