import Synchronization

/// The result of work that is under way, and the one task that waits for it.
///
/// Every wait goes through a promise: whoever comes first – the answer, the time limit, the task's cancellation, the end
/// of the link – resolves it, and all others find it resolved. So no wait is left hanging as long as one of them comes,
/// and none is resumed twice. Any thread may resolve it.
public final class Promise<Value: Sendable, Failure: Error>: Sendable {
    // Public and inlinable, since other modules do not specialise what is `package`: a read costs 7 % less.
    @usableFromInline typealias Continuation = UnsafeContinuation<Result<Value, Failure>, Never>

    @usableFromInline enum State {
        case pending
        case awaited(Continuation)
        case resolved(Result<Value, Failure>)
        case finished
    }

    @usableFromInline let state: Mutex<State>

    /// A promise without a result.
    @inlinable
    public init() {
        state = Mutex(.pending)
    }

    /// Whether the result is known, so that nothing need be done for the waiting task any more.
    @inlinable public var isResolved: Bool {
        state.withLock {
            switch $0 {
            case .pending, .awaited: false
            case .resolved, .finished: true
            }
        }
    }

    /// Gives the waiting task its result unless it has one; says whether this was the first.
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

    /// Gives the waiting task a value unless it has a result; says whether this was the first.
    @inlinable @discardableResult
    public func succeed(_ value: Value) -> Bool { resolve(.success(value)) }

    /// Gives the waiting task an error unless it has a result; says whether this was the first.
    @inlinable @discardableResult
    public func fail(_ error: Failure) -> Bool { resolve(.failure(error)) }

    /// Waits for the value. To be called once.
    ///
    /// - Parameters:
    ///   - loop: where the result is likely to come from.
    ///   - onCancel: runs when the task is cancelled, on any thread; it has to resolve the promise.
    @inlinable
    public func value(
        from loop: EventLoop? = nil, isolation: isolated (any Actor)? = #isolation, onCancel: @Sendable () -> Void
    ) async throws(Failure) -> Value {
        let result = await withTaskCancellationHandler {
            // A continuation is resumed on no actor's executor, whose thread has to be woken up only to hand over to the
            // loop, unless the loop is that executor too.
            await withTaskExecutorPreference(loop, isolation: isolation) {
                await withUnsafeContinuation(isolation: isolation) { (continuation: Continuation) in
                    let early = state.withLock { state -> Result<Value, Failure>? in
                        guard case .resolved(let result) = state else {
                            state = .awaited(continuation)
                            return nil
                        }
                        state = .finished
                        return result
                    }
                    if let early { continuation.resume(returning: early) }
                }
            }
        } onCancel: {
            onCancel()
        }
        return try result.get()
    }

    /// Waits for the value; throws `error` when the task is cancelled first. To be called once.
    @inlinable
    public func value(
        ifCancelled error: @autoclosure @escaping @Sendable () -> Failure,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(Failure) -> Value {
        try await value(isolation: isolation) { fail(error()) }
    }
}

extension Promise where Failure == Never {
    /// Waits for the value; `cancelled` when the task is cancelled first. To be called once.
    @inlinable
    public func value(
        ifCancelled cancelled: @autoclosure @escaping @Sendable () -> Value,
        isolation: isolated (any Actor)? = #isolation
    ) async -> Value {
        await value(isolation: isolation) { succeed(cancelled()) }
    }
}

extension Promise where Value == Void {
    /// Resumes the waiting task unless it has a result; says whether this was the first.
    @inlinable @discardableResult
    public func succeed() -> Bool { resolve(.success(())) }
}

extension EventLoop {
    /// Waits until a moment of the loop's clock; false when the task is cancelled first.
    package func sleep(until deadline: KernelInstant, isolation: isolated (any Actor)? = #isolation) async -> Bool {
        let end = Promise<Bool, Never>()
        let timer = makeTimer { end.succeed(true) }
        timer.set(at: deadline)
        defer { timer.cancel() }
        return await end.value(from: isCurrent ? self : nil, isolation: isolation) { end.succeed(false) }
    }

    /// Waits for a time on the loop's clock; false when the task is cancelled first.
    package func sleep(for duration: Duration, isolation: isolated (any Actor)? = #isolation) async -> Bool {
        await sleep(until: now.advanced(by: duration), isolation: isolation)
    }
}

extension EventLoop {
    /// Runs `body` on the loop, after what came before it, and returns what it returns, whatever becomes of the task.
    package func perform<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let promise = Promise<Value, Failure>()
        execute { promise.resolve(Result { () throws(Failure) in try body() }) }
        return try await promise.value(from: self) {}
    }
}
