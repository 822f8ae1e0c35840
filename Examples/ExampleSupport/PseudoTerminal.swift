/// A pseudo terminal that other programs open like a serial port; it passes every byte unchanged.
///
/// It persists while programs open and close it: the kernel buffers what is written for the next reader.
public final class PseudoTerminal: Sendable {
    /// The path that other programs open, such as `/dev/pts/3`.
    public let path: String
    /// The symbolic link to it, if one was requested.
    public var link: String? { ownedLink?.path }

    private let ownedLink: TerminalLink?
    private let ends: Ends
    private let onDiscard: (@Sendable () -> Void)?

    /// Opens a new pseudo terminal (`openpty`).
    /// - Parameters:
    ///   - link: the path of a symbolic link to create to it. A stale link of a killed program is replaced; `LINK.lock`
    ///     beside it, which contains the PID, is locked while the link is in use.
    ///   - access: who may open it.
    ///   - onDiscard: called when a program discards what it has not read yet (`tcflush`), which the kernel does for its
    ///     own buffer only; during a call of the terminal, on its thread.
    /// - Throws: ``ProgramError`` with ``ExitStatus/linkLost`` if the link is in use, with ``ExitStatus/cannotCreate`` if the
    ///   path is taken by anything else or has no folder, with ``ExitStatus/notPermitted`` if the access cannot be granted.
    public init(
        link: String? = nil, access: PortAccess = PortAccess(), onDiscard: (@Sendable () -> Void)? = nil
    ) throws {
        ends = try Ends()
        self.onDiscard = onDiscard
        var name = [CChar](repeating: 0, count: 128)
        _ = ttyname_r(ends.slave, &name, name.count)
        path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        var settings = termios()
        tcgetattr(ends.slave, &settings)
        cfmakeraw(&settings)
        tcsetattr(ends.slave, TCSANOW, &settings)
        // Each read begins with a status byte, which reports discarding.
        var isPacketMode: CInt = 1
        guard ioctl(ends.master.number, UInt(TIOCPKT), &isPacketMode) == 0 else {
            throw ProgramError(.linkLost, "Cannot set up \(path): \(systemMessage())")
        }
        try access.apply(to: ends.slave, named: path)
        ownedLink = try link.map { [path] in try TerminalLink($0, to: path) }
    }

    /// The next bytes that programs have written to it; nil if the task is cancelled.
    ///
    /// Between calls, a writing program blocks once the kernel's buffer is full.
    public func read() async throws -> [UInt8]? {
        while !Task.isCancelled {
            guard let packet = try ends.master.read(4097, from: path) else {
                await ends.master.waitUntilReadable()
                continue
            }
            if noticeDiscarding(packet) { continue }
            if packet.count > 1 { return Array(packet.dropFirst()) }
        }
        return nil
    }

    /// Writes bytes for the programs that read it, and waits while the kernel's buffer is full; false if the task was
    /// cancelled before all were written.
    public func write(_ bytes: [UInt8]) async throws -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard !Task.isCancelled else { return false }
            let count = try tryWrite(rest)
            rest = rest.dropFirst(count)
            if count == 0 { await waitUntilWritable() }
        }
        return true
    }

    /// Writes as many of the bytes as there is room for now, and returns their number.
    public func tryWrite(_ bytes: ArraySlice<UInt8>) throws -> Int {
        try ends.master.write(bytes, to: path)
    }

    /// Waits until there is room to write, or the task is cancelled.
    public func waitUntilWritable() async {
        await ends.master.waitUntilWritable()
    }

    /// Calls `onDiscard` if a program has discarded what it has not read yet, and ``read()`` has not noticed it.
    public func noticeDiscarding() throws {
        guard onDiscard != nil else { return }
        var poll = pollfd(fd: ends.master.number, events: Int16(POLLPRI), revents: 0)
        guard systemPoll(&poll, 1, 0) == 1, poll.revents & Int16(POLLPRI) != 0 else { return }
        // Reading no more than the status byte leaves data where it is, even if another call has read the status.
        if let packet = try ends.master.read(1, from: path) { _ = noticeDiscarding(packet) }
    }

    /// Whether a packet is the report of a status, and no data.
    private func noticeDiscarding(_ packet: [UInt8]) -> Bool {
        guard let status = packet.first, status != 0 else { return false }
        if CInt(status) & TIOCPKT_FLUSHREAD != 0 { onDiscard?() }
        return true
    }
}

/// The two ends of a pseudo terminal, open while the object lives.
private final class Ends: Sendable {
    let master: OpenDescriptor
    // Kept open, so that the master never sees a hang-up.
    let slave: Int32

    init() throws {
        var ends: (master: Int32, slave: Int32) = (-1, -1)
        guard openpty(&ends.master, &ends.slave, nil, nil, nil) == 0 else {
            throw ProgramError(.linkLost, "Cannot open a pseudo terminal: \(systemMessage())")
        }
        slave = ends.slave
        master = OpenDescriptor(ends.master, label: "pseudo terminal")
        _ = fcntl(slave, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        close(slave)
    }
}
