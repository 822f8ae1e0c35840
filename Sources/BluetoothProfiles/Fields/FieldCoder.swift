import BluetoothPrimitives

/// A cursor through the fields of a value, which one function reads and writes in their order.
///
/// Each method either sets its `inout` argument from the bytes, or appends the argument's bytes. Fields have their least
/// significant byte first (Core Vol 3 Part G §2.4). The name of a field is that in errors; nil is the principal one.
/// ```swift
/// static func code(_ value: inout Level, _ fields: inout FieldCoder) throws(MalformedValue) {
///     try fields.flags(byteCount: 1)
///     try fields.number("level", &value.level, .u16, .ten(-1), unit: "%")
///     try fields.number("volume", &value.volume, .u8, unit: "L", flag: 0)
/// }
/// ```
public struct FieldCoder {
    /// Whether fields are read; otherwise they are written.
    public let isDecoding: Bool
    /// The value: as received, or its bytes so far.
    private var bytes: [UInt8]
    /// The position of the next field to read.
    private var position = 0
    private var flags: UInt64 = 0
    private var flagRange: Range<Int>?
    /// The fields read so far; nil if nobody asks.
    private var described: [DescribedField]?

    /// A cursor that reads.
    init(decoding bytes: [UInt8], isDescribing: Bool = false) {
        isDecoding = true
        self.bytes = bytes
        described = isDescribing ? [] : nil
    }

    /// A cursor that writes.
    init() {
        isDecoding = false
        bytes = []
    }

    /// The written bytes.
    var encoded: [UInt8] {
        var result = bytes
        for (index, position) in (flagRange ?? 0..<0).enumerated() {
            result[position] = UInt8(truncatingIfNeeded: flags >> (8 * index))
        }
        return result
    }

    /// The fields read; nil if bytes are left in a format without flags, which later versions do not extend.
    var description: [DescribedField]? { remainingCount == 0 || flagRange != nil ? described : nil }

    /// The number of bytes left to read; 0 when encoding.
    public var remainingCount: Int { isDecoding ? bytes.count - position : 0 }

    /// Reads bytes.
    private mutating func read(_ count: Int, _ name: String?) throws(MalformedValue) -> ArraySlice<UInt8> {
        guard remainingCount >= count else {
            throw MalformedValue(
                name ?? "value", "\(count) byte\(count == 1 ? "" : "s") needed, \(remainingCount) available")
        }
        defer { position += count }
        return bytes[position..<position + count]
    }

    private mutating func readBits(_ byteCount: Int, _ name: String?) throws(MalformedValue) -> UInt64 {
        UInt64(truncatingIfNeeded: Self.bits(try read(byteCount, name)))
    }

    private static func bits(_ bytes: some BidirectionalCollection<UInt8>) -> UInt128 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt128($1) }
    }

    private mutating func writeBits(_ bits: UInt64, _ byteCount: Int) {
        for index in 0..<byteCount { bytes.append(UInt8(truncatingIfNeeded: bits >> (8 * index))) }
    }

    private mutating func describe(
        _ name: String?, _ content: @autoclosure () -> DescribedField.Content, _ unit: String? = nil
    ) {
        if described != nil { described?.append(DescribedField(name: name, content: content(), unit: unit)) }
    }
}

// MARK: Flags

extension FieldCoder {
    /// The flags of the value, of at most 8 bytes. When encoding, the fields that follow set them.
    public mutating func flags(byteCount: Int) throws(MalformedValue) {
        let start = isDecoding ? position : bytes.count
        flagRange = start..<start + byteCount
        if isDecoding { flags = try readBits(byteCount, "flags") } else { writeBits(0, byteCount) }
    }

    /// A flag that stands for itself: true if it is set, and then described by its name.
    public mutating func flag(_ bit: Int, _ value: inout Bool, name: String? = nil) {
        value = isPresent(flag: bit, value)
        if let name { mark(name, if: value) }
    }

    /// Whether what a flag announces is present: what the flag says, or when encoding `isPresent`, which the flag then says.
    public mutating func isPresent(flag bit: Int, _ isPresent: Bool) -> Bool {
        if isDecoding { return flags >> bit & 1 == 1 }
        if isPresent { flags |= 1 << bit }
        return isPresent
    }

    /// Fields that are present together, as a flag announces; nil without it.
    mutating func group<Group>(
        _ value: inout Group?, flag: Int, initial: @autoclosure () -> Group,
        fields: (inout Group, inout FieldCoder) throws(MalformedValue) -> Void
    ) throws(MalformedValue) {
        guard isPresent(flag: flag, value != nil) else { return value = nil }
        var group = value ?? initial()
        try fields(&group, &self)
        value = group
    }

    /// A condition to describe; no bytes.
    mutating func mark(_ name: String, if holds: Bool) {
        if holds { describe(name, .mark) }
    }

    /// Describes the field before with a remark.
    mutating func remark(_ text: @autoclosure () -> String?) {
        if let last = described?.indices.last { described?[last].remark = text() }
    }
}

// MARK: Numbers

extension FieldCoder {
    /// Reads a number; nil if it has the value `unknown`.
    private mutating func readNumber(
        _ name: String?, _ format: NumberFormat, _ scale: NumberScale, _ unit: String?, _ unknown: UInt64?
    ) throws(MalformedValue) -> ScalarNumber? {
        let raw = try read(format.byteCount, name)
        if let unknown, Self.bits(raw) == unknown {
            describe(name, .unknown)
            return nil
        }
        guard let number = format.decode(raw) else { throw MalformedValue(name ?? "value", "not a number") }
        describe(name, .numbers([number], scale), unit)
        return number
    }

    /// Writes the encoded bytes of a value, or `unknown` for nil; a value with the bytes of `unknown` is out of range.
    private mutating func write(
        _ name: String?, _ value: (some Sendable)?, as encoded: [UInt8]?, _ format: NumberFormat, _ unknown: UInt64?
    ) throws(MalformedValue) {
        guard let value else {
            guard let unknown else { throw MalformedValue(name ?? "value", "missing") }
            return writeBits(unknown, format.byteCount)
        }
        guard let encoded, unknown.map({ $0 == Self.bits(encoded) }) != true else {
            throw MalformedValue(name ?? "value", "\(value) is out of range")
        }
        bytes += encoded
    }

    /// A number.
    public mutating func number(
        _ name: String?, _ value: inout Double, _ format: NumberFormat, _ scale: NumberScale = .one, unit: String? = nil
    ) throws(MalformedValue) {
        var number: Double? = value
        try self.number(name, &number, format, scale, unit: unit)
        value = number ?? value
    }

    /// A number that may be absent: without its flag, or with the value `unknown`.
    public mutating func number(
        _ name: String?, _ value: inout Double?, _ format: NumberFormat, _ scale: NumberScale = .one,
        unit: String? = nil, flag: Int? = nil, unknown: UInt64? = nil
    ) throws(MalformedValue) {
        if let flag, !isPresent(flag: flag, value != nil) { return value = nil }
        guard isDecoding else {
            return try write(name, value, as: value.flatMap { format.encode($0, scale) }, format, unknown)
        }
        value = try readNumber(name, format, scale, unit, unknown).map { scale.value($0) }
    }

    /// An integer.
    public mutating func number(
        _ name: String?, _ value: inout Int, _ format: NumberFormat, _ scale: NumberScale = .one, unit: String? = nil
    ) throws(MalformedValue) {
        var number: Int? = value
        try self.number(name, &number, format, scale, unit: unit)
        value = number ?? value
    }

    /// An integer that may be absent: without its flag, or with the value `unknown`.
    public mutating func number(
        _ name: String?, _ value: inout Int?, _ format: NumberFormat, _ scale: NumberScale = .one,
        unit: String? = nil, flag: Int? = nil, unknown: UInt64? = nil
    ) throws(MalformedValue) {
        if let flag, !isPresent(flag: flag, value != nil) { return value = nil }
        guard isDecoding else {
            return try write(name, value, as: value.flatMap { format.encode($0, scale) }, format, unknown)
        }
        guard let number = try readNumber(name, format, scale, unit, unknown) else { return value = nil }
        guard let integer = scale.integer(number) else { throw MalformedValue(name ?? "value", "not an integer") }
        value = integer
    }

    /// Numbers up to the end of the value.
    public mutating func numbers(
        _ name: String?, _ values: inout [Double], _ format: NumberFormat, _ scale: NumberScale = .one,
        unit: String? = nil
    ) throws(MalformedValue) {
        guard isDecoding else {
            for var value in values { try number(name, &value, format, scale) }
            return
        }
        var found: [ScalarNumber] = []
        while remainingCount > 0 {
            guard let number = format.decode(try read(format.byteCount, name)) else {
                throw MalformedValue(name ?? "value", "not a number")
            }
            found.append(number)
        }
        values = found.map { scale.value($0) }
        if !found.isEmpty { describe(name, .numbers(found, scale), unit) }
    }
}

// MARK: Codes, bits, bytes and times

extension FieldCoder {
    /// A code or a set of bits, of as many bytes as its raw value unless `byteCount` says otherwise.
    public mutating func code<Code: RawRepresentable>(
        _ name: String?, _ value: inout Code, byteCount: Int = Code.RawValue.bitWidth / 8
    ) throws(MalformedValue) where Code.RawValue: FixedWidthInteger & UnsignedInteger {
        guard isDecoding else {
            let bits = UInt64(value.rawValue)
            guard bits >> (8 * byteCount) == 0 else { throw MalformedValue(name ?? "value", "\(bits) is out of range") }
            return writeBits(bits, byteCount)
        }
        let bits = try readBits(byteCount, name)
        guard let raw = Code.RawValue(exactly: bits), let code = Code(rawValue: raw) else {
            throw MalformedValue(name ?? "value", "\(bits) has no meaning")
        }
        value = code
        describe(name, .code(bits, "\(code)"))
    }

    /// A code or a set of bits that is absent without its flag.
    public mutating func code<Code: RawRepresentable>(
        _ name: String?, _ value: inout Code?, flag: Int, byteCount: Int = Code.RawValue.bitWidth / 8
    ) throws(MalformedValue) where Code.RawValue: FixedWidthInteger & UnsignedInteger {
        guard isPresent(flag: flag, value != nil) else { return value = nil }
        guard var code = value ?? Code(rawValue: 0) else { throw MalformedValue(name ?? "value", "0 has no meaning") }
        try self.code(name, &code, byteCount: byteCount)
        value = code
    }

    /// An identifier, which texts show in hexadecimal.
    public mutating func identifier<Number: FixedWidthInteger & UnsignedInteger>(
        _ name: String?, _ value: inout Number, byteCount: Int = Number.bitWidth / 8
    ) throws(MalformedValue) {
        guard isDecoding else {
            guard Number.bitWidth <= 8 * byteCount || value >> (8 * byteCount) == 0 else {
                throw MalformedValue(name ?? "value", "\(value) has more than \(byteCount) bytes")
            }
            return writeBits(UInt64(value), byteCount)
        }
        value = Number(truncatingIfNeeded: try readBits(byteCount, name))
        describe(name, .text("0x" + hexadecimal(value, digits: 2 * byteCount)))
    }

    /// Two numbers in one byte: the lower and the upper four bits.
    mutating func nibbles(_ name: String?, _ low: UInt8, _ high: UInt8) throws(MalformedValue) -> (UInt8, UInt8) {
        guard low < 16, high < 16 else { throw MalformedValue(name ?? "value", "more than 15") }
        var byte = high << 4 | low
        try identifier(name, &byte)
        return (byte & 15, byte >> 4)
    }

    /// Reserved bytes, which are not looked at.
    /// - Parameters:
    ///   - count: their number.
    ///   - pattern: the bytes to send; nil for zeros.
    public mutating func reserved(_ count: Int, sending pattern: [UInt8]? = nil) throws(MalformedValue) {
        if isDecoding {
            _ = try read(count, "reserved")
        } else {
            bytes += pattern ?? [UInt8](repeating: 0, count: count)
        }
    }

    /// Bytes up to the end of the value.
    public mutating func remainder(_ name: String?, _ value: inout [UInt8]) {
        guard isDecoding else { return bytes += value }
        value = Array(bytes[position...])
        position = bytes.count
    }

    /// A date and time of day; one that is sent has parts within their ranges.
    public mutating func dateTime(_ name: String?, _ value: inout DateTime) throws(MalformedValue) {
        if !isDecoding, let part = value.partOutOfRange {
            throw MalformedValue(name ?? "value", "\(part) is out of range")
        }
        let described = described
        try number(name, &value.year, .u16)
        try number(name, &value.month, .u8)
        try number(name, &value.day, .u8)
        try number(name, &value.hours, .u8)
        try number(name, &value.minutes, .u8)
        try number(name, &value.seconds, .u8)
        self.described = described
        describe(name, .text(value.description))
    }

    /// A date and time of day that is absent without its flag.
    public mutating func dateTime(_ name: String?, _ value: inout DateTime?, flag: Int) throws(MalformedValue) {
        try group(&value, flag: flag, initial: DateTime()) { (time, fields) throws(MalformedValue) in
            try fields.dateTime(name, &time)
        }
    }
}
