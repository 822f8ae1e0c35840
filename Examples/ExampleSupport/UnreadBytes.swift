import Synchronization

/// Bytes for a program that it has not read yet. Their number is bounded: the oldest are dropped and counted.
public final class UnreadBytes: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        /// The number of bytes at the front of `bytes` that were removed.
        var start = 0
        var droppedCount = 0

        mutating func removeFirst(_ count: Int) {
            start += count
            // Moves each byte once on average.
            guard start >= bytes.count - start else { return }
            bytes.removeFirst(start)
            start = 0
        }
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let signal: AsyncStream<Void>.Continuation

    /// Elements when there are new bytes; one for several additions. It has one consumer.
    public let additions: AsyncStream<Void>

    /// A buffer for this number of bytes, at least one.
    public init(capacity: Int) {
        self.capacity = max(1, capacity)
        (additions, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// The number of bytes dropped so far.
    public var droppedCount: Int { state.withLock { $0.droppedCount } }

    /// The number of bytes in the buffer.
    public var count: Int { state.withLock { $0.bytes.count - $0.start } }

    /// Adds bytes; returns the number of bytes, the oldest, that were dropped to make room.
    @discardableResult
    public func append(_ bytes: [UInt8]) -> Int {
        let dropped = state.withLock { state in
            state.bytes += bytes
            let excess = max(0, state.bytes.count - state.start - capacity)
            if excess > 0 { state.removeFirst(excess) }
            state.droppedCount += excess
            return excess
        }
        signal.yield()
        return dropped
    }

    /// Calls `write` with the bytes until it accepts no more of them; returns whether the buffer is empty then.
    ///
    /// `write` returns how many it has written, and must not wait: the buffer is locked meanwhile.
    public func drain(_ write: (ArraySlice<UInt8>) throws -> Int) throws -> Bool {
        try state.withLock { state in
            while state.start < state.bytes.count {
                let count = try write(state.bytes[state.start...])
                guard count > 0 else { return false }
                state.removeFirst(count)
            }
            return true
        }
    }

    /// Removes all bytes, without counting them.
    public func removeAll() {
        state.withLock { state in
            state.bytes = []
            state.start = 0
        }
    }
}
