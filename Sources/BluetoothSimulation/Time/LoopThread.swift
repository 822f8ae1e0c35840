import BluetoothSystem
import Dispatch
import Synchronization

/// The thread of a loop: started once, detached, recognised by its identity.
final class LoopThread: Sendable {
    /// The running thread; zero, which none is, before it starts.
    private let identity = Atomic<UInt>(0)

    /// Whether the caller runs on this thread.
    var isCurrent: Bool { currentThread() == identity.load(ordering: .acquiring) }

    /// Starts the thread, which calls `body` once and ends.
    func start(_ body: @escaping @Sendable () -> Void) {
        do throws(KernelError) {
            try startThread(named: "bluetooth-loop") { [self] in
                identity.store(currentThread(), ordering: .releasing)
                body()
                identity.store(0, ordering: .releasing)
            }
        } catch {
            // A process that cannot create another thread cannot simulate anything; there is no caller to throw to.
            preconditionFailure("\(error)")
        }
    }
}

/// A flag that one thread waits for, until it is raised or a deadline has passed.
final class WakeSignal: Sendable {
    /// Raised and not lowered yet, so that the semaphore counts to one.
    private let isRaised = Atomic(false)
    private let semaphore = DispatchSemaphore(value: 0)

    /// Raises the flag.
    func raise() {
        if !isRaised.exchange(true, ordering: .acquiringAndReleasing) { semaphore.signal() }
    }

    /// Lowers the flag and returns whether it was raised, without waiting.
    func take() -> Bool { wait(untilNanoseconds: 0) }

    /// Waits for the flag, lowers it, and returns true; false when `deadline` (nil: never) on the monotonic clock has
    /// passed.
    @discardableResult
    func wait(untilNanoseconds deadline: Int64?) -> Bool {
        let limit = deadline.map { DispatchTime(uptimeNanoseconds: UInt64(max(0, $0))) } ?? .distantFuture
        guard semaphore.wait(timeout: limit) == .success else { return false }
        // Whoever raises it from here on has not been seen by this caller, and signals again.
        _ = isRaised.exchange(false, ordering: .acquiringAndReleasing)
        return true
    }
}
