import BluetoothPrimitives
import BluetoothSockets
import BluetoothSystem
import Synchronization

/// A thread created before its work is known, so that starting the work cannot fail.
final class WaitingThread: Sendable {
    // Unchecked because of the pointer, which never changes; its target is only passed to the semaphore's calls.
    private final class Shared: @unchecked Sendable {
        let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        let body = Mutex<(@Sendable () -> Void)?>(nil)

        init() {
            semaphore.initialize(to: sem_t())
            sem_init(semaphore, 0, 0)
        }

        deinit {
            sem_destroy(semaphore)
            semaphore.deallocate()
        }

        func run() {
            while sem_wait(semaphore) != 0 {}
            let body = body.withLock { body in
                defer { body = nil }
                return body
            }
            body?()
        }
    }

    private let shared = Shared()

    init(named name: String) throws(KernelError) {
        try startThread(named: name) { [shared] in shared.run() }
    }

    deinit {
        // Ends the thread if it was never started.
        sem_post(shared.semaphore)
    }

    /// Makes the thread run `body`, once, and end.
    func start(_ body: @escaping @Sendable () -> Void) {
        shared.body.withLock { $0 = body }
        sem_post(shared.semaphore)
    }
}
