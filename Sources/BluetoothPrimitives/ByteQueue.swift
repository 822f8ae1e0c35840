/// A first-in first-out queue of bytes, copied once on their way through.
package struct ByteQueue: Sendable {
    @usableFromInline var bytes: [UInt8] = []
    @usableFromInline var start = 0

    /// An empty queue.
    @inlinable
    package init() {}

    /// How many bytes are in it.
    @inlinable package var count: Int { bytes.count - start }

    /// Whether nothing is in it.
    @inlinable package var isEmpty: Bool { count == 0 }

    /// The byte `offset` places from the front; the caller has compared `offset` with ``count``.
    @inlinable
    package subscript(offset: Int) -> UInt8 { bytes[start + offset] }

    /// Puts bytes in, behind all others.
    @inlinable
    package mutating func append(_ more: some Collection<UInt8>) {
        if start > 0, start >= bytes.count - start {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// Takes out the first `length` bytes, or all there are.
    package mutating func removeFirst(_ length: Int) -> [UInt8] {
        let end = start + min(max(0, length), count)
        defer { drop(end - start) }
        return Array(bytes[start..<end])
    }

    /// Forgets the first `length` bytes, or all there are.
    package mutating func drop(_ length: Int) {
        start += min(max(0, length), count)
        if start == bytes.count { removeAll() }
    }

    /// Forgets all bytes.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        start = 0
    }

    /// Where `pattern` begins at or after `offset`.
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
