import BluetoothPrimitives

// The lists inside PDUs. Each is a view of the received bytes that is checked once, when the PDU is decoded, and then
// walked without failing: `next()` takes the first entry off. A copy of a list starts where the original stands.

/// An attribute's handle and its value, or the beginning of its value, in borrowed bytes.
@frozen
public struct ATTAttributeData: ~Escapable {
    /// The attribute.
    public let handle: AttributeHandle
    /// Its value.
    public let value: RawSpan

    /// An attribute and its value.
    @inlinable
    @_lifetime(copy value)
    public init(handle: AttributeHandle, value: RawSpan) {
        self.handle = handle
        self.value = value
    }
}

/// The handles a Read Multiple or Read Multiple Variable Request asks for, two or more (Core Vol 3 Part F §3.4.4.7).
public struct ATTHandleList: ~Escapable {
    @usableFromInline var reader: ByteReader

    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        reader = try pdu.readEntries(of: 2, atLeast: 2)
    }

    /// How many handles are left.
    @inlinable public var count: Int { reader.remaining / 2 }

    /// Takes the first handle off, or returns nil when none is left.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func next() -> AttributeHandle? {
        do {
            return try reader.readHandle()
        } catch {
            return nil
        }
    }

    /// The handles that are left: `[0x0003, 0x0007]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let handle = rest.next() { texts.append(handle.description) }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}

/// Handles and types in a Find Information Response, one or more (Core Vol 3 Part F §3.4.3.2).
public struct ATTInformationList: ~Escapable {
    /// An attribute and its type.
    public struct Entry: Hashable, Sendable {
        /// The attribute.
        public var handle: AttributeHandle
        /// Its type.
        public var type: BluetoothUUID

        /// An attribute and its type.
        @inlinable
        public init(handle: AttributeHandle, type: BluetoothUUID) {
            self.handle = handle
            self.type = type
        }
    }

    /// How many bits every type of this list takes: 16 (format 1) or 128 (format 2).
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

    /// The format byte: 1 for types of 16 bits, 2 for types of 128.
    static func format(_ width: BluetoothUUID.Width) -> UInt8 { width == .bits16 ? 1 : 2 }

    /// How many entries are left.
    @inlinable public var count: Int { reader.remaining / (2 + typeWidth.byteCount) }

    /// Takes the first entry off, or returns nil when none is left.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func next() -> Entry? {
        do {
            return Entry(handle: try reader.readHandle(), type: try reader.readUUID(typeWidth))
        } catch {
            return nil
        }
    }

    /// The entries that are left: `[0x0001: 2800, 0x0002: 2803]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let entry = rest.next() { texts.append("\(entry.handle): \(entry.type)") }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}

/// Found attributes and the ends of their groups in a Find By Type Value Response, one or more
/// (Core Vol 3 Part F §3.4.3.4).
public struct ATTHandleRangeList: ~Escapable {
    @usableFromInline var reader: ByteReader

    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        reader = try pdu.readEntries(of: 4)
    }

    /// How many ranges are left.
    @inlinable public var count: Int { reader.remaining / 4 }

    /// Takes the first range off, from the attribute found to the end of its group, or returns nil when none is left.
    ///
    /// The range is what the peer sent and need not be valid.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func next() -> AttributeHandleRange? {
        do {
            return try reader.readHandleRange()
        } catch {
            return nil
        }
    }

    /// The ranges that are left: `[0x0001-0x0007, 0x0010-0xFFFF]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let range = rest.next() { texts.append(range.description) }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}

/// Handles and values of one length in a Read By Type Response, one or more (Core Vol 3 Part F §3.4.4.2).
public struct ATTAttributeDataList: ~Escapable {
    /// How many bytes every value has; a value of the greatest length that fits may go on beyond what is here.
    public let valueLength: Int
    @usableFromInline var reader: ByteReader

    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        let list = try pdu.readEntries(withHandles: 2)
        valueLength = list.valueLength
        reader = list.entries
    }

    /// How many bytes every entry takes: a handle and the value.
    @inlinable public var entryLength: Int { 2 + valueLength }

    /// How many entries are left.
    @inlinable public var count: Int { reader.remaining / entryLength }

    /// Takes the first entry off, or returns nil when none is left.
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

    /// The entries that are left: `[0x0003: 0A0500002A]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let entry = rest.next() { texts.append("\(entry.handle): \(hexadecimal(entry.value))") }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}

/// Groups and values of one length in a Read By Group Type Response, one or more (Core Vol 3 Part F §3.4.4.10).
public struct ATTGroupAttributeDataList: ~Escapable {
    /// A group of attributes and the value of its first.
    @frozen
    public struct Entry: ~Escapable {
        /// From the attribute found to the end of its group, as the peer sent it.
        public let range: AttributeHandleRange
        /// The value of the attribute found, or its beginning.
        public let value: RawSpan

        /// A group and the value of its first attribute.
        @inlinable
        @_lifetime(copy value)
        public init(range: AttributeHandleRange, value: RawSpan) {
            self.range = range
            self.value = value
        }
    }

    /// How many bytes every value has.
    public let valueLength: Int
    @usableFromInline var reader: ByteReader

    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        let list = try pdu.readEntries(withHandles: 4)
        valueLength = list.valueLength
        reader = list.entries
    }

    /// How many bytes every entry takes: two handles and the value.
    @inlinable public var entryLength: Int { 4 + valueLength }

    /// How many entries are left.
    @inlinable public var count: Int { reader.remaining / entryLength }

    /// Takes the first entry off, or returns nil when none is left.
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

    /// The entries that are left: `[0x0001-0x0005: 0018]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let entry = rest.next() { texts.append("\(entry.range): \(hexadecimal(entry.value))") }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}

/// Values with their lengths in a Read Multiple Variable Response, in the order asked for
/// (Core Vol 3 Part F §3.4.4.12).
///
/// The response ends at the ATT_MTU, so its last value may be cut, and a length may be cut too: half a length is
/// passed over, and then there are fewer entries than handles were asked for.
public struct ATTLengthValueList: ~Escapable {
    /// A value and how long it is on the server.
    @frozen
    public struct Entry: ~Escapable {
        /// How many bytes the server's value has.
        public let length: Int
        /// The value, or as much of it as fitted.
        public let value: RawSpan

        /// A value whose whole length is `length`.
        @inlinable
        @_lifetime(copy value)
        public init(length: Int, value: RawSpan) {
            self.length = length
            self.value = value
        }

        /// Whether the value was cut at the ATT_MTU.
        @inlinable public var isTruncated: Bool { value.byteCount < length }
    }

    @usableFromInline var reader: ByteReader

    /// Two values, the fewest a request can ask for, have two lengths.
    @_lifetime(copy pdu)
    @_lifetime(pdu: copy pdu)
    init(_ pdu: inout PDUReader) throws(ATTDecodingError) {
        reader = try pdu.readBytes(atLeast: 4)
    }

    /// How many bytes are left, lengths included.
    @inlinable public var byteCount: Int { reader.remaining }

    /// How many entries are left; takes a walk over them.
    public var count: Int {
        var rest = self
        var count = 0
        while rest.next() != nil { count += 1 }
        return count
    }

    /// Takes the first entry off, or returns nil when none is left.
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

    /// The entries that are left; a value that was cut ends in its whole length: `[0102, 03… (5 bytes)]`.
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

/// Handles and values in a Multiple Handle Value Notification (Core Vol 3 Part F §3.4.7.4).
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

    /// How many entries are left; takes a walk over them.
    public var count: Int {
        var rest = self
        var count = 0
        while rest.next() != nil { count += 1 }
        return count
    }

    /// Takes the first entry off, or returns nil when none is left.
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

    /// The entries that are left: `[0x0003: 0102, 0x0007: ]`.
    public var description: String {
        var rest = self
        var texts: [String] = []
        while let entry = rest.next() { texts.append("\(entry.handle): \(hexadecimal(entry.value))") }
        return "[" + texts.joined(separator: ", ") + "]"
    }
}
