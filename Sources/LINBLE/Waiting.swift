import BluetoothLE
import BluetoothLoop
import Synchronization

extension EventLoop {
    /// Waits for a moment of the loop's clock; throws `cancelled` when the task is cancelled first.
    func wait(
        until deadline: KernelInstant, ifCancelled cancelled: BluetoothError,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(BluetoothError) {
        if await !sleep(until: deadline, isolation: isolation) { throw cancelled }
    }
}

/// When bytes may be sent that are not to be sent faster than at some rate.
struct Pace: Sendable {
    /// Nil for no limit.
    let bytesPerSecond: Int?
    /// The moment from which the next byte may be sent.
    private var next: KernelInstant?

    init(bytesPerSecond: Int?) { self.bytesPerSecond = bytesPerSecond }

    /// The moment at which so many bytes more may be sent, which they are then; nil for now.
    mutating func moment(for count: Int, now: KernelInstant) -> KernelInstant? {
        guard let bytesPerSecond else { return nil }
        let begin = next.map { max($0, now) } ?? now
        next = begin.advanced(by: .seconds(count) / bytesPerSecond)
        return begin > now ? begin : nil
    }
}

/// Lets one task in at a time, in the order in which they came.
final class TurnQueue: Sendable {
    private struct State {
        var isTaken = false
        var waiters = WaiterList<Bool, Never>()
    }

    private let state = Mutex(State())

    /// How many wait.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Waits for the turn; false when the task is cancelled first. Whoever got it calls ``leave()``.
    func enter(isolation: isolated (any Actor)? = #isolation) async -> Bool {
        let waiter = state.withLock { state -> Promise<Bool, Never>? in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            return state.waiters.makePromise()
        }
        guard let waiter else { return true }
        return await waiter.value(ifCancelled: false)
    }

    /// Ends the turn and gives it to the next that still waits.
    func leave() {
        state.withLock { $0.isTaken = $0.waiters.succeedFirst(true) }
    }
}
