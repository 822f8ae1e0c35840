/// The value of a hexadecimal digit of either case, or nil.
package func hexadecimalDigit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): return character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): return character - UInt8(ascii: "A") + 10
    default: return nil
    }
}

/// The low `digits` hexadecimal digits of `value` in uppercase.
public func hexadecimal(_ value: some BinaryInteger, digits: Int) -> String {
    let digits = max(0, digits)
    let text = String(UInt64(truncatingIfNeeded: value), radix: 16, uppercase: true)
    return text.count >= digits
        ? String(text.suffix(digits)) : String(repeating: "0", count: digits - text.count) + text
}

extension [UInt8] {
    /// Parses pairs of hexadecimal digits of either case, ignoring white space, colons and a leading `0x`.
    ///
    /// Returns nil when a character is not a digit or a pair is incomplete.
    package init?(hexadecimal text: some StringProtocol) {
        self = []
        var pending: UInt8?
        var characters = Array(text.utf8)[...]
        if characters.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "x")]) { characters = characters.dropFirst(2) }
        for character in characters {
            switch character {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"), UInt8(ascii: ":"):
                guard pending == nil else { return nil }
            default:
                guard let digit = hexadecimalDigit(character) else { return nil }
                if let high = pending {
                    append(high << 4 | digit)
                    pending = nil
                } else {
                    pending = digit
                }
            }
        }
        guard pending == nil else { return nil }
    }

    /// A copy of the bytes of `span`.
    @inlinable
    package init(_ span: RawSpan) {
        // Not Array's initialiser for a buffer: Swift 6.3 releases an array that nobody reads before it copies into it.
        self = unsafe span.withUnsafeBytes { bytes in
            unsafe [UInt8](unsafeUninitializedCapacity: bytes.count) { copy, count in
                unsafe UnsafeMutableRawBufferPointer(copy).copyMemory(from: bytes)
                count = bytes.count
            }
        }
    }
}

extension Sequence<UInt8> {
    /// Pairs of uppercase hexadecimal digits without separators.
    package var hexadecimal: String {
        var text = ""
        text.reserveCapacity(2 * underestimatedCount)
        for byte in self {
            for digit in [byte >> 4, byte & 15] {
                text.unicodeScalars.append(Unicode.Scalar(digit < 10 ? digit + 48 : digit + 55))
            }
        }
        return text
    }
}

/// A 16-bit number in hexadecimal, such as the PSM `0x0085`.
package func hexadecimal(_ number: UInt16) -> String { "0x" + hexadecimal(number, digits: 4) }

/// The names of the set bits, lowest first; an unnamed bit appears with its number.
package func listed(_ bits: some FixedWidthInteger & UnsignedInteger, names: [Int: String]) -> String {
    var found: [String] = []
    for bit in 0..<bits.bitWidth where bits >> bit & 1 == 1 {
        found.append(names[bit] ?? "bit \(bit)")
    }
    return found.isEmpty ? "none" : found.joined(separator: ", ")
}
