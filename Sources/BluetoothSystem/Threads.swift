import BluetoothPrimitives
import CBluetoothSockets

private final class ThreadBody {
    let run: () -> Void

    init(_ run: @escaping () -> Void) {
        self.run = run
    }
}

/// Starts a thread that runs `body`, with all signals blocked, so that the program's other threads receive them.
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(KernelError) {
    let start = Unmanaged.passRetained(
        ThreadBody {
            var all = sigset_t()
            sigfillset(&all)
            pthread_sigmask(SIG_SETMASK, &all, nil)
            pthread_setname_np(pthread_self(), name)
            body()
        })
    let number = kernel_start_thread(
        { argument in
            if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run() }
            return nil
        }, start.toOpaque())
    guard number == 0 else {
        start.release()
        throw KernelError("pthread_create", ErrorNumber(rawValue: number))
    }
}

/// The identity of the calling thread, which is not zero.
@inlinable
package func currentThread() -> UInt { kernel_current_thread() }

/// Wakes one waiting thread; a signal before the wait is not lost.
final class WakeCounter: Sendable {
    private let descriptor: CInt

    init() throws(KernelError) {
        descriptor = try check("eventfd") { eventfd(0, CInt(EFD_CLOEXEC)) }
    }

    deinit {
        _ = systemClose(descriptor)
    }

    func signal() {
        _ = eventfd_write(descriptor, 1)
    }

    /// Waits for a signal since the last wait.
    func wait() {
        var count: eventfd_t = 0
        _ = try? check("read") { eventfd_read(descriptor, &count) }
    }
}
