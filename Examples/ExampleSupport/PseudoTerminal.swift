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
    public let link: String?

    private let master: Int32
    // Kept open, so that the other end never looks hung up.
    private let slave: Int32
    private let queue = DispatchQueue(label: "pseudo terminal")

    /// Opens a new pseudo terminal (`openpty`).
    /// - Parameter link: where a symbolic link to it is made; one that is there is replaced, anything else is an error.
    public init(link: String? = nil) throws {
        var ends: (master: Int32, slave: Int32) = (-1, -1)
        guard openpty(&ends.master, &ends.slave, nil, nil, nil) == 0 else {
            throw Self.failure("Cannot make a pseudo terminal")
        }
        (master, slave) = ends
        var name = [CChar](repeating: 0, count: 128)
        _ = ttyname_r(slave, &name, name.count)
        path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        for end in [master, slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(master, F_SETFL, O_NONBLOCK)
        var settings = termios()
        tcgetattr(slave, &settings)
        cfmakeraw(&settings)
        tcsetattr(slave, TCSANOW, &settings)
        self.link = link
        do {
            if let link { try Self.makeLink(link, to: path) }
        } catch {
            close(slave)
            close(master)
            throw error
        }
    }

    deinit {
        if let link, Self.target(of: link) == path { unlink(link) }
        close(slave)
        close(master)
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
        // Sources may be cancelled by any thread, whatever their type says.
        nonisolated(unsafe) let source = source
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                source.setEventHandler { source.cancel() }
                source.setCancelHandler { continuation.resume() }
                source.activate()
            }
        } onCancel: {
            source.cancel()
        }
    }

    private static func makeLink(_ link: String, to path: String) throws {
        if target(of: link) != nil { unlink(link) }
        guard symlink(path, link) == 0 else { throw failure("Cannot make the link \(link)") }
    }

    /// Where a symbolic link leads; nil when it is none.
    private static func target(of link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink(link, &buffer, buffer.count)
        guard count > 0 else { return nil }
        return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func failure(_ text: String) -> ProgramError {
        ProgramError(.linkLost, "\(text): \(String(cString: strerror(errno)))")
    }
}
