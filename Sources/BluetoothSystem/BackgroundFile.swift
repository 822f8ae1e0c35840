import BluetoothPrimitives
import Synchronization

/// A file written by a thread of its own, so that a slow disk blocks no other thread.
///
/// Appended bytes, at most ``capacity``, wait in memory until the thread has written the previous ones; bytes that do
/// not fit are refused. The thread sleeps while there is nothing to write. The first error ends the writing: it is
/// reported once, and later bytes are dropped.
public final class BackgroundFile: Sendable {
    /// The maximum number of bytes that wait to be written.
    public let capacity: Int

    private struct State: ~Copyable {
        /// The bytes appended since the thread last took some.
        var waiting: ByteWriter
        var isThreadWaiting = false
        var isClosing = false
        var hasEnded = false
        var onClosed: [@Sendable () -> Void] = []
    }

    /// The state shared by the thread and the owner; the thread outlives a released owner until all bytes are written.
    private final class Shared: Sendable {
        let state: Mutex<State>
        let wake: WakeCounter

        init(capacity: Int) throws(KernelError) {
            wake = try WakeCounter()
            state = Mutex(State(waiting: ByteWriter(capacity: capacity)))
        }
    }

    private let shared: Shared

    /// Creates a file with access only for its owner (`O_EXCL`).
    ///
    /// - Parameters:
    ///   - path: The path of the new file, of a device, or of a named pipe with a reader; or `/dev/stdout` or
    ///     `/dev/fd/N`.
    ///   - replacingExisting: Whether to remove an existing regular file, or a symbolic link to one, first.
    ///   - capacity: The maximum number of bytes that wait to be written.
    ///   - onFailure: Called at most once, on the writing thread.
    /// - Throws: The error of `open`, `EEXIST` for an existing regular file without `replacingExisting`; the error of
    ///   `eventfd` or `pthread_create` when the process has reached its limits.
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

    /// Appends the bytes that `body` writes; returns false when they do not fit. Never waits for the disk.
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

    /// Closes the file once all bytes are written, and then calls `completion` on the writing thread.
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
                try file.write(taken.span)
                taken.removeAll()
            } catch {
                return onFailure(error)
            }
        }
    }
}
