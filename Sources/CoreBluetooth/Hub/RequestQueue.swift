import BluetoothPrimitives
import Synchronization

/// What a program has asked of a peripheral and has not been begun: first in, first out, for one consumer, with a bound.
final class RequestQueue<Request: Sendable>: Sendable {
    private struct State {
        var requests = RingBuffer<Request>()
        var waiter: CheckedContinuation<Request?, Never>?
        var isFinished = false
    }

    private let state = Mutex(State())
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Puts a request behind the others; says whether there was room.
    func append(_ request: Request) -> Bool {
        let (isTaken, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Request?, Never>?) in
            guard !state.isFinished, state.requests.count < capacity else { return (false, nil) }
            guard let waiter = state.waiter else {
                state.requests.append(request)
                return (true, nil)
            }
            state.waiter = nil
            return (true, waiter)
        }
        waiter?.resume(returning: request)
        return isTaken
    }

    /// The next request; nil after the end.
    func next() async -> Request? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isReady, request) = state.withLock { state -> (Bool, Request?) in
                    if let request = state.requests.popFirst() { return (true, request) }
                    guard !state.isFinished else { return (true, nil) }
                    state.waiter = continuation
                    return (false, nil)
                }
                if isReady { continuation.resume(returning: request) }
            }
        } onCancel: {
            finish()
        }
    }

    /// Ends it; what waits is dropped.
    func finish() {
        let (waiter, dropped) = state.withLock { state in
            state.isFinished = true
            defer { (state.waiter, state.requests) = (nil, RingBuffer()) }
            return (state.waiter, state.requests)
        }
        // The program's objects are released outside the lock.
        withExtendedLifetime(dropped) {}
        waiter?.resume(returning: nil)
    }
}
