import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Synchronization

/// A bounded queue of a program's requests that have not started: first in, first out, for one consumer.
final class BoundedQueue<Request: Sendable>: Sendable {
    private struct State {
        var requests = RingBuffer<Request>()
        var waiter: Promise<Request?, Never>?
        var isFinished = false
    }

    private let state = Mutex(State())
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Appends a request; returns whether there was room, of the whole capacity or of less.
    func append(_ request: Request, upTo limit: Int = .max) -> Bool {
        let (isTaken, waiter) = state.withLock { state -> (Bool, Promise<Request?, Never>?) in
            guard !state.isFinished, state.requests.count < min(capacity, limit) else { return (false, nil) }
            guard let waiter = state.waiter.take() else {
                state.requests.append(request)
                return (true, nil)
            }
            return (true, waiter)
        }
        waiter?.succeed(request)
        return isTaken
    }

    /// The next request; nil after the end.
    func next() async -> Request? {
        // What is queued is not for a consumer that was cancelled.
        if Task.isCancelled { finish() }
        let waiter = state.withLock { state -> Promise<Request?, Never> in
            let waiter = Promise<Request?, Never>()
            if state.isFinished || !state.requests.isEmpty {
                waiter.succeed(state.requests.popFirst())
            } else {
                state.waiter = waiter
            }
            return waiter
        }
        return await waiter.value { finish() }
    }

    /// Ends the queue; queued requests are dropped.
    func finish() {
        let (waiter, dropped) = state.withLock { state in
            state.isFinished = true
            defer { (state.waiter, state.requests) = (nil, RingBuffer()) }
            return (state.waiter, state.requests)
        }
        // The program's objects are released outside the lock.
        withExtendedLifetime(dropped) {}
        waiter?.succeed(nil)
    }
}
