import BluetoothSockets
import BluetoothSystem
import Glibc
import Synchronization

/// A thread that is there before it has anything to do, so that giving it its work cannot fail.
final class WaitingThread: Sendable {
    // Unchecked because of the pointer, which never changes; what it points to is only given to the semaphore's calls.
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
        // Ends it if it was never given anything.
        sem_post(shared.semaphore)
    }

    /// Has it run `body`, once, and end.
    func start(_ body: @escaping @Sendable () -> Void) {
        shared.body.withLock { $0 = body }
        sem_post(shared.semaphore)
    }
}
