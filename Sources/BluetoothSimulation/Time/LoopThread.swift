import BluetoothPrimitives
import BluetoothSystem
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
///
/// Unchecked because of the two pointers: they never change, their targets are only passed to the pthread calls, which
/// synchronise themselves, and `isRaised` is accessed between lock and unlock of `mutex` alone.
final class WakeSignal: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var isRaised = false

    init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Raises the flag.
    func raise() {
        pthread_mutex_lock(mutex)
        isRaised = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Lowers the flag and returns whether it was raised, without waiting.
    func take() -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        defer { isRaised = false }
        return isRaised
    }

    /// Waits for the flag, lowers it, and returns true; false when `deadline` (nil: never) on the monotonic clock has
    /// passed.
    @discardableResult
    func wait(untilNanoseconds deadline: Int64?) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isRaised {
            guard let deadline else {
                pthread_cond_wait(condition, mutex)
                continue
            }
            var moment = timespec()
            moment.tv_sec = Int(max(0, deadline) / 1_000_000_000)
            moment.tv_nsec = Int(max(0, deadline) % 1_000_000_000)
            if pthread_cond_timedwait(condition, mutex, &moment) == ETIMEDOUT { break }
        }
        defer { isRaised = false }
        return isRaised
    }
}
