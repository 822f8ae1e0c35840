/// The bytes ended before the value did.
public struct TruncatedBytes: Error, Equatable, Sendable, CustomStringConvertible {
    /// Where reading stopped, counted from the first byte the reader was given.
    public var offset: Int
    /// How many bytes the value takes.
    public var needed: Int
    /// How many bytes were left.
    public var available: Int

    /// Describes a read of `needed` bytes at `offset` where only `available` were left.
    public init(offset: Int, needed: Int, available: Int) {
        self.offset = offset
        self.needed = needed
        self.available = available
    }

    /// Names the offset and the shortage.
    public var description: String { "\(needed) bytes needed at offset \(offset), \(available) available" }
}

/// Reads little-endian values off the front of borrowed bytes.
///
/// Every decoder of this package reads through this type, so an offset is computed nowhere else. A read either
/// succeeds and advances, or throws ``TruncatedBytes`` and leaves the reader where it was.
public struct ByteReader: ~Escapable {
    // Inlined always: the throwing path makes each read look too large to the optimiser, and a call for every field
    // costs more than the field. `advance` is the one bounds check; what follows it is unchecked.

    @usableFromInline let bytes: RawSpan
    @usableFromInline var position: Int

    /// Starts at the first of `bytes`, which are borrowed for as long as the reader lives.
    @inlinable @inline(__always)
    @_lifetime(copy bytes)
    public init(_ bytes: RawSpan) {
        self.bytes = bytes
        self.position = 0
    }

    /// How many bytes have been read.
    @inlinable @inline(__always) public var offset: Int { position }

    /// How many bytes are left.
    @inlinable @inline(__always) public var remaining: Int { bytes.byteCount &- position }

    /// Whether all bytes have been read.
    @inlinable @inline(__always) public var isAtEnd: Bool { position == bytes.byteCount }

    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    mutating func advance(_ count: Int) throws(TruncatedBytes) -> Int {
        guard count >= 0, count <= remaining else {
            throw TruncatedBytes(offset: position, needed: count, available: remaining)
        }
        let start = position
        position &+= count
        return start
    }

    /// Reads one byte.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func readUInt8() throws(TruncatedBytes) -> UInt8 {
        let start = try advance(1)
        return bytes.unsafeLoad(fromUncheckedByteOffset: start, as: UInt8.self)
    }

    /// Reads one byte as a two's complement number.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func readInt8() throws(TruncatedBytes) -> Int8 {
        Int8(bitPattern: try readUInt8())
    }

    /// Reads two bytes, least significant first.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func readUInt16() throws(TruncatedBytes) -> UInt16 {
        let start = try advance(2)
        return UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: start, as: UInt16.self))
    }

    /// Reads three bytes, least significant first.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func readUInt24() throws(TruncatedBytes) -> UInt32 {
        let start = try advance(3)
        let low = UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: start, as: UInt16.self))
        let high = bytes.unsafeLoad(fromUncheckedByteOffset: start + 2, as: UInt8.self)
        return UInt32(low) | UInt32(high) << 16
    }

    /// Reads four bytes, least significant first.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func readUInt32() throws(TruncatedBytes) -> UInt32 {
        let start = try advance(4)
        return UInt32(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: start, as: UInt32.self))
    }

    /// Reads eight bytes, least significant first.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func readUInt64() throws(TruncatedBytes) -> UInt64 {
        let start = try advance(8)
        return UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: start, as: UInt64.self))
    }

    /// Reads a UUID in wire order (least significant byte first) of the given width.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func readUUID(_ width: BluetoothUUID.Width) throws(TruncatedBytes) -> BluetoothUUID {
        switch width {
        case .bits16: return BluetoothUUID(try readUInt16())
        case .bits32: return BluetoothUUID(try readUInt32())
        case .bits128:
            guard remaining >= 16 else { throw TruncatedBytes(offset: position, needed: 16, available: remaining) }
            let low = try readUInt64()
            let high = try readUInt64()
            return BluetoothUUID(high: high, low: low)
        }
    }

    /// Reads a device address of the given kind in wire order (least significant byte first).
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func readAddress(_ kind: BluetoothAddress.Kind) throws(TruncatedBytes) -> BluetoothAddress {
        guard remaining >= 6 else { throw TruncatedBytes(offset: position, needed: 6, available: remaining) }
        let low = try readUInt32()
        let high = try readUInt16()
        return BluetoothAddress(UInt64(low) | UInt64(high) << 32, kind: kind)
    }

    /// Reads `count` bytes without copying them.
    @inlinable @inline(__always)
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    public mutating func read(_ count: Int) throws(TruncatedBytes) -> RawSpan {
        let start = try advance(count)
        return bytes.extracting(unchecked: Range(uncheckedBounds: (start, start &+ count)))
    }

    /// Reads all bytes that are left without copying them; none is not an error.
    @inlinable @inline(__always)
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    public mutating func readRemaining() -> RawSpan {
        let start = position
        position = bytes.byteCount
        return bytes.extracting(unchecked: Range(uncheckedBounds: (start, position)))
    }

    /// Passes over `count` bytes.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func skip(_ count: Int) throws(TruncatedBytes) {
        _ = try advance(count)
    }
}
