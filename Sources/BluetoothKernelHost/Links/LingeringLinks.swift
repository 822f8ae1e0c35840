import BluetoothHost
import BluetoothSockets
import BluetoothLoop
import BluetoothHCI
import BluetoothPrimitives

/// The links of this program that are about to end, and the channels that keep them.
///
/// The kernel keeps a link for two seconds after its last socket was closed, and a cancelled attempt for as long. A
/// connect to the peer within that time gets that link, and its end, or the late answer to an earlier request. So a
/// connect waits until the link has ended.
//
// Lives on the loop, with the channels.
// Holds more than ten variables: whether a connect has to wait follows from all of them together.
package final class LingeringLinks {
    /// The time the kernel takes to give up an attempt whose socket was closed. An attempt that joins it meanwhile may
    /// be cancelled with it, or lost, so the next waits.
    static let linger = Duration.milliseconds(2500)
    /// The longest delay between the controller's report of a link's end and the kernel's own processing of it.
    private static let endingTime = Duration.milliseconds(50)

    private struct Ending {
        /// Nil while a channel of this program keeps the link.
        var until: KernelInstant?
        /// The link's handle, if known.
        let handle: UInt16?
        /// Whether there was no link yet.
        let isAttempt: Bool

        func isOver(at now: KernelInstant) -> Bool { until.map { $0 <= now } ?? false }
    }

    private struct Waiting {
        let peer: BluetoothAddress
        let operation: BluetoothError.Operation
        /// The end of the wait for a link whose end is not predictable.
        let patience: KernelInstant
        let call: Promise<Void, BluetoothError>
    }

    /// A link that this program waits for the end of.
    private struct Departure {
        let peer: BluetoothAddress
        let handle: UInt16?
        /// The time by which the kernel must have dropped the link.
        let limit: KernelInstant
        let call: Promise<Void, BluetoothError>
        /// The channel's own ends with it.
        let following: LinkFollowing
    }

    /// This process's objects for an adapter: one that is closed may still have links that are about to end.
    private struct Sibling {
        static let table = AdapterTable<[Sibling]>()
        let id: ObjectIdentifier
        let links: LoopBound<WeakReference<LingeringLinks>>
    }

    private let mark: ComponentCount.Mark
    let loop: EventLoop
    private let adapter: AdapterTable<[Sibling]>.Key
    let controller: KernelController
    /// Explains the ends of the channels.
    let ends: LinkEndAttribution
    /// The pairings under way on the links.
    var pairings: PairingStream?
    private var endings: [BluetoothAddress: Ending] = [:]
    private var waiting: [Waiting] = []
    private var departures: [Departure] = []
    private var timer: LoopTimer?
    /// The connection-oriented channels of this program, which keep their links.
    private var channels: [WeakReference<ChannelLife>] = []
    /// The attribute channels with outstanding transactions.
    private var drains: [ObjectIdentifier: (drain: AttributeDrain, following: LinkFollowing)] = [:]

    init(
        _ controller: KernelController, _ ends: LinkEndAttribution, of adapter: BluetoothAddress, on loop: EventLoop
    ) {
        mark = loop.components.mark("LingeringLinks")
        (self.controller, self.ends, self.loop) = (controller, ends, loop)
        self.adapter = .init(adapter, on: loop)
        let own = Sibling(id: ObjectIdentifier(self), links: LoopBound(WeakReference(to: self), on: loop))
        Sibling.table.with(self.adapter) { $0.append(own) }
        _ = controller.linkEnds.add { [weak self] handle in self?.linkEnded(handle) }
    }

    deinit {
        let id = ObjectIdentifier(self)
        Sibling.table.with(adapter) { $0.removeAll { $0.id == id } }
    }

    /// This object and the others for the adapter.
    private var all: [LingeringLinks] { Sibling.table.with(adapter) { $0 }.compactMap(\.links.value.object) }

    /// The end of a link to the peer that blocks a new one; nil if the way is clear.
    private func ending(of peer: BluetoothAddress) -> Ending? {
        let present = all.compactMap { $0.endings[peer] }.filter { !$0.isOver(at: loop.now) }
        return present.first { $0.until == nil } ?? present.max { $0.until ?? loop.now < $1.until ?? loop.now }
    }

    // MARK: Waiting for a peer

    /// Whether no earlier link blocks a new one to the peer.
    func isWayClear(to peer: BluetoothAddress) -> Bool { ending(of: peer) == nil }

    /// Waits until no earlier link blocks a new one to the peer.
    /// - Throws: `.busy` if a channel of this program keeps a link with an outstanding transaction, `.timedOut`,
    ///   `.cancelled`.
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

    /// Records that a link to the peer is about to be created. Returns whether the kernel may be about to end the link
    /// that it gets: the earlier one should be down, but nothing has confirmed it.
    func beginLink(to peer: BluetoothAddress) -> Bool {
        endDepartures { $0.peer == peer }
        return all.reduce(false) { $1.endings.removeValue(forKey: peer) != nil || $0 }
    }

    /// Whether a cancelled attempt to the peer may still succeed in the kernel.
    func isGivenUp(_ peer: BluetoothAddress) -> Bool {
        ending(of: peer)?.isAttempt ?? false
    }

    private func advance() {
        let now = loop.now
        waiting.removeAll { next in
            guard !next.call.isResolved else { return true }
            if let ending = ending(of: next.peer) {
                guard ending.until == nil, next.patience <= now else { return false }
                next.call.fail(.answerIsDue(next.operation))
            } else {
                next.call.succeed()
            }
            return true
        }
        let stalled = departures.filter { $0.limit <= now && !$0.call.isResolved }
        endDepartures { $0.limit <= now || $0.call.isResolved }
        let moments = waiting.compactMap { next in ending(of: next.peer).map { $0.until ?? next.patience } }
        loop.set(&timer, to: (moments + departures.map(\.limit)).min(), of: self) { $0.advance() }
        for departure in stalled { controller.health.report(.init(.linkStalled(departure.peer)), isCertain: false) }
    }

    /// Continues the connects that a change concerns.
    private func advanceAll() {
        for links in all { links.advance() }
    }

    // MARK: Ends

    /// Records that a link, or an attempt, is being ended: a connect to the peer waits until ``linkIsDown(_:)``, or
    /// until the kernel must have dropped it.
    func linkGoesDown(_ peer: BluetoothAddress, _ handle: UInt16? = nil, isAttempt: Bool = false) {
        let now = loop.now
        endings = endings.filter { !$0.value.isOver(at: now) }
        endings[peer] = Ending(until: now.advanced(by: Self.linger), handle: handle, isAttempt: isAttempt)
        advanceAll()
    }

    /// Records that a channel of this program keeps a link that no connect can use, until
    /// ``linkGoesDown(_:_:isAttempt:)`` or ``linkIsDown(_:)``.
    func linkStays(_ peer: BluetoothAddress, _ handle: UInt16?) {
        endings[peer] = Ending(until: nil, handle: handle, isAttempt: false)
        advanceAll()
    }

    /// Records that the link to a peer has ended, or can be reused.
    func linkIsDown(_ peer: BluetoothAddress) {
        endings[peer] = nil
        advanceAll()
    }

    /// Records that the controller has ended a link, which the kernel is about to process.
    func linkEnded(_ handle: UInt16) {
        for links in all { links.thisEnded(handle) }
        advanceAll()
    }

    private func thisEnded(_ handle: UInt16) {
        let end = loop.now.advanced(by: Self.endingTime)
        for (peer, link) in endings where link.handle == handle && !link.isOver(at: end) {
            endings[peer]?.until = end
        }
        for departure in departures where departure.handle == handle && endings[departure.peer] == nil {
            endings[departure.peer] = Ending(until: end, handle: handle, isAttempt: false)
        }
        endDepartures { $0.handle == handle }
        for (drain, _) in drains.values where drain.handle == handle { drain.linkEnded() }
    }

    /// Lets `call` succeed when a link is down whose attribute channel is about to be closed; returns false if another
    /// channel of this program keeps the link.
    func awaitEnd(
        _ call: Promise<Void, BluetoothError>, of peer: BluetoothAddress, _ handle: UInt16?, isDrained: Bool
    ) -> Bool {
        guard !keepsLink(to: [peer]) else { return false }
        let limit = loop.now.advanced(by: isDrained ? Self.linger + AttributeDrain.limit : Self.linger)
        departures.append(
            Departure(
                peer: peer, handle: handle, limit: limit, call: call, following: controller.links.following()))
        advance()
        return true
    }

    private func endDepartures(where isEnded: (Departure) -> Bool) {
        departures.removeAll { departure in
            guard isEnded(departure) else { return false }
            departure.call.succeed()
            return true
        }
    }

    /// Records that the adapter, and its links with it, has gone.
    func adapterBecameUnavailable() {
        for (drain, _) in drains.values { drain.settle() }
        endDepartures { _ in true }
        endings = [:]
        advanceAll()
    }

    /// Fails the waiting connects. Links that are about to end do so nevertheless.
    func close() {
        for next in waiting { next.call.succeed() }
        waiting = []
        endDepartures { _ in true }
        timer = nil
    }

    // MARK: Channels

    /// Registers a connection-oriented channel, which keeps its link from now on; ``channelsChanged()`` follows its end.
    func channelOpened(_ channel: ChannelLife) {
        channels.append(WeakReference(to: channel))
        channelsChanged()
    }

    /// Handles the beginning or the end of a connection-oriented channel.
    func channelsChanged() {
        channels.removeAll { $0.object?.keptPeer == nil }
        for links in all { for (drain, _) in links.drains.values { drain.channelsChanged() } }
    }

    /// Whether a channel of this program keeps the link to the device with these addresses.
    func keepsLink(to peers: Set<BluetoothAddress>) -> Bool {
        all.contains { $0.channels.contains { $0.object?.keptPeer.map { peers.contains($0) } == true } }
    }

    /// Registers an unused attribute channel with outstanding transactions; ``drainEnds(_:)`` follows.
    func drainBegins(_ drain: AttributeDrain) {
        drains[ObjectIdentifier(drain)] = (drain, controller.links.following())
    }

    /// Removes a drain: nothing is outstanding, or the link has ended.
    func drainEnds(_ drain: AttributeDrain) {
        drains[ObjectIdentifier(drain)] = nil
    }
}

extension BluetoothError {
    /// The error of a connect whose link could still receive the answer to another connection's request.
    fileprivate static func answerIsDue(_ operation: Operation) -> BluetoothError {
        BluetoothError(
            .busy, operation,
            "A response is outstanding on the device's present link, which another channel of this program keeps up.",
            remedy: """
                Try again: the answer may be about to come.
                In code, close the channels to the device first, each ConnectionOrientedChannel by its close().
                """,
            isRetryable: true)
    }
}
