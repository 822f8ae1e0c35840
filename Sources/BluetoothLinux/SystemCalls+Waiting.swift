import BluetoothPrimitives
import BluetoothSockets
import BluetoothSystem
import CBluetoothSockets

// Waiting for descriptors, and for time.

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

    /// Waits with a precision of nanoseconds for at most `nanoseconds` (nil: for ever). Returns 0 when interrupted by a
    /// signal.
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

    /// Waits for at most `nanoseconds`, rounded up to the millisecond (nil: for ever). Returns 0 when interrupted by a
    /// signal.
    func epollWait(_ events: UnsafeMutableBufferPointer<epoll_event>, nanoseconds: Int64?) throws(KernelError) -> Int {
        let timeout = nanoseconds.map { CInt(clamping: $0 / 1_000_000 + ($0 % 1_000_000 > 0 ? 1 : 0)) } ?? -1
        return try Self.waitResult(
            "epoll_wait", epoll_wait(number, events.baseAddress, CInt(clamping: events.count), timeout))
    }

    /// An interrupted wait is not restarted here: its timeout must be computed anew.
    private static func waitResult(_ name: String, _ result: CInt) throws(KernelError) -> Int {
        guard result == -1 else { return Int(result) }
        let number = errno
        guard number == EINTR else { throw KernelError(name, ErrorNumber(rawValue: number)) }
        return 0
    }
}
