/// An error for a value that exceeds the writer's remaining capacity.
public struct BufferFull: Error, Equatable, Sendable, CustomStringConvertible {
    /// The number of bytes that the value needs.
    public var needed: Int
    /// The number of bytes that remained.
    public var available: Int

    /// An error for a write of `needed` bytes when only `available` remained.
    public init(needed: Int, available: Int) {
        self.needed = needed
        self.available = available
    }

    /// The needed and the available bytes.
    public var description: String { "\(needed) bytes needed, \(available) available" }
}

/// A writer of little-endian values to a reusable buffer.
///
/// The counterpart of `ByteReader`: every encoder uses this type. A write either fits completely, or throws
/// ``BufferFull`` and leaves the buffer unchanged. A writer cannot be copied; ``bytes`` is a copy of what it wrote.
/// Unchecked, since no copy shares its memory.
public struct ByteWriter: ~Copyable, @unchecked Sendable {
    // Whatever stores to the memory makes it long enough before. Its first `written` bytes are initialized: `written`
    // grows after they were stored.
    @usableFromInline var memory: UnsafeMutableRawBufferPointer
    @usableFromInline var written = 0
    /// The maximum number of bytes in the buffer; an ATT bearer sets it to its ATT_MTU.
    public var capacity: Int

    /// The longest value of any protocol above. A larger capacity is a limit only: no memory is reserved for it.
    private static let maximumReservation = 0x1_0000

    /// An empty buffer with memory for `capacity` bytes.
    public init(capacity: Int) {
        self.init(growingTo: capacity)
        grow(to: min(self.capacity, Self.maximumReservation) + 8)
    }

    /// An empty buffer of at most `limit` bytes whose memory grows on demand: for objects that exist in thousands and
    /// mostly write little.
    public init(growingTo limit: Int) {
        capacity = max(0, limit)
        memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }

    deinit { memory.deallocate() }

    /// The number of bytes written so far.
    @inlinable public var count: Int { written }

    /// The bytes written so far.
    public var bytes: [UInt8] { [UInt8](UnsafeRawBufferPointer(rebasing: memory[..<written])) }

    /// The bytes written so far, in place.
    package var span: RawSpan {
        @_lifetime(borrow self) get {
            _overrideLifetime(UnsafeRawBufferPointer(rebasing: memory[..<written]).bytes, borrowing: self)
        }
    }

    /// The number of bytes that still fit.
    @inlinable public var remaining: Int { capacity > count ? capacity &- count : 0 }

    /// Removes all bytes and keeps the memory.
    @inlinable
    public mutating func removeAll() {
        written = 0
    }

    /// Removes all bytes after the first `count`.
    public mutating func truncate(to count: Int) {
        if count >= 0 { written = min(written, count) }
    }

    /// Runs `body` and undoes its writes unless all of them fit.
    @inlinable @inline(__always)
    public mutating func writeWhole(_ body: (inout ByteWriter) throws(BufferFull) -> Void) throws(BufferFull) {
        let start = count
        do throws(BufferFull) {
            try body(&self)
        } catch {
            truncate(to: start)
            throw error
        }
    }

    /// Throws unless there is room for `count` bytes.
    @inlinable @inline(__always)
    package func ensure(_ count: Int) throws(BufferFull) {
        guard count <= remaining else { throw BufferFull(needed: count, available: remaining) }
    }

    /// Writes the `added` bytes that `body` stores from the address it is given.
    @inlinable @inline(__always)
    mutating func append(_ added: Int, _ body: (UnsafeMutableRawPointer) -> Void) throws(BufferFull) {
        try ensure(added)
        let end = written &+ added
        if end > memory.count { grow(to: end) }
        // Without an address there is no memory, so nothing to store: `end` is at most the memory's length.
        if let address = memory.baseAddress { body(address + written) }
        written = end
    }

    /// Makes the memory at least `length` bytes long. Eight more than the capacity are of use to a head.
    @usableFromInline @inline(never)
    mutating func grow(to length: Int) {
        let longer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(length, min(capacity, 2 * memory.count) + 8, 16), alignment: 1)
        longer.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<written]))
        memory.deallocate()
        memory = longer
    }

    @inlinable @inline(__always)
    mutating func append<Value: FixedWidthInteger & BitwiseCopyable>(littleEndian value: Value) throws(BufferFull) {
        try append(MemoryLayout<Value>.size) { $0.storeBytes(of: value.littleEndian, as: Value.self) }
    }

    /// Writes one byte.
    @inlinable
    public mutating func write(_ value: UInt8) throws(BufferFull) {
        try append(littleEndian: value)
    }

    /// Writes one byte in two's complement.
    @inlinable
    public mutating func write(_ value: Int8) throws(BufferFull) {
        try write(UInt8(bitPattern: value))
    }

    /// Writes two bytes, least significant first.
    @inlinable
    public mutating func write(_ value: UInt16) throws(BufferFull) {
        try append(littleEndian: value)
    }

    /// Writes the three least significant bytes of `value`, least significant first.
    @inlinable
    public mutating func writeUInt24(_ value: UInt32) throws(BufferFull) {
        try ensure(3)
        try write(UInt16(truncatingIfNeeded: value))
        try write(UInt8(truncatingIfNeeded: value >> 16))
    }

    /// Writes four bytes, least significant first.
    @inlinable
    public mutating func write(_ value: UInt32) throws(BufferFull) {
        try append(littleEndian: value)
    }

    /// Writes eight bytes, least significant first.
    @inlinable
    public mutating func write(_ value: UInt64) throws(BufferFull) {
        try append(littleEndian: value)
    }

    /// Writes a device address in wire order (least significant byte first).
    @inlinable
    public mutating func write(_ address: BluetoothAddress) throws(BufferFull) {
        try ensure(6)
        try write(UInt32(truncatingIfNeeded: address.value))
        try write(UInt16(truncatingIfNeeded: address.value >> 32))
    }

    /// Writes a UUID in wire order in the given width, by default the shortest that represents it.
    ///
    /// A width too small for the UUID becomes 128 bits.
    @inlinable
    public mutating func write(_ uuid: BluetoothUUID, width: BluetoothUUID.Width? = nil) throws(BufferFull) {
        switch width ?? uuid.shortestWidth {
        case .bits16 where uuid.shortestWidth == .bits16: try write(UInt16(truncatingIfNeeded: uuid.high >> 32))
        case .bits32 where uuid.shortestWidth != .bits128: try write(UInt32(truncatingIfNeeded: uuid.high >> 32))
        default:
            try ensure(16)
            try write(uuid.low)
            try write(uuid.high)
        }
    }

    /// Writes all of `span`.
    @inlinable
    public mutating func write(_ span: RawSpan) throws(BufferFull) {
        try append(span.byteCount) { start in
            span.withUnsafeBytes { bytes in
                if let source = bytes.baseAddress { start.copyMemory(from: source, byteCount: bytes.count) }
            }
        }
    }

    /// Writes the `count` least significant bytes of `head`, at most eight, and all of `span`: in fewer steps than one by
    /// one.
    @inlinable @inline(__always)
    package mutating func write(first count: Int, of head: UInt64, _ span: RawSpan) throws(BufferFull) {
        try ensure(count &+ span.byteCount)
        let end = written &+ count &+ span.byteCount
        if end &+ 8 > memory.count { grow(to: end &+ 8) }
        if let start = memory.baseAddress {
            (start + written).storeBytes(of: head.littleEndian, as: UInt64.self)
            span.withUnsafeBytes { bytes in
                if let source = bytes.baseAddress {
                    (start + written + count).copyMemory(from: source, byteCount: bytes.count)
                }
            }
        }
        written = end
    }

    /// Writes all of `array`.
    @inlinable
    public mutating func write(_ array: [UInt8]) throws(BufferFull) {
        try write(array.span.bytes)
    }

    /// Writes `count` zero bytes; none when `count` is negative.
    @inlinable
    public mutating func writeZeros(_ count: Int) throws(BufferFull) {
        let count = max(0, count)
        try append(count) { $0.initializeMemory(as: UInt8.self, repeating: 0, count: count) }
    }

    /// Replaces the byte at `index`, such as a length that was unknown when its field was written.
    ///
    /// An index beyond the written bytes is ignored.
    public mutating func replace(at index: Int, with value: UInt8) {
        guard (0..<count).contains(index) else { return }
        memory[index] = value
    }
}
