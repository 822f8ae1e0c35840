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
    /// A copy shares the buffer, so that each element goes to one of the two. When both wait at the same time
    /// one of them gets an error of code `BluetoothError.Code.busy`.
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

/// What the producing end of a ``BoundedStream`` is without the type of its elements: the consumer that waits, and the end.
//
// A class of its own, since the runtime looks up the types of a generic class at each delivery.
@usableFromInline
package class StreamEnd: LoopDelivery, @unchecked Sendable {
    // Unchecked: it is not final. Its properties are constants, and those of its one subclass are, or are behind the lock.
    @usableFromInline typealias Waiter = UnsafeContinuation<WaitOutcome, Never>

    /// How the wait of a consumer has ended.
    @usableFromInline enum WaitOutcome: Sendable {
        /// There is an element or an end, unless a copy of the iterator has taken it.
        case ready
        case cancelled
        /// Another consumer waits already.
        case refused
    }

    @usableFromInline struct State {
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

    private let mark: ComponentCount.Mark
    @usableFromInline let state = Mutex(State())
    @usableFromInline let operation: BluetoothError.Operation
    /// The event loop of the source.
    @usableFromInline let loop: EventLoop

    init(_ operation: BluetoothError.Operation, from loop: EventLoop) {
        mark = loop.components.mark("StreamChannel")
        self.operation = operation
        self.loop = loop
    }

    var missedCount: Int { state.withLock { $0.missed } }

    /// Whether the stream accepts elements.
    var isOpen: Bool { state.withLock { $0.end == nil } }

    /// Resumes the waiting consumer, since there is an element or an end for it.
    @usableFromInline
    package func deliver() {
        let waiter = state.withLock { state in
            state.isDelivering = false
            return state.waiter.take()
        }
        waiter?.resume(returning: .ready)
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

    /// Ends the wait of a given call only, since copies of an iterator share the channel.
    @usableFromInline
    func cancel(_ call: UInt64) {
        let waiter = state.withLock { $0.waitingCall == call ? $0.waiter.take() : nil }
        waiter?.resume(returning: .cancelled)
    }
}

/// The producing end of a ``BoundedStream``: a ring buffer and at most one waiting consumer.
//
// The consumer's side is inlinable, so that its elements are not handled as values of an unknown type.
//
// Sendable unchecked: the buffer is used only inside `state.withLock`.
@usableFromInline
package final class StreamChannel<Element: Sendable>: StreamEnd, @unchecked Sendable {
    @usableFromInline var buffer = RingBuffer<Element>()
    private let capacity: Int
    private let policy: OverflowPolicy
    /// Adds the number of elements dropped just before it to an element.
    @usableFromInline let stamp: (@Sendable (inout Element, Int) -> Void)?

    package init(
        capacity: Int, policy: OverflowPolicy, operation: BluetoothError.Operation, from loop: EventLoop,
        stamp: (@Sendable (inout Element, Int) -> Void)? = nil
    ) {
        self.stamp = stamp
        self.capacity = Swift.max(1, capacity)
        self.policy = policy
        super.init(operation, from: loop)
    }

    /// The number of elements that fit.
    var room: Int { state.withLock { _ in capacity - buffer.count } }

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
            if buffer.count >= capacity {
                switch policy {
                case .dropOldest:
                    dropped = buffer.popFirst()
                    state.missed += 1
                    state.missedBefore += 1
                case .fail:
                    state.end = .failure(.overflow(operation, capacity: capacity))
                    return (false, false)
                }
            }
            buffer.append(element)
            guard state.waiter != nil, !state.isDelivering else { return (true, false) }
            state.isDelivering = true
            return (true, true)
        }
        if isDue { loop.deliverSoon(self) }
        return isOpen
    }

    /// Ends the stream and drops the buffer, as the consumer is gone.
    package func abandon() {
        let left = state.withLock { state in
            state.end = .success(())
            defer { buffer = RingBuffer() }
            return buffer
        }
        // Released outside the lock.
        withExtendedLifetime(left) {}
    }

    @inlinable
    func next(isolation: isolated (any Actor)?) async throws(BluetoothError) -> Element? {
        while true {
            var number: UInt64 = 0
            if let ready = poll(orNumber: &number) { return try ready.get() }
            let call = number
            // A continuation resumes on no actor's executor; a consumer on the loop continues on the loop.
            let executor = isolation != nil && loop.isCurrent ? loop : nil
            let outcome = await withTaskCancellationHandler {
                await withTaskExecutorPreference(executor, isolation: isolation) {
                    await withUnsafeContinuation(isolation: isolation) { (continuation: Waiter) in
                        if let outcome = wait(continuation, call) { continuation.resume(returning: outcome) }
                    }
                }
            } onCancel: {
                cancel(call)
            }
            switch outcome {
            case .ready: continue
            case .cancelled: throw .cancelled(operation)
            case .refused: throw .secondConsumer(operation)
            }
        }
    }

    /// The result available without waiting; if there is none, the call gets a number.
    @inlinable
    func poll(orNumber call: inout UInt64) -> Result<Element?, BluetoothError>? {
        state.withLock { state in
            if var element = buffer.popFirst() {
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
            case nil:
                state.lastCall &+= 1
                call = state.lastCall
                return nil
            }
        }
    }

    /// Registers `waiter`, unless it need not or must not wait.
    @inlinable
    func wait(_ waiter: Waiter, _ call: UInt64) -> WaitOutcome? {
        state.withLock { state in
            if !buffer.isEmpty || state.end != nil { return .ready }
            // An earlier cancellation has found no waiter; a later one finds this call.
            if Task.isCancelled { return .cancelled }
            // A copy of the iterator in another task: the one that waits keeps waiting.
            if state.waiter != nil { return .refused }
            state.waiter = waiter
            state.waitingCall = call
            return nil
        }
    }
}
