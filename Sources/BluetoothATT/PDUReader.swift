import BluetoothPrimitives

/// A reader of a PDU's fields that reports defects as ``ATTDecodingError``.
struct PDUReader: ~Escapable {
    let opcode: ATTOpcode
    private var reader: ByteReader

    /// Reads the opcode of `pdu`.
    @_lifetime(copy pdu)
    init(_ pdu: RawSpan) throws(ATTDecodingError) {
        reader = ByteReader(pdu)
        do {
            opcode = ATTOpcode(try reader.readUInt8())
        } catch {
            throw ATTDecodingError(opcode: nil, error)
        }
    }

    @_lifetime(self: copy self)
    mutating func readUInt8() throws(ATTDecodingError) -> UInt8 {
        do { return try reader.readUInt8() } catch { throw ATTDecodingError(opcode: opcode, error) }
    }

    @_lifetime(self: copy self)
    mutating func readUInt16() throws(ATTDecodingError) -> UInt16 {
        do { return try reader.readUInt16() } catch { throw ATTDecodingError(opcode: opcode, error) }
    }

    @_lifetime(self: copy self)
    mutating func readHandle() throws(ATTDecodingError) -> AttributeHandle {
        AttributeHandle(try readUInt16())
    }

    @_lifetime(self: copy self)
    mutating func readHandleRange() throws(ATTDecodingError) -> AttributeHandleRange {
        do { return try reader.readHandleRange() } catch { throw ATTDecodingError(opcode: opcode, error) }
    }

    /// Reads the remaining bytes as an attribute type, which has 16 or 128 bits in ATT.
    @_lifetime(self: copy self)
    mutating func readAttributeType() throws(ATTDecodingError) -> BluetoothUUID {
        do {
            switch reader.remaining {
            case 2: return try reader.readUUID(.bits16)
            case 16: return try reader.readUUID(.bits128)
            default: break
            }
        } catch {
            throw ATTDecodingError(opcode: opcode, error)
        }
        throw malformed(.attributeTypeLength(reader.remaining), at: reader.offset)
    }

    /// Reads the bytes before an authentication signature as a value, which may be empty.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readSignedValue() throws(ATTDecodingError) -> RawSpan {
        let needed = ATTAuthenticationSignature.byteCount
        guard reader.remaining >= needed else {
            throw malformed(.truncated(needed: needed, available: reader.remaining), at: reader.offset)
        }
        do { return try reader.read(reader.remaining - needed) } catch { throw ATTDecodingError(opcode: opcode, error) }
    }

    @_lifetime(self: copy self)
    mutating func readSignature() throws(ATTDecodingError) -> ATTAuthenticationSignature {
        do {
            return ATTAuthenticationSignature(
                signCounter: try reader.readUInt32(), messageAuthenticationCode: try reader.readUInt64())
        } catch {
            throw ATTDecodingError(opcode: opcode, error)
        }
    }

    /// Reads the remaining bytes as a value, which may be empty.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readValue() -> RawSpan {
        reader.readRemaining()
    }

    /// Reads the remaining bytes as complete entries of `length` bytes.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readEntries(of length: Int, atLeast minimum: Int = 1) throws(ATTDecodingError) -> ByteReader {
        guard reader.remaining >= length * minimum else {
            throw malformed(.truncated(needed: length * minimum, available: reader.remaining), at: reader.offset)
        }
        let rest = reader.remaining % length
        guard rest == 0 else {
            throw malformed(.truncated(needed: length, available: rest), at: reader.offset + reader.remaining - rest)
        }
        return ByteReader(reader.readRemaining())
    }

    /// Reads the length of each entry of a list, which is at least `minimum`.
    @_lifetime(self: copy self)
    mutating func readEntryLength(atLeast minimum: Int) throws(ATTDecodingError) -> Int {
        let length = Int(try readUInt8())
        guard length >= minimum else {
            throw malformed(.entryLength(length, minimum: minimum), at: reader.offset - 1)
        }
        return length
    }

    /// Reads the remaining bytes, at least `minimum`, without dividing them into entries.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readBytes(atLeast minimum: Int) throws(ATTDecodingError) -> ByteReader {
        try readEntries(of: 1, atLeast: minimum)
    }

    /// Checks that no bytes remain.
    func expectEnd() throws(ATTDecodingError) {
        guard reader.isAtEnd else { throw malformed(.trailingBytes(reader.remaining), at: reader.offset) }
    }

    /// The offset of the next field, counted from the opcode.
    var offset: Int { reader.offset }

    func malformed(_ problem: ATTDecodingError.Problem, at offset: Int) -> ATTDecodingError {
        ATTDecodingError(opcode: opcode, problem: problem, offset: offset)
    }
}

extension ByteReader {
    /// Reads a handle.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func readHandle() throws(TruncatedBytes) -> AttributeHandle {
        AttributeHandle(try readUInt16())
    }

    /// Reads two handles as a range; the start may be above the end.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func readHandleRange() throws(TruncatedBytes) -> AttributeHandleRange {
        let both = try readUInt32()
        return AttributeHandleRange(
            start: AttributeHandle(UInt16(truncatingIfNeeded: both)),
            end: AttributeHandle(UInt16(truncatingIfNeeded: both >> 16)))
    }

    /// The remaining bytes, without consuming them.
    var unread: RawSpan {
        @_lifetime(copy self)
        get {
            var copy = self
            return copy.readRemaining()
        }
    }
}
