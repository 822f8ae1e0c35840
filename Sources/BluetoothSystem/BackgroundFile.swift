import BluetoothPrimitives
import Synchronization

/// A file that is written by a thread of its own, so that a slow disk stops nobody.
///
/// What is appended waits in memory, at most ``capacity`` bytes, until the thread has written what came before; what
/// does not fit is refused and the caller told. While nothing is appended the thread sleeps. The first error that writing
/// meets ends it: it is told once, and what is appended afterwards is thrown away.
public final class BackgroundFile: Sendable {
    /// How many bytes may wait to be written.
    public let capacity: Int

    private struct State {
        /// What has been appended since the thread took something last.
        var waiting: ByteWriter
        var isThreadWaiting = false
        var isClosing = false
        var hasEnded = false
        var onClosed: [@Sendable () -> Void] = []
    }

    /// What the thread and the owner share; the thread outlives an owner that was dropped until all is written.
    private final class Shared: Sendable {
        let state: Mutex<State>
        let wake: WakeCounter

        init(capacity: Int) throws(KernelError) {
            wake = try WakeCounter()
            state = Mutex(State(waiting: ByteWriter(capacity: capacity)))
        }
    }

    private let shared: Shared

    /// Creates a file that is readable and writable by its owner alone (`O_EXCL`).
    ///
    /// - Parameters:
    ///   - path: the file to create; or a device, a named pipe that has a reader, `/dev/stdout` or `/dev/fd/N`.
    ///   - replacingExisting: whether to remove an existing regular file, or a symbolic link to one, first.
    ///   - capacity: how many bytes may wait to be written.
    ///   - onFailure: called at most once, on the writing thread.
    /// - Throws: the error of `open`, `EEXIST` for an existing regular file without `replacingExisting`; the error of
    ///   `eventfd` or `pthread_create` when the process has none left.
    public init(
        _ path: String, replacingExisting: Bool = false, capacity: Int = 1 << 20,
        onFailure: @escaping @Sendable (KernelError) -> Void
    ) throws(KernelError) {
        self.capacity = max(0, capacity)
        let shared = try Shared(capacity: self.capacity)
        self.shared = shared
        let file = try OutputFile(path, replacingExisting: replacingExisting)
        try startThread(named: "bluetooth-file") { Self.write(shared, to: file, onFailure) }
    }

    deinit {
        close()
    }

    /// Has `body` append to what waits to be written; false when that was too much. Never waits for the disk.
    @discardableResult
    public func append(_ body: (inout ByteWriter) throws(BufferFull) -> Void) -> Bool {
        let (isTaken, wakes) = shared.state.withLock { state -> (Bool, Bool) in
            guard !state.hasEnded, !state.isClosing else { return (true, false) }
            guard (try? state.waiting.writeWhole(body)) != nil else { return (false, false) }
            defer { state.isThreadWaiting = false }
            return (true, state.isThreadWaiting)
        }
        if wakes { shared.wake.signal() }
        return isTaken
    }

    /// Closes the file when all that was appended is written, and calls `completion` then, on the writing thread.
    public func close(_ completion: (@Sendable () -> Void)? = nil) {
        let (isOver, wakes) = shared.state.withLock { state -> (Bool, Bool) in
            state.isClosing = true
            guard !state.hasEnded else { return (true, false) }
            if let completion { state.onClosed.append(completion) }
            defer { state.isThreadWaiting = false }
            return (false, state.isThreadWaiting)
        }
        if isOver { completion?() }
        if wakes { shared.wake.signal() }
    }

    private static func write(_ shared: Shared, to file: OutputFile, _ onFailure: (KernelError) -> Void) {
        writeAll(shared, to: file, onFailure)
        let completions = shared.state.withLock { state in
            state.hasEnded = true
            state.waiting = ByteWriter(capacity: 0)
            defer { state.onClosed = [] }
            return state.onClosed
        }
        for completion in completions { completion() }
    }

    private static func writeAll(_ shared: Shared, to file: OutputFile, _ onFailure: (KernelError) -> Void) {
        var taken = ByteWriter(capacity: shared.state.withLock { $0.waiting.capacity })
        while true {
            let isOver = shared.state.withLock { state -> Bool in
                swap(&taken, &state.waiting)
                guard taken.count == 0 else { return false }
                if !state.isClosing { state.isThreadWaiting = true }
                return state.isClosing
            }
            if isOver { return }
            guard taken.count > 0 else {
                shared.wake.wait()
                continue
            }
            do throws(KernelError) {
                try file.write(taken.bytes.span.bytes)
                taken.removeAll()
            } catch {
                return onFailure(error)
            }
        }
    }
}
