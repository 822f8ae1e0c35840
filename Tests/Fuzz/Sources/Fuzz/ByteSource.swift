/// The bytes of an input, taken as numbers, chunks and choices; zeros and nothing when they have ended.
struct ByteSource {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var isEmpty: Bool { offset == bytes.count }

    mutating func byte() -> UInt8 {
        guard !isEmpty else { return 0 }
        offset += 1
        return bytes[offset - 1]
    }

    /// In little-endian order.
    mutating func uint16() -> UInt16 {
        let low = UInt16(byte())
        return low | UInt16(byte()) << 8
    }

    /// As many bytes as the next one says, at most `limit`, and at most what is left.
    mutating func bytes(atMost limit: Int) -> [UInt8] {
        let count = min(
            limit == 0 ? 0 : Int(limit < 256 ? UInt16(byte()) : uint16()) % (limit + 1), bytes.count - offset)
        offset += count
        return Array(bytes[offset - count..<offset])
    }

    /// All that is left.
    mutating func rest() -> [UInt8] {
        defer { offset = bytes.count }
        return Array(bytes[offset...])
    }

    /// An element; nil of none.
    mutating func choose<T>(_ elements: [T]) -> T? {
        elements.isEmpty ? nil : elements[Int(elements.count > 256 ? uint16() : UInt16(byte())) % elements.count]
    }
}
