import Synchronization

/// The service manager that has started the program, such as systemd: it is notified of the program's state
/// (`sd_notify`). Without one, nothing happens.
public final class ServiceManager: Sendable {
    /// How often the manager expects ``isAlive()``, as half of its limit; nil if it does not.
    public let watchdogInterval: Duration?

    private let socket: Int32
    private let lastStatus = Mutex<String?>(nil)

    /// The manager that the environment names: `NOTIFY_SOCKET`, a path or, after `@`, an abstract name, and
    /// `WATCHDOG_USEC` with `WATCHDOG_PID`.
    public convenience init() {
        self.init { name in getenv(name).map { String(cString: $0) } }
    }

    init(variable: (String) -> String?) {
        socket = variable("NOTIFY_SOCKET").map { Self.connect(to: $0) } ?? -1
        let isOurs = variable("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
        let limit = variable("WATCHDOG_USEC").flatMap { UInt64($0) }.flatMap { Int64(exactly: $0) } ?? 0
        watchdogInterval = socket >= 0 && isOurs && limit > 1 ? .microseconds(limit / 2) : nil
    }

    deinit {
        if socket >= 0 { close(socket) }
    }

    /// Whether there is a manager.
    public var isPresent: Bool { socket >= 0 }

    /// The program is ready.
    public func isReady() { send("READY=1", isAwaited: true) }

    /// The program is ending.
    public func isStopping() { send("STOPPING=1", isAwaited: true) }

    /// The program works: to be called at each ``watchdogInterval``.
    public func isAlive() { send("WATCHDOG=1") }

    /// Reports at each ``watchdogInterval`` that the program works, if `check` returns, until the task is cancelled.
    public func stayAlive(_ check: @Sendable () async -> Void = {}) async {
        guard let watchdogInterval else { return }
        while (try? await Task.sleep(for: watchdogInterval)) != nil {
            await check()
            isAlive()
        }
    }

    /// The program's state for people, one line.
    public func setStatus(_ text: String) {
        let line = printable(text)
        let isNew = lastStatus.withLock { last in
            defer { last = line }
            return last != line
        }
        if isNew { send("STATUS=\(line)") }
    }

    /// The manager may have ended: a notification that cannot be delivered is none. One that comes once waits, up to the
    /// socket's limit, while the manager is busy: it would end a program that it never sees ready.
    private func send(_ text: String, isAwaited: Bool = false) {
        guard socket >= 0 else { return }
        _ = systemSend(socket, text, CInt(MSG_NOSIGNAL) | (isAwaited ? 0 : CInt(MSG_DONTWAIT)))
    }

    /// A datagram socket connected to the manager's; -1 if it does not exist.
    private static func connect(to name: String) -> Int32 {
        var bytes = Array(name.utf8)
        guard bytes.count > 1 else { return -1 }
        switch bytes[0] {
        case UInt8(ascii: "@"): bytes[0] = 0
        case UInt8(ascii: "/"): break
        default: return -1
        }
        let socket = systemSocket(AF_UNIX, datagramSocket)
        guard socket >= 0 else { return -1 }
        let status = withUNIXAddress(bytes) { systemConnect(socket, $0, $1) }
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        if status != 0
            || setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size)) != 0
        {
            close(socket)
            return -1
        }
        return socket
    }
}
