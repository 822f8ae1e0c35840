import BluetoothLoop
import BluetoothPrimitives
import Synchronization

/// The bounded queue of a program's requests to a connected peripheral that have not started: first in, first out, for
/// one consumer of each lane.
final class PeripheralRequestQueue: Sendable {
    /// What a consumer takes. Writes without response need not wait for the response to an earlier request.
    enum Lane: Int { case requests, commands }

    /// The turn of a request, during which no other is taken.
    struct Turn: Sendable {
        let queue: PeripheralRequestQueue
        fileprivate let number: Int

        /// Ends the turn, unless it is over: the next request may follow on the air.
        func end() {
            queue.change { if $0.lastTurn == number { $0.isTaken = false } }
        }
    }

    private typealias Waiter = Promise<(PeripheralRequest, Turn)?, Never>

    private struct State {
        var requests = RingBuffer<PeripheralRequest>()
        /// The waiting consumers, by lane.
        var waiters: [Waiter?] = [nil, nil]
        var lastTurn = 0
        /// Whether the last turn is not over.
        var isTaken = false
        var isFinished = false

        /// Begins the turn of the first request, if its consumer waits; returns both.
        mutating func begin() -> (Waiter, PeripheralRequest)? {
            guard !isTaken, let first = requests.first, let waiter = waiters[first.lane.rawValue].take() else {
                return nil
            }
            _ = requests.popFirst()
            isTaken = true
            lastTurn += 1
            return (waiter, first)
        }
    }

    private static let capacity = 2 * PeripheralHandle.requestLimit + WriteFlow.limit
    private let state = Mutex(State())

    /// Appends a request; returns whether there was room.
    func append(_ request: PeripheralRequest) -> Bool {
        change { state in
            guard !state.isFinished, state.requests.count < Self.capacity else { return false }
            state.requests.append(request)
            return true
        }
    }

    /// The first request, once it is of `lane` and no turn lasts; nil after the end.
    func next(_ lane: Lane, isolation: isolated (any Actor)? = #isolation) async -> (PeripheralRequest, Turn)? {
        // What is queued is not for a consumer that was cancelled.
        if Task.isCancelled { finish() }
        let waiter = Waiter()
        change { state in
            if state.isFinished { waiter.succeed(nil) } else { state.waiters[lane.rawValue] = waiter }
        }
        return await waiter.value(isolation: isolation) { finish() }
    }

    /// Removes the first requests, as far as they satisfy `condition`; returns their number.
    func removeFirst(while condition: (PeripheralRequest) -> Bool) -> Int {
        change { state in
            var count = 0
            while let request = state.requests.first, condition(request) {
                _ = state.requests.popFirst()
                count += 1
            }
            return count
        }
    }

    /// Ends the queue; queued requests are dropped.
    func finish() {
        let (waiters, dropped) = change { state in
            state.isFinished = true
            defer { (state.waiters, state.requests) = ([nil, nil], RingBuffer()) }
            return (state.waiters, state.requests)
        }
        // The program's objects are released outside the lock.
        withExtendedLifetime(dropped) {}
        for waiter in waiters { waiter?.succeed(nil) }
    }

    /// Changes the state, and passes the first request to its consumer if it is due.
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, due) = state.withLock { state in
            let result = body(&state)
            return (result, state.begin().map { ($0, state.lastTurn) })
        }
        if let ((waiter, request), number) = due { waiter.succeed((request, Turn(queue: self, number: number))) }
        return result
    }
}
