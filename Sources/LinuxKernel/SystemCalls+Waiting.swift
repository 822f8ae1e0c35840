import BluetoothKernel
import CBluetoothSockets
import Glibc

// Waiting for descriptors, time, and threads.

extension FileDescriptor {
    static func epoll() throws(KernelError) -> FileDescriptor {
        FileDescriptor(try check("epoll_create1") { epoll_create1(CInt(EPOLL_CLOEXEC)) })
    }

    static func event() throws(KernelError) -> FileDescriptor {
        FileDescriptor(try check("eventfd") { eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK)) })
    }

    /// Makes an event descriptor readable.
    func signal() {
        // Fails only when 2^64 - 2 signals are pending, and then there is one.
        _ = eventfd_write(number, 1)
    }

    func epollControl(_ operation: CInt, _ other: borrowing FileDescriptor, _ event: epoll_event) throws(KernelError) {
        var event = event
        let target = other.number
        try check("epoll_ctl") { epoll_ctl(number, operation, target, &event) }
    }

    /// Waits to the nanosecond for at most `nanoseconds` (nil: for ever). Returns 0 when a signal came.
    func epollPreciseWait(
        _ events: UnsafeMutableBufferPointer<epoll_event>, nanoseconds: Int64?
    ) throws(KernelError) -> Int {
        var timeout = kernel_time()
        let result: CInt
        if let nanoseconds {
            timeout.seconds = nanoseconds / 1_000_000_000
            timeout.nanoseconds = nanoseconds % 1_000_000_000
            result = kernel_epoll_pwait2(number, events.baseAddress, CInt(clamping: events.count), &timeout)
        } else {
            result = kernel_epoll_pwait2(number, events.baseAddress, CInt(clamping: events.count), nil)
        }
        return try Self.waitResult("epoll_pwait2", result)
    }

    /// Waits for at most `nanoseconds`, rounded up to the millisecond (nil: for ever). Returns 0 when a signal came.
    func epollWait(_ events: UnsafeMutableBufferPointer<epoll_event>, nanoseconds: Int64?) throws(KernelError) -> Int {
        let timeout = nanoseconds.map { CInt(clamping: $0 / 1_000_000 + ($0 % 1_000_000 > 0 ? 1 : 0)) } ?? -1
        return try Self.waitResult(
            "epoll_wait", epoll_wait(number, events.baseAddress, CInt(clamping: events.count), timeout))
    }

    /// A wait that a signal ended is not begun again: its time-out has to be computed anew.
    private static func waitResult(_ name: String, _ result: CInt) throws(KernelError) -> Int {
        guard result == -1 else { return Int(result) }
        let number = errno
        guard number == EINTR else { throw KernelError(name, ErrorNumber(rawValue: number)) }
        return 0
    }
}

// MARK: Time and threads

/// Nanoseconds on the system's monotonic clock.
func monotonicNanoseconds() -> Int64 {
    var time = timespec()
    _ = clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}

/// What time it is for people.
public enum SystemClock {
    /// Microseconds since 1970 in UTC, by the system's clock (`CLOCK_REALTIME`).
    public static var microsecondsSince1970: Int64 {
        var time = timespec()
        _ = clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
    }
}

/// Something that tells the calling thread from every other that runs; never 0.
func currentThread() -> UInt {
    UInt(pthread_self())
}

private final class ThreadBody {
    let run: () -> Void

    init(_ run: @escaping () -> Void) {
        self.run = run
    }
}

/// Starts a thread that runs `body`; the program's signals are left to its other threads.
func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(KernelError) {
    let start = Unmanaged.passRetained(
        ThreadBody {
            var all = sigset_t()
            sigfillset(&all)
            pthread_sigmask(SIG_SETMASK, &all, nil)
            pthread_setname_np(pthread_self(), name)
            body()
        })
    var thread = pthread_t()
    let number = pthread_create(
        &thread, nil,
        { argument in
            if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run() }
            return nil
        }, start.toOpaque())
    guard number == 0 else {
        start.release()
        throw KernelError("pthread_create", ErrorNumber(rawValue: number))
    }
    pthread_detach(thread)
}

/// Wakes one thread that waits; a signal that comes first is not lost.
final class WakeCounter: Sendable {
    private let descriptor: CInt

    init() throws(KernelError) {
        descriptor = try check("eventfd") { eventfd(0, CInt(EFD_CLOEXEC)) }
    }

    deinit {
        _ = Glibc.close(descriptor)
    }

    func signal() {
        _ = eventfd_write(descriptor, 1)
    }

    /// Sleeps until there was a signal since the last wait.
    func wait() {
        var count: eventfd_t = 0
        _ = try? check("read") { eventfd_read(descriptor, &count) }
    }
}
