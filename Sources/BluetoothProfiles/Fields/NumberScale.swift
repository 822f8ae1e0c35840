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
    package func value(_ number: ScalarNumber) -> Double {
        switch number {
        case .binary(let binary, _): value(binary)
        case .special(.positiveInfinity): .infinity
        case .special(.negativeInfinity): -.infinity
        case .special: .nan
        case .decimal(let decimal): exact(decimal)?.double ?? value(decimal.double)
        }
    }

    private func value(_ number: Double) -> Double {
        if let fraction { return number / fraction.divisor }
        let (product, power) = (number * Double(multiplier), DecimalNumber(1, exponent: abs(exponent)).double)
        return exponent < 0 ? product / power : product * power
    }

    /// The exact value of a decimal number; nil with a fraction, and for a mantissa of more than 128 bits.
    package func exact(_ number: DecimalNumber) -> DecimalNumber? {
        let (mantissa, overflows) = number.mantissa.multipliedReportingOverflow(by: multiplier)
        guard fraction == nil, !overflows else { return nil }
        return DecimalNumber(mantissa, exponent: number.exponent + exponent)
    }

    /// The value of a number; nil if it is not an integer.
    func integer(_ number: ScalarNumber) -> Int? {
        guard case .decimal(let decimal) = number, let exact = exact(decimal) else {
            return Int(exactly: value(number))
        }
        return exact.normalized.integer.flatMap { Int(exactly: $0) }
    }

    /// The number whose value is exactly the integer; nil if there is none.
    func number(exactly value: Int) -> Int128? {
        let digits = DecimalNumber(Int128(value)).normalized
        guard fraction == nil, multiplier != 0,
            let product = DecimalNumber(digits.mantissa, exponent: digits.exponent - exponent).integer,
            product.isMultiple(of: multiplier)
        else { return nil }
        return product / multiplier
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
        case .integer:
            let number = scale.number(value).rounded()
            guard number.isFinite, let integer = Int128(exactly: number) else { return nil }
            return encode(integer)
        case .float32:
            let number = Float(scale.number(value))
            guard number.isFinite == value.isFinite else { return nil }
            bits = UInt128(number.bitPattern)
        case .float64:
            let number = scale.number(value)
            guard number.isFinite == value.isFinite else { return nil }
            bits = UInt128(number.bitPattern)
        case .sfloat, .medicalFloat:
            let format = self == .sfloat ? MedicalFloat.short : .long
            if value.isFinite {
                let number = scale.fraction.map { value * $0.divisor } ?? value / Double(scale.multiplier)
                // Without the zero of `98.0`, which would take a digit.
                guard
                    let decimal = Int64(exactly: number).map({ DecimalNumber(Int128($0)) })
                        ?? DecimalNumber("\(number)"),
                    let found = format.encode(
                        DecimalNumber(decimal.mantissa, exponent: decimal.exponent - scale.exponent))
                else { return nil }
                bits = UInt128(found)
            } else {
                bits = UInt128(
                    format.encode(value.isNaN ? .notANumber : value < 0 ? .negativeInfinity : .positiveInfinity))
            }
        }
        return bytes(bits)
    }

    /// The bytes of an integer, exactly if one number has its value; nil for an integer out of range.
    func encode(_ value: Int, _ scale: NumberScale) -> [UInt8]? {
        if case .integer = self, let integer = scale.number(exactly: value) { return encode(integer) }
        return encode(Double(value), scale)
    }

    private func encode(_ integer: Int128) -> [UInt8]? {
        let bytes = bytes(UInt128(truncatingIfNeeded: integer))
        return decode(bytes) == .decimal(DecimalNumber(integer)) ? bytes : nil
    }

    private func bytes(_ bits: UInt128) -> [UInt8] {
        (0..<byteCount).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
    }
}
