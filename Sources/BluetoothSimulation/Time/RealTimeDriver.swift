import BluetoothSockets

/// Runs a loop on a thread of its own in real time, for a simulation that a person looks at.
///
/// There are no descriptors to wait for: everything simulated happens by the loop's timers and queue.
public final class RealTimeDriver: EventLoopDriver {
    private let thread = LoopThread()
    private let signal = WakeSignal()

    /// A driver whose thread is not running yet.
    public init() {}

    /// The monotonic clock.
    public var now: KernelInstant { KernelInstant(nanoseconds: monotonicNanoseconds()) }

    /// Whether the caller runs on the driver's thread.
    public var isOnLoopThread: Bool { thread.isCurrent }

    /// Starts the thread.
    public func start(_ body: @escaping @Sendable () -> Void) {
        thread.start(body)
    }

    /// Sleeps until the moment has come or somebody wakes it.
    public func wait(until deadline: KernelInstant?) {
        if let deadline, deadline <= now {
            _ = signal.take()
            return
        }
        signal.wait(untilNanoseconds: deadline?.nanoseconds)
    }

    /// Wakes the loop.
    public func wake() {
        signal.raise()
    }
}
