/// The binary format of a number.
public enum NumberFormat: Hashable, Sendable {
    /// An integer of whole bytes, at most 16.
    case integer(byteCount: Int, isSigned: Bool)
    /// An IEEE 754 number of 32 bits.
    case float32
    /// An IEEE 754 number of 64 bits.
    case float64
    /// IEEE 11073-20601 SFLOAT, 16 bits.
    case sfloat
    /// IEEE 11073-20601 FLOAT, 32 bits.
    case medicalFloat

    /// An unsigned integer of 8 bits.
    public static let u8 = NumberFormat.integer(byteCount: 1, isSigned: false)
    /// An unsigned integer of 16 bits.
    public static let u16 = NumberFormat.integer(byteCount: 2, isSigned: false)
    /// An unsigned integer of 24 bits.
    public static let u24 = NumberFormat.integer(byteCount: 3, isSigned: false)
    /// An unsigned integer of 32 bits.
    public static let u32 = NumberFormat.integer(byteCount: 4, isSigned: false)
    /// An unsigned integer of 64 bits.
    public static let u64 = NumberFormat.integer(byteCount: 8, isSigned: false)
    /// A signed integer of 8 bits.
    public static let i8 = NumberFormat.integer(byteCount: 1, isSigned: true)
    /// A signed integer of 16 bits.
    public static let i16 = NumberFormat.integer(byteCount: 2, isSigned: true)
    /// A signed integer of 24 bits.
    public static let i24 = NumberFormat.integer(byteCount: 3, isSigned: true)
    /// A signed integer of 32 bits.
    public static let i32 = NumberFormat.integer(byteCount: 4, isSigned: true)
    /// A signed integer of 64 bits.
    public static let i64 = NumberFormat.integer(byteCount: 8, isSigned: true)

    /// The formats by their names on the command line.
    public static let names: [(name: String, format: NumberFormat)] = [
        ("u8", .u8), ("u16", .u16), ("u24", .u24), ("u32", .u32), ("u64", .u64),
        ("i8", .i8), ("i16", .i16), ("i24", .i24), ("i32", .i32), ("i64", .i64),
        ("f32", .float32), ("f64", .float64), ("sfloat", .sfloat), ("float", .medicalFloat),
    ]

    /// The size in bytes.
    public var byteCount: Int {
        switch self {
        case .integer(let byteCount, _): byteCount
        case .sfloat: 2
        case .float32, .medicalFloat: 4
        case .float64: 8
        }
    }

    /// Decodes ``byteCount`` bytes, the least significant first; nil for another number of bytes.
    public func decode(_ bytes: some BidirectionalCollection<UInt8>) -> ScalarNumber? {
        guard bytes.count == byteCount, byteCount <= 16 else { return nil }
        let bits = bytes.reversed().reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        switch self {
        case .integer(_, false): return Int128(exactly: bits).map { .decimal(DecimalNumber($0)) }
        case .integer(_, true):
            let shift = 128 - 8 * byteCount
            return .decimal(DecimalNumber(Int128(truncatingIfNeeded: bits << shift) >> shift))
        case .float32:
            let number = Float(bitPattern: UInt32(truncatingIfNeeded: bits))
            return .binary(Double("\(number)") ?? Double(number), text: Self.text(number))
        case .float64:
            let number = Double(bitPattern: UInt64(truncatingIfNeeded: bits))
            return .binary(number, text: Self.text(number))
        case .sfloat: return MedicalFloat.short.decode(UInt32(truncatingIfNeeded: bits))
        case .medicalFloat: return MedicalFloat.long.decode(UInt32(truncatingIfNeeded: bits))
        }
    }

    /// The shortest text that denotes the number, with the names of IEEE 754's other values as they are written.
    private static func text<Number: BinaryFloatingPoint & CustomStringConvertible>(_ number: Number) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-INF" : "+INF" }
        return number.description
    }
}

/// The reason why text is not a value in a format.
public struct ValueFormatError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was wrong, and the forms that are accepted.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension NumberFormat {
    /// The values that text may denote, such as `0 to 65535`.
    private var range: String {
        switch self {
        case .integer:
            let (low, high) = bounds
            return "\(low) to \(high)"
        case .float32: return "-3.4028235e38 to 3.4028235e38, NaN, INF or -INF"
        case .float64: return "-1.7976931348623157e308 to 1.7976931348623157e308, NaN, INF or -INF"
        case .sfloat, .medicalFloat:
            let greatest = (medical ?? .short).greatest.text
            return "-\(greatest) to \(greatest), NaN, NRes, INF or -INF"
        }
    }

    private var bounds: (low: Int128, high: Int128) {
        guard case .integer(let byteCount, let isSigned) = self, byteCount < 16 else { return (.min, .max) }
        let count = Int128(1) << (8 * byteCount)
        return isSigned ? (-count / 2, count / 2 - 1) : (0, count - 1)
    }

    private var medical: MedicalFloat? {
        switch self {
        case .sfloat: .short
        case .medicalFloat: .long
        default: nil
        }
    }

    /// Encodes a number given as text, the least significant byte first: decimal, or for integers also hexadecimal with
    /// `0x`.
    /// - Throws: ``ValueFormatError``, which names the range.
    /// - Parameter name: the name of the format for the error.
    public func encode(_ text: String, as name: String) throws(ValueFormatError) -> [UInt8] {
        let failure = ValueFormatError("'\(text)' is not a value of \(name): give \(range)")
        let bits: UInt128
        switch self {
        case .integer:
            guard let number = Self.integer(text), number >= bounds.low, number <= bounds.high else { throw failure }
            bits = UInt128(truncatingIfNeeded: number)
        case .float32:
            guard let number = Self.binary(text, Float.self) else { throw failure }
            bits = UInt128(number.bitPattern)
        case .float64:
            guard let number = Self.binary(text, Double.self) else { throw failure }
            bits = UInt128(number.bitPattern)
        case .sfloat, .medicalFloat:
            let format = medical ?? .short
            if let special = MedicalSpecial(text) {
                bits = UInt128(format.encode(special))
            } else if let number = DecimalNumber(text), let found = format.encode(number) {
                bits = UInt128(found)
            } else {
                throw failure
            }
        }
        return (0..<byteCount).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
    }

    private static func integer(_ text: String) -> Int128? {
        let isNegative = text.first == "-"
        let digits = isNegative ? String(text.dropFirst()) : text
        let isHexadecimal = digits.hasPrefix("0x")
        let rest = isHexadecimal ? String(digits.dropFirst(2)) : digits
        guard rest.first?.isHexDigit == true, rest.utf8.count <= 36,
            let number = Int128(rest, radix: isHexadecimal ? 16 : 10)
        else { return nil }
        return isNegative ? -number : number
    }

    private static func binary<Number: BinaryFloatingPoint & LosslessStringConvertible>(
        _ text: String, _ type: Number.Type
    ) -> Number? {
        switch text.lowercased() {
        case "nan": return .nan
        case "inf", "+inf": return .infinity
        case "-inf": return -.infinity
        default: break
        }
        // Only decimal numbers: Swift's own notation also has hexadecimal ones.
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }),
            let number = Number(text), number.isFinite
        else { return nil }
        return number
    }
}
