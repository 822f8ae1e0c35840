/// The binary format of a number.
public enum NumberFormat: Hashable, Sendable {
    /// An integer of 1 to 16 bytes; without a sign up to 2^127 - 1.
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
    package func decode(_ bytes: some BidirectionalCollection<UInt8>) -> ScalarNumber? {
        guard bytes.count == byteCount, 1...16 ~= byteCount else { return nil }
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

/// The bytes of a number, the least significant first.
func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
}
