import BluetoothLoop
import BluetoothSockets

/// A link that is being made.
protocol ConnectAttempt: AnyObject {
    /// Gives up an attempt that has not been answered, so that another gets its turn.
    func preempt()
    /// Gives up an attempt that has not been answered; a link that is up stays.
    func giveUp(_ reason: BluetoothError)
}

/// Whose turn it is to be connected to.
///
/// A host looks for any number of devices at once, connecting each when it is heard; but a controller's filter accept list
/// is short, often 8 to 32 entries, and beyond it the host has to look at every advertisement there is. So a number of
/// attempts are under way at a time. While others wait, one that has had its time without being answered gives
/// way and goes to the end of the line: a device that never answers keeps nobody waiting for ever, and is itself looked
/// for as long as its caller wants.
struct ConnectQueue {
    /// How many attempts are under way at once.
    static let limit = 16
    /// How long one may take while others wait.
    static let slice = Duration.seconds(8)

    private struct Waiting {
        let id: UInt64
        let call: Promise<Void, BluetoothError>
    }

    private struct Attempt {
        let id: UInt64
        let since: KernelInstant
        weak var connection: (any ConnectAttempt)?
        var isPreempted = false
    }

    private var waiting: [Waiting] = []
    /// Oldest first.
    private var underWay: [Attempt] = []
    private var nextID: UInt64 = 0

    /// How many attempts there are.
    var count: Int { waiting.count + underWay.count }

    /// Joins the end of the line; `call` is told when it is its turn.
    mutating func enter(_ call: Promise<Void, BluetoothError>) -> UInt64 {
        nextID += 1
        waiting.append(Waiting(id: nextID, call: call))
        return nextID
    }

    /// Says who is to be asked to give way.
    mutating func begin(_ id: UInt64, _ connection: any ConnectAttempt) {
        guard let index = underWay.firstIndex(where: { $0.id == id }) else { return }
        underWay[index].connection = connection
    }

    /// Leaves the line, or ends the attempt.
    mutating func leave(_ id: UInt64) {
        waiting.removeAll { $0.id == id }
        underWay.removeAll { $0.id == id }
    }

    /// Lets those begin whose turn it is.
    mutating func admit(at now: KernelInstant) {
        waiting.removeAll { $0.call.isResolved }
        while underWay.count < Self.limit, !waiting.isEmpty {
            let next = waiting.removeFirst()
            if next.call.succeed() { underWay.append(Attempt(id: next.id, since: now)) }
        }
    }

    /// Those who have had their time, as long as others wait.
    mutating func overdue(at now: KernelInstant) -> [any ConnectAttempt] {
        var places = waiting.count
        var found: [any ConnectAttempt] = []
        for index in underWay.indices where places > 0 {
            guard !underWay[index].isPreempted, underWay[index].since.duration(to: now) >= Self.slice,
                let connection = underWay[index].connection
            else { continue }
            underWay[index].isPreempted = true
            places -= 1
            found.append(connection)
        }
        return found
    }

    /// When something changes by the passing of time alone; nil as long as nobody waits.
    func nextMoment(after now: KernelInstant) -> KernelInstant? {
        guard !waiting.isEmpty else { return nil }
        return underWay.filter { !$0.isPreempted }.map { $0.since.advanced(by: Self.slice) }.filter { $0 > now }.min()
    }

    /// Ends everybody's wait.
    mutating func end(_ reason: BluetoothError) {
        for caller in waiting { caller.call.fail(reason) }
        waiting = []
    }

    /// Those that are being connected.
    var connections: [any ConnectAttempt] { underWay.compactMap(\.connection) }
}
