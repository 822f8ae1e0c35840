import BluetoothProfiles

extension NumberFormat {
    /// The formats by their names on the command line.
    public static let names: [(name: String, format: NumberFormat)] = [
        ("u8", .u8), ("u16", .u16), ("u24", .u24), ("u32", .u32), ("u64", .u64),
        ("i8", .i8), ("i16", .i16), ("i24", .i24), ("i32", .i32), ("i64", .i64),
        ("f32", .float32), ("f64", .float64), ("sfloat", .sfloat), ("float", .medicalFloat),
    ]
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
