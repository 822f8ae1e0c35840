import BluetoothKernel
import Synchronization

/// Runs a loop in a time of its own: when nothing is ready, it is the next deadline at once.
///
/// An hour passes in the time its events take. Time moves only while somebody lets it (``resumeTime()``), so that a
/// simulation whose devices advertise for ever stands still between two tests. With nothing ready and no deadline the
/// thread sleeps until it is woken; if that is not expected to happen, ``onStall(after:_:)`` tells.
public final class VirtualTimeDriver: EventLoopDriver {
    private struct State {
        var now = KernelInstant(nanoseconds: 0)
        /// How many there are that let time pass.
        var permits = 0
        var stallWatchers: [StallWatcher] = []
    }

    private struct StallWatcher {
        var identifier: ObjectIdentifier
        var grace: Duration
        var handler: @Sendable () -> Void
    }

    private enum Step { case `return`, sleep, watch([StallWatcher]) }

    private let state = Mutex(State())
    private let thread = LoopThread()
    private let signal = WakeSignal()

    /// A driver whose clock stands at zero.
    public init() {}

    /// The virtual moment.
    public var now: KernelInstant { state.withLock { $0.now } }

    /// Whether the caller runs on the driver's thread.
    public var isOnLoopThread: Bool { thread.isCurrent }

    /// Starts the thread.
    public func start(_ body: @escaping @Sendable () -> Void) {
        thread.start(body)
    }

    /// Lets time pass until ``pauseTime()`` has been called as often.
    public func resumeTime() {
        state.withLock { $0.permits += 1 }
        signal.raise()
    }

    /// Takes back one ``resumeTime()``.
    public func pauseTime() {
        state.withLock { $0.permits = max(0, $0.permits - 1) }
    }

    /// Has `handler` called, on the loop's thread, when time may pass but nothing is ready, nothing has a deadline, and
    /// nobody woke the loop for `grace` of real time: what is waited for will never happen.
    ///
    /// It may be called again, after the same time, if that has not changed.
    public func onStall(after grace: Duration, _ identifier: ObjectIdentifier, _ handler: @escaping @Sendable () -> Void)
    {
        state.withLock {
            $0.stallWatchers.append(StallWatcher(identifier: identifier, grace: grace, handler: handler))
        }
        signal.raise()
    }

    /// Takes back ``onStall(after:_:_:)``.
    public func removeStallHandler(_ identifier: ObjectIdentifier) {
        let removed = state.withLock { state in
            let removed = state.stallWatchers.filter { $0.identifier == identifier }
            state.stallWatchers.removeAll { $0.identifier == identifier }
            return removed.map(\.handler)
        }
        // Released here and not above, where it would be under the lock.
        withExtendedLifetime(removed) {}
    }

    /// Makes it `deadline`, or sleeps when there is none or time does not pass.
    public func wait(until deadline: KernelInstant?) {
        // Work that came from elsewhere is done before time moves.
        if signal.take() { return }
        let step = state.withLock { state -> Step in
            if let deadline, deadline <= state.now { return .return }
            guard state.permits > 0 else { return .sleep }
            if let deadline {
                state.now = deadline
                return .return
            }
            return state.stallWatchers.isEmpty ? .sleep : .watch(state.stallWatchers)
        }
        switch step {
        case .return: break
        case .sleep: signal.wait(untilNanoseconds: nil)
        case .watch(let watchers):
            let grace = watchers.map(\.grace).max() ?? .zero
            let limit = KernelInstant(nanoseconds: monotonicNanoseconds()).advanced(by: grace)
            if signal.wait(untilNanoseconds: limit.nanoseconds) { return }
            // What the handlers add to the loop does not wake it, as the loop's thread is what runs here: the caller
            // looks for it when this returns.
            for watcher in watchers { watcher.handler() }
        }
    }

    /// Wakes the loop.
    public func wake() {
        signal.raise()
    }
}
