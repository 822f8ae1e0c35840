import Dispatch
import Glibc
import Synchronization

/// A pseudo terminal that other programs open as they would a serial port; it hands every byte on as it is.
///
/// It stays while programs open and close it: what is written waits for the next that reads, as far as the system has room.
public final class PseudoTerminal: Sendable {
    /// What other programs open, such as `/dev/pts/3`.
    public let path: String
    /// The symbolic link to it that was asked for.
    public var link: String? { ownedLink?.path }

    private let ownedLink: TerminalLink?
    private let ends: Ends
    private var master: Int32 { ends.master }
    private let queue = DispatchQueue(label: "pseudo terminal")

    /// Opens a new pseudo terminal (`openpty`).
    /// - Parameter link: where a symbolic link to it is made. One that a program has left behind that was killed is
    ///   replaced; `LINK.lock` beside it says whether it is in use, and contains the process's number.
    /// - Throws: ``ProgramError`` with ``ExitStatus/linkLost`` when the link is in use, or something else has its name.
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

    /// What programs have written to it, waiting for the first bytes; nil when the task is cancelled.
    ///
    /// While nobody reads, a program that writes is made to wait.
    public func read() async throws -> [UInt8]? {
        var block = [UInt8](repeating: 0, count: 4096)
        while !Task.isCancelled {
            let count = Glibc.read(master, &block, block.count)
            if count > 0 { return Array(block[..<count]) }
            guard count < 0, errno == EAGAIN || errno == EINTR else { throw Self.failure("Cannot read \(path)") }
            if errno == EAGAIN { await wait(for: DispatchSource.makeReadSource(fileDescriptor: master, queue: queue)) }
        }
        return nil
    }

    /// Hands bytes to the programs that read it; waits while they have not read what came before. False when the task was
    /// cancelled before all was taken.
    public func write(_ bytes: [UInt8]) async throws -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard !Task.isCancelled else { return false }
            let count = rest.withUnsafeBytes { Glibc.write(master, $0.baseAddress, $0.count) }
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

// Unchecked: it is only cancelled, which any thread may do whatever the type of a source says.
private struct Canceller: @unchecked Sendable {
    let source: any DispatchSourceProtocol
}

/// The two ends of a pseudo terminal, open for as long as this lives.
private final class Ends: Sendable {
    let master: Int32
    // Kept open, so that the other end never looks hung up.
    let slave: Int32

    init() throws {
        var ends: (master: Int32, slave: Int32) = (-1, -1)
        guard openpty(&ends.master, &ends.slave, nil, nil, nil) == 0 else {
            throw ProgramError(.linkLost, "Cannot make a pseudo terminal: \(String(cString: strerror(errno)))")
        }
        (master, slave) = ends
        for end in [master, slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        close(slave)
        close(master)
    }
}
