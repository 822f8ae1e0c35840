import Synchronization

/// How a loop waits and what time it is there. One implementation per kind of kernel.
public protocol EventLoopDriver: AnyObject, Sendable {
    /// The clock's present moment.
    var now: KernelInstant { get }

    /// Whether the calling thread is the one that runs the loop.
    var isOnLoopThread: Bool { get }

    /// Starts a thread that calls `body` once.
    func start(_ body: @escaping @Sendable () -> Void)

    /// Waits for events until `deadline` (nil: for ever), tells their handlers, and returns.
    ///
    /// Called by the loop's thread alone. Returns early after ``wake()``. A deadline that has passed only collects
    /// what is there.
    func wait(until deadline: KernelInstant?)

    /// Ends a ``wait(until:)`` that is going on, or the next one. Called from any thread.
    func wake()
}

/// One thread that runs everything there is to a kernel's sockets: their events, timers, and the actors and tasks that
/// live on it.
///
/// As a `SerialExecutor` it is where the actor of an opened adapter lives; as a `TaskExecutor` it lets a program run a
/// task of its own there (`withTaskExecutorPreference(loop) { … }`), which saves two thread switches a request. While
/// nothing happens the thread sleeps; there is no periodic wake-up.
public final class EventLoop: SerialExecutor, TaskExecutor, Sendable {
    private enum WakeAction { case none, wake, start }

    private enum Work {
        /// Of an actor that lives on the loop.
        case actorJob(UnownedJob)
        /// Of a task that prefers the loop and belongs to no actor at the time.
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

        /// What has to be done so that the loop notices new work; a loop that runs notices by itself.
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
    /// Those that live on the loop, in debug builds.
    package let components = ComponentCount()

    /// A loop that waits by `driver`. Its thread starts with the first work.
    public init(driver: any EventLoopDriver) {
        self.driver = driver
    }

    /// The present moment on this loop's clock.
    public var now: KernelInstant { driver.now }

    /// Whether the caller runs on this loop's thread.
    public var isCurrent: Bool { driver.isOnLoopThread }

    // MARK: Executor

    /// Runs an actor's `job` on the loop, after those that came before it.
    public func enqueue(_ job: consuming ExecutorJob) {
        append(.actorJob(UnownedJob(job)))
    }

    /// Runs `job` of a task that prefers the loop, after those that came before it.
    ///
    /// Told apart from an actor's, since a task that stands on an actor's executor has to be enqueued anew at every
    /// call that belongs to none.
    @_implements(TaskExecutor,enqueue(_:))
    public func enqueueTask(_ job: consuming ExecutorJob) {
        append(.taskJob(UnownedJob(job)))
    }

    /// Calls `body` on the loop, after what came before it.
    public func execute(_ body: @escaping @Sendable () -> Void) {
        append(.call(body))
    }

    /// Calls `body` on the loop, after what came before it; `body` may use what belongs to those who live there.
    ///
    /// Called on the loop; a caller on another thread stops the program.
    public func executeLocally(_ body: @escaping () -> Void) {
        let bound = LoopBound(body, on: self)
        execute { bound.value() }
    }

    /// Has `delivery` hand over what it has collected once the packets that are there have been taken. Allocates nothing.
    public func deliverSoon(_ delivery: any LoopDelivery) {
        append(.delivery(delivery))
    }

    private func append(_ work: Work) {
        let action = state.withLock { state -> WakeAction in
            state.queue.append(work)
            return state.wakeAction()
        }
        perform(action)
    }

    /// This loop as an executor for actors.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Stops the program unless the caller runs on the loop: the runtime's check behind `assumeIsolated`.
    public func checkIsolated() {
        precondition(isCurrent, "not on the event loop")
    }

    /// Whether the caller runs on the loop.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    // MARK: Running

    private func perform(_ action: WakeAction) {
        switch action {
        case .none: break
        case .wake: if !isCurrent { driver.wake() }
        case .start: driver.start { [weak self] in self?.run() }
        }
    }

    /// Ends the loop's thread after what is queued has run. Nothing may be done with the loop afterwards.
    ///
    /// The process-wide loop is never stopped; a test or a simulation stops its own.
    public func stop() {
        let action = state.withLock { state -> WakeAction in
            state.isStopping = true
            return state.isStarted ? state.wakeAction() : .none
        }
        perform(action)
    }

    /// How often the queue is emptied before the sockets are looked at again: what a task does on the loop may take
    /// several turns, and asking the kernel in between costs more than the turns.
    private static let turnsPerWait = 16

    private func run() {
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
                perform(queue)
                queue.removeAll(keepingCapacity: true)
            }
            // One at a time, since a handler may cancel the next; those set meanwhile wait for the next round, so that
            // timers that set each other cannot keep the sockets from being read.
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

    private func perform(_ queue: [Work]) {
        let executor = asUnownedSerialExecutor()
        let taskExecutor = asUnownedTaskExecutor()
        for work in queue {
            switch work {
            case .actorJob(let job): job.runSynchronously(isolatedTo: executor, taskExecutor: taskExecutor)
            case .taskJob(let job): job.runSynchronously(on: taskExecutor)
            case .call(let body): body()
            case .delivery(let delivery): delivery.deliver()
            }
        }
    }

    // MARK: Timers

    /// Makes a timer that calls `handler` on the loop whenever it has been set and the moment has come.
    ///
    /// Called on any thread.
    public func makeTimer(_ handler: sending @escaping () -> Void) -> LoopTimer {
        addTimer(LoopBound(sending: handler, to: self))
    }

    /// Makes a timer for somebody who lives on the loop, as an actor does: `handler` may use what belongs to that one.
    ///
    /// Called on the loop; a caller on another thread stops the program.
    public func makeLocalTimer(_ handler: @escaping () -> Void) -> LoopTimer {
        addTimer(LoopBound(handler, on: self))
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
        // The handler goes outside the lock: it may hold the last reference to another timer.
        let handler = state.withLock { $0.timers.removeSlot(slot) }
        withExtendedLifetime(handler) {}
    }
}

/// Collects what comes by the packet for someone who is then told once; see ``EventLoop/deliverSoon(_:)``.
public protocol LoopDelivery: AnyObject, Sendable {
    /// Hands over what has been collected. Called on the loop.
    func deliver()
}
