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
/// ``BufferFull`` and leaves the buffer unchanged.
public struct ByteWriter: Sendable {
    @usableFromInline var storage: [UInt8]
    /// The maximum number of bytes in the buffer; an ATT bearer sets it to its ATT_MTU.
    public var capacity: Int

    /// The longest value of any protocol above. A larger capacity is a limit only: no memory is reserved for it.
    private static let maximumReservation = 0x1_0000

    /// An empty buffer with memory for `capacity` bytes.
    public init(capacity: Int) {
        self.capacity = max(0, capacity)
        storage = []
        storage.reserveCapacity(min(self.capacity, Self.maximumReservation))
    }

    /// An empty buffer of at most `limit` bytes whose memory grows on demand: for objects that exist in thousands and
    /// mostly write little.
    public init(growingTo limit: Int) {
        capacity = max(0, limit)
        storage = []
    }

    /// The bytes written so far.
    @inlinable public var bytes: [UInt8] { storage }

    /// The number of bytes written so far.
    @inlinable public var count: Int { storage.count }

    /// The number of bytes that still fit.
    @inlinable public var remaining: Int { capacity > count ? capacity &- count : 0 }

    /// Removes all bytes and keeps the memory.
    @inlinable
    public mutating func removeAll() {
        storage.removeAll(keepingCapacity: true)
    }

    /// Removes all bytes after the first `count`.
    public mutating func truncate(to count: Int) {
        guard count < storage.count, count >= 0 else { return }
        storage.removeLast(storage.count - count)
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

    @inlinable @inline(__always)
    mutating func append<Value: FixedWidthInteger>(littleEndian value: Value) throws(BufferFull) {
        try ensure(MemoryLayout<Value>.size)
        withUnsafeBytes(of: value.littleEndian) { storage.append(contentsOf: $0) }
    }

    /// Writes one byte.
    @inlinable
    public mutating func write(_ value: UInt8) throws(BufferFull) {
        try ensure(1)
        storage.append(value)
    }

    /// Writes one byte in two's complement.
    @inlinable
    public mutating func write(_ value: Int8) throws(BufferFull) {
        try write(UInt8(bitPattern: value))
    }

    /// Writes two bytes, least significant first.
    @inlinable
    public mutating func write(_ value: UInt16) throws(BufferFull) {
        try ensure(2)
        // Faster than a copy of so few bytes.
        storage.append(UInt8(truncatingIfNeeded: value))
        storage.append(UInt8(truncatingIfNeeded: value >> 8))
    }

    /// Writes the three least significant bytes of `value`, least significant first.
    @inlinable
    public mutating func writeUInt24(_ value: UInt32) throws(BufferFull) {
        try ensure(3)
        storage.append(UInt8(truncatingIfNeeded: value))
        storage.append(UInt8(truncatingIfNeeded: value >> 8))
        storage.append(UInt8(truncatingIfNeeded: value >> 16))
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
        try ensure(span.byteCount)
        span.withUnsafeBytes { storage.append(contentsOf: $0) }
    }

    /// Writes all of `array`.
    @inlinable
    public mutating func write(_ array: [UInt8]) throws(BufferFull) {
        try ensure(array.count)
        storage.append(contentsOf: array)
    }

    /// Writes `count` zero bytes; none when `count` is negative.
    @inlinable
    public mutating func writeZeros(_ count: Int) throws(BufferFull) {
        let count = max(0, count)
        try ensure(count)
        storage.append(contentsOf: repeatElement(0, count: count))
    }

    /// Replaces the byte at `index`, such as a length that was unknown when its field was written.
    ///
    /// An index beyond the written bytes is ignored.
    public mutating func replace(at index: Int, with value: UInt8) {
        guard storage.indices.contains(index) else { return }
        storage[index] = value
    }
}
