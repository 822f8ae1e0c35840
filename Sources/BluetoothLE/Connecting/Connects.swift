import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives
import Logging

/// Whose turn it is to be connected to, and which links are in the way of that.
//
// Lives on the loop, with the session.
final class Connects {
    private let mark: ComponentCount.Mark
    let loop: EventLoop
    let log: Logger
    private let links: any HostLinks
    private var queue = ConnectQueue()
    private var holds = LinkHolds()
    private var timer: LoopTimer?
    /// Why nobody can be connected to now.
    private var end: BluetoothError?

    init(_ links: any HostLinks, on loop: EventLoop, log: Logger) {
        mark = loop.components.mark("Connects")
        (self.links, self.loop, self.log) = (links, loop, log)
        links.onLinkEnded = { [weak self] handle in self?.linkEnded(handle) }
    }

    /// How many attempts there are.
    var count: Int { queue.count }

    /// When something changes by the passing of time alone.
    func nextMoment(after now: KernelInstant) -> KernelInstant? { queue.nextMoment(after: now) }

    // MARK: The adapter

    /// Nothing can be done with the adapter for now, or for good.
    func adapterEnds(_ reason: BluetoothError, isForGood: Bool) {
        end = reason
        queue.end(reason)
        // Of an adapter that is off or gone the host tells them itself.
        if isForGood { for connection in queue.connections { connection.giveUp(reason) } }
        timer = nil
    }

    /// The adapter has left, and its links with it.
    func adapterHasLeft() {
        for drain in holds.drains.values { drain.settle() }
    }

    func adapterIsBack() { end = nil }

    // MARK: Turns

    /// Waits until it is this attempt's turn; ``endTurn(_:isPending:)`` follows in any case.
    nonisolated(nonsending) func takeTurn(
        for peer: BluetoothAddress, timeout: Duration?
    ) async throws(BluetoothError) -> UInt64 {
        let operation = BluetoothError.Operation("connect", peer: peer)
        if let end { throw end.about(operation) }
        let call = Promise<Void, BluetoothError>()
        let id = queue.enter(peer, call, at: loop.now)
        advance()
        do {
            try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            endTurn(id, isPending: false)
            throw error
        }
        return id
    }

    /// Says which connection has the turn; returns whether the kernel may be about to end the link that it gets.
    func begin(_ turn: UInt64, _ connection: any ConnectAttempt) -> Bool {
        defer { advance() }
        return queue.begin(turn, connection)
    }

    /// The attempt is over, or waits no more.
    func endTurn(_ turn: UInt64, isPending: Bool) {
        queue.leave(turn, isPending: isPending, at: loop.now)
        advance()
    }

    private func advance() {
        let now = loop.now
        queue.admit(at: now)
        for connection in queue.overdue(at: now) { connection.giveWay() }
        guard let moment = queue.nextMoment(after: now) else {
            timer?.cancel()
            return
        }
        if timer == nil {
            timer = loop.makeLocalTimer { [weak self] in self?.advance() }
        }
        timer?.set(at: moment)
    }

    // MARK: Links in the way

    /// A link is being ended: whoever connects to the peer waits until ``linkIsDown(_:)``, or until the kernel must have
    /// forgotten it.
    func linkGoesDown(_ peer: BluetoothAddress, _ handle: UInt16? = nil) {
        queue.hold(peer, handle, at: loop.now)
        advance()
    }

    /// A link is not ended, since a channel of this program keeps it, and is of no use to whoever connects to the peer,
    /// until ``linkGoesDown(_:_:)`` or ``linkIsDown(_:)``.
    func linkStays(_ peer: BluetoothAddress, _ handle: UInt16?) {
        queue.keep(peer, handle)
        advance()
    }

    /// The controller says that a link has ended.
    private func linkEnded(_ handle: UInt16) {
        queue.linkEnded(handle, at: loop.now)
        for drain in holds.drains.values where drain.handle == handle { drain.linkEnded() }
        advance()
    }

    /// The link to a peer has ended.
    func linkIsDown(_ peer: BluetoothAddress) {
        queue.release(peer)
        advance()
    }

    /// Whether a link to the peer may be one that this program has tried to make and does not want any more.
    func isGivenUp(_ peer: BluetoothAddress) -> Bool { queue.isGivenUp(peer, at: loop.now) }

    // MARK: What keeps links

    /// A channel of this program keeps its link from now on, until it drops the claim.
    func claimLink(of channel: any HostChannel) -> LinkClaim {
        let number = holds.add(channel)
        channelsChanged()
        return LinkClaim(self, number)
    }

    fileprivate func claimEnds(_ number: UInt64) {
        holds.remove(number)
        channelsChanged()
    }

    private func channelsChanged() {
        for drain in holds.drains.values { drain.channelsChanged() }
    }

    /// Whether a channel of this program keeps the link to the device that goes by these addresses.
    func keepsLink(to peers: Set<BluetoothAddress>) -> Bool { holds.keepLink(to: peers) }

    /// Something is outstanding on a link that has lost its connection; ``drainEnds(_:)`` follows.
    func drainBegins(_ drain: BearerDrain) {
        holds.add(drain)
        links.beginFollowing()
    }

    /// Nothing is outstanding any more, or the link has ended.
    func drainEnds(_ drain: BearerDrain) {
        if holds.remove(drain) { links.endFollowing() }
    }
}

/// A channel's claim on the link it is on; dropping it gives it up.
final class LinkClaim: Sendable {
    private let connects: LoopBound<Connects>
    private let loop: EventLoop
    private let number: UInt64

    fileprivate init(_ connects: Connects, _ number: UInt64) {
        loop = connects.loop
        self.connects = LoopBound(connects, on: loop)
        self.number = number
    }

    deinit {
        loop.execute { [connects, number] in connects.value.claimEnds(number) }
    }
}
