import BluetoothLoop
import BluetoothSystem
import Synchronization

/// An event loop driver in virtual time: when nothing is ready, the clock jumps to the next deadline.
///
/// An hour passes in the time that its events take. Time passes only between ``resumeTime()`` and ``pauseTime()``, so
/// that a simulation whose devices advertise for ever is paused between two tests. With nothing ready and no deadline
/// the thread sleeps until it is woken; ``onStall(after:limit:_:_:)`` reports when that is not expected to happen.
public final class VirtualTimeDriver: EventLoopDriver {
    private struct State {
        var now = KernelInstant(nanoseconds: 0)
        /// The number of ``resumeTime()`` calls without ``pauseTime()``; below zero while one has ended before it was
        /// counted.
        var permits = 0
        /// The moment until which time passes although it is paused.
        var runOut = KernelInstant(nanoseconds: 0)
        /// Whether the loop has not looked for work since time was resumed.
        var isFresh = false
        var watchers: [Watcher] = []
    }

    /// A handler of stalls.
    private struct Watcher {
        var identifier: ObjectIdentifier
        var grace: Duration
        var limit: KernelInstant
        var handler: @Sendable (SimulationStalled.Reason) -> Void
    }

    private enum Step {
        case `return`
        case sleep
        case watch([Watcher])
        case limitReached([Watcher])
    }

    private let state = Mutex(State())
    private let thread = LoopThread()
    private let signal = WakeSignal()

    /// Creates a driver whose clock is at zero.
    public init() {}

    /// The virtual moment.
    public var now: KernelInstant { state.withLock { $0.now } }

    /// Whether the caller runs on the driver's thread.
    public var isOnLoopThread: Bool { thread.isCurrent }

    /// Starts the thread.
    public func start(_ body: @escaping @Sendable () -> Void) {
        thread.start(body)
    }

    /// Lets time pass until ``pauseTime()`` was called as often.
    public func resumeTime() {
        state.withLock {
            $0.permits += 1
            $0.isFresh = true
        }
        signal.raise()
    }

    /// Balances one ``resumeTime()``.
    public func pauseTime() {
        state.withLock { $0.permits -= 1 }
    }

    /// Lets time pass for at most `duration`, although it is paused: for work that ends on its own after a while.
    func runOut(for duration: Duration) {
        state.withLock {
            $0.runOut = $0.now.advanced(by: duration)
            $0.isFresh = true
        }
        signal.raise()
    }

    /// Calls `handler`, on the loop's thread, when nothing more can happen: time may pass but nothing is ready, nothing
    /// has a deadline, and the loop was not woken for `grace` of real time.
    ///
    /// It is also called when time would pass `limit`. In both cases it may be called again, after the same time, if
    /// nothing has changed.
    public func onStall(
        after grace: Duration, limit: Duration, _ identifier: ObjectIdentifier,
        _ handler: @escaping @Sendable (SimulationStalled.Reason) -> Void
    ) {
        state.withLock {
            $0.watchers.append(
                Watcher(
                    identifier: identifier, grace: grace, limit: $0.now.advanced(by: limit), handler: handler))
        }
        signal.raise()
    }

    /// Removes a handler of ``onStall(after:limit:_:_:)``.
    public func removeStallHandler(_ identifier: ObjectIdentifier) {
        let removed = state.withLock { state in
            let removed = state.watchers.filter { $0.identifier == identifier }
            state.watchers.removeAll { $0.identifier == identifier }
            return removed.map(\.handler)
        }
        // Released here and not above, where it would be under the lock.
        withExtendedLifetime(removed) {}
    }

    /// Advances the clock to `deadline`, or sleeps when there is none or time is paused.
    public func wait(until deadline: KernelInstant?) {
        // Work from other threads is done before time advances.
        if signal.take() { return }
        let step = state.withLock { state -> Step in
            if let deadline, deadline <= state.now { return .return }
            guard state.permits > 0 || deadline.map({ $0 <= state.runOut }) == true else { return .sleep }
            // A thread that had paused time may have queued work after the loop has found none and before it resumed
            // time, and its signal may have been consumed already, or not be raised yet: the loop looks once more.
            guard !state.isFresh else {
                state.isFresh = false
                return .return
            }
            guard let deadline else { return state.watchers.isEmpty ? .sleep : .watch(state.watchers) }
            let ended = state.watchers.filter { $0.limit <= deadline }
            guard let limit = ended.map(\.limit).min() else {
                state.now = deadline
                return .return
            }
            state.now = max(state.now, limit)
            // A task that ends only when it is cancelled gets a minute for it.
            for index in state.watchers.indices where state.watchers[index].limit <= limit {
                state.watchers[index].limit = state.now.advanced(by: .seconds(60))
            }
            return .limitReached(ended.filter { $0.limit <= limit })
        }
        switch step {
        case .return: break
        case .sleep: signal.wait(untilNanoseconds: nil)
        case .watch(let watchers):
            let grace = watchers.map(\.grace).max() ?? .zero
            let limit = KernelInstant(nanoseconds: monotonicNanoseconds()).advanced(by: grace)
            if signal.wait(untilNanoseconds: limit.nanoseconds) { return }
            // Work that the handlers add to the loop does not wake it, as this is the loop's thread: the caller looks
            // for it when this returns.
            for watcher in watchers { watcher.handler(.nothingScheduled) }
        case .limitReached(let watchers): for watcher in watchers { watcher.handler(.limitReached) }
        }
    }

    /// Wakes the loop.
    public func wake() {
        signal.raise()
    }
}
