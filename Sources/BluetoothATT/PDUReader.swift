import BluetoothPrimitives

/// Reads one PDU field by field and says what is wrong with it in the terms of ``ATTDecodingError``.
struct PDUReader: ~Escapable {
    let opcode: ATTOpcode
    private var reader: ByteReader

    /// Reads the opcode of `pdu` and stands behind it.
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

    /// Reads an attribute type, which is all that is left: ATT knows identifiers of 16 and of 128 bits only.
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

    /// Reads a value that ends where an authentication signature begins, and the signature.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readSignedValue() throws(ATTDecodingError) -> SignedValue {
        let length = reader.remaining - ATTAuthenticationSignature.byteCount
        guard length >= 0 else {
            throw malformed(
                .truncated(needed: ATTAuthenticationSignature.byteCount, available: reader.remaining),
                at: reader.offset)
        }
        do {
            let value = try reader.read(length)
            let signature = ATTAuthenticationSignature(
                signCounter: try reader.readUInt32(), messageAuthenticationCode: try reader.readUInt64())
            return SignedValue(value: value, signature: signature)
        } catch {
            throw ATTDecodingError(opcode: opcode, error)
        }
    }

    /// Reads everything that is left as a value; none is a value too.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readValue() -> RawSpan {
        reader.readRemaining()
    }

    /// Reads everything that is left as whole entries of `length` bytes.
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

    /// Reads the length of a list's entries, which covers at least the handles in them, and then the entries.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readEntries(withHandles handles: Int) throws(ATTDecodingError) -> MeasuredEntries {
        let length = Int(try readUInt8())
        guard length >= handles else {
            throw malformed(.entryLength(length, minimum: handles), at: reader.offset - 1)
        }
        return MeasuredEntries(valueLength: length - handles, entries: try readEntries(of: length))
    }

    /// Reads everything that is left, at least `minimum` bytes, as the caller's to divide.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readBytes(atLeast minimum: Int) throws(ATTDecodingError) -> ByteReader {
        try readEntries(of: 1, atLeast: minimum)
    }

    /// Checks that nothing is left.
    func finish() throws(ATTDecodingError) {
        guard reader.isAtEnd else { throw malformed(.trailingBytes(reader.remaining), at: reader.offset) }
    }

    /// Where the next field begins, counted from the opcode.
    var offset: Int { reader.offset }

    func malformed(_ problem: ATTDecodingError.Problem, at offset: Int) -> ATTDecodingError {
        ATTDecodingError(opcode: opcode, problem: problem, offset: offset)
    }
}

/// A value with the signature that follows it.
struct SignedValue: ~Escapable {
    let value: RawSpan
    let signature: ATTAuthenticationSignature

    @_lifetime(copy value)
    init(value: RawSpan, signature: ATTAuthenticationSignature) {
        self.value = value
        self.signature = signature
    }
}

/// Whole entries, each of one or two handles and `valueLength` bytes.
struct MeasuredEntries: ~Escapable {
    let valueLength: Int
    let entries: ByteReader

    @_lifetime(copy entries)
    init(valueLength: Int, entries: ByteReader) {
        self.valueLength = valueLength
        self.entries = entries
    }
}

extension ByteReader {
    /// Reads a handle.
    @inlinable
    @_lifetime(self: copy self)
    mutating func readHandle() throws(TruncatedBytes) -> AttributeHandle {
        AttributeHandle(try readUInt16())
    }

    /// Reads two handles as a range, in whatever order they are.
    @inlinable
    @_lifetime(self: copy self)
    mutating func readHandleRange() throws(TruncatedBytes) -> AttributeHandleRange {
        let both = try readUInt32()
        return AttributeHandleRange(
            start: AttributeHandle(UInt16(truncatingIfNeeded: both)),
            end: AttributeHandle(UInt16(truncatingIfNeeded: both >> 16)))
    }

    /// All bytes that are left, without passing over them.
    var unread: RawSpan {
        @_lifetime(copy self)
        get {
            var copy = self
            return copy.readRemaining()
        }
    }
}
