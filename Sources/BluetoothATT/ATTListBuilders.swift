import BluetoothPrimitives

// Builders of the PDUs that contain lists. The caller passes the same writer to every call: it is empty at first, and
// its capacity is the ATT_MTU. A builder writes nothing before the first entry, so that the caller can still write an
// Error Response when the list stays empty. `append` returns whether the entry was added. After a response refused one
// entry it refuses all others, since a list has no gaps.

extension RawSpan {
    /// The first `count` bytes, or all when there are fewer.
    @_lifetime(copy self)
    fileprivate func prefix(_ count: Int) -> RawSpan {
        extracting(first: max(0, count))
    }
}

/// The part that the lists share: the opcode before the first entry, and a format that all entries have.
private struct EntryWriter: Sendable {
    let opcode: ATTOpcode
    private var format: UInt8?
    private(set) var count = 0
    private var isClosed = false

    init(_ opcode: ATTOpcode) {
        self.opcode = opcode
    }

    /// Appends an entry; returns whether it fits and its format, the byte behind the opcode, is that of the previous
    /// ones.
    ///
    /// A list with a format refuses all entries after one that it refused.
    mutating func append(
        format: UInt8? = nil, to writer: inout ByteWriter, _ entry: (inout ByteWriter) throws(BufferFull) -> Void
    ) -> Bool {
        let isFirst = count == 0
        guard !isClosed, isFirst || format == self.format,
            (try? writer.writeWhole { (writer) throws(BufferFull) in
                if isFirst {
                    try writer.write(opcode)
                    if let format { try writer.write(format) }
                }
                try entry(&writer)
            }) != nil
        else {
            isClosed = format != nil
            return false
        }
        self.format = format
        count += 1
        return true
    }
}

/// A builder of a Read Multiple or Read Multiple Variable Request (Core Vol 3 Part F §3.4.4.7, §3.4.4.11).
///
/// The request requires at least two handles.
public struct ATTReadMultipleRequestBuilder: Sendable {
    private var entries: EntryWriter

    /// A builder of a Read Multiple Variable Request, or of a Read Multiple Request when `variable` is false.
    public init(variable: Bool) {
        entries = EntryWriter(variable ? .readMultipleVariableRequest : .readMultipleRequest)
    }

    /// The number of handles written.
    public var count: Int { entries.count }

    /// Appends a handle; returns whether it fits.
    public mutating func append(_ handle: AttributeHandle, to writer: inout ByteWriter) -> Bool {
        entries.append(to: &writer) { (writer) throws(BufferFull) in try writer.write(handle) }
    }
}

/// A builder of a Find Information Response, whose types are all of 16 or all of 128 bits (Core Vol 3 Part F §3.4.3.2).
public struct ATTFindInformationResponseBuilder: Sendable {
    private var entries = EntryWriter(.findInformationResponse)

    /// A builder of a response without entries.
    public init() {}

    /// The number of entries written.
    public var count: Int { entries.count }

    /// Appends an attribute and its type; returns whether the entry fits and its type has the width of the previous
    /// ones.
    public mutating func append(
        _ handle: AttributeHandle, type: BluetoothUUID, to writer: inout ByteWriter
    ) -> Bool {
        entries.append(format: ATTInformationList.format(type.shortestWidth), to: &writer) {
            (writer) throws(BufferFull) in
            try writer.write(handle)
            try writer.write(attributeType: type)
        }
    }
}

/// A builder of a Find By Type Value Response (Core Vol 3 Part F §3.4.3.4).
public struct ATTFindByTypeValueResponseBuilder: Sendable {
    private var entries = EntryWriter(.findByTypeValueResponse)

    /// A builder of a response without entries.
    public init() {}

    /// The number of entries written.
    public var count: Int { entries.count }

    /// Appends the range from a found attribute to its group end handle; returns whether it fits.
    ///
    /// For an attribute that is not a grouping attribute, the range is its own handle.
    public mutating func append(_ range: AttributeHandleRange, to writer: inout ByteWriter) -> Bool {
        entries.append(to: &writer) { (writer) throws(BufferFull) in try writer.write(range) }
    }
}

/// A builder of a Read By Type Response or a Read By Group Type Response, whose values all have one length
/// (Core Vol 3 Part F §3.4.4.2, §3.4.4.10).
public struct ATTReadByTypeResponseBuilder: Sendable {
    private var entries: EntryWriter
    private let isGrouped: Bool

    /// A builder of a response without entries; `isGrouped` selects Read By Group Type.
    public init(isGrouped: Bool = false) {
        self.isGrouped = isGrouped
        entries = EntryWriter(isGrouped ? .readByGroupTypeResponse : .readByTypeResponse)
    }

    /// The number of entries written.
    public var count: Int { entries.count }

    /// Appends an attribute, the end of its group if the response has groups, and its value, truncated to
    /// ``ATTValueLimits/readByType`` or ``ATTValueLimits/readByGroupType``; returns whether the entry fits and has the
    /// length of the previous ones.
    public mutating func append(
        _ handle: AttributeHandle, groupEnd: AttributeHandle = .none, value: RawSpan, to writer: inout ByteWriter
    ) -> Bool {
        let limits = ATTValueLimits(mtu: writer.capacity)
        let value = value.prefix(isGrouped ? limits.readByGroupType : limits.readByType)
        let length = (isGrouped ? 4 : 2) + value.byteCount
        return entries.append(format: UInt8(truncatingIfNeeded: length), to: &writer) { (writer) throws(BufferFull) in
            try writer.write(handle)
            if isGrouped { try writer.write(groupEnd) }
            try writer.write(value)
        }
    }
}

/// A builder of a Read Multiple Response or a Read Multiple Variable Response, which contains the values' lengths
/// (Core Vol 3 Part F §3.4.4.8, §3.4.4.12).
///
/// The list is truncated at the ATT_MTU, even within a length, so that every request has a response.
public struct ATTReadMultipleResponseBuilder: Sendable {
    private var entries: EntryWriter
    private let variable: Bool
    private var isClosed = false

    /// A builder of a response without values.
    public init(variable: Bool) {
        self.variable = variable
        entries = EntryWriter(variable ? .readMultipleVariableResponse : .readMultipleResponse)
    }

    /// Appends a value, truncated at the ATT_MTU; returns whether all of it fits.
    ///
    /// Values of more than 65535 bytes, which no attribute has, are refused.
    public mutating func append(_ value: RawSpan, to writer: inout ByteWriter) -> Bool {
        guard !isClosed, let length = UInt16(exactly: value.byteCount) else { return false }
        let space = writer.remaining - (entries.count == 0 ? 1 : 0)
        let header = variable ? 2 : 0
        let fits = entries.append(to: &writer) { (writer) throws(BufferFull) in
            switch space {
            case header...:
                if variable { try writer.write(length) }
                try writer.write(value.prefix(space - header))
            case 1:
                try writer.write(UInt8(truncatingIfNeeded: length))
            default:
                break
            }
        }
        isClosed = !fits || space < header + value.byteCount
        return !isClosed
    }
}

/// A builder of a Multiple Handle Value Notification, whose values are never truncated (Core Vol 3 Part F §3.4.7.4).
public struct ATTMultipleHandleValueNotificationBuilder: Sendable {
    private var entries = EntryWriter(.multipleHandleValueNotification)

    /// A builder of a notification without entries.
    public init() {}

    /// The number of entries written.
    public var count: Int { entries.count }

    /// Appends an attribute and its value; returns whether the entry fits. A shorter entry may still fit after a
    /// refused one.
    public mutating func append(
        _ handle: AttributeHandle, value: RawSpan, to writer: inout ByteWriter
    ) -> Bool {
        guard let length = UInt16(exactly: value.byteCount) else { return false }
        return entries.append(to: &writer) { (writer) throws(BufferFull) in
            try writer.write(handle)
            try writer.write(length)
            try writer.write(value)
        }
    }
}
