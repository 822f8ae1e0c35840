import Synchronization

/// The waiting and the clock of a loop, with one implementation for each kind of kernel.
public protocol EventLoopDriver: AnyObject, Sendable {
    /// The current time of the clock.
    var now: KernelInstant { get }

    /// Whether the calling thread runs the loop.
    var isOnLoopThread: Bool { get }

    /// Starts a thread that calls `body` once.
    func start(_ body: @escaping @Sendable () -> Void)

    /// Waits for events until `deadline` (nil: without limit), calls their handlers, and returns.
    ///
    /// Called only by the loop's thread. Returns early after ``wake()``. With a deadline in the past it handles pending
    /// events without waiting.
    func wait(until deadline: KernelInstant?)

    /// Ends the current ``wait(until:)``, or the next one. Thread-safe.
    func wake()
}

/// An event loop: one thread that handles the events of a kernel's sockets, timers, and the actors and tasks isolated
/// to it.
///
/// As a `SerialExecutor` it runs the actor of an opened adapter; as a `TaskExecutor` it also runs a program's tasks
/// (`withTaskExecutorPreference(loop) { … }`), which saves two thread switches for each request. The thread sleeps
/// while there are no events; there is no periodic wake-up.
public final class EventLoop: SerialExecutor, TaskExecutor, Sendable {
    private enum WakeAction { case none, wake, start }

    private enum Work {
        /// A job of an actor on the loop.
        case actorJob(UnownedJob)
        /// A job of a task that prefers the loop and is on no actor.
        case taskJob(UnownedJob)
        case call(@Sendable () -> Void)
        case delivery(any LoopDelivery)
    }

    private struct State {
        var queue: [Work] = []
        var timers = TimerQueue<LoopBound<() -> Void>>()
        var isWaiting = false
        var isStopping = false
        var isStarted = false

        /// The action that makes the loop notice new work; none while it runs.
        mutating func wakeAction() -> WakeAction {
            guard isStarted else {
                isStarted = true
                return .start
            }
            guard isWaiting else { return .none }
            isWaiting = false
            return .wake
        }
    }

    private let state = Mutex(State())
    private let driver: any EventLoopDriver
    /// The components on the loop.
    package let components = ComponentCount()

    /// A loop that waits with `driver`. Its thread starts with the first work.
    package init(driver: any EventLoopDriver) {
        self.driver = driver
    }

    /// The current time of the loop's clock.
    public var now: KernelInstant { driver.now }

    /// Whether the caller is on this loop's thread.
    @usableFromInline
    package var isCurrent: Bool { driver.isOnLoopThread }

    // MARK: Executor

    /// Enqueues an actor's job.
    public func enqueue(_ job: consuming ExecutorJob) {
        append(.actorJob(UnownedJob(job)))
    }

    /// Enqueues a job of a task that prefers the loop.
    ///
    /// Separate from an actor's job, since a task on an actor's executor must be enqueued again for every nonisolated
    /// call.
    @_implements(TaskExecutor,enqueue(_:))
    public func enqueueTask(_ job: consuming ExecutorJob) {
        append(.taskJob(UnownedJob(job)))
    }

    /// Enqueues a call of `body` on the loop.
    package func execute(_ body: @escaping @Sendable () -> Void) {
        append(.call(body))
    }

    /// Enqueues a call of `body` on the loop; `body` may access state that is isolated to the loop.
    ///
    /// Traps unless called on the loop.
    package func executeLocally(_ body: @escaping () -> Void) {
        let bound = LoopBound(body, on: self)
        execute { bound.value() }
    }

    /// Enqueues `delivery`, which delivers its collected items after the pending packets were received. Allocates
    /// nothing.
    package func deliverSoon(_ delivery: any LoopDelivery) {
        append(.delivery(delivery))
    }

    private func append(_ work: Work) {
        let action = state.withLock { state -> WakeAction in
            state.queue.append(work)
            return state.wakeAction()
        }
        perform(action)
    }

    /// This loop as the executor of actors.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Traps unless called on the loop: the runtime's check for `assumeIsolated`.
    public func checkIsolated() {
        precondition(isCurrent, "not on the event loop")
    }

    /// Whether the caller is on the loop.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    // MARK: Running

    private func perform(_ action: WakeAction) {
        switch action {
        case .none: break
        case .wake: if !isCurrent { driver.wake() }
        case .start: driver.start { [weak self] in self?.run(isMainActor: false) }
        }
    }

    /// Runs the main actor's loop on the calling thread until ``stop()``, `body` first; the driver starts no thread.
    ///
    /// The driver must know the thread as the loop's already. Traps after the loop's first work.
    package func runMainActor(after body: () -> Void) {
        state.withLock { state in
            precondition(!state.isStarted, "the event loop runs on another thread already")
            state.isStarted = true
        }
        body()
        run(isMainActor: true)
    }

    /// Ends the loop's thread after the queued work. The loop must not be used afterwards.
    ///
    /// The process-wide loop is never stopped; a test or a simulation stops its own.
    package func stop() {
        let action = state.withLock { state -> WakeAction in
            state.isStopping = true
            return state.isStarted ? state.wakeAction() : .none
        }
        perform(action)
    }

    /// The number of queue runs between checks of the sockets: a task on the loop may need several turns, and calling
    /// the kernel in between would cost more than the turns.
    private static let turnsPerWait = 16

    private func run(isMainActor: Bool) {
        var queue: [Work] = []
        while true {
            var timersBefore: UInt64 = 0
            for _ in 0..<Self.turnsPerWait {
                let (nextOrder, isDone) = state.withLock { state -> (UInt64, Bool) in
                    state.isWaiting = false
                    swap(&queue, &state.queue)
                    return (state.timers.nextOrder, state.isStopping && queue.isEmpty)
                }
                if isDone { return }
                timersBefore = nextOrder
                guard !queue.isEmpty else { break }
                perform(queue, isMainActor)
                queue.removeAll(keepingCapacity: true)
            }
            // One at a time, since a handler may cancel the next. Timers set meanwhile wait for the next round, so that
            // timers which set each other cannot starve the sockets.
            while let handler = state.withLock({ $0.timers.removeDue(at: driver.now, setBefore: timersBefore) }) {
                handler.value()
            }
            let deadline = state.withLock { state -> KernelInstant? in
                guard state.queue.isEmpty, !state.isStopping else { return .distantPast }
                state.isWaiting = true
                return state.timers.firstDeadline
            }
            driver.wait(until: deadline)
        }
    }

    private func perform(_ queue: [Work], _ isMainActor: Bool) {
        let executor = asUnownedSerialExecutor()
        let taskExecutor = asUnownedTaskExecutor()
        for work in queue {
            switch work {
            // A task goes on to another actor here without a turn of the queue if it prefers the executor that it is run
            // with, and the main actor's tasks prefer none.
            case .actorJob(let job) where isMainActor: job.runSynchronously(on: executor)
            case .actorJob(let job): job.runSynchronously(isolatedTo: executor, taskExecutor: taskExecutor)
            case .taskJob(let job): job.runSynchronously(on: taskExecutor)
            case .call(let body): body()
            case .delivery(let delivery): delivery.deliver()
            }
        }
    }

    // MARK: Timers

    /// Creates a timer that calls `handler` on the loop at each deadline that is set.
    ///
    /// Thread-safe.
    @usableFromInline
    package func makeTimer(_ handler: sending @escaping () -> Void) -> LoopTimer {
        addTimer(LoopBound(sending: handler, to: self))
    }

    /// Creates a timer for state on the loop, such as an actor's: `handler` may access state that is isolated to the
    /// loop.
    ///
    /// Traps unless called on the loop.
    package func makeLocalTimer(_ handler: @escaping () -> Void) -> LoopTimer {
        addTimer(LoopBound(handler, on: self))
    }

    /// Creates a timer that calls `handler` with its owner, for as long as the owner exists: the timer does not retain it.
    /// It is set if it has a duration.
    ///
    /// Traps unless called on the loop.
    package func makeTimer<Owner: AnyObject>(
        of owner: Owner, after duration: Duration? = nil, _ handler: @escaping (Owner) -> Void
    ) -> LoopTimer {
        let timer = makeLocalTimer { [weak owner] in if let owner { handler(owner) } }
        if let duration { timer.set(after: duration) }
        return timer
    }

    /// Sets the timer of an owner, which is created when first set; cancels it with nil.
    ///
    /// Traps unless called on the loop.
    package func set<Owner: AnyObject>(
        _ timer: inout LoopTimer?, to deadline: KernelInstant?, of owner: Owner, _ handler: @escaping (Owner) -> Void
    ) {
        if timer == nil, deadline != nil { timer = makeTimer(of: owner, handler) }
        if let deadline { timer?.set(at: deadline) } else { timer?.cancel() }
    }

    private func addTimer(_ handler: LoopBound<() -> Void>) -> LoopTimer {
        LoopTimer(loop: self, slot: state.withLock { $0.timers.addSlot(handler) })
    }

    func set(_ slot: Int, at deadline: KernelInstant?) {
        let action = state.withLock { state -> WakeAction in
            let previous = state.timers.firstDeadline
            state.timers.set(slot, at: deadline)
            guard let first = state.timers.firstDeadline, previous.map({ first < $0 }) ?? true else { return .none }
            return state.wakeAction()
        }
        perform(action)
    }

    func removeSlot(_ slot: Int) {
        // Released outside the lock, since the handler may hold the last reference to another timer.
        let handler = state.withLock { $0.timers.removeSlot(slot) }
        withExtendedLifetime(handler) {}
    }
}

/// A batch of items collected packet by packet and delivered together; see ``EventLoop/deliverSoon(_:)``.
public protocol LoopDelivery: AnyObject, Sendable {
    /// Delivers the collected items. Called on the loop.
    func deliver()
}
