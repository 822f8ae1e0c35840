import BluetoothLE
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
    private let scans: GroupScans
    private var loop: EventLoop { members.loop }

    /// The time for the other adapters to receive a device that one has received: an advertising event or two.
    private static let gatheringTime = Duration.milliseconds(300)

    init(_ members: GroupMembers, _ scans: GroupScans) {
        mark = members.loop.components.mark("GroupConnector")
        (self.members, self.scans) = (members, scans)
    }

    /// Connects to a device by the adapter that ``GroupChooser`` chooses.
    nonisolated(nonsending) func connect(
        to peer: BluetoothAddress, _ options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        if options.isJustHeard { try await gather(peer, options) }
        var time = ConnectTime(options.timeout, room: options.slotWait, from: loop.now)
        let operation = BluetoothError.Operation("connect", peer: peer)
        var chooser = GroupChooser(waitsForAdapter: options.waitsForAdapter, waitsForRoom: time.room != nil)
        var places = GroupPlaces()
        defer { places.leaveAll() }
        var failure: BluetoothError?
        while true {
            if Task.isCancelled { throw .cancelled(operation) }
            if let end = members.end { throw end.about(operation) }
            let seen = members.version
            places.leaveAll(except: members.all.map(\.id))
            let candidates = await members.candidates(for: peer)
            // A link has ended since the refusal.
            for candidate in candidates where !candidate.isFull { chooser.roomChanged(at: candidate.id) }
            switch chooser.next(candidates) {
            case .connect(let id):
                let outcome = await race([id], peer, options, until: time.end, isSliced: true, Watch(version: seen))
                if let connection = try settle(outcome, &chooser, &failure) { return connection }
            case .race(let ids):
                let outcome = await race(
                    ids, peer, options, until: time.end, isSliced: false,
                    Watch(version: seen, peer: peer, known: ids + chooser.departed))
                if let connection = try settle(outcome, &chooser, &failure) { return connection }
                // All have had the remaining time, unless there is another adapter, or they have no room.
                let isOver = outcome.results.contains { chooser.outcome(of: $0.id) == .unreachable }
                if isOver, !outcome.isInterrupted, let failure { throw failure }
            case .waitForRoom(let ids):
                let start = loop.now
                guard let room = time.room else { throw failure ?? .linkLimitReached(operation, nil) }
                places.leaveAll(except: ids)
                let admitted = try await waitForRoom(
                    ids, &places, until: start.advanced(by: room), operation,
                    Watch(version: seen, peer: peer, known: ids + chooser.departed))
                time.waitedForRoom(from: start, to: loop.now)
                guard let admitted else { break }
                chooser.roomChanged(at: admitted)
                var options = options
                options.isAdmitted = true
                let outcome = await race(
                    [admitted], peer, options, until: time.end, isSliced: true, Watch(version: seen))
                if outcome.wasRefusedForRoom {
                    // Others have taken it.
                    places.refused(at: admitted)
                } else {
                    places.leave(admitted, hasLink: outcome.hasLink)
                }
                if let connection = try settle(outcome, &chooser, &failure) { return connection }
            case .waitForAdapter:
                do throws(BluetoothError) {
                    try await members.changed(since: seen, operation, until: time.end)
                } catch {
                    throw error.code == .timedOut ? unavailable(candidates, operation) : error
                }
            case .fail:
                throw failure ?? unavailable(candidates, operation)
            }
            if members.version != seen { chooser.adaptersChanged() }
            if time.isOver(at: loop.now) {
                throw failure ?? .timedOut(operation, after: options.timeout ?? .zero)
            }
        }
    }

    /// Waits until all adapters have received a device that one has received, as far as they soon do, so that the one with
    /// the best signal is known.
    private nonisolated(nonsending) func gather(
        _ peer: BluetoothAddress, _ options: ConnectionOptions
    ) async throws(BluetoothError) {
        guard !members.areAllReceiving(peer) else { return }
        var search = options.search(.address(peer), duplicates: .all)
        search.duration = Self.gatheringTime
        // The caller retains the group.
        for try await _ in try await scans.scan(search, for: loop) where members.areAllReceiving(peer) { break }
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

    /// Records the results of attempts; returns the connection.
    /// - Throws: an error that no other adapter can help.
    private func settle(
        _ outcome: RaceOutcome, _ chooser: inout GroupChooser, _ failure: inout BluetoothError?
    ) throws(BluetoothError) -> Connection? {
        for (id, result) in outcome.results {
            switch result {
            case .success(let connection): return connection
            case .failure(let error):
                // The program has closed the adapter, which no longer belongs to the group.
                if error.code == .cancelled, members[id] == nil { continue }
                guard let outcome = GroupChooser.AttemptOutcome(error) else { throw error }
                chooser.record(outcome, of: id)
                // What the device says is more informative than the state of an adapter.
                if failure == nil || outcome != .left { failure = error }
            }
        }
        return nil
    }

    // MARK: Attempts

    /// Connects by one adapter.
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

        var hasLink: Bool { results.contains { (try? $0.result.get()) != nil } }

        var wasRefusedForRoom: Bool { results.contains { $0.result.wasRefusedForRoom } }
    }

    /// The changes of the group that make a decision a new one.
    private struct Watch: Sendable {
        /// The version of the group at the decision.
        var version: UInt64
        /// The device that another adapter may connect to as well; nil if that does not matter.
        var peer: BluetoothAddress?
        /// The adapters that are no others, until there is a change.
        var known: [Int] = []

        /// The watch for which all but these of several adapters are others.
        func keeping(_ kept: [Int], of ids: [Int]) -> Watch {
            var watch = self
            watch.known.removeAll { ids.contains($0) && !kept.contains($0) }
            return watch
        }
    }

    private enum RaceEvent: Sendable {
        case result(Int, Result<Connection, BluetoothError>)
        case changed
    }

    /// Connects by one or several adapters at once; the first link counts, and all other attempts are cancelled. Ends early
    /// when one of them leaves the group, and when another adapter can take part.
    private nonisolated(nonsending) func race(
        _ ids: [Int], _ peer: BluetoothAddress, _ options: ConnectionOptions, until deadline: KernelInstant?,
        isSliced: Bool, _ watch: Watch
    ) async -> RaceOutcome {
        let options = options.onOne(until: deadline, now: loop.now, isSliced: isSliced)
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
                await connector { await $0.membersChange(ids, watch) }
                return .changed
            }
            var outcome = RaceOutcome()
            var winner: (id: Int, connection: Connection)?
            var isOver = false
            var entered = ids
            for await event in group {
                switch event {
                case .changed: if !isOver { outcome.isInterrupted = true }
                case .result(let id, .success(let connection)):
                    // If the device accepts several links, another one ends here, unless another caller has it.
                    if winner == nil { winner = (id, connection) }
                case .result(let id, .failure(let error)):
                    if !isOver || error.code != .cancelled { outcome.results.append((id, .failure(error))) }
                }
                isOver = winner != nil || outcome.isInterrupted || outcome.results.count == entrants.count
                if isOver {
                    group.cancelAll()
                } else if case .result(let id, .failure(let error)) = event, error.code == .linkLimitReached {
                    // The others go on; this one takes part again when it has room.
                    entered.removeAll { $0 == id }
                    let (others, next) = (entered, watch.keeping(entered, of: ids))
                    let session = entrants.first { $0.0 == id }?.1.session
                    group.addTask(executorPreference: loop) {
                        let following = await session?.followLinks()
                        await connector { await $0.membersChange(others, next) }
                        return withExtendedLifetime(following) { .changed }
                    }
                }
            }
            if let winner { outcome.results = [(winner.id, .success(winner.connection))] }
            return outcome
        }
    }

    /// Waits until one of these adapters has left the group, or, if that matters, another one may connect to the device.
    private nonisolated(nonsending) func membersChange(_ ids: [Int], _ watch: Watch) async {
        while true {
            let seen = members.version
            if ids.contains(where: { members[$0] == nil }) { return }
            if let peer = watch.peer {
                let known = seen == watch.version ? watch.known : ids
                let pool = GroupChooser.pool(await members.candidates(for: peer))
                if pool.contains(where: { $0.isReady && !$0.isFull && !known.contains($0.id) }) { return }
            }
            do throws(BluetoothError) {
                try await members.changed(since: seen, .init("connect"), until: nil)
            } catch { return }
        }
    }

    // MARK: Room

    private enum RoomEvent: Sendable {
        /// This adapter has room, or there is a reason why not.
        case result(Int, BluetoothError?)
        case changed
    }

    /// Waits until one of these adapters has room for another link, and returns it; nil when the decision is to be made
    /// again. The places are kept in any case.
    private nonisolated(nonsending) func waitForRoom(
        _ ids: [Int], _ places: inout GroupPlaces, until patience: KernelInstant,
        _ operation: BluetoothError.Operation, _ watch: Watch
    ) async throws(BluetoothError) -> Int? {
        let entrants = ids.compactMap { members[$0] }
        let calls = entrants.map { (id: $0.id, session: $0.adapter.session, place: places.enter($0)) }
        let loop = loop
        let connector = SessionReference(self, in: DetachedSession(on: loop))
        let (admitted, failure) = await withTaskGroup(of: RoomEvent.self) { group in
            for call in calls {
                group.addTask(executorPreference: loop) {
                    do throws(BluetoothError) {
                        try await call.session.waitForRoom(call.place, until: patience, operation)
                        return .result(call.id, nil)
                    } catch {
                        return .result(call.id, error)
                    }
                }
            }
            group.addTask(executorPreference: loop) {
                await connector { await $0.membersChange(ids, watch) }
                return .changed
            }
            var admitted: Int?
            var failure: BluetoothError?
            var isOver = false
            for await event in group {
                switch event {
                case .result(let id, nil): if admitted == nil { admitted = id }
                case .result(_, let error?): if !isOver { failure = error }
                case .changed: break
                }
                isOver = true
                group.cancelAll()
            }
            return (admitted, failure)
        }
        if let admitted { return admitted }
        // An adapter that leaves makes the decision a new one.
        if let failure, !failure.concernsAdapter, failure.code != .cancelled { throw failure }
        return nil
    }
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

extension ConnectionOptions {
    /// The options of an attempt by one adapter.
    fileprivate func onOne(until deadline: KernelInstant?, now: KernelInstant, isSliced: Bool) -> ConnectionOptions {
        var options = self
        options.waitsForAdapter = false
        options.slotTimeout = .zero
        options.attributeTimeout = attributeTimeout ?? timeout
        options.timeout = deadline?.remaining(at: now)
        if isSliced { options.timeout = GroupChooser.slice(of: options.timeout) }
        return options
    }
}
