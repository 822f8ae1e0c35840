import BluetoothKernel
import Synchronization

/// One suspended task and the one value it gets: whoever comes first resolves it, all others find it resolved.
package final class OneShot<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case waiting(UnsafeContinuation<Value, Never>)
        case resolved(Value)
        case finished
    }

    private let state = Mutex<State>(.idle)

    package init() {}

    /// Whether the value is known, so that nothing need be done for the waiting task any more.
    package var isResolved: Bool {
        state.withLock {
            switch $0 {
            case .idle, .waiting: false
            case .resolved, .finished: true
            }
        }
    }

    /// Gives the waiting task its value unless it has one; says whether it was taken.
    @discardableResult
    package func resolve(_ value: Value) -> Bool {
        let (continuation, isFirst) = state.withLock { state -> (UnsafeContinuation<Value, Never>?, Bool) in
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

    /// Waits for the value. To be called once.
    ///
    /// - Parameters:
    ///   - loop: where the value is likely to come from.
    ///   - onCancel: runs when the task is cancelled, anywhere; it has to resolve this unless that has happened.
    package func value(
        from loop: EventLoop? = nil, isolation: isolated (any Actor)? = #isolation, onCancel: @Sendable () -> Void
    ) async -> Value {
        await withTaskCancellationHandler {
            // A continuation is resumed on no actor's executor, whose thread has to be woken up only to hand over to the
            // loop, unless the loop is that executor too.
            await withTaskExecutorPreference(loop, isolation: isolation) {
                await withUnsafeContinuation(isolation: isolation) { continuation in
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
            }
        } onCancel: {
            onCancel()
        }
    }

    /// Waits for the value; `cancelled` when the task is cancelled first. To be called once.
    package func value(
        ifCancelled cancelled: @autoclosure @escaping @Sendable () -> Value,
        isolation: isolated (any Actor)? = #isolation
    ) async -> Value {
        await value(isolation: isolation) { resolve(cancelled()) }
    }
}
