/// An error for input that ends before the value does.
public struct TruncatedBytes: Error, Equatable, Sendable, CustomStringConvertible {
    /// The offset of the failed read, counted from the first byte of the reader's input.
    public var offset: Int
    /// The number of bytes that the value needs.
    public var needed: Int
    /// The number of bytes that remained.
    public var available: Int

    /// An error for a read of `needed` bytes at `offset` when only `available` remained.
    public init(offset: Int, needed: Int, available: Int) {
        self.offset = offset
        self.needed = needed
        self.available = available
    }

    /// The needed bytes, the offset and the available bytes.
    public var description: String { "\(needed) bytes needed at offset \(offset), \(available) available" }
}

/// A reader of little-endian values from borrowed bytes.
///
/// Every decoder of this package uses this type, so that offsets are computed in one place. A read either succeeds and
/// advances, or throws ``TruncatedBytes`` and leaves the reader unchanged.
public struct ByteReader: ~Escapable {
    // Inlined always: the throwing path makes each read look too large to the optimiser, and a call for every field
    // costs more than the field. `advance` is the one bounds check; what follows it is unchecked.

    @usableFromInline let bytes: RawSpan
    @usableFromInline var position: Int

    /// A reader at the first of `bytes`, which it borrows.
    @inlinable @inline(__always)
    @_lifetime(copy bytes)
    public init(_ bytes: RawSpan) {
        self.bytes = bytes
        self.position = 0
    }

    /// The number of bytes read so far.
    @inlinable @inline(__always) public var offset: Int { position }

    /// The number of remaining bytes.
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

    /// Reads one byte in two's complement.
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

    /// Reads a UUID of the given width in wire order (least significant byte first).
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

    /// Reads a device address of the given type in wire order (least significant byte first).
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

    /// Reads the remaining bytes, of which there may be none, without copying them.
    @inlinable @inline(__always)
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    public mutating func readRemaining() -> RawSpan {
        let start = position
        position = bytes.byteCount
        return bytes.extracting(unchecked: Range(uncheckedBounds: (start, position)))
    }

    /// Skips `count` bytes.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func skip(_ count: Int) throws(TruncatedBytes) {
        _ = try advance(count)
    }
}
