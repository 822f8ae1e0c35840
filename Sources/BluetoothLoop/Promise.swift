import Synchronization

/// The promise of a result for one waiting task.
///
/// Every wait uses a promise. The first of the possible ends – the response, the timeout, the task's cancellation, the
/// end of the link – resolves it, and all others have no effect, so that no wait hangs and none is resumed twice.
/// Thread-safe.
public final class Promise<Value: Sendable, Failure: Error>: Sendable {
    // Public and inlinable, since other modules do not specialise `package` generics: this makes a read 7 % faster.
    @usableFromInline typealias Continuation = UnsafeContinuation<Result<Value, Failure>, Never>

    @usableFromInline enum State {
        case pending
        case awaited(Continuation)
        case resolved(Result<Value, Failure>)
        case finished
    }

    @usableFromInline let state: Mutex<State>

    /// An unresolved promise.
    @inlinable
    public init() {
        state = Mutex(.pending)
    }

    /// Whether the promise has its result, so that no more work is needed for it.
    @inlinable public var isResolved: Bool {
        state.withLock {
            switch $0 {
            case .pending, .awaited: false
            case .resolved, .finished: true
            }
        }
    }

    /// Resolves the promise unless it has a result; returns whether this call resolved it.
    @inlinable @discardableResult
    public func resolve(_ result: Result<Value, Failure>) -> Bool {
        let (continuation, isFirst) = state.withLock { state -> (Continuation?, Bool) in
            switch state {
            case .pending:
                state = .resolved(result)
                return (nil, true)
            case .awaited(let continuation):
                state = .finished
                return (continuation, true)
            case .resolved, .finished:
                return (nil, false)
            }
        }
        continuation?.resume(returning: result)
        return isFirst
    }

    /// Resolves the promise with a value unless it has a result; returns whether this call resolved it.
    @inlinable @discardableResult
    public func succeed(_ value: Value) -> Bool { resolve(.success(value)) }

    /// Resolves the promise with an error unless it has a result; returns whether this call resolved it.
    @inlinable @discardableResult
    public func fail(_ error: Failure) -> Bool { resolve(.failure(error)) }

    /// Waits for the result. Call it once.
    ///
    /// - Parameters:
    ///   - loop: The event loop that probably resolves the promise.
    ///   - onCancel: Called when the task is cancelled, on any thread; it must resolve the promise.
    @inlinable
    public func value(
        from loop: EventLoop? = nil, isolation: isolated (any Actor)? = #isolation, onCancel: @Sendable () -> Void
    ) async throws(Failure) -> Value {
        // The set-up for waiting costs more than most operations whose result is there at once.
        if let early = takeResult() { return try early.get() }
        let result = await withTaskCancellationHandler {
            // A continuation resumes on no actor's executor, whose thread would have to wake up only to switch to the
            // loop, unless the loop is that executor too.
            await withTaskExecutorPreference(loop, isolation: isolation) {
                await withUnsafeContinuation(isolation: isolation) { (continuation: Continuation) in
                    if let early = takeResult(orAwait: continuation) { continuation.resume(returning: early) }
                }
            }
        } onCancel: {
            onCancel()
        }
        return try result.get()
    }

    /// The result if it is there; otherwise `continuation` is resumed with it.
    @inlinable
    func takeResult(orAwait continuation: Continuation? = nil) -> Result<Value, Failure>? {
        state.withLock { state in
            guard case .resolved(let result) = state else {
                if let continuation { state = .awaited(continuation) }
                return nil
            }
            state = .finished
            return result
        }
    }

    /// Waits for the result; throws `error` if the task is cancelled first. Call it once.
    @inlinable
    public func value(
        ifCancelled error: @autoclosure @escaping @Sendable () -> Failure,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(Failure) -> Value {
        try await value(isolation: isolation) { fail(error()) }
    }
}

extension Promise where Failure == Never {
    /// Waits for the value; returns `cancelled` if the task is cancelled first. Call it once.
    @inlinable
    public func value(
        ifCancelled cancelled: @autoclosure @escaping @Sendable () -> Value,
        isolation: isolated (any Actor)? = #isolation
    ) async -> Value {
        await value(isolation: isolation) { succeed(cancelled()) }
    }
}

extension Promise where Value == Void {
    /// Resolves the promise unless it has a result; returns whether this call resolved it.
    @inlinable @discardableResult
    public func succeed() -> Bool { resolve(.success(())) }
}

extension EventLoop {
    /// Waits until an instant of the loop's clock; returns false if the task is cancelled first.
    package func sleep(until deadline: KernelInstant, isolation: isolated (any Actor)? = #isolation) async -> Bool {
        let end = Promise<Bool, Never>()
        let timer = makeTimer { end.succeed(true) }
        timer.set(at: deadline)
        defer { timer.cancel() }
        return await end.value(from: isCurrent ? self : nil, isolation: isolation) { end.succeed(false) }
    }

    /// Waits for a duration of the loop's clock; returns false if the task is cancelled first.
    package func sleep(for duration: Duration, isolation: isolated (any Actor)? = #isolation) async -> Bool {
        await sleep(until: now.advanced(by: duration), isolation: isolation)
    }
}

extension EventLoop {
    /// Enqueues a call of `body` on the loop and returns its result; ignores cancellation.
    package func perform<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let promise = Promise<Value, Failure>()
        execute { promise.resolve(Result { () throws(Failure) in try body() }) }
        return try await promise.value(from: self) {}
    }
}
