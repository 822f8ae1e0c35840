/// A number decoded from a value.
package enum ScalarNumber: Hashable, Sendable {
    /// An exact decimal number, also an integer.
    case decimal(DecimalNumber)
    /// A binary number with the text of its precision.
    case binary(Double, text: String)
    /// A value of a medical floating-point format that is not a number.
    case special(MedicalSpecial)

    /// An integer.
    package init(_ integer: some BinaryInteger) {
        self = .decimal(DecimalNumber(Int128(truncatingIfNeeded: integer)))
    }

    /// The number as text.
    package var text: String {
        switch self {
        case .decimal(let number): number.text
        case .binary(_, let text): text
        case .special(let special): special.text
        }
    }
}

/// A value of IEEE 11073-20601's SFLOAT and FLOAT that is not a number.
package enum MedicalSpecial: String, Hashable, Sendable, CaseIterable {
    /// Not a number.
    case notANumber = "NaN"
    /// Not at this resolution.
    case notAtThisResolution = "NRes"
    /// Positive infinity.
    case positiveInfinity = "+INF"
    /// Negative infinity.
    case negativeInfinity = "-INF"
    /// A reserved value.
    case reserved

    /// `NaN`, `NRes`, `+INF`, `-INF` or `reserved`.
    package var text: String { rawValue }

    /// Parses the text in any case; infinity also without its sign, as in `INF`.
    package init?(_ text: String) {
        let wanted = text.lowercased()
        let names = [wanted, "+" + wanted]
        guard let found = Self.allCases.first(where: { names.contains($0.text.lowercased()) }), found != .reserved
        else { return nil }
        self = found
    }

    /// The distance of the mantissa from the most negative one, with the exponent 0.
    fileprivate var offsetFromMiddle: Int32 {
        switch self {
        case .positiveInfinity: -2
        case .notANumber: -1
        case .notAtThisResolution: 0
        case .reserved: 1
        case .negativeInfinity: 2
        }
    }
}

/// A medical floating-point format (IEEE 11073-20601 Annex F.7): a signed exponent of ten above a signed mantissa.
package struct MedicalFloat {
    let mantissaBits: Int
    let exponentBits: Int

    /// 16 bits: 12 of mantissa.
    package static let short = MedicalFloat(mantissaBits: 12, exponentBits: 4)
    /// 32 bits: 24 of mantissa.
    package static let long = MedicalFloat(mantissaBits: 24, exponentBits: 8)

    private var middle: Int32 { 1 << (mantissaBits - 1) }
    private var mantissaMask: Int32 { (1 << mantissaBits) - 1 }
    private var exponents: ClosedRange<Int> { -(1 << (exponentBits - 1))...(1 << (exponentBits - 1)) - 1 }

    /// The greatest mantissa that is not special with any exponent.
    var greatestMantissa: Int128 { Int128(middle) - 3 }

    /// The greatest number that can be encoded.
    package var greatest: DecimalNumber { DecimalNumber(greatestMantissa, exponent: exponents.upperBound) }

    /// Decodes the bits.
    func decode(_ bits: UInt32) -> ScalarNumber {
        let exponent = Int(Int32(bitPattern: bits << (32 - UInt32(mantissaBits + exponentBits))) >> (32 - exponentBits))
        let raw = Int32(truncatingIfNeeded: bits) & mantissaMask
        if exponent == 0, let special = MedicalSpecial.allCases.first(where: { middle + $0.offsetFromMiddle == raw }) {
            return .special(special)
        }
        let mantissa = raw >= middle ? raw - mantissaMask - 1 : raw
        return .decimal(DecimalNumber(Int128(mantissa), exponent: exponent))
    }

    /// Encodes a special value.
    package func encode(_ special: MedicalSpecial) -> UInt32 {
        UInt32(bitPattern: middle + special.offsetFromMiddle)
    }

    /// Encodes the nearest number; nil if it is above the ``greatest``.
    package func encode(_ number: DecimalNumber) -> UInt32? {
        var number = number
        if number.mantissa.magnitude > greatestMantissa.magnitude || !exponents.contains(number.exponent) {
            number = number.normalized
        }
        while number.mantissa.magnitude > greatestMantissa.magnitude || number.exponent < exponents.lowerBound {
            number = number.roundedByOneDigit
            if number.mantissa == 0 { number.exponent = 0 }
        }
        // A large exponent has room in the mantissa.
        while number.exponent > exponents.upperBound {
            let (product, overflows) = number.mantissa.multipliedReportingOverflow(by: 10)
            guard !overflows, product.magnitude <= greatestMantissa.magnitude else { return nil }
            number = DecimalNumber(product, exponent: number.exponent - 1)
        }
        let mantissa = UInt32(truncatingIfNeeded: number.mantissa) & UInt32(mantissaMask)
        let exponent = UInt32(truncatingIfNeeded: number.exponent) & ((1 << UInt32(exponentBits)) - 1)
        return exponent << UInt32(mantissaBits) | mantissa
    }
}
