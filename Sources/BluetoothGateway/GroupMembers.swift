import BluetoothLE
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The adapters of a group.
//
// Lives on the loop.
final class GroupMembers {
    /// An adapter of the group.
    struct Member {
        let id: Int
        let adapter: Adapter
        fileprivate let room: LoopBound<LinkSlots>
        fileprivate let followers: (state: UInt64, room: UInt64)

        /// The adapter's room for links.
        var slots: LinkSlots { room.value }

        fileprivate func unfollow() {
            adapter.session.powerState.value.unfollow(followers.state)
            slots.roomFollowers.remove(followers.room)
        }
    }

    private let mark: ComponentCount.Mark
    let loop: EventLoop
    private(set) var all: [Member] = []
    private var lastID = 0
    private(set) var signals = SignalTable()
    private var waiters = WaiterList<Void, BluetoothError>()
    /// The number of changes so far.
    private(set) var version: UInt64 = 0
    /// The reason of the group's end.
    private(set) var end: BluetoothError?
    /// The handlers of the end.
    private var endFollowers = HandlerList<BluetoothError>()

    init(on loop: EventLoop) {
        mark = loop.components.mark("GroupMembers")
        self.loop = loop
    }

    deinit {
        for member in all { loop.execute { member.unfollow() } }
    }

    subscript(id: Int) -> Member? { all.first { $0.id == id } }

    // MARK: Coming and going

    /// Adds an adapter.
    /// - Parameter follower: called when the adapter with a number has changed, has room for another link, or has ended.
    /// - Throws: `.invalidArgument` if the group has it already; the reason of the adapter's or the group's end.
    func add(
        _ adapter: Adapter, _ slots: LoopBound<LinkSlots>, _ follower: @escaping (_ id: Int, _ hasEnded: Bool) -> Void
    ) throws(BluetoothError) {
        let operation = BluetoothError.Operation("add to the group", adapter: adapter.information.name)
        if let end { throw end.about(operation) }
        guard !all.contains(where: { $0.adapter.isSame(as: adapter) }) else {
            throw .invalidArgument(operation, "\(adapter.information.name) is named twice.")
        }
        if let end = adapter.session.powerState.value.end { throw end.about(operation) }
        lastID += 1
        let id = lastID
        let state = adapter.session.powerState.value.follow { turn in
            switch turn {
            case .changing: break
            case .changed: follower(id, false)
            case .ended: follower(id, true)
            }
        }
        let room = slots.value.roomFollowers.add { follower(id, false) }
        all.append(Member(id: id, adapter: adapter, room: slots, followers: (state, room)))
    }

    /// The number of an adapter; nil if the group does not have it.
    func id(of adapter: Adapter) -> Int? { all.first { $0.adapter.isSame(as: adapter) }?.id }

    func remove(_ id: Int) {
        self[id]?.unfollow()
        all.removeAll { $0.id == id }
        signals.remove(id)
    }

    /// Resumes those that wait for a change.
    func changed() {
        version &+= 1
        waiters.succeedAll()
    }

    /// Ends the group.
    func close(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        for member in all { member.unfollow() }
        all = []
        waiters.failAll(reason)
        endFollowers(reason)
    }

    // MARK: Waiting

    /// Waits for a change after the version `seen`.
    /// - Throws: `.timedOut`, `.cancelled`, the reason of the group's end.
    nonisolated(nonsending) func changed(
        since seen: UInt64, _ operation: BluetoothError.Operation, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        if let end { throw end.about(operation) }
        guard version == seen else { return }
        let call = waiters.makePromise()
        try await call.value(operation, timeout: deadline.map { loop.now.duration(to: $0) }, on: loop)
    }

    /// Waits for the group's end; returns the reason, or `.cancelled`.
    nonisolated(nonsending) func closed(_ handler: @escaping (BluetoothError) -> Void) async -> BluetoothError {
        if let end { handler(end) }
        let number = endFollowers.add(handler)
        defer { endFollowers.remove(number) }
        while true {
            do throws(BluetoothError) {
                try await changed(since: version, .init("use the group"), until: nil)
            } catch {
                return error
            }
        }
    }

    /// Waits until an adapter of the group can be used.
    nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("wait for an adapter")
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        while true {
            if let end { throw end.about(operation) }
            let seen = version
            if all.contains(where: { $0.adapter.state.isReady }) { return }
            do throws(BluetoothError) {
                try await changed(since: seen, operation, until: deadline)
            } catch {
                throw error.code == .timedOut ? unavailable(operation) : error
            }
        }
    }

    /// The error if no adapter can be used: that of the first.
    func unavailable(_ operation: BluetoothError.Operation) -> BluetoothError {
        if let end { return end.about(operation) }
        for member in all {
            var operation = operation
            operation.adapter = member.adapter.information.name
            if let reason = BluetoothError.unavailable(member.adapter.state, operation) { return reason }
        }
        var reason = BluetoothError(.noAdapter, operation, "The group has no adapter.")
        reason.remedy = "In code, add one: AdapterGroup.add(_:)."
        return reason
    }

    // MARK: Signals

    /// Records a signal of a device.
    func record(_ signal: SignalTable.Signal, of address: BluetoothAddress) { signals.record(signal, of: address) }

    /// Whether all adapters that can be used have received a device lately.
    func areAllReceiving(_ address: BluetoothAddress) -> Bool {
        all.allSatisfy { member in
            !member.adapter.state.isReady || signals.rssi(of: address, at: member.id, now: loop.now) != nil
        }
    }

    /// The adapters as candidates for a link to a device.
    nonisolated(nonsending) func candidates(for peer: BluetoothAddress) async -> [GroupChooser.Candidate] {
        var found: [GroupChooser.Candidate] = []
        for member in all {
            let (hasBond, hasLink, linkCount) = await member.adapter.session.relation(to: peer)
            found.append(
                GroupChooser.Candidate(
                    id: member.id, isReady: member.adapter.state.isReady, hasBond: hasBond,
                    hasLink: hasLink, rssi: signals.rssi(of: peer, at: member.id, now: loop.now), linkCount: linkCount,
                    isFull: member.slots.isFull))
        }
        return found
    }
}

extension Adapter {
    /// Whether both stand for the same adapter.
    fileprivate func isSame(as other: Adapter) -> Bool {
        if session === other.session { return true }
        let (one, two) = (information, other.information)
        return one.address.isZero || two.address.isZero ? one.id == two.id : one.address == two.address
    }
}
