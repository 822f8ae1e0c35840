import BluetoothKernel
import Synchronization

/// One suspended caller and the one result it gets.
///
/// Every wait of this library goes through here: whoever comes first – the answer, the time limit, the task's
/// cancellation, the end of the link – resolves the call, and all others find it resolved. So no wait is left hanging
/// as long as one of them comes, and none is resumed twice.
final class PendingCall<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case waiting(UnsafeContinuation<Result<Value, BluetoothError>, Never>)
        case resolved(Result<Value, BluetoothError>)
        case finished
    }

    private let state = Mutex<State>(.idle)

    /// Whether the result is known, so that nothing need be done for the caller any more.
    var isResolved: Bool {
        state.withLock {
            switch $0 {
            case .idle, .waiting: false
            case .resolved, .finished: true
            }
        }
    }

    /// Gives the caller its result unless it has one; says whether it was taken.
    @discardableResult
    func resolve(_ result: Result<Value, BluetoothError>) -> Bool {
        let (continuation, isFirst) = state.withLock {
            state -> (UnsafeContinuation<Result<Value, BluetoothError>, Never>?, Bool) in
            switch state {
            case .idle:
                state = .resolved(result)
                return (nil, true)
            case .waiting(let continuation):
                state = .finished
                return (continuation, true)
            case .resolved, .finished:
                return (nil, false)
            }
        }
        continuation?.resume(returning: result)
        return isFirst
    }

    /// Gives the caller a value unless it has a result.
    @discardableResult
    func succeed(_ value: Value) -> Bool { resolve(.success(value)) }

    /// Gives the caller an error unless it has a result.
    @discardableResult
    func fail(_ error: BluetoothError) -> Bool { resolve(.failure(error)) }

    /// Waits for the result. To be called once.
    ///
    /// - Parameters:
    ///   - operation: what is being done, for the errors of this wait's own making.
    ///   - timeout: the most time to wait, nil for no limit of the caller's own.
    ///   - loop: whose clock counts.
    ///   - onAbandon: runs when the caller stops waiting by time-out or cancellation; anywhere.
    func value(
        _ operation: BluetoothError.Operation, timeout: Duration?, on loop: EventLoop,
        isolation: isolated (any Actor)? = #isolation, onAbandon: (@Sendable () -> Void)? = nil
    ) async throws(BluetoothError) -> Value {
        let timer = timeout.map { timeout in
            let timer = loop.makeTimer {
                if self.fail(.timedOut(operation, after: timeout)) { onAbandon?() }
            }
            timer.set(after: timeout)
            return timer
        }
        defer { timer?.cancel() }
        let result = await withTaskCancellationHandler {
            // A continuation is resumed on no actor's executor, whose thread has to be woken up only to hand over to the
            // loop, unless the loop is that executor too.
            await withTaskExecutorPreference(loop, isolation: isolation) {
                await withUnsafeContinuation(isolation: isolation) { continuation in
                    let early = state.withLock { state -> Result<Value, BluetoothError>? in
                        guard case .resolved(let result) = state else {
                            state = .waiting(continuation)
                            return nil
                        }
                        state = .finished
                        return result
                    }
                    if let early { continuation.resume(returning: early) }
                }
            }
        } onCancel: {
            if fail(.cancelled(operation)) { onAbandon?() }
        }
        return try result.get()
    }
}
