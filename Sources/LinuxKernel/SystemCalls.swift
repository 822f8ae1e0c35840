import BluetoothKernel
import BluetoothPrimitives
import CBluetoothSockets
import Glibc

// Every call this package makes to the system is in this file; those for files are in SystemFiles.swift.

/// Makes a call again while signals interrupt it; -1 becomes an error with the call's name and `errno`.
@inline(__always)
@discardableResult
func check<Result: FixedWidthInteger & SignedInteger>(
    _ name: @autoclosure () -> String, _ call: () -> Result
) throws(KernelError) -> Result {
    while true {
        let result = call()
        guard result == -1 else { return result }
        let number = errno
        guard number == EINTR else { throw KernelError(name(), ErrorNumber(rawValue: number)) }
    }
}

/// A file descriptor that is closed with its owner.
struct FileDescriptor: ~Copyable {
    private(set) var number: CInt

    init(_ number: CInt) {
        self.number = number
    }

    deinit {
        if number >= 0 { _ = Glibc.close(number) }
    }

    var isOpen: Bool { number >= 0 }

    /// Closes it now. A signal that interrupts `close` has not kept Linux from closing.
    mutating func close() {
        guard number >= 0 else { return }
        _ = Glibc.close(number)
        number = -1
    }

    /// Leaves it alone: somebody else has closed it, and the number may be another's by now.
    mutating func forget() {
        number = -1
    }
}

// MARK: Sockets

extension FileDescriptor {
    private static let socketFlags = CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)

    /// A raw HCI socket, bound to nothing.
    static func hci() throws(KernelError) -> FileDescriptor {
        let type = CInt(SOCK_RAW.rawValue) | socketFlags
        return FileDescriptor(try check("socket") { socket(AF_BLUETOOTH, type, BTPROTO_HCI) })
    }

    /// An L2CAP socket that keeps packet boundaries.
    static func l2cap() throws(KernelError) -> FileDescriptor {
        let type = CInt(SOCK_SEQPACKET.rawValue) | socketFlags
        return FileDescriptor(try check("socket") { socket(AF_BLUETOOTH, type, BTPROTO_L2CAP) })
    }

    /// The two ends of a pair of local sockets that keep packet boundaries.
    static func pair() throws(KernelError) -> UnixPair {
        let type = CInt(SOCK_SEQPACKET.rawValue) | socketFlags
        var numbers: (CInt, CInt) = (-1, -1)
        try check("socketpair") {
            withUnsafeMutablePointer(to: &numbers) {
                $0.withMemoryRebound(to: CInt.self, capacity: 2) { socketpair(AF_UNIX, type, 0, $0) }
            }
        }
        return UnixPair(first: FileDescriptor(numbers.0), second: FileDescriptor(numbers.1))
    }

    struct UnixPair: ~Copyable {
        var first: FileDescriptor
        var second: FileDescriptor
    }

    /// Runs `body` with `address` as the system's calls take it.
    private func withSocketAddress<Address, Result>(
        _ address: inout Address, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        let size = socklen_t(MemoryLayout<Address>.size)
        return withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }

    /// Binds a raw HCI socket to a channel of an adapter.
    func bind(_ address: sockaddr_hci) throws(KernelError) {
        var address = address
        try check("bind") { withSocketAddress(&address) { Glibc.bind(number, $0, $1) } }
    }

    /// Gives an L2CAP socket its own address and channel.
    func bind(_ address: sockaddr_l2) throws(KernelError) {
        var address = address
        try check("bind") { withSocketAddress(&address) { Glibc.bind(number, $0, $1) } }
    }

    /// Begins to connect.
    func connect(to address: sockaddr_l2) throws(KernelError) {
        var address = address
        do throws(KernelError) {
            try check("connect") { withSocketAddress(&address) { Glibc.connect(number, $0, $1) } }
        } catch  where error.number == .inProgress {}
    }

    func listen(backlog: CInt) throws(KernelError) {
        try check("listen") { Glibc.listen(number, backlog) }
    }

    /// The next connection that waits to be taken.
    func accept() throws(KernelError) -> FileDescriptor {
        FileDescriptor(try check("accept4") { accept4(number, nil, nil, Self.socketFlags) })
    }

    /// The socket's own address.
    func localAddress() throws(KernelError) -> sockaddr_l2 {
        var address = sockaddr_l2()
        try check("getsockname") {
            withSocketAddress(&address) { pointer, size in
                var size = size
                return getsockname(number, pointer, &size)
            }
        }
        return address
    }

    /// The other side's address.
    func peerAddress() throws(KernelError) -> sockaddr_l2 {
        var address = sockaddr_l2()
        try check("getpeername") {
            withSocketAddress(&address) { pointer, size in
                var size = size
                return getpeername(number, pointer, &size)
            }
        }
        return address
    }

    /// Hands one packet to the kernel.
    @inline(__always)
    func send(_ packet: RawSpan) throws(KernelError) {
        let number = number
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        try check("send") { packet.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, flags) } }
    }

    /// Takes one packet from the kernel and returns its length, more than `buffer` holds when it was cut.
    @inline(__always)
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(KernelError) -> Int {
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL) | CInt(MSG_TRUNC)
        return try check("recv") { recv(number, buffer.baseAddress, buffer.count, flags) }
    }

    /// Whether the connection under the socket has ended.
    var isHungUp: Bool {
        var poll = pollfd(fd: number, events: 0, revents: 0)
        return Glibc.poll(&poll, 1, 0) == 1 && CInt(poll.revents) & (POLLHUP | POLLERR) != 0
    }
}

// MARK: Socket options

/// A socket option of the kernel, whose value has the layout of `Value`.
struct SocketOption<Value> {
    let name: String
    let level: CInt
    let number: CInt
}

extension SocketOption<UInt8> {
    static let mode = SocketOption(name: "BT_MODE", level: SOL_BLUETOOTH, number: BT_MODE)
}

extension SocketOption<UInt16> {
    static let sendMTU = SocketOption(name: "BT_SNDMTU", level: SOL_BLUETOOTH, number: BT_SNDMTU)
    static let receiveMTU = SocketOption(name: "BT_RCVMTU", level: SOL_BLUETOOTH, number: BT_RCVMTU)
}

extension SocketOption<CInt> {
    static let error = SocketOption(name: "SO_ERROR", level: SOL_SOCKET, number: SO_ERROR)
    static let sendBuffer = SocketOption(name: "SO_SNDBUF", level: SOL_SOCKET, number: SO_SNDBUF)
    static let receiveBuffer = SocketOption(name: "SO_RCVBUF", level: SOL_SOCKET, number: SO_RCVBUF)
    static let receiveBufferForced = SocketOption(name: "SO_RCVBUFFORCE", level: SOL_SOCKET, number: SO_RCVBUFFORCE)
}

extension SocketOption<timeval> {
    static let sendTimeout = SocketOption(name: "SO_SNDTIMEO", level: SOL_SOCKET, number: SO_SNDTIMEO)
}

extension SocketOption<bt_security> {
    static let security = SocketOption(name: "BT_SECURITY", level: SOL_BLUETOOTH, number: BT_SECURITY)
}

extension SocketOption<l2cap_conninfo> {
    static let connectionInformation = SocketOption(name: "L2CAP_CONNINFO", level: SOL_L2CAP, number: L2CAP_CONNINFO)
}

extension SocketOption<hci_filter> {
    static let filter = SocketOption(name: "HCI_FILTER", level: SOL_HCI, number: HCI_FILTER)
}

extension FileDescriptor {
    func set<Value: BitwiseCopyable>(_ option: SocketOption<Value>, to value: Value) throws(KernelError) {
        var value = value
        try check("setsockopt(\(option.name))") {
            setsockopt(number, option.level, option.number, &value, socklen_t(MemoryLayout<Value>.size))
        }
    }

    func get<Value: BitwiseCopyable>(_ option: SocketOption<Value>, into value: Value) throws(KernelError) -> Value {
        var value = value
        var size = socklen_t(MemoryLayout<Value>.size)
        try check("getsockopt(\(option.name))") { getsockopt(number, option.level, option.number, &value, &size) }
        return value
    }

    /// What the socket failed with; the kernel tells it once. Nil when it has not.
    func takeError() -> ErrorNumber? {
        do throws(KernelError) {
            let number = try get(.error, into: 0)
            return number == 0 ? nil : ErrorNumber(rawValue: number)
        } catch {
            return error.number
        }
    }
}

// MARK: Adapters

extension FileDescriptor {
    /// `HCIGETDEVLIST`: fills in `request`, which begins with how many adapters it has room for.
    func adapterList(_ request: inout [UInt8]) throws(KernelError) {
        try check("HCIGETDEVLIST") { ioctl(number, UInt(kernel_hci_get_device_list), &request) }
    }

    /// `HCIGETDEVINFO`.
    func adapterInformation(_ index: UInt16) throws(KernelError) -> hci_dev_info {
        var information = hci_dev_info()
        information.dev_id = index
        try check("HCIGETDEVINFO") { ioctl(number, UInt(kernel_hci_get_device_info), &information) }
        return information
    }
}

// MARK: Waiting

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

// MARK: Files that are written

/// A file that one thread writes.
final class OutputFile: Sendable {
    private let descriptor: CInt

    /// Creates a file or empties it.
    init(_ path: String) throws(KernelError) {
        descriptor = try check("open") { open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600) }
    }

    deinit {
        _ = Glibc.close(descriptor)
    }

    /// Writes all of `bytes`, however long that takes.
    func write(_ bytes: RawSpan) throws(KernelError) {
        var rest = bytes
        while rest.byteCount > 0 {
            let count = try check("write") {
                rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            }
            rest = rest.extracting(droppingFirst: count)
        }
    }
}

// MARK: Radio switches

extension FileDescriptor {
    /// The events of the machine's radio switches; those that are there come as the first.
    static func radioSwitchEvents() throws(KernelError) -> FileDescriptor {
        FileDescriptor(try check("open") { open("/dev/rfkill", O_RDONLY | O_CLOEXEC | O_NONBLOCK) })
    }

    /// Takes all events that are there without looking at them; false when there will be no more.
    func skipRadioSwitchEvents() -> Bool {
        // One event a call, of 8 or, since Linux 5.11, 9 bytes.
        var event = [UInt8](repeating: 0, count: 16)
        do throws(KernelError) {
            while try check("read", { read(number, &event, event.count) }) > 0 {}
            return false
        } catch {
            return error.number == .wouldBlock
        }
    }
}

// MARK: Files of the system

/// The first `limit` bytes of a file as text; nil when it cannot be read.
func fileText(_ path: String, limit: Int = 4096) -> String? {
    guard let number = try? check("open", { open(path, O_RDONLY | O_CLOEXEC) }) else { return nil }
    let file = FileDescriptor(number)
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1024)
    while text.count < limit {
        let wanted = min(buffer.count, limit - text.count)
        guard let count = try? check("read", { read(file.number, &buffer, wanted) }) else { return nil }
        guard count > 0 else { break }
        text.append(contentsOf: buffer.prefix(count))
    }
    return String(decoding: text, as: UTF8.self)
}

/// Where a symbolic link leads; nil when it cannot be read.
func linkTarget(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink(path, &buffer, buffer.count)
    guard count > 0 else { return nil }
    return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
}

/// The names in a folder, in no order; none when it cannot be read.
func folderEntries(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
        withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
            names.append(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
        }
    }
    return names.filter { $0 != "." && $0 != ".." }
}

/// The kernel's release, as `uname -r` prints it.
func systemRelease() -> String {
    var name = utsname()
    guard uname(&name) == 0 else { return "" }
    return withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
