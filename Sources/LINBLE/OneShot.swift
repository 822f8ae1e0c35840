import BluetoothLE
import Synchronization

/// One suspended task and the one value it gets: whoever comes first resolves it, all others find it resolved.
final class OneShot<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Value, Never>)
        case resolved(Value)
        case finished
    }

    private let state = Mutex<State>(.idle)

    /// Gives the waiting task its value, unless it has one; says whether it was taken.
    @discardableResult
    func resolve(_ value: Value) -> Bool {
        let (continuation, isFirst) = state.withLock { state -> (CheckedContinuation<Value, Never>?, Bool) in
            switch state {
            case .idle:
                state = .resolved(value)
                return (nil, true)
            case .waiting(let continuation):
                state = .finished
                return (continuation, true)
            case .resolved, .finished:
                return (nil, false)
            }
        }
        continuation?.resume(returning: value)
        return isFirst
    }

    /// Waits for the value; `cancelled` when the task is cancelled first. To be called once.
    func value(
        ifCancelled cancelled: @autoclosure @escaping @Sendable () -> Value,
        isolation: isolated (any Actor)? = #isolation
    ) async -> Value {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state -> Value? in
                    guard case .resolved(let value) = state else {
                        state = .waiting(continuation)
                        return nil
                    }
                    state = .finished
                    return value
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            resolve(cancelled())
        }
    }
}

extension EventLoop {
    /// Waits for a moment of the loop's clock; throws `cancelled` when the task is cancelled first.
    func wait(
        until deadline: KernelInstant, ifCancelled cancelled: BluetoothError,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(BluetoothError) {
        let moment = OneShot<BluetoothError?>()
        let timer = makeTimer { moment.resolve(nil) }
        timer.set(at: deadline)
        defer { timer.cancel() }
        if let error = await moment.value(ifCancelled: cancelled) { throw error }
    }
}

/// Lets one task in at a time, in the order in which they came.
final class TurnQueue: Sendable {
    private struct State {
        var isTaken = false
        var waiters: [OneShot<Bool>] = []
    }

    private let state = Mutex(State())

    /// How many wait, those included that have given up since.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Waits for the turn; false when the task is cancelled first. Whoever got it calls ``leave()``.
    func enter(isolation: isolated (any Actor)? = #isolation) async -> Bool {
        let waiter = state.withLock { state -> OneShot<Bool>? in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            let waiter = OneShot<Bool>()
            state.waiters.append(waiter)
            return waiter
        }
        guard let waiter else { return true }
        return await waiter.value(ifCancelled: false)
    }

    /// Ends the turn and gives it to the next that still waits.
    func leave() {
        while true {
            let next = state.withLock { state -> OneShot<Bool>? in
                guard !state.waiters.isEmpty else {
                    state.isTaken = false
                    return nil
                }
                return state.waiters.removeFirst()
            }
            guard let next, !next.resolve(true) else { return }
        }
    }
}
