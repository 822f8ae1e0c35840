import BluetoothPrimitives

// The lists in PDUs. Each is a view of the received bytes that is validated once, when the PDU is decoded, so that
// iteration cannot fail: `next()` removes the first entry. A copy of a list begins at the original's current position.

/// An attribute's handle and value, or the beginning of its value, in borrowed bytes.
@frozen
public struct ATTAttributeData: ~Escapable {
    /// The handle of the attribute.
    public let handle: AttributeHandle
    /// The value, or its beginning.
    public let value: RawSpan

    /// An attribute with its value.
    @inlinable
    @_lifetime(copy value)
    public init(handle: AttributeHandle, value: RawSpan) {
        self.handle = handle
        self.value = value
    }
}

/// The handles of a Read Multiple or Read Multiple Variable Request, at least two (Core Vol 3 Part F §3.4.4.7).
public struct ATTHandleList: ~Escapable {
    @usableFromInline var reader: ByteReader

    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        reader = try pdu.readEntries(of: 2, atLeast: 2)
    }

    /// The number of remaining handles.
    @inlinable public var count: Int { reader.remaining / 2 }

    /// Removes and returns the first handle; nil at the end of the list.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func next() -> AttributeHandle? { try? reader.readHandle() }

    /// The remaining handles: `[0x0003, 0x0007]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let handle = rest.next() { texts.append(handle.description) }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}

/// The handles and types of a Find Information Response, at least one (Core Vol 3 Part F §3.4.3.2).
public struct ATTInformationList: ~Escapable {
    /// An attribute and its type.
    public struct Entry: Hashable, Sendable {
        /// The handle of the attribute.
        public var handle: AttributeHandle
        /// The attribute type.
        public var type: BluetoothUUID

        /// An attribute with its type.
        @inlinable
        public init(handle: AttributeHandle, type: BluetoothUUID) {
            self.handle = handle
            self.type = type
        }
    }

    /// The width of all types in this list: 16 bits (format 1) or 128 (format 2).
    public let typeWidth: BluetoothUUID.Width
    @usableFromInline var reader: ByteReader

    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        let formatOffset = pdu.offset
        let format = try pdu.readUInt8()
        switch format {
        case 1: typeWidth = .bits16
        case 2: typeWidth = .bits128
        default: throw pdu.malformed(.unknownFormat(format), at: formatOffset)
        }
        reader = try pdu.readEntries(of: 2 + typeWidth.byteCount)
    }

    /// The format field: 1 for 16-bit types, 2 for all others, which take 128 bits (Core Vol 3 Part F §3.2.1).
    static func format(_ width: BluetoothUUID.Width) -> UInt8 { width == .bits16 ? 1 : 2 }

    /// The number of remaining entries.
    @inlinable public var count: Int { reader.remaining / (2 + typeWidth.byteCount) }

    /// Removes and returns the first entry; nil at the end of the list.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func next() -> Entry? {
        try? Entry(handle: reader.readHandle(), type: reader.readUUID(typeWidth))
    }

    /// The remaining entries: `[0x0001: 2800, 0x0002: 2803]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let entry = rest.next() { texts.append("\(entry.handle): \(entry.type)") }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}

/// The found attributes and group end handles of a Find By Type Value Response, at least one
/// (Core Vol 3 Part F §3.4.3.4).
public struct ATTHandleRangeList: ~Escapable {
    @usableFromInline var reader: ByteReader

    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        reader = try pdu.readEntries(of: 4)
    }

    /// The number of remaining ranges.
    @inlinable public var count: Int { reader.remaining / 4 }

    /// Removes and returns the first range, from the found attribute to its group end handle; nil at the end of the
    /// list.
    ///
    /// The peer may send an invalid range; see ``AttributeHandleRange/isValid``.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func next() -> AttributeHandleRange? { try? reader.readHandleRange() }

    /// The remaining ranges: `[0x0001-0x0007, 0x0010-0xFFFF]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let range = rest.next() { texts.append(range.description) }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}

/// The handles and values, all of one length, of a Read By Type Response, at least one (Core Vol 3 Part F §3.4.4.2).
public struct ATTAttributeDataList: ~Escapable {
    /// The length of every value in bytes; a value of the greatest length that fits may be truncated.
    public let valueLength: Int
    @usableFromInline var reader: ByteReader

    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        let entryLength = try pdu.readEntryLength(atLeast: 2)
        valueLength = entryLength - 2
        reader = try pdu.readEntries(of: entryLength)
    }

    /// The length of every entry in bytes: a handle and the value.
    @inlinable public var entryLength: Int { 2 + valueLength }

    /// The number of remaining entries.
    @inlinable public var count: Int { reader.remaining / entryLength }

    /// Removes and returns the first entry; nil at the end of the list.
    @inlinable
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    public mutating func next() -> ATTAttributeData? {
        do {
            let handle = try reader.readHandle()
            return ATTAttributeData(handle: handle, value: try reader.read(valueLength))
        } catch {
            return nil
        }
    }

    /// The remaining entries: `[0x0003: 0A0500002A]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let entry = rest.next() { texts.append("\(entry.handle): \(hexadecimal(entry.value))") }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}

/// The groups and values, all of one length, of a Read By Group Type Response, at least one
/// (Core Vol 3 Part F §3.4.4.10).
public struct ATTGroupAttributeDataList: ~Escapable {
    /// A group of attributes and the value of its first attribute.
    @frozen
    public struct Entry: ~Escapable {
        /// The range from the found attribute to its group end handle, as the peer sent it.
        public let range: AttributeHandleRange
        /// The value of the found attribute, or its beginning.
        public let value: RawSpan

        /// A group with the value of its first attribute.
        @inlinable
        @_lifetime(copy value)
        public init(range: AttributeHandleRange, value: RawSpan) {
            self.range = range
            self.value = value
        }
    }

    /// The length of every value in bytes.
    public let valueLength: Int
    @usableFromInline var reader: ByteReader

    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        let entryLength = try pdu.readEntryLength(atLeast: 4)
        valueLength = entryLength - 4
        reader = try pdu.readEntries(of: entryLength)
    }

    /// The length of every entry in bytes: two handles and the value.
    @inlinable public var entryLength: Int { 4 + valueLength }

    /// The number of remaining entries.
    @inlinable public var count: Int { reader.remaining / entryLength }

    /// Removes and returns the first entry; nil at the end of the list.
    @inlinable
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    public mutating func next() -> Entry? {
        do {
            let range = try reader.readHandleRange()
            return Entry(range: range, value: try reader.read(valueLength))
        } catch {
            return nil
        }
    }

    /// The remaining entries: `[0x0001-0x0005: 0018]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let entry = rest.next() { texts.append("\(entry.range): \(hexadecimal(entry.value))") }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}

/// The values and lengths of a Read Multiple Variable Response, in the order of the request
/// (Core Vol 3 Part F §3.4.4.12).
///
/// The response ends at the ATT_MTU, which may truncate its last value or its last length. Iteration ignores half a
/// length, so that the list can have fewer entries than the request has handles.
public struct ATTLengthValueList: ~Escapable {
    /// A value and its length on the server.
    @frozen
    public struct Entry: ~Escapable {
        /// The length of the server's value in bytes.
        public let length: Int
        /// The value, or the part of it that fits into the response.
        public let value: RawSpan

        /// A value of the total length `length`.
        @inlinable
        @_lifetime(copy value)
        public init(length: Int, value: RawSpan) {
            self.length = length
            self.value = value
        }

        /// Whether the ATT_MTU truncated the value.
        @inlinable public var isTruncated: Bool { value.byteCount < length }
    }

    @usableFromInline var reader: ByteReader

    /// Two values, the minimum of a request, have two lengths.
    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        reader = try pdu.readBytes(atLeast: 4)
    }

    /// The number of remaining bytes, lengths included.
    @inlinable public var byteCount: Int { reader.remaining }

    /// Removes and returns the first entry; nil at the end of the list.
    @inlinable
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    public mutating func next() -> Entry? {
        do {
            let length = Int(try reader.readUInt16())
            return Entry(length: length, value: try reader.read(min(length, reader.remaining)))
        } catch {
            return nil
        }
    }

    /// The remaining entries, a truncated value with its total length: `[0102, 03… (5 bytes)]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let entry = rest.next() {
            texts.append(
                hexadecimal(entry.value) + (entry.isTruncated ? "… (\(entry.length) bytes)" : ""))
        }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}

/// The handles and values of a Multiple Handle Value Notification (Core Vol 3 Part F §3.4.7.4).
public struct ATTHandleLengthValueList: ~Escapable {
    @usableFromInline var reader: ByteReader

    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        let offset = pdu.offset
        reader = try pdu.readBytes(atLeast: 4)
        var check = reader
        do {
            repeat {
                try check.skip(2)
                try check.skip(Int(try check.readUInt16()))
            } while !check.isAtEnd
        } catch {
            throw pdu.malformed(
                .truncated(needed: error.needed, available: error.available), at: offset + error.offset)
        }
    }

    /// Removes and returns the first entry; nil at the end of the list.
    @inlinable
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    public mutating func next() -> ATTAttributeData? {
        do {
            let handle = try reader.readHandle()
            let length = Int(try reader.readUInt16())
            return ATTAttributeData(handle: handle, value: try reader.read(length))
        } catch {
            return nil
        }
    }

    /// The remaining entries: `[0x0003: 0102, 0x0007: ]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let entry = rest.next() { texts.append("\(entry.handle): \(hexadecimal(entry.value))") }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}
