import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

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
    private var master: Int32 { ends.master }
    private let queue = DispatchQueue(label: "pseudo terminal")

    /// Opens a new pseudo terminal (`openpty`).
    /// - Parameter link: the path of a symbolic link to create to it. A stale link of a killed program is replaced;
    ///   `LINK.lock` beside it, which contains the PID, is locked while the link is in use.
    /// - Throws: ``ProgramError`` with ``ExitStatus/linkLost`` if the link is in use or the path is taken by anything
    ///   else.
    public init(link: String? = nil) throws {
        ends = try Ends()
        var name = [CChar](repeating: 0, count: 128)
        _ = ttyname_r(ends.slave, &name, name.count)
        path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        _ = fcntl(ends.master, F_SETFL, O_NONBLOCK)
        var settings = termios()
        tcgetattr(ends.slave, &settings)
        cfmakeraw(&settings)
        tcsetattr(ends.slave, TCSANOW, &settings)
        ownedLink = try link.map { [path] in try TerminalLink($0, to: path) }
    }

    /// The next bytes that programs have written to it; nil if the task is cancelled.
    ///
    /// Between calls, a writing program blocks once the kernel's buffer is full.
    public func read() async throws -> [UInt8]? {
        var block = [UInt8](repeating: 0, count: 4096)
        while !Task.isCancelled {
            let count = systemRead(master, &block, block.count)
            if count > 0 { return Array(block[..<count]) }
            guard count < 0, errno == EAGAIN || errno == EINTR else { throw Self.failure("Cannot read \(path)") }
            if errno == EAGAIN { await wait(for: DispatchSource.makeReadSource(fileDescriptor: master, queue: queue)) }
        }
        return nil
    }

    /// Writes bytes for the programs that read it, and waits while the kernel's buffer is full; false if the task was
    /// cancelled before all were written.
    public func write(_ bytes: [UInt8]) async throws -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard !Task.isCancelled else { return false }
            let count = rest.withUnsafeBytes { systemWrite(master, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                await wait(for: DispatchSource.makeWriteSource(fileDescriptor: master, queue: queue))
            } else if errno != EINTR {
                throw Self.failure("Cannot write \(path)")
            }
        }
        return true
    }

    /// Waits for a source's first event, or the task's cancellation.
    private func wait(for source: any DispatchSourceProtocol) async {
        let canceller = Canceller(source: source)
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                source.setEventHandler { canceller.source.cancel() }
                source.setCancelHandler { continuation.resume() }
                source.activate()
            }
        } onCancel: {
            canceller.source.cancel()
        }
    }

    private static func failure(_ text: String) -> ProgramError {
        ProgramError(.linkLost, "\(text): \(String(cString: strerror(errno)))")
    }
}

// Unchecked: the source is only cancelled, which is safe from any thread.
private struct Canceller: @unchecked Sendable {
    let source: any DispatchSourceProtocol
}

/// The two ends of a pseudo terminal, open while the object lives.
private final class Ends: Sendable {
    let master: Int32
    // Kept open, so that the master never sees a hang-up.
    let slave: Int32

    init() throws {
        var ends: (master: Int32, slave: Int32) = (-1, -1)
        guard openpty(&ends.master, &ends.slave, nil, nil, nil) == 0 else {
            throw ProgramError(.linkLost, "Cannot open a pseudo terminal: \(String(cString: strerror(errno)))")
        }
        (master, slave) = ends
        for end in [master, slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        close(slave)
        close(master)
    }
}
