import BluetoothLoop
import BluetoothSockets

/// A connection attempt.
protocol ConnectAttempt: AnyObject {
    /// Gives up an attempt without an answer, so that another gets its turn.
    func preempt()
    /// Gives up an attempt without an answer; an established link stays.
    func giveUp(_ reason: BluetoothError)
}

/// The queue of connection attempts.
///
/// A host connects to any number of devices at once, each when it advertises; but a controller's filter accept list is
/// short, often 8 to 32 entries, beyond which the host examines every advertisement. So a limited number of attempts
/// are under way at a time. While others wait, one that has used its time slice without an answer is preempted and goes
/// to the end of the queue: a device that never answers blocks no other, and is still waited for as long as its caller
/// wants.
struct ConnectQueue {
    /// The maximum number of attempts under way at once.
    static let limit = 16
    /// The time slice of an attempt while others wait.
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

    /// The number of attempts, waiting and under way.
    var count: Int { waiting.count + underWay.count }

    /// Adds an attempt; `call` succeeds when it is its turn.
    mutating func append(_ call: Promise<Void, BluetoothError>) -> UInt64 {
        nextID += 1
        waiting.append(Waiting(id: nextID, call: call))
        return nextID
    }

    /// Sets the link of an attempt, which may be preempted.
    mutating func begin(_ id: UInt64, _ connection: any ConnectAttempt) {
        guard let index = underWay.firstIndex(where: { $0.id == id }) else { return }
        underWay[index].connection = connection
    }

    /// Removes an attempt, waiting or under way.
    mutating func remove(_ id: UInt64) {
        waiting.removeAll { $0.id == id }
        underWay.removeAll { $0.id == id }
    }

    /// Begins the attempts whose turn it is.
    mutating func admit(at now: KernelInstant) {
        waiting.removeAll { $0.call.isResolved }
        while underWay.count < Self.limit, !waiting.isEmpty {
            let next = waiting.removeFirst()
            if next.call.succeed() { underWay.append(Attempt(id: next.id, since: now)) }
        }
    }

    /// The attempts that have used their time slice while others wait; they count as preempted.
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

    /// The end of the next time slice; nil while no attempt waits.
    func nextDeadline(after now: KernelInstant) -> KernelInstant? {
        guard !waiting.isEmpty else { return nil }
        return underWay.filter { !$0.isPreempted }.map { $0.since.advanced(by: Self.slice) }.filter { $0 > now }.min()
    }

    /// Fails the attempts that wait.
    mutating func fail(_ reason: BluetoothError) {
        for caller in waiting { caller.call.fail(reason) }
        waiting = []
    }

    /// The links that are being made.
    var connections: [any ConnectAttempt] { underWay.compactMap(\.connection) }
}
