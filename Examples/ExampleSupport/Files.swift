import Dispatch
import Glibc
import Synchronization

private func systemMessage() -> String { String(cString: strerror(errno)) }

/// All bytes of a file.
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

    /// Makes the file, or empties the one that is there.
    public init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw ProgramError(.linkLost, "Cannot write \(path): \(systemMessage())") }
    }

    deinit {
        close(descriptor)
    }

    /// Adds bytes.
    public func write(_ bytes: [UInt8]) throws {
        guard writeAll(bytes, to: descriptor) else {
            throw ProgramError(.linkLost, "Cannot write \(path): \(systemMessage())")
        }
    }
}

/// Standard input, read when somebody asks for more.
public final class StandardInput: Sendable {
    private typealias Waiter = CheckedContinuation<[UInt8]?, Never>

    private let waiter = Mutex<Waiter?>(nil)
    private let queue = DispatchQueue(label: "standard input")

    /// Standard input.
    public init() {}

    /// The next bytes; nil at the end and when the task is cancelled.
    public func next() async -> [UInt8]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = waiter.withLock { waiter in
                    if !Task.isCancelled { waiter = continuation }
                    return Task.isCancelled
                }
                guard !isCancelled else { return continuation.resume(returning: nil) }
                queue.async { [self] in
                    // What one that was cancelled had begun to read has been the answer.
                    if waiter.withLock({ $0 != nil }) { finish(readBlock()) }
                }
            }
        } onCancel: {
            finish(nil)
        }
    }

    private func finish(_ bytes: [UInt8]?) {
        let waiting = waiter.withLock { waiter -> Waiter? in
            defer { waiter = nil }
            return waiter
        }
        waiting?.resume(returning: bytes)
    }

    private func readBlock() -> [UInt8]? {
        var block = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(STDIN_FILENO, &block, block.count)
            if count < 0, errno == EINTR { continue }
            return count > 0 ? Array(block[..<count]) : nil
        }
    }
}
