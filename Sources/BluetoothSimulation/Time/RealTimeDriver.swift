import BluetoothLoop
import BluetoothSystem

/// An event loop driver with a thread of its own in real time, for demonstrations.
///
/// It waits for no descriptors: all simulated events are the loop's timers and tasks.
public final class RealTimeDriver: EventLoopDriver {
    private let thread = LoopThread()
    private let signal = WakeSignal()

    /// Creates a driver whose thread is not running yet.
    public init() {}

    /// The monotonic clock.
    public var now: KernelInstant { KernelInstant(nanoseconds: monotonicNanoseconds()) }

    /// Whether the caller runs on the driver's thread.
    public var isOnLoopThread: Bool { thread.isCurrent }

    /// Starts the thread.
    public func start(_ body: @escaping @Sendable () -> Void) {
        thread.start(body)
    }

    /// Sleeps until the deadline or until it is woken.
    public func wait(until deadline: KernelInstant?) {
        signal.wait(untilNanoseconds: deadline?.nanoseconds)
    }

    /// Wakes the loop.
    public func wake() {
        signal.raise()
    }
}
