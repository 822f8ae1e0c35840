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

    /// Reads a value up to the authentication signature, and the signature.
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

    /// Reads the entry length of a list, which is at least that of its handles, and then the entries.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    mutating func readEntries(withHandles handles: Int) throws(ATTDecodingError) -> MeasuredEntries {
        let length = Int(try readUInt8())
        guard length >= handles else {
            throw malformed(.entryLength(length, minimum: handles), at: reader.offset - 1)
        }
        return MeasuredEntries(valueLength: length - handles, entries: try readEntries(of: length))
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

/// A value and its authentication signature.
struct SignedValue: ~Escapable {
    let value: RawSpan
    let signature: ATTAuthenticationSignature

    @_lifetime(copy value)
    init(value: RawSpan, signature: ATTAuthenticationSignature) {
        self.value = value
        self.signature = signature
    }
}

/// Complete entries, each of one or two handles and `valueLength` bytes.
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

    /// Reads two handles as a range; the start may be above the end.
    @inlinable
    @_lifetime(self: copy self)
    mutating func readHandleRange() throws(TruncatedBytes) -> AttributeHandleRange {
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
