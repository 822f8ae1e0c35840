import BluetoothPrimitives

/// The promises of tasks that wait for the same event, in order.
///
/// A promise whose task gave up, because of its timeout or cancellation, is skipped, and dropped before the list grows.
public struct WaiterList<Value: Sendable, Failure: Error>: Sendable {
    // Inlinable, since lists are checked wherever something may have ended.
    @usableFromInline var waiters = RingBuffer<Promise<Value, Failure>>()

    /// An empty list.
    @inlinable
    public init() {}

    /// Whether no task waits.
    @inlinable
    public var isEmpty: Bool { !waiters.contains { !$0.isResolved } }

    /// The number of waiting tasks.
    @inlinable
    public var count: Int { waiters.count { !$0.isResolved } }

    /// Adds a promise, for which its creator waits.
    @inlinable
    public mutating func append(_ promise: Promise<Value, Failure>) {
        // At powers of two, when the buffer would grow.
        if waiters.count & (waiters.count &- 1) == 0 { waiters.removeAll { $0.isResolved } }
        waiters.append(promise)
    }

    /// Adds and returns a promise.
    @inlinable
    public mutating func makePromise() -> Promise<Value, Failure> {
        let promise = Promise<Value, Failure>()
        append(promise)
        return promise
    }

    /// Resumes all tasks with a result.
    @inlinable
    public mutating func resolveAll(_ result: Result<Value, Failure>) {
        while let waiter = waiters.popFirst() { waiter.resolve(result) }
    }

    /// Resumes all tasks with a value.
    @inlinable
    public mutating func succeedAll(_ value: Value) { resolveAll(.success(value)) }

    /// Resumes all tasks with an error.
    @inlinable
    public mutating func failAll(_ error: Failure) { resolveAll(.failure(error)) }

    /// Resumes the task that has waited longest with a value; returns false if no task waits.
    @inlinable
    public mutating func succeedFirst(_ value: Value) -> Bool {
        while let waiter = waiters.popFirst() {
            if waiter.succeed(value) { return true }
        }
        return false
    }
}

extension WaiterList where Value == Void {
    /// Resumes all tasks.
    @inlinable
    public mutating func succeedAll() { resolveAll(.success(())) }
}
