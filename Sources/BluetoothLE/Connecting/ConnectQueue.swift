import BluetoothKernel
import BluetoothPrimitives

/// A link that is being made.
protocol ConnectAttempt: AnyObject {
    /// Gives up an attempt that has not been answered, so that another gets its turn.
    func giveWay()
    /// Gives up an attempt that has not been answered; a link that is up stays.
    func giveUp(_ reason: BluetoothError)
}

/// Whose turn it is to be connected to.
///
/// The kernel looks for any number of devices at once, connecting each when it is heard; but a controller's filter accept
/// list is short, often 8 to 32 entries, and beyond it the kernel has to look at every advertisement there is. So a
/// number of attempts are under way at a time. While others wait, one that has had its time without being answered gives
/// way and goes to the end of the line: a device that never answers keeps nobody waiting for ever, and is itself looked
/// for as long as its caller wants.
struct ConnectQueue {
    /// How many attempts are under way at once.
    static let limit = 16
    /// How long one may take while others wait.
    static let slice = Duration.seconds(8)
    /// How long the kernel takes to give up an attempt whose socket was closed. One that joins it meanwhile may be given
    /// up with it, or forgotten, so the next waits.
    static let kernelLinger = Duration.milliseconds(2500)
    /// How long after the controller the kernel itself knows that a link has ended, at most.
    static let endingTime = Duration.milliseconds(50)

    private struct Waiting {
        let id: UInt64
        let peer: BluetoothAddress
        let since: KernelInstant
        let call: Promise<Void, BluetoothError>
    }

    private struct Attempt {
        let id: UInt64
        let peer: BluetoothAddress
        let since: KernelInstant
        weak var connection: (any ConnectAttempt)?
        var isGivingWay = false
        /// Whether the kernel may be about to end the link that it gets.
        let isPrecarious: Bool
    }

    private var waiting: [Waiting] = []
    /// Oldest first.
    private var underWay: [Attempt] = []
    private struct Lingering {
        /// Nil as long as the kernel does not end it, since a channel of this program keeps it.
        var until: KernelInstant?
        /// The link's handle, where it is known.
        let handle: UInt16?
        /// Whether there was no link yet.
        let isAttempt: Bool

        func isOver(at now: KernelInstant) -> Bool { until.map { $0 <= now } ?? false }
    }

    private var lingering: [BluetoothAddress: Lingering] = [:]
    private var nextID: UInt64 = 0

    /// How many attempts there are.
    var count: Int { waiting.count + underWay.count }

    /// Joins the end of the line; `call` is told when it is its turn.
    mutating func enter(
        _ peer: BluetoothAddress, _ call: Promise<Void, BluetoothError>, at now: KernelInstant
    ) -> UInt64 {
        nextID += 1
        waiting.append(Waiting(id: nextID, peer: peer, since: now, call: call))
        return nextID
    }

    /// Says who is to be asked to give way; returns whether the kernel may be about to end the link that it gets.
    mutating func begin(_ id: UInt64, _ connection: any ConnectAttempt) -> Bool {
        guard let index = underWay.firstIndex(where: { $0.id == id }) else { return false }
        underWay[index].connection = connection
        return underWay[index].isPrecarious
    }

    /// Leaves the line or ends the attempt; `isPending` when the kernel has not given it up itself.
    mutating func leave(_ id: UInt64, isPending: Bool, at now: KernelInstant) {
        waiting.removeAll { $0.id == id }
        guard let index = underWay.firstIndex(where: { $0.id == id }) else { return }
        let attempt = underWay.remove(at: index)
        if isPending { hold(attempt.peer, isAttempt: true, at: now) }
    }

    /// Lets nobody begin with a peer as long as the kernel may have a link to it that it is about to end.
    mutating func hold(
        _ peer: BluetoothAddress, _ handle: UInt16? = nil, isAttempt: Bool = false, at now: KernelInstant
    ) {
        lingering = lingering.filter { !$0.value.isOver(at: now) }
        lingering[peer] = Lingering(
            until: now.advanced(by: Self.kernelLinger), handle: handle, isAttempt: isAttempt)
    }

    /// Lets nobody begin with a peer until its link has ended or is of use again; who has waited for long is told so.
    mutating func keep(_ peer: BluetoothAddress, _ handle: UInt16?) {
        lingering[peer] = Lingering(until: nil, handle: handle, isAttempt: false)
    }

    /// Whether an attempt at the peer was given up that the kernel may still bring to its end.
    func isGivenUp(_ peer: BluetoothAddress, at now: KernelInstant) -> Bool {
        lingering[peer].map { $0.isAttempt && !$0.isOver(at: now) } ?? false
    }

    /// The kernel has ended it.
    mutating func release(_ peer: BluetoothAddress) {
        lingering[peer] = nil
    }

    /// The controller has ended the link with this handle, which the kernel is about to be told as well.
    mutating func linkEnded(_ handle: UInt16, at now: KernelInstant) {
        let end = now.advanced(by: Self.endingTime)
        for (peer, link) in lingering where link.handle == handle && !link.isOver(at: end) {
            lingering[peer]?.until = end
        }
    }

    /// Lets those begin whose turn it is.
    mutating func admit(at now: KernelInstant) {
        waiting.removeAll { $0.call.isResolved }
        var index = 0
        while index < waiting.count, underWay.count < Self.limit {
            let next = waiting[index]
            let link = lingering[next.peer]
            if let link, !link.isOver(at: now) {
                if link.until == nil, Self.patience(of: next) <= now {
                    waiting.remove(at: index).call.fail(.answerIsDue(.init("connect", peer: next.peer)))
                } else {
                    index += 1
                }
                continue
            }
            waiting.remove(at: index)
            guard next.call.succeed() else { continue }
            // Nobody has said that the link is down; it is only that it should be.
            underWay.append(Attempt(id: next.id, peer: next.peer, since: now, isPrecarious: link != nil))
            lingering[next.peer] = nil
        }
    }

    /// Those who have had their time, as long as others wait for nothing but a place.
    mutating func overdue(at now: KernelInstant) -> [any ConnectAttempt] {
        var places = waiting.count { isReady($0, at: now) }
        var found: [any ConnectAttempt] = []
        for index in underWay.indices where places > 0 && underWay.count >= Self.limit {
            guard !underWay[index].isGivingWay, underWay[index].since.duration(to: now) >= Self.slice,
                let connection = underWay[index].connection
            else { continue }
            underWay[index].isGivingWay = true
            places -= 1
            found.append(connection)
        }
        return found
    }

    private func isReady(_ waiting: Waiting, at now: KernelInstant) -> Bool {
        lingering[waiting.peer]?.isOver(at: now) ?? true
    }

    /// Until when one waits for a link of which nobody knows when it ends.
    private static func patience(of waiting: Waiting) -> KernelInstant { waiting.since.advanced(by: kernelLinger) }

    /// When something changes by the passing of time alone; nil as long as nobody waits.
    func nextMoment(after now: KernelInstant) -> KernelInstant? {
        guard !waiting.isEmpty else { return nil }
        let ready = waiting.contains { isReady($0, at: now) }
        let slices = ready && underWay.count >= Self.limit
        let ends = slices ? underWay.filter { !$0.isGivingWay }.map { $0.since.advanced(by: Self.slice) } : []
        let holds = waiting.compactMap { next in
            lingering[next.peer].map { $0.until ?? Self.patience(of: next) }
        }
        return (ends + holds).filter { $0 > now }.min()
    }

    /// Ends everybody's wait.
    mutating func end(_ reason: BluetoothError) {
        for caller in waiting { caller.call.fail(reason) }
        waiting = []
    }

    /// Those that are being connected.
    var connections: [any ConnectAttempt] { underWay.compactMap(\.connection) }
}

extension BluetoothError {
    /// What a connect is told whose link would be one on which another connection's answer may still come.
    static func answerIsDue(_ operation: Operation) -> BluetoothError {
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
