/// The factor between the number in a field and its value.
public struct NumberScale: Sendable {
    package var multiplier: Int128 = 1
    package var exponent = 0
    /// The divisor, and the decimals of a text; nil for a decimal factor.
    package var fraction: (divisor: Double, digits: Int)?

    /// The number itself.
    public static let one = NumberScale()
    /// A power of ten.
    public static func ten(_ exponent: Int) -> NumberScale { NumberScale(exponent: exponent) }
    /// A multiple of a power of ten: `.times(5, ten: -3)` is 0.005.
    public static func times(_ multiplier: Int, ten exponent: Int = 0) -> NumberScale {
        NumberScale(multiplier: Int128(multiplier), exponent: exponent)
    }
    /// A fraction: `.over(1024)` is 1/1024. Texts show it with `digits` decimals.
    public static func over(_ divisor: Double, digits: Int = 3) -> NumberScale {
        NumberScale(fraction: (divisor, digits))
    }

    /// The value of a number; NaN and the infinities for those of a medical format.
    func value(_ number: ScalarNumber) -> Double {
        switch number {
        case .binary(let value, _): return value
        case .special(.positiveInfinity): return .infinity
        case .special(.negativeInfinity): return -.infinity
        case .special: return .nan
        case .decimal(let decimal):
            guard let fraction else {
                return DecimalNumber(decimal.mantissa * multiplier, exponent: decimal.exponent + exponent).double
            }
            return decimal.double / fraction.divisor
        }
    }

    /// The number nearest to a finite value; not yet rounded.
    func number(_ value: Double) -> Double {
        if let fraction { return value * fraction.divisor }
        let power = DecimalNumber(1, exponent: abs(exponent)).double
        return (exponent < 0 ? value * power : value / power) / Double(multiplier)
    }
}

extension NumberFormat {
    /// The bytes of a value, the least significant first: of the nearest number; nil for a value out of range.
    func encode(_ value: Double, _ scale: NumberScale) -> [UInt8]? {
        let bits: UInt128
        switch self {
        case .integer(let byteCount, let isSigned):
            let number = scale.number(value).rounded()
            let width = 8 * byteCount - (isSigned ? 1 : 0)
            guard number.isFinite, let integer = Int128(exactly: number), width < 127,
                (isSigned ? -(Int128(1) << width)..<(1 << width) : 0..<(1 << width)).contains(integer)
            else { return nil }
            bits = UInt128(truncatingIfNeeded: integer)
        case .float32: bits = UInt128(Float(value).bitPattern)
        case .float64: bits = UInt128(value.bitPattern)
        case .sfloat, .medicalFloat:
            let format = self == .sfloat ? MedicalFloat.short : .long
            if value.isFinite {
                // Without the zero of `98.0`, which would take a digit.
                guard
                    let decimal = Int64(exactly: value).map({ DecimalNumber(Int128($0)) }) ?? DecimalNumber("\(value)"),
                    let found = format.encode(
                        DecimalNumber(decimal.mantissa, exponent: decimal.exponent - scale.exponent))
                else { return nil }
                bits = UInt128(found)
            } else {
                bits = UInt128(
                    format.encode(value.isNaN ? .notANumber : value < 0 ? .negativeInfinity : .positiveInfinity))
            }
        }
        return (0..<byteCount).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
    }
}
