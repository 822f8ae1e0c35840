import Dispatch
import Synchronization

func systemMessage(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }

/// The contents of a file, or of standard input for `-`. Waits for the data of a pipe until the task is cancelled.
public func contents(of path: String, limit: Int) async throws -> [UInt8] {
    let file = try InputFile(path)
    var contents: [UInt8] = []
    while let bytes = try await file.next() {
        contents += bytes
        guard contents.count <= limit else {
            throw ProgramError(.badData, "\(printable(path)) is larger than \(limit >> 10) KiB.")
        }
    }
    try Task.checkCancellation()
    return contents
}

private func cannotOpen(_ path: String, _ number: Int32 = errno) -> ProgramError {
    let path = printable(path)
    switch number {
    case ENOENT: return ProgramError(.noInput, "\(path): there is no such file.")
    case EISDIR: return ProgramError(.noInput, "\(path): it is a folder.")
    default: return ProgramError(.noInput, "Cannot open \(path): \(systemMessage(number))")
    }
}

/// Rejects a folder in place of a file to read.
func rejectFolder(_ path: String) throws {
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { throw cannotOpen(path, EISDIR) }
}

/// Checks that there is a folder in which a file, a link or a socket can be created.
func checkFolder(of path: String) throws {
    guard !path.isEmpty, access(folder(of: path), W_OK | X_OK) == 0 else { throw cannotCreate(path) }
}

/// The error of a file, a link or a socket that cannot be created.
func cannotCreate(_ path: String, _ number: Int32 = errno, remedy: String? = nil) -> ProgramError {
    let name = printable(path)
    switch number {
    case _ where path.isEmpty: return ProgramError(.usage, "The name of the file to write is empty.")
    case EEXIST:
        return ProgramError(
            .cannotCreate, "\(name) exists.", remedy: "Choose another name, or replace the file with --force.")
    case ENOENT, ENOTDIR:
        return ProgramError(
            .cannotCreate, "Cannot create \(name): there is no folder \(printable(folder(of: path))).", remedy: remedy)
    default: return ProgramError(.cannotCreate, "Cannot create \(name): \(systemMessage(number))", remedy: remedy)
    }
}

private func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// An open file that is read from its beginning, or standard input for `-`.
public final class InputFile: Sendable {
    private let path: String
    private let input: StandardInput
    /// The size in bytes; 0 for standard input and what is not a regular file.
    public let byteCount: Int

    /// Opens the file. A named pipe is opened by the first ``next()``, which waits for its writer.
    public init(_ path: String) throws {
        self.path = path == "-" ? "standard input" : path
        if path != "-" { try rejectFolder(path) }
        var status = stat()
        let isFile = path != "-" && stat(path, &status) == 0
        byteCount = isFile && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : 0
        if path == "-" {
            input = StandardInput()
        } else if isFile, status.st_mode & S_IFMT == S_IFIFO {
            input = StandardInput(.pipe(path))
        } else {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw cannotOpen(path) }
            input = StandardInput(.open(descriptor, isOwned: true))
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

    fileprivate enum Source {
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

    /// The input from a descriptor, or from a named pipe, which is opened by the first read.
    fileprivate init(_ source: Source) {
        self.source = Mutex(source)
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
