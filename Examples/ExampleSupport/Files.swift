import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

func systemMessage(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }

/// The contents of a file.
public func readFile(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ProgramError(.noInput, "Cannot open \(path): \(systemMessage())") }
    defer { close(descriptor) }
    var contents: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &block, block.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw ProgramError(.linkLost, "Cannot read \(path): \(systemMessage())") }
        guard count > 0 else { return contents }
        contents += block[..<count]
    }
}

/// A file that is written from its beginning.
public final class OutputFile: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Creates the file, or opens an existing one without changing its contents yet.
    public init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw ProgramError(.cannotCreate, "Cannot write \(path): \(systemMessage())") }
    }

    deinit {
        close(descriptor)
    }

    /// Truncates the file; a pipe or a device is left as it is.
    public func empty() throws {
        guard ftruncate(descriptor, 0) != 0, errno != EINVAL else { return }
        throw ProgramError(.linkLost, "Cannot truncate \(path): \(systemMessage())")
    }

    /// Appends bytes.
    public func write(_ bytes: [UInt8]) throws {
        guard let number = writeAll(bytes, to: descriptor) else { return }
        throw ProgramError(.linkLost, "Cannot write \(path): \(systemMessage(number))")
    }
}

/// A text file that is appended to. Its first line names its kind, so that no other file is changed.
public final class AppendedFile: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Creates the file with its first line, or opens one with that first line.
    /// - Throws: ``ProgramError`` with ``ExitStatus/cannotCreate`` if the file has another first line or cannot be opened.
    public init(_ path: String, firstLine: String) throws {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0o666)
        guard descriptor >= 0 else {
            throw ProgramError(.cannotCreate, "Cannot write \(printable(path)): \(systemMessage())")
        }
        let start = Array("\(firstLine)\n".utf8)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            try write(start)
            return
        }
        var found = [UInt8](repeating: 0, count: start.count)
        guard pread(descriptor, &found, found.count, 0) == found.count, found == start else {
            throw ProgramError(
                .cannotCreate, "\(printable(path)) exists and is another kind of file.",
                remedy: "Choose another name.")
        }
        // A program that was killed may have left an unfinished line.
        var last: UInt8 = 0
        if pread(descriptor, &last, 1, status.st_size - 1) == 1, last != 0x0A { try write([0x0A]) }
    }

    deinit {
        close(descriptor)
    }

    /// Appends a line.
    public func write(_ line: String) throws { try write(Array("\(line)\n".utf8)) }

    private func write(_ bytes: [UInt8]) throws {
        guard let number = writeAll(bytes, to: descriptor) else { return }
        throw ProgramError(.linkLost, "Cannot write \(printable(path)): \(systemMessage(number))")
    }
}

/// An open file that is read from its beginning, or standard input for `-`.
public final class InputFile: Sendable {
    private let path: String
    private let descriptor: Int32
    private let input: StandardInput

    /// Opens the file; a named pipe once it has a writer.
    public init(_ path: String) throws {
        self.path = path == "-" ? "standard input" : path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ProgramError(.noInput, "Cannot open \(path): \(systemMessage())") }
        input = StandardInput(reading: descriptor)
    }

    deinit {
        if descriptor != STDIN_FILENO { close(descriptor) }
    }

    /// The next bytes; nil at the end of the file, or if the task is cancelled.
    public func next() async throws -> [UInt8]? {
        let bytes = await input.next()
        if bytes == nil, let number = input.failure {
            throw ProgramError(.linkLost, "Cannot read \(path): \(systemMessage(number))")
        }
        return bytes
    }
}

/// Standard input, read on demand.
public final class StandardInput: Sendable {
    private typealias Waiter = CheckedContinuation<[UInt8]?, Never>

    private struct State {
        var count: UInt64 = 0
        var waiter: Waiter?
        /// The number of the waiting call.
        var waiting: UInt64 = 0
        var failure: Int32?
    }

    private let state = Mutex(State())
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "standard input")

    /// Standard input.
    public convenience init() { self.init(reading: STDIN_FILENO) }

    /// The input from a descriptor, which must stay open while the object is used.
    public init(reading descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// The `errno` of a failed read, which ends the input.
    public var failure: Int32? { state.withLock { $0.failure } }

    /// The next bytes; nil at the end of input, if the task is cancelled, or immediately while another call waits.
    public func next() async -> [UInt8]? {
        let number = state.withLock { state -> UInt64 in
            state.count += 1
            return state.count
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: Waiter) in
                let waits = state.withLock { state -> Bool in
                    guard state.waiter == nil, !Task.isCancelled else { return false }
                    (state.waiter, state.waiting) = (continuation, number)
                    return true
                }
                guard waits else { return continuation.resume(returning: nil) }
                queue.async { [self] in
                    // The read of a cancelled call may have answered this one already.
                    if state.withLock({ $0.waiter != nil }) { finish(readBlock()) }
                }
            }
        } onCancel: {
            finish(nil, only: number)
        }
    }

    /// Resumes the waiting call, if it has this number.
    private func finish(_ bytes: [UInt8]?, only number: UInt64? = nil) {
        let waiting = state.withLock { state -> Waiter? in
            guard number == nil || number == state.waiting else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiting?.resume(returning: bytes)
    }

    private func readBlock() -> [UInt8]? {
        var block = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &block, block.count)
            if count < 0, errno == EINTR { continue }
            let number = errno
            if count < 0 { state.withLock { $0.failure = number } }
            return count > 0 ? Array(block[..<count]) : nil
        }
    }
}
