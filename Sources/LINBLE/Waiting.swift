import BluetoothLE
import BluetoothLoop
import Synchronization

/// A rate limit for sending.
struct Pace: Sendable {
    /// The rate; nil for no limit.
    let bytesPerSecond: Int?
    /// The moment from which the next byte may be sent.
    private var next: KernelInstant?

    init(bytesPerSecond: Int?) { self.bytesPerSecond = bytesPerSecond }

    /// The moment at which `count` more bytes may be sent, which the caller then sends; nil for now.
    mutating func moment(for count: Int, now: KernelInstant) -> KernelInstant? {
        guard let bytesPerSecond else { return nil }
        let begin = next.map { max($0, now) } ?? now
        next = begin.advanced(by: .seconds(count) / bytesPerSecond)
        return begin > now ? begin : nil
    }
}

/// A queue that admits one task at a time, in order of arrival.
final class TurnQueue: Sendable {
    private struct State {
        var isTaken = false
        var waiters = WaiterList<Bool, Never>()
    }

    private let state = Mutex(State())

    /// The number of waiting tasks.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Waits for admission; false when the task is cancelled first. An admitted task must call ``leave()``.
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

    /// Admits the next waiting task.
    func leave() {
        state.withLock { $0.isTaken = $0.waiters.succeedFirst(true) }
    }
}
