import Dispatch
import Synchronization

/// A non-blocking descriptor of a terminal or a socket, closed with the object.
final class OpenDescriptor: Sendable {
    /// The number, valid while the object lives.
    let number: Int32

    private let isSocket: Bool
    private let queue: DispatchQueue

    /// Takes over an open descriptor, and makes it non-blocking.
    init(_ number: Int32, label: String, isSocket: Bool = false) {
        self.number = number
        self.isSocket = isSocket
        queue = DispatchQueue(label: label)
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
    }

    deinit {
        close(number)
    }

    /// Reads once: the bytes, empty at the end of the input; nil if there are none now.
    /// - Throws: ``ProgramError`` with ``ExitStatus/linkLost``; `subject` names the descriptor in it.
    func read(_ limit: Int, from subject: @autoclosure () -> String) throws -> [UInt8]? {
        var block = [UInt8](repeating: 0, count: limit)
        while true {
            let count = systemRead(number, &block, block.count)
            if count >= 0 { return Array(block[..<count]) }
            if errno == EAGAIN { return nil }
            guard errno == EINTR else {
                throw ProgramError(.linkLost, "Cannot read \(subject()): \(systemMessage())")
            }
        }
    }

    /// Writes as many of the bytes as there is room for now, and returns their number.
    /// - Throws: ``ProgramError`` with ``ExitStatus/linkLost``; `subject` names the descriptor in it.
    func write(_ bytes: ArraySlice<UInt8>, to subject: @autoclosure () -> String) throws -> Int {
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                isSocket ? systemSend(number, $0.baseAddress, $0.count) : systemWrite(number, $0.baseAddress, $0.count)
            }
            if count > 0 { return count }
            if count == 0 || errno == EAGAIN { return 0 }
            guard errno == EINTR else {
                throw ProgramError(.linkLost, "Cannot write \(subject()): \(systemMessage())")
            }
        }
        return 0
    }

    /// Waits until there is something to read, the peer has ended, or the task is cancelled.
    func waitUntilReadable() async {
        await wait(for: DispatchSource.makeReadSource(fileDescriptor: number, queue: queue))
    }

    /// Waits until there is room to write, the peer has ended, or the task is cancelled.
    func waitUntilWritable() async {
        await wait(for: DispatchSource.makeWriteSource(fileDescriptor: number, queue: queue))
    }

    /// Waits until the peer of a socket has closed its side, whether or not its bytes have been read, or the task is
    /// cancelled.
    func waitUntilPeerCloses() async throws {
        let wake = try WakePipe()
        let number = number
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                // A source for reading would report bytes that are not read yet over and over.
                DispatchQueue(label: "hang-up").async {
                    var watched = [
                        pollfd(fd: number, events: systemPeerClosed, revents: 0),
                        pollfd(fd: wake.readEnd, events: 0, revents: 0),
                    ]
                    while systemPoll(&watched, nfds_t(watched.count), -1) < 0, errno == EINTR {}
                    continuation.resume()
                }
            }
        } onCancel: {
            wake.wake()
        }
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
}

/// A pipe that wakes a thread, which polls its read end.
private final class WakePipe: Sendable {
    let readEnd: Int32

    private let writeEnd: Mutex<Int32?>

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw ProgramError(.linkLost, "Cannot create a pipe: \(systemMessage())")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        readEnd = ends[0]
        writeEnd = Mutex(ends[1])
    }

    deinit {
        wake()
        close(readEnd)
    }

    /// Ends the read end's input.
    func wake() {
        writeEnd.withLock { end in
            if let number = end { close(number) }
            end = nil
        }
    }
}

// Unchecked: the source is only cancelled, which is safe from any thread.
private struct Canceller: @unchecked Sendable {
    let source: any DispatchSourceProtocol
}
