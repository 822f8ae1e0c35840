import BluetoothPrimitives

// Writers of the PDUs that are lists. A builder is begun with a writer that is empty and has the ATT_MTU as capacity;
// every call hands the same writer in. Nothing is written before the first entry, so a list that stays empty leaves
// the writer free for an Error Response. `append` says whether the entry went in; a response takes no more after the
// first that did not, since its entries follow each other without gaps.

extension ByteWriter {
    /// Has `body` write, and takes back what it wrote when not all of it fits; says whether it fitted.
    fileprivate mutating func fits(_ body: (inout ByteWriter) throws(BufferFull) -> Void) -> Bool {
        (try? writeWhole(body)) != nil
    }
}

extension RawSpan {
    /// The first `count` bytes, or all when there are fewer.
    @_lifetime(copy self)
    fileprivate func prefix(_ count: Int) -> RawSpan {
        extracting(first: max(0, count))
    }
}

/// Writes the handles of a Read Multiple or Read Multiple Variable Request (Core Vol 3 Part F §3.4.4.7, §3.4.4.11).
///
/// The request needs two handles or more.
public struct ATTReadMultipleRequestBuilder: Sendable {
    private let opcode: ATTOpcode
    /// How many handles have been written.
    public private(set) var count = 0

    /// Begins a Read Multiple Variable Request, or a Read Multiple Request when `variable` is false.
    public init(variable: Bool) {
        opcode = variable ? .readMultipleVariableRequest : .readMultipleRequest
    }

    /// Appends a handle and says whether it fitted.
    public mutating func append(_ handle: AttributeHandle, to writer: inout ByteWriter) -> Bool {
        let isFirst = count == 0
        let fits = writer.fits { (writer) throws(BufferFull) in
            if isFirst { try writer.write(opcode) }
            try writer.write(handle)
        }
        if fits { count += 1 }
        return fits
    }
}

/// Writes the entries of a Find Information Response, whose types all take 16 or all 128 bits
/// (Core Vol 3 Part F §3.4.3.2).
public struct ATTFindInformationResponseBuilder: Sendable {
    private var typeWidth: BluetoothUUID.Width?
    /// How many entries have been written.
    public private(set) var count = 0
    private var isClosed = false

    /// Begins a response without entries.
    public init() {}

    /// Appends an attribute and its type; says whether it fitted and the type is as long as those before.
    public mutating func append(
        _ handle: AttributeHandle, type: BluetoothUUID, to writer: inout ByteWriter
    ) -> Bool {
        let width = attributeTypeWidth(of: type)
        guard !isClosed, typeWidth == nil || typeWidth == width else {
            isClosed = true
            return false
        }
        let isFirst = typeWidth == nil
        let fits = writer.fits { (writer) throws(BufferFull) in
            if isFirst {
                try writer.write(ATTOpcode.findInformationResponse)
                try writer.write(ATTInformationList.format(width))
            }
            try writer.write(handle)
            try writer.write(attributeType: type)
        }
        if fits {
            typeWidth = width
            count += 1
        } else {
            isClosed = true
        }
        return fits
    }
}

/// Writes the entries of a Find By Type Value Response (Core Vol 3 Part F §3.4.3.4).
public struct ATTFindByTypeValueResponseBuilder: Sendable {
    /// How many entries have been written.
    public private(set) var count = 0

    /// Begins a response without entries.
    public init() {}

    /// Appends a range from an attribute found to the end of its group and says whether it fitted.
    ///
    /// An attribute that is no group is a range of its own handle alone.
    public mutating func append(_ range: AttributeHandleRange, to writer: inout ByteWriter) -> Bool {
        let isFirst = count == 0
        let fits = writer.fits { (writer) throws(BufferFull) in
            if isFirst { try writer.write(ATTOpcode.findByTypeValueResponse) }
            try writer.write(range)
        }
        if fits { count += 1 }
        return fits
    }
}

/// What the two responses with a length byte have in common: the first value sets the length of all.
private struct MeasuredEntryWriter: Sendable {
    let opcode: ATTOpcode
    var valueLength: Int?
    var count = 0
    var isClosed = false

    init(_ opcode: ATTOpcode) {
        self.opcode = opcode
    }

    mutating func append(
        _ value: RawSpan, maximum: Int, handleBytes: Int, to writer: inout ByteWriter,
        handles: (inout ByteWriter) throws(BufferFull) -> Void
    ) -> Bool {
        let value = value.prefix(maximum)
        guard !isClosed, valueLength == nil || valueLength == value.byteCount else {
            isClosed = true
            return false
        }
        let isFirst = valueLength == nil
        let fits = writer.fits { (writer) throws(BufferFull) in
            if isFirst {
                try writer.write(opcode)
                try writer.write(UInt8(truncatingIfNeeded: handleBytes + value.byteCount))
            }
            try handles(&writer)
            try writer.write(value)
        }
        guard fits else {
            isClosed = true
            return false
        }
        valueLength = value.byteCount
        count += 1
        return true
    }
}

/// Writes the entries of a Read By Type Response, whose values all have one length (Core Vol 3 Part F §3.4.4.2).
public struct ATTReadByTypeResponseBuilder: Sendable {
    private var entries = MeasuredEntryWriter(.readByTypeResponse)

    /// Begins a response without entries.
    public init() {}

    /// How many entries have been written.
    public var count: Int { entries.count }

    /// Appends an attribute with its value, cut to ``ATTValueLimits/readByType``; says whether it fitted and is as
    /// long as those before.
    public mutating func append(
        _ handle: AttributeHandle, value: RawSpan, to writer: inout ByteWriter
    ) -> Bool {
        entries.append(
            value, maximum: ATTValueLimits(mtu: writer.capacity).readByType, handleBytes: 2, to: &writer
        ) { (writer) throws(BufferFull) in
            try writer.write(handle)
        }
    }
}

/// Writes the entries of a Read By Group Type Response, whose values all have one length
/// (Core Vol 3 Part F §3.4.4.10).
public struct ATTReadByGroupTypeResponseBuilder: Sendable {
    private var entries = MeasuredEntryWriter(.readByGroupTypeResponse)

    /// Begins a response without entries.
    public init() {}

    /// How many entries have been written.
    public var count: Int { entries.count }

    /// Appends a group with the value of its first attribute, cut to ``ATTValueLimits/readByGroupType``; says whether
    /// it fitted and is as long as those before.
    public mutating func append(
        _ range: AttributeHandleRange, value: RawSpan, to writer: inout ByteWriter
    ) -> Bool {
        entries.append(
            value, maximum: ATTValueLimits(mtu: writer.capacity).readByGroupType, handleBytes: 4, to: &writer
        ) { (writer) throws(BufferFull) in
            try writer.write(range)
        }
    }
}

/// Writes the values of a Read Multiple Response (Core Vol 3 Part F §3.4.4.8).
///
/// All values follow each other and what does not fit into the ATT_MTU is cut off, so every request gets its response.
public struct ATTReadMultipleResponseBuilder: Sendable {
    private var hasOpcode = false
    private var isClosed = false

    /// Begins a response without values.
    public init() {}

    /// Appends as much of a value as fits and says whether that was all of it.
    public mutating func append(_ value: RawSpan, to writer: inout ByteWriter) -> Bool {
        guard !isClosed else { return false }
        let cut = value.prefix(writer.remaining - (hasOpcode ? 0 : 1))
        let needsOpcode = !hasOpcode
        let fits = writer.fits { (writer) throws(BufferFull) in
            if needsOpcode { try writer.write(ATTOpcode.readMultipleResponse) }
            try writer.write(cut)
        }
        hasOpcode = hasOpcode || fits
        isClosed = !fits || cut.byteCount < value.byteCount
        return !isClosed
    }
}

/// Writes the values of a Read Multiple Variable Response with their lengths (Core Vol 3 Part F §3.4.4.12).
///
/// What does not fit into the ATT_MTU is cut off, even within a length, so every request gets its response.
public struct ATTReadMultipleVariableResponseBuilder: Sendable {
    private var hasOpcode = false
    private var isClosed = false

    /// Begins a response without values.
    public init() {}

    /// Appends as much of a value as fits and says whether that was all of it.
    ///
    /// A value longer than 65535 bytes, which no attribute has, is not appended.
    public mutating func append(_ value: RawSpan, to writer: inout ByteWriter) -> Bool {
        guard !isClosed, let length = UInt16(exactly: value.byteCount) else { return false }
        let needsOpcode = !hasOpcode
        let space = writer.remaining - (hasOpcode ? 0 : 1)
        let fits = writer.fits { (writer) throws(BufferFull) in
            if needsOpcode { try writer.write(ATTOpcode.readMultipleVariableResponse) }
            switch space {
            case 2...:
                try writer.write(length)
                try writer.write(value.prefix(space - 2))
            case 1:
                try writer.write(UInt8(truncatingIfNeeded: length))
            default:
                break
            }
        }
        hasOpcode = hasOpcode || fits
        isClosed = !fits || space < 2 + value.byteCount
        return !isClosed
    }
}

/// Writes the values of a Multiple Handle Value Notification, each of them whole (Core Vol 3 Part F §3.4.7.4).
public struct ATTMultipleHandleValueNotificationBuilder: Sendable {
    /// How many entries have been written.
    public private(set) var count = 0

    /// Begins a notification without entries.
    public init() {}

    /// Appends an attribute with its value and says whether it fitted; a shorter one may still fit after one that did
    /// not.
    public mutating func append(
        _ handle: AttributeHandle, value: RawSpan, to writer: inout ByteWriter
    ) -> Bool {
        guard let length = UInt16(exactly: value.byteCount) else { return false }
        let isFirst = count == 0
        let fits = writer.fits { (writer) throws(BufferFull) in
            if isFirst { try writer.write(ATTOpcode.multipleHandleValueNotification) }
            try writer.write(handle)
            try writer.write(length)
            try writer.write(value)
        }
        if fits { count += 1 }
        return fits
    }
}
