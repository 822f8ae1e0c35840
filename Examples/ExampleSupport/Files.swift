import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

func systemMessage(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }

/// The contents of a file of at most 64 MiB. Blocks; ``contents(of:limit:)`` ends with the task.
public func readFile(_ path: String) throws -> [UInt8] {
    let limit = 64 << 20
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
        guard contents.count <= limit else { throw isTooLarge(path, limit) }
    }
}

/// The contents of a file, or of standard input for `-`. Waits for the data of a pipe until the task is cancelled.
public func contents(of path: String, limit: Int) async throws -> [UInt8] {
    let file = try InputFile(path)
    var contents: [UInt8] = []
    while let bytes = try await file.next() {
        contents += bytes
        guard contents.count <= limit else { throw isTooLarge(path, limit) }
    }
    try Task.checkCancellation()
    return contents
}

private func isTooLarge(_ path: String, _ limit: Int) -> ProgramError {
    ProgramError(.badData, "\(printable(path)) is larger than \(limit >> 10) KiB.")
}

/// A file that is written from its beginning.
public final class OutputFile: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Creates the file, or opens an existing one without changing its contents yet.
    /// - Parameters:
    ///   - mode: the permissions of a new file; by default its owner's alone, since it may contain traffic.
    ///   - replacingExisting: whether a regular file that exists may be written, unless it is a symbolic link to one. A pipe
    ///     or a device is written in any case.
    ///   - input: the file that is read meanwhile, which is not written under any name.
    /// - Throws: ``ProgramError`` with ``ExitStatus/cannotCreate``.
    public init(
        _ path: String, mode: UInt32 = 0o600, replacingExisting: Bool = true, reading input: String? = nil
    ) throws {
        self.path = path
        var (status, other) = (stat(), stat())
        var flags = O_WRONLY | O_CREAT | O_CLOEXEC
        if stat(path, &status) != 0 {
            flags |= O_EXCL
        } else if status.st_mode & S_IFMT == S_IFREG {
            if let input, stat(input, &other) == 0, status.st_dev == other.st_dev, status.st_ino == other.st_ino {
                throw ProgramError(
                    .cannotCreate, "\(printable(path)) is the file that is read.", remedy: "Choose another name.")
            }
            guard replacingExisting else { throw NewFile.alreadyExists(path) }
            flags |= O_NOFOLLOW
        }
        descriptor = open(path, flags, mode)
        guard descriptor >= 0 else {
            throw ProgramError(.cannotCreate, "Cannot write \(printable(path)): \(systemMessage())")
        }
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

/// A text file that is appended to. Its first line names its kind, so that no other file is changed, and no symbolic link
/// is followed. A new one is its owner's alone (0600), since it may contain traffic.
public final class AppendedFile: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Creates the file with its first line, or opens one with that first line.
    /// - Throws: ``ProgramError`` with ``ExitStatus/cannotCreate`` if the file has another first line or cannot be opened.
    public init(_ path: String, firstLine: String) throws {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0o600)
        guard descriptor >= 0 else {
            if errno == ELOOP {
                throw ProgramError(
                    .cannotCreate, "\(printable(path)) is a symbolic link, which is not followed.",
                    remedy: "Name the file itself.")
            }
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
    private let input: StandardInput

    /// Opens the file. A named pipe is opened by the first ``next()``, which waits for its writer.
    public init(_ path: String) throws {
        self.path = path == "-" ? "standard input" : path
        var status = stat()
        if path == "-" {
            input = StandardInput()
        } else if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO {
            input = StandardInput(openingPipe: path)
        } else {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw ProgramError(.noInput, "Cannot open \(path): \(systemMessage())") }
            input = StandardInput(owning: descriptor)
        }
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

    private enum Source {
        case open(Int32, isOwned: Bool)
        /// A named pipe that is not open yet.
        case pipe(String)
    }

    private let state = Mutex(State())
    /// Where the bytes come from; changed by the queue alone.
    private let source: Mutex<Source>
    private let queue = DispatchQueue(label: "standard input")

    /// Standard input.
    public convenience init() { self.init(reading: STDIN_FILENO) }

    /// The input from a descriptor, which must stay open while the object is used.
    public init(reading descriptor: Int32) {
        source = Mutex(.open(descriptor, isOwned: false))
    }

    /// The input from a descriptor, which is closed with the object.
    fileprivate init(owning descriptor: Int32) {
        source = Mutex(.open(descriptor, isOwned: true))
    }

    /// The input from a named pipe, which is opened by the first read.
    fileprivate init(openingPipe path: String) {
        source = Mutex(.pipe(path))
    }

    deinit {
        if case .open(let descriptor, true) = source.withLock({ $0 }) { close(descriptor) }
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
        guard let descriptor = openedDescriptor() else { return nil }
        var block = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &block, block.count)
            if count < 0, errno == EINTR { continue }
            if count < 0 { recordFailure() }
            return count > 0 ? Array(block[..<count]) : nil
        }
    }

    /// The descriptor; waits for the writer of a named pipe. Nil if it cannot be opened.
    private func openedDescriptor() -> Int32? {
        switch source.withLock({ $0 }) {
        case .open(let descriptor, _): return descriptor
        case .pipe(let path):
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                recordFailure()
                return nil
            }
            source.withLock { $0 = .open(descriptor, isOwned: true) }
            return descriptor
        }
    }

    private func recordFailure() {
        let number = errno
        state.withLock { $0.failure = number }
    }
}
