import BluetoothPrimitives
import BluetoothSockets
import Synchronization

/// What a stream does with an element that arrives while its buffer is full.
public enum OverflowPolicy: Sendable, Hashable {
    /// The oldest waiting element makes room and is counted as missed.
    case dropOldest
    /// The stream ends with an error of code ``BluetoothError/Code/overflow`` once what is buffered has been read.
    case fail
}

/// Values that arrive over time, for one consumer, in a buffer with a bound.
///
/// Leaving the `for await` loop, or dropping the stream unread, ends what produces the values. The stream finishes when
/// its source ends and throws when its source fails; what was buffered before is handed out first.
public struct BoundedStream<Element: Sendable>: AsyncSequence, Sendable {
    /// What a stream throws.
    public typealias Failure = BluetoothError

    @usableFromInline let consumer: Consumer

    init(channel: StreamChannel<Element>, onEnd: @escaping @Sendable () -> Void) {
        consumer = Consumer(channel: channel, onEnd: onEnd)
    }

    /// How many elements have been dropped so far because nobody took them in time.
    public var missedCount: Int { consumer.channel.missedCount }

    /// Ends the stream after what is buffered, from its consumer's side: with an error, or regularly.
    func finish(_ error: BluetoothError? = nil) { consumer.channel.finish(error) }

    /// Starts to take elements. A stream has one consumer: a second iterator ends at once.
    public func makeAsyncIterator() -> Iterator {
        Iterator(lease: consumer.takeLease())
    }

    /// Takes the elements one by one.
    ///
    /// A copy takes from the same buffer, so that each element goes to one of the two. When both wait at the same time
    /// the second gets an error of code ``BluetoothError/Code/busy``.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let lease: Lease?

        /// The next element, or nil when the stream has ended.
        @inlinable
        public mutating func next() async throws(BluetoothError) -> Element? {
            try await next(isolation: nil)
        }

        /// The next element, or nil when the stream has ended.
        @inlinable
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BluetoothError) -> Element? {
            guard let lease else { return nil }
            return try await lease.channel.next(isolation: actor)
        }
    }

    /// Held by whoever may still read; its end is the end of the consumer's interest.
    @usableFromInline final class Lease: Sendable {
        @usableFromInline let channel: StreamChannel<Element>
        private let onEnd: @Sendable () -> Void

        init(channel: StreamChannel<Element>, onEnd: @escaping @Sendable () -> Void) {
            self.channel = channel
            self.onEnd = onEnd
        }

        deinit { onEnd() }
    }

    /// Keeps the lease until an iterator takes it over, so that leaving the loop ends the stream even while the
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
@usableFromInline
final class StreamChannel<Element: Sendable>: LoopDelivery {
    private let mark: ComponentCount.Mark
    @usableFromInline typealias Waiter = UnsafeContinuation<Result<Element?, BluetoothError>, Never>

    @usableFromInline struct State {
        @usableFromInline var buffer: RingBuffer<Element>
        @usableFromInline var waiter: Waiter?
        @usableFromInline var end: Result<Void, BluetoothError>?
        var missed = 0
        /// How many were dropped since an element was last taken.
        @usableFromInline var missedBefore = 0
        /// Whether the loop has been asked to call ``deliver()``.
        var isDelivering = false
        /// Numbers the calls that have to wait; which of them `waiter` is.
        @usableFromInline var lastCall: UInt64 = 0
        @usableFromInline var waitingCall: UInt64 = 0
    }

    @usableFromInline let state: Mutex<State>
    private let capacity: Int
    private let policy: OverflowPolicy
    /// Tells an element how many were dropped just before it.
    @usableFromInline let stamp: (@Sendable (inout Element, Int) -> Void)?
    @usableFromInline let operation: BluetoothError.Operation
    /// Where elements come from.
    @usableFromInline let loop: EventLoop

    init(
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

    /// Whether the stream still takes elements.
    var isOpen: Bool { state.withLock { $0.end == nil } }

    /// How many more elements fit.
    var room: Int { state.withLock { capacity - $0.buffer.count } }

    /// Hands an element to the consumer; says whether the stream still takes elements.
    ///
    /// A consumer that waits is woken up when the loop has taken all packets that are there: of several elements that
    /// come at once it is told once, and takes the others without waiting.
    @discardableResult
    func send(_ element: Element) -> Bool {
        var dropped: Element?
        defer { withExtendedLifetime(dropped) {} }
        return send(element, dropping: &dropped)
    }

    /// The same for a caller that holds a lock: an element that makes room goes to `dropped`, since what its end runs may
    /// want that lock.
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

    /// Wakes up the consumer that waits, if there is something to tell.
    @usableFromInline
    func deliver() {
        let (waiter, ready) = state.withLock { state -> (Waiter?, Result<Element?, BluetoothError>?) in
            state.isDelivering = false
            guard state.waiter != nil, let ready = poll(&state) else { return (nil, nil) }
            defer { state.waiter = nil }
            return (state.waiter, ready)
        }
        if let waiter, let ready { waiter.resume(returning: ready) }
    }

    /// Ends the stream after what is buffered: in an error, or regularly.
    func finish(_ error: BluetoothError? = nil) {
        state.withLock { state in
            guard state.end == nil else { return }
            state.end = error.map { .failure($0) } ?? .success(())
        }
        deliver()
    }

    /// Ends the stream when its consumer has gone: nobody can take what is buffered any more.
    func abandon() {
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
        // A continuation is resumed on no actor's executor; for a consumer that lives on the loop that shall be the loop.
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

    /// Ends the wait of a call, and no other's: an iterator's copies share the channel.
    @usableFromInline
    func cancel(_ call: UInt64) {
        let waiter = state.withLock { state -> Waiter? in
            guard state.waitingCall == call else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: .failure(.cancelled(operation)))
    }

    /// What can be told without waiting; otherwise the call gets a number.
    @inlinable
    func poll(orNumber call: inout UInt64) -> Result<Element?, BluetoothError>? {
        state.withLock { state in
            if let ready = poll(&state) { return ready }
            state.lastCall &+= 1
            call = state.lastCall
            return nil
        }
    }

    /// What can be told now; otherwise `waiter` is told later.
    @inlinable
    func wait(_ waiter: Waiter, _ call: UInt64) -> Result<Element?, BluetoothError>? {
        state.withLock { state -> Result<Element?, BluetoothError>? in
            if let ready = poll(&state) { return ready }
            // A cancellation that came before has found nobody waiting; one that comes later finds this call.
            if Task.isCancelled { return .failure(.cancelled(operation)) }
            // A copy of the iterator in another task; whoever waits first goes on waiting.
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
