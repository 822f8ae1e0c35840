import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Synchronization

/// The treatment of an element that arrives while a stream's buffer is full.
package enum OverflowPolicy: Sendable, Hashable {
    /// The oldest waiting element is dropped and counted as missed.
    case dropOldest
    /// The stream ends with an error of code `BluetoothError.Code.overflow` after its buffered elements.
    case fail
}

/// An asynchronous sequence for one consumer, with a bounded buffer.
///
/// Leaving the `for await` loop, or dropping the stream unread, ends the source. The stream finishes when its source
/// ends and throws when its source fails, in both cases after its buffered elements.
public struct BoundedStream<Element: Sendable>: AsyncSequence, Sendable {
    /// The error type of the stream.
    public typealias Failure = BluetoothError

    @usableFromInline let consumer: Consumer

    package init(channel: StreamChannel<Element>, onEnd: @escaping @Sendable () -> Void) {
        consumer = Consumer(channel: channel, onEnd: onEnd)
    }

    /// The number of elements dropped so far because the consumer was too slow.
    public var missedCount: Int { consumer.channel.missedCount }

    /// Ends the stream from its consumer's side after the buffered elements: with an error, or regularly.
    package func finish(_ error: BluetoothError? = nil) { consumer.channel.finish(error) }

    /// Creates the stream's iterator. A stream has one consumer: a second iterator ends at once.
    public func makeAsyncIterator() -> Iterator {
        Iterator(lease: consumer.takeLease())
    }

    /// An iterator over the elements of a stream.
    ///
    /// A copy shares the buffer, so that each element goes to one of the two. When both wait at the same time the
    /// second gets an error of code `BluetoothError.Code.busy`.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let lease: Lease?

        /// Returns the next element, or nil when the stream has ended.
        @inlinable
        public nonisolated(nonsending) mutating func next() async throws(BluetoothError) -> Element? {
            try await next(isolation: #isolation)
        }

        /// Returns the next element, or nil when the stream has ended.
        @inlinable
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BluetoothError) -> Element? {
            guard let lease else { return nil }
            return try await lease.channel.next(isolation: actor)
        }
    }

    /// The right to read, whose release ends the source.
    @usableFromInline final class Lease: Sendable {
        @usableFromInline let channel: StreamChannel<Element>
        private let onEnd: @Sendable () -> Void

        init(channel: StreamChannel<Element>, onEnd: @escaping @Sendable () -> Void) {
            self.channel = channel
            self.onEnd = onEnd
        }

        deinit { onEnd() }
    }

    /// The owner of the lease until an iterator takes it, so that leaving the loop ends the stream even while the
    /// sequence itself is still in scope.
    @usableFromInline final class Consumer: Sendable {
        let channel: StreamChannel<Element>
        private let lease: Mutex<Lease?>

        init(channel: StreamChannel<Element>, onEnd: @escaping @Sendable () -> Void) {
            self.channel = channel
            lease = Mutex(Lease(channel: channel, onEnd: onEnd))
        }

        func takeLease() -> Lease? {
            lease.withLock { lease in
                defer { lease = nil }
                return lease
            }
        }
    }
}

/// The producing end of a ``BoundedStream``: a ring buffer and at most one waiting consumer.
//
// The consumer's side is inlinable, so that its elements are not handled as values of an unknown type.
// Holds more than ten variables: eight of them are the state behind one lock.
@usableFromInline
package final class StreamChannel<Element: Sendable>: LoopDelivery {
    private let mark: ComponentCount.Mark
    @usableFromInline typealias Waiter = UnsafeContinuation<Result<Element?, BluetoothError>, Never>

    @usableFromInline struct State {
        @usableFromInline var buffer: RingBuffer<Element>
        @usableFromInline var waiter: Waiter?
        @usableFromInline var end: Result<Void, BluetoothError>?
        var missed = 0
        /// The number of elements dropped since the last one was taken.
        @usableFromInline var missedBefore = 0
        /// Whether a call of ``deliver()`` is scheduled on the loop.
        var isDelivering = false
        /// The number of the last call that had to wait; `waitingCall` is that of `waiter`.
        @usableFromInline var lastCall: UInt64 = 0
        @usableFromInline var waitingCall: UInt64 = 0
    }

    @usableFromInline let state: Mutex<State>
    private let capacity: Int
    private let policy: OverflowPolicy
    /// Adds the number of elements dropped just before it to an element.
    @usableFromInline let stamp: (@Sendable (inout Element, Int) -> Void)?
    @usableFromInline let operation: BluetoothError.Operation
    /// The event loop of the source.
    @usableFromInline let loop: EventLoop

    package init(
        capacity: Int, policy: OverflowPolicy, operation: BluetoothError.Operation, from loop: EventLoop,
        stamp: (@Sendable (inout Element, Int) -> Void)? = nil
    ) {
        mark = loop.components.mark("StreamChannel")
        self.stamp = stamp
        self.loop = loop
        self.capacity = Swift.max(1, capacity)
        self.policy = policy
        self.operation = operation
        state = Mutex(State(buffer: RingBuffer()))
    }

    var missedCount: Int { state.withLock { $0.missed } }

    /// Whether the stream accepts elements.
    var isOpen: Bool { state.withLock { $0.end == nil } }

    /// The number of elements that fit.
    var room: Int { state.withLock { capacity - $0.buffer.count } }

    /// Appends an element; returns whether the stream still accepts elements.
    ///
    /// A waiting consumer is resumed after the loop has handled all packets that are there: of several elements that
    /// arrive together, only the first resumes it.
    @discardableResult
    package func send(_ element: Element) -> Bool {
        var dropped: Element?
        defer { withExtendedLifetime(dropped) {} }
        return send(element, dropping: &dropped)
    }

    /// Appends an element for a caller that holds a lock: an element dropped for it goes to `dropped`, since its
    /// deinitialiser may need that lock.
    func send(_ element: Element, dropping dropped: inout Element?) -> Bool {
        let (isOpen, isDue) = state.withLock { state in
            guard state.end == nil else { return (false, false) }
            if state.buffer.count >= capacity {
                switch policy {
                case .dropOldest:
                    dropped = state.buffer.popFirst()
                    state.missed += 1
                    state.missedBefore += 1
                case .fail:
                    state.end = .failure(.overflow(operation, capacity: capacity))
                    return (false, false)
                }
            }
            state.buffer.append(element)
            guard state.waiter != nil, !state.isDelivering else { return (true, false) }
            state.isDelivering = true
            return (true, true)
        }
        if isDue { loop.deliverSoon(self) }
        return isOpen
    }

    /// Resumes the waiting consumer if there is an element or an end for it.
    @usableFromInline
    package func deliver() {
        let (waiter, ready) = state.withLock { state -> (Waiter?, Result<Element?, BluetoothError>?) in
            state.isDelivering = false
            guard state.waiter != nil, let ready = poll(&state) else { return (nil, nil) }
            defer { state.waiter = nil }
            return (state.waiter, ready)
        }
        if let waiter, let ready { waiter.resume(returning: ready) }
    }

    /// Counts elements that were lost before they reached the stream.
    package func recordMissed(_ count: Int) {
        state.withLock { state in
            state.missed += count
            state.missedBefore += count
        }
    }

    /// Ends the stream after the buffered elements: with an error, or regularly.
    package func finish(_ error: BluetoothError? = nil) {
        state.withLock { state in
            guard state.end == nil else { return }
            state.end = error.map { .failure($0) } ?? .success(())
        }
        deliver()
    }

    /// Ends the stream and drops the buffer, as the consumer is gone.
    package func abandon() {
        let left = state.withLock { state in
            state.end = .success(())
            defer { state.buffer = RingBuffer() }
            return state.buffer
        }
        // Released outside the lock.
        withExtendedLifetime(left) {}
    }

    @inlinable
    func next(isolation: isolated (any Actor)?) async throws(BluetoothError) -> Element? {
        var number: UInt64 = 0
        if let ready = poll(orNumber: &number) { return try ready.get() }
        let call = number
        // A continuation resumes on no actor's executor; a consumer on the loop continues on the loop.
        let executor = isolation != nil && loop.isCurrent ? loop : nil
        let result = await withTaskCancellationHandler {
            await withTaskExecutorPreference(executor, isolation: isolation) {
                await withUnsafeContinuation(isolation: isolation) { (continuation: Waiter) in
                    if let ready = wait(continuation, call) { continuation.resume(returning: ready) }
                }
            }
        } onCancel: {
            cancel(call)
        }
        return try result.get()
    }

    /// Ends the wait of a given call only, since copies of an iterator share the channel.
    @usableFromInline
    func cancel(_ call: UInt64) {
        let waiter = state.withLock { state -> Waiter? in
            guard state.waitingCall == call else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: .failure(.cancelled(operation)))
    }

    /// The result available without waiting; if there is none, the call gets a number.
    @inlinable
    func poll(orNumber call: inout UInt64) -> Result<Element?, BluetoothError>? {
        state.withLock { state in
            if let ready = poll(&state) { return ready }
            state.lastCall &+= 1
            call = state.lastCall
            return nil
        }
    }

    /// The result available now; if there is none, `waiter` is registered.
    @inlinable
    func wait(_ waiter: Waiter, _ call: UInt64) -> Result<Element?, BluetoothError>? {
        state.withLock { state -> Result<Element?, BluetoothError>? in
            if let ready = poll(&state) { return ready }
            // An earlier cancellation has found no waiter; a later one finds this call.
            if Task.isCancelled { return .failure(.cancelled(operation)) }
            // A copy of the iterator in another task: the first to wait keeps waiting.
            if state.waiter != nil { return .failure(.secondConsumer(operation)) }
            state.waiter = waiter
            state.waitingCall = call
            return nil
        }
    }

    @inlinable
    func poll(_ state: inout State) -> Result<Element?, BluetoothError>? {
        if var element = state.buffer.popFirst() {
            if state.missedBefore > 0 {
                stamp?(&element, state.missedBefore)
                state.missedBefore = 0
            }
            return .success(element)
        }
        switch state.end {
        case .failure(let error):
            state.end = .success(())
            return .failure(error)
        case .success: return .success(nil)
        case nil: return nil
        }
    }
}
