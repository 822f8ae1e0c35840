/// Bytes that come in at one end and leave at the other, copied once.
struct ByteQueue: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }

    /// The byte `offset` places from the front; the caller has compared `offset` with ``count``.
    subscript(offset: Int) -> UInt8 { bytes[start + offset] }

    mutating func append(_ more: some Collection<UInt8>) {
        if start > 0, start >= bytes.count - start {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// Takes out the first `length` bytes, or all there are.
    mutating func removeFirst(_ length: Int) -> [UInt8] {
        let end = start + min(max(0, length), count)
        defer { drop(end - start) }
        return Array(bytes[start..<end])
    }

    /// Forgets the first `length` bytes, or all there are.
    mutating func drop(_ length: Int) {
        start += min(max(0, length), count)
        if start == bytes.count { removeAll() }
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        start = 0
    }

    /// Where `pattern` begins at or after `offset`.
    func firstOffset(of pattern: [UInt8], from offset: Int) -> Int? {
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
