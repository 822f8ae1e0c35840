import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// The room of an adapter for links: the connects that wait for it, and the limit that the controller has shown.
//
// Lives on the loop, with the session.
package final class LinkSlots {
    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let health: RadioHealth
    private let advertising: any HostAdvertising
    private var queue = SlotQueue()
    private var timer: LoopTimer?
    /// The number of links when the controller last refused another; nil until it has.
    private(set) var limit: Int?
    /// Whether no link has ended since the controller refused another.
    private var hasRefused = false
    /// The handlers of free slots that no connect claims.
    package var roomFollowers = HandlerList<Void>()

    init(_ health: RadioHealth, _ advertising: any HostAdvertising, on loop: EventLoop) {
        mark = loop.components.mark("LinkSlots")
        (self.health, self.advertising, self.loop) = (health, advertising, loop)
    }

    /// The number of connects that wait.
    var waitingCount: Int { queue.waitingCount }

    /// Whether others have the first claim to room.
    var isClaimed: Bool { queue.isClaimed }

    /// Whether there is no room for another connect, as far as this is known.
    package var isFull: Bool { hasRefused || isClaimed }

    // MARK: Waiting

    /// Adds a connect that waits for room; ``leave(_:hasLink:)`` must follow.
    func enter() -> UInt64 { queue.enter() }

    /// Adds a connect that the controller has refused.
    package func enterRefused() -> UInt64 {
        let place = queue.enter()
        queue.refused(place)
        return place
    }

    /// Waits until a connect may try.
    /// - Throws: `.linkLimitReached` when the time is over, `.cancelled`, the reason why the adapter cannot be used.
    package nonisolated(nonsending) func waitForTurn(
        _ place: UInt64, until deadline: KernelInstant, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        guard let call = queue.wait(place) else { return }
        advance()
        do throws(BluetoothError) {
            try await call.value(operation, timeout: loop.now.duration(to: deadline), on: loop)
        } catch {
            throw error.code == .timedOut ? .noLinkHasEnded(operation) : error
        }
    }

    /// Records that the controller has refused a connect.
    package func refused(_ place: UInt64?) {
        hasRefused = true
        if let place { queue.refused(place) }
        advance()
        limit = health.ownLinkCount + (health.otherLinkCount ?? 0)
    }

    /// Removes a connect that waits or tries.
    package func leave(_ place: UInt64, hasLink: Bool) {
        queue.leave(place, hasLink: hasLink, at: loop.now)
        advance()
        reportRoom()
    }

    /// Records the end of a link of the adapter, this program's or another's.
    func linkEnded() {
        queue.linkEnded(at: loop.now)
        advance()
        hasRefused = false
        reportRoom()
    }

    private func reportRoom() { if !isFull { roomFollowers(()) } }

    /// Handles an adapter that has become unusable: all links have ended.
    func adapterEnds(_ reason: BluetoothError) {
        queue.fail(reason)
        timer = nil
        hasRefused = false
    }

    private func advance() {
        queue.passOn(at: loop.now)
        loop.set(&timer, to: queue.nextDeadline, of: self) { slots in
            slots.advance()
            slots.reportRoom()
        }
    }

    // MARK: Counting

    /// The number of open links, and their limit.
    nonisolated(nonsending) func capacity() async -> AdapterCapacity {
        let sets = try? await advertising.limits(.init("read the advertising sets"))
        let (own, others) = (health.ownLinkCount, health.otherLinkCount)
        return AdapterCapacity(
            advertisingSets: sets?.count, advertisingSetsInUse: sets?.countInUse, ownLinks: own, otherLinks: others,
            linkLimit: limit.map { max($0, own + (others ?? 0)) }, waitingConnects: waitingCount)
    }
}

extension BluetoothError {
    /// The error of a connect that has waited for room for another link.
    static func noLinkHasEnded(_ operation: Operation) -> BluetoothError {
        var reason = linkLimitReached(operation, nil)
        reason.message = "No link has ended in time, and the controller has no room for another."
        return reason
    }
}
