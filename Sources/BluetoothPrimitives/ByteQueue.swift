/// A FIFO queue of bytes that copies each byte once.
package struct ByteQueue: Hashable, Sendable {
    @usableFromInline var bytes: [UInt8] = []
    @usableFromInline var start = 0

    /// An empty queue.
    @inlinable
    package init() {}

    /// The number of bytes in the queue.
    @inlinable package var count: Int { bytes.count - start }

    /// Whether the queue is empty.
    @inlinable package var isEmpty: Bool { count == 0 }

    /// The byte at `offset` from the front; the caller must keep `offset` below ``count``.
    @inlinable
    package subscript(offset: Int) -> UInt8 { bytes[start + offset] }

    /// Appends bytes at the end.
    @inlinable
    package mutating func append(_ more: some Collection<UInt8>) {
        if start > 0, start >= bytes.count - start {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// Removes and returns the first `length` bytes, or all when there are fewer.
    package mutating func removeFirst(_ length: Int) -> [UInt8] {
        let end = start + min(max(0, length), count)
        defer { drop(end - start) }
        return Array(bytes[start..<end])
    }

    /// Returns the first `length` bytes, or all when there are fewer.
    package func prefix(_ length: Int) -> [UInt8] {
        Array(bytes[start..<start + min(max(0, length), count)])
    }

    /// Removes the first `length` bytes, or all when there are fewer.
    package mutating func drop(_ length: Int) {
        start += min(max(0, length), count)
        if start == bytes.count { removeAll() }
    }

    /// Removes all bytes.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        start = 0
    }

    /// The offset of the first occurrence of `pattern` at or after `offset`.
    package func firstOffset(of pattern: [UInt8], from offset: Int) -> Int? {
        guard let first = pattern.first else { return nil }
        var candidate = start + max(0, offset)
        while candidate + pattern.count <= bytes.count {
            if bytes[candidate] == first, bytes[candidate..<candidate + pattern.count].elementsEqual(pattern) {
                return candidate - start
            }
            candidate += 1
        }
        return nil
    }
}
