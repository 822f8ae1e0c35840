import BluetoothHost
import BluetoothSockets
import BluetoothLoop
import BluetoothPrimitives

/// The links of this program that are about to end, and what keeps them.
///
/// The kernel keeps a link for two seconds after its last socket was closed, and an attempt that was given up for as long.
/// Whoever connects to the peer within that time gets that link, and its end, or the late answer to what was asked on it. So
/// connecting waits until it has ended.
//
// Lives on the loop, with the channels.
package final class EndingLinks {
    /// How long the kernel takes to give up an attempt whose socket was closed. One that joins it meanwhile may be given
    /// up with it, or forgotten, so the next waits.
    static let linger = Duration.milliseconds(2500)
    /// How long after the controller the kernel itself knows that a link has ended, at most.
    private static let endingTime = Duration.milliseconds(50)

    private struct Ending {
        /// Nil as long as the kernel does not end it, since a channel of this program keeps it.
        var until: KernelInstant?
        /// The link's handle, where it is known.
        let handle: UInt16?
        /// Whether there was no link yet.
        let isAttempt: Bool

        func isOver(at now: KernelInstant) -> Bool { until.map { $0 <= now } ?? false }
    }

    private struct Waiting {
        let peer: BluetoothAddress
        let operation: BluetoothError.Operation
        /// Until when it waits for a link of which nobody knows when it ends.
        let patience: KernelInstant
        let call: Promise<Void, BluetoothError>
    }

    private struct Channel {
        weak var socket: (any L2CAPSocket)?
    }

    private let mark: ComponentCount.Mark
    let loop: EventLoop
    private let links: any HostLinks
    private var endings: [BluetoothAddress: Ending] = [:]
    private var waiting: [Waiting] = []
    private var timer: LoopTimer?
    /// The connection-oriented channels of this program, because of which the kernel does not end links.
    private var channels: [UInt64: Channel] = [:]
    private var lastClaim: UInt64 = 0
    /// The attribute channels on which something is outstanding.
    private var drains: [ObjectIdentifier: AttributeDrain] = [:]

    init(_ links: any HostLinks, on loop: EventLoop) {
        mark = loop.components.mark("EndingLinks")
        (self.links, self.loop) = (links, loop)
    }

    // MARK: The way to a peer

    /// Whether nothing is in the way of a link to the peer.
    func isWayClear(to peer: BluetoothAddress) -> Bool { endings[peer]?.isOver(at: loop.now) ?? true }

    /// Waits until nothing is in the way of a link to the peer.
    /// - Throws: `.busy` where a channel of this program keeps a link on which an answer is due, `.timedOut`, `.cancelled`.
    nonisolated(nonsending) func makeWay(
        to peer: BluetoothAddress, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) {
        guard !isWayClear(to: peer) else { return }
        let call = Promise<Void, BluetoothError>()
        waiting.append(
            Waiting(peer: peer, operation: operation, patience: loop.now.advanced(by: Self.linger), call: call))
        advance()
        try await call.value(operation, timeout: timeout, on: loop)
    }

    /// A link to the peer is about to be made. Says whether the kernel may be about to end the one that it gets: nobody has
    /// said that the one before is down, only that it should be.
    func beginLink(to peer: BluetoothAddress) -> Bool { endings.removeValue(forKey: peer) != nil }

    /// Whether an attempt at the peer was given up that the kernel may still bring to its end.
    func isGivenUp(_ peer: BluetoothAddress) -> Bool {
        endings[peer].map { $0.isAttempt && !$0.isOver(at: loop.now) } ?? false
    }

    private func advance() {
        let now = loop.now
        waiting.removeAll { next in
            guard !next.call.isResolved else { return true }
            if let ending = endings[next.peer], !ending.isOver(at: now) {
                guard ending.until == nil, next.patience <= now else { return false }
                next.call.fail(.answerIsDue(next.operation))
            } else {
                next.call.succeed()
            }
            return true
        }
        let moments = waiting.compactMap { next in endings[next.peer].map { $0.until ?? next.patience } }
        guard let moment = moments.min() else {
            timer?.cancel()
            return
        }
        if timer == nil { timer = loop.makeLocalTimer { [weak self] in self?.advance() } }
        timer?.set(at: moment)
    }

    // MARK: Ends

    /// A link is being ended, or an attempt at one: whoever connects to the peer waits until ``linkIsDown(_:)``, or until the
    /// kernel must have forgotten it.
    func linkGoesDown(_ peer: BluetoothAddress, _ handle: UInt16? = nil, isAttempt: Bool = false) {
        let now = loop.now
        endings = endings.filter { !$0.value.isOver(at: now) }
        endings[peer] = Ending(until: now.advanced(by: Self.linger), handle: handle, isAttempt: isAttempt)
        advance()
    }

    /// A link is not ended, since a channel of this program keeps it, and is of no use to whoever connects to the peer,
    /// until ``linkGoesDown(_:_:isAttempt:)`` or ``linkIsDown(_:)``.
    func linkStays(_ peer: BluetoothAddress, _ handle: UInt16?) {
        endings[peer] = Ending(until: nil, handle: handle, isAttempt: false)
        advance()
    }

    /// The link to a peer has ended, or can be used again.
    func linkIsDown(_ peer: BluetoothAddress) {
        endings[peer] = nil
        advance()
    }

    /// The controller has ended a link, which the kernel is about to be told as well.
    func linkEnded(_ handle: UInt16) {
        let end = loop.now.advanced(by: Self.endingTime)
        for (peer, link) in endings where link.handle == handle && !link.isOver(at: end) {
            endings[peer]?.until = end
        }
        for drain in drains.values where drain.handle == handle { drain.linkEnded() }
        advance()
    }

    /// The adapter has left, and its links with it.
    func adapterHasLeft() {
        for drain in drains.values { drain.settle() }
        endings = [:]
        advance()
    }

    /// Nobody connects any more. Links that are about to end do so all the same.
    func close() {
        for next in waiting { next.call.succeed() }
        waiting = []
        timer = nil
    }

    // MARK: What keeps links

    /// A connection-oriented channel of this program keeps its link from now on, until ``endClaim(_:)``.
    func claim(_ socket: any L2CAPSocket) -> LinkClaim {
        lastClaim += 1
        channels[lastClaim] = Channel(socket: socket)
        channelsChanged()
        return LinkClaim(self, lastClaim)
    }

    fileprivate func endClaim(_ number: UInt64) {
        guard channels.removeValue(forKey: number) != nil else { return }
        channelsChanged()
    }

    private func channelsChanged() {
        for drain in drains.values { drain.channelsChanged() }
    }

    /// Whether a channel of this program keeps the link to the device that goes by these addresses.
    func keepsLink(to peers: Set<BluetoothAddress>) -> Bool {
        channels.values.contains { $0.socket.map { peers.contains($0.peer) } ?? false }
    }

    /// Something is outstanding on an attribute channel that nobody uses any more; ``drainEnds(_:)`` follows.
    func drainBegins(_ drain: AttributeDrain) {
        drains[ObjectIdentifier(drain)] = drain
        links.beginFollowing()
    }

    /// Nothing is outstanding any more, or the link has ended.
    func drainEnds(_ drain: AttributeDrain) {
        if drains.removeValue(forKey: ObjectIdentifier(drain)) != nil { links.endFollowing() }
    }
}

/// A channel's claim on the link it is on; dropping it gives it up.
final class LinkClaim: Sendable {
    private let links: LoopBound<EndingLinks>
    private let loop: EventLoop
    private let number: UInt64

    fileprivate init(_ links: EndingLinks, _ number: UInt64) {
        loop = links.loop
        self.links = LoopBound(links, on: loop)
        self.number = number
    }

    /// Gives it up now; on the loop.
    func end() { links.value.endClaim(number) }

    deinit {
        loop.execute { [links, number] in links.value.endClaim(number) }
    }
}

extension BluetoothError {
    /// What a connect is told whose link would be one on which another connection's answer may still come.
    fileprivate static func answerIsDue(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .busy, operation,
            "The device still owes an answer on the link it has, which a channel of this program keeps up.",
            remedy: """
                Try again: the answer may be about to come.
                Or close the channels to the device first, each ConnectionOrientedChannel by its close().
                """,
            isRetryable: true)
    }
}
