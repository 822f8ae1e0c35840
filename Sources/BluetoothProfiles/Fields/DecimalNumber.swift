/// An exact decimal number: a mantissa times a power of ten. The exponent preserves the resolution: `25.00`.
package struct DecimalNumber: Hashable, Sendable {
    /// The digits with the sign.
    package var mantissa: Int128
    /// The power of ten.
    package var exponent: Int

    /// A number from its parts.
    package init(_ mantissa: Int128, exponent: Int = 0) {
        self.mantissa = mantissa
        self.exponent = exponent
    }

    /// The number of digits on which text and files agree: more than any format here has.
    private static let maximumDigits = 36

    /// Parses `-12`, `36.6` or `1.5e-3`; nil for other text and for more than 36 digits.
    package init?(_ text: String) {
        let halves = text.split(omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
        guard let first = halves.first, halves.count <= 2 else { return nil }
        let power = halves.count == 2 ? Int(halves[1]) : 0
        guard let power, (-1000...1000).contains(power) else { return nil }
        let isNegative = first.first == "-"
        let digits = isNegative || first.first == "+" ? first.dropFirst() : first[...]
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let whole = parts.first else { return nil }
        let fraction = parts.count == 2 ? String(parts[1]) : ""
        let all = String(whole) + fraction
        guard !all.isEmpty, all.utf8.count <= Self.maximumDigits, all.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int128(all)
        else { return nil }
        self.init(isNegative ? -number : number, exponent: power - fraction.utf8.count)
    }

    /// The number in notation without an exponent, or `1e30` if that takes many zeros.
    package var text: String {
        let digits = String(mantissa.magnitude)
        let sign = mantissa < 0 ? "-" : ""
        switch exponent {
        case 0: return sign + digits
        case 1...12: return sign + digits + (mantissa == 0 ? "" : String(repeating: "0", count: exponent))
        case -18..<0:
            let count = -exponent
            let padded = String(repeating: "0", count: max(0, count + 1 - digits.count)) + digits
            return sign + padded.dropLast(count) + "." + padded.suffix(count)
        default: return mantissa == 0 ? "0" : "\(sign)\(digits)e\(exponent)"
        }
    }

    /// The nearest binary number.
    package var double: Double {
        // Both operands are exact, and so is the rounding.
        guard abs(exponent) <= 22, mantissa.magnitude < 1 << 53 else {
            return Double("\(mantissa)e\(exponent)") ?? .nan
        }
        let power = (0..<abs(exponent)).reduce(1.0) { power, _ in power * 10 }
        return exponent < 0 ? Double(mantissa) / power : Double(mantissa) * power
    }

    /// The integer, if the number is one of 128 bits.
    package var integer: Int128? {
        guard exponent >= 0, exponent <= 38 else { return mantissa == 0 ? 0 : nil }
        var value = mantissa
        for _ in 0..<exponent {
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            guard !overflows else { return nil }
            value = product
        }
        return value
    }

    /// The number with its trailing zeros moved to the exponent.
    var normalized: DecimalNumber {
        guard mantissa != 0 else { return DecimalNumber(0) }
        var number = self
        while number.mantissa % 10 == 0 {
            number.mantissa /= 10
            number.exponent += 1
        }
        return number
    }

    /// The number rounded to the nearest with an exponent one higher, halves away from zero.
    var roundedByOneDigit: DecimalNumber {
        let (quotient, remainder) = mantissa.quotientAndRemainder(dividingBy: 10)
        let carry: Int128 = abs(remainder) >= 5 ? (mantissa < 0 ? -1 : 1) : 0
        return DecimalNumber(quotient + carry, exponent: exponent + 1)
    }
}
