/// The UUID of a service, characteristic, descriptor or protocol (Core Vol 3 Part B §2.5.1).
///
/// A short form abbreviates a 128-bit UUID on the Bluetooth Base UUID, so equality and hashing use the 128 bits only:
/// `BluetoothUUID(0x180D)` equals `"0000180D-0000-1000-8000-00805F9B34FB"`.
public struct BluetoothUUID: Hashable, Sendable {
    /// The width of a UUID in a packet or in text.
    public enum Width: Int, Sendable, CaseIterable {
        /// Two bytes.
        case bits16 = 2
        /// Four bytes.
        case bits32 = 4
        /// Sixteen bytes.
        case bits128 = 16

        /// The width in bytes.
        public var byteCount: Int { rawValue }
    }

    /// The first eight bytes as printed.
    public let high: UInt64
    /// The last eight bytes as printed.
    public let low: UInt64

    @usableFromInline static let baseHigh: UInt64 = 0x0000_0000_0000_1000
    @usableFromInline static let baseLow: UInt64 = 0x8000_0080_5F9B_34FB

    /// A 16-bit UUID assigned by the Bluetooth SIG.
    @inlinable
    public init(_ value: UInt16) {
        self.init(UInt32(value))
    }

    /// A 32-bit UUID assigned by the Bluetooth SIG.
    @inlinable
    public init(_ value: UInt32) {
        high = UInt64(value) << 32 | 0x1000
        low = 0x8000_0080_5F9B_34FB
    }

    /// A 128-bit UUID from its two halves as printed.
    @inlinable
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses 4, 8 or 32 hexadecimal digits of either case, the long form with its four dashes or without any.
    ///
    /// Returns nil for any other text.
    public init?(_ text: some StringProtocol) {
        var value: (high: UInt64, low: UInt64) = (0, 0)
        var digits = 0
        var dashes: [Int] = []
        for character in text.utf8 {
            if character == UInt8(ascii: "-") {
                dashes.append(digits)
                continue
            }
            guard let digit = hexadecimalDigit(character), digits < 32 else { return nil }
            value.high = value.high << 4 | value.low >> 60
            value.low = value.low << 4 | UInt64(digit)
            digits += 1
        }
        switch (digits, dashes) {
        case (4, []), (8, []): self.init(UInt32(truncatingIfNeeded: value.low))
        case (32, []), (32, [8, 12, 16, 20]): self.init(high: value.high, low: value.low)
        default: return nil
        }
    }

    /// The shortest width that represents this UUID.
    @inlinable
    public var shortestWidth: Width {
        guard low == Self.baseLow, high & 0xFFFF_FFFF == Self.baseHigh else { return .bits128 }
        return high >> 48 == 0 ? .bits16 : .bits32
    }

    /// The 16-bit form, or nil when there is none.
    @inlinable
    public var uint16: UInt16? {
        shortestWidth == .bits16 ? UInt16(truncatingIfNeeded: high >> 32) : nil
    }

    /// The sixteen bytes as printed, most significant first.
    public var bytes: [UInt8] {
        [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) } }
    }
}

extension BluetoothUUID: CustomStringConvertible {
    /// The shortest form in uppercase: `180D`, or all 36 characters when the UUID is not on the Base UUID.
    public var description: String {
        switch shortestWidth {
        case .bits16: return hexadecimal(high >> 32, digits: 4)
        case .bits32: return hexadecimal(high >> 32, digits: 8)
        case .bits128: return fullDescription
        }
    }

    /// The 128-bit form in uppercase, 36 characters, for every width.
    public var fullDescription: String {
        let first = hexadecimal(high, digits: 16)
        let last = hexadecimal(low, digits: 16)
        return first.prefix(8) + "-" + first.dropFirst(8).prefix(4) + "-" + first.suffix(4) + "-" + last.prefix(4) + "-"
            + last.dropFirst(4)
    }
}

extension BluetoothUUID: ExpressibleByIntegerLiteral {
    /// A 16- or 32-bit UUID: `0x180D`.
    @inlinable
    public init(integerLiteral value: UInt32) {
        self.init(value)
    }
}

extension BluetoothUUID: ExpressibleByStringLiteral {
    /// A UUID from a literal in source code; an invalid literal terminates the program with its text.
    ///
    /// Parse text known only at run time with the failable initializer.
    public init(stringLiteral value: StaticString) {
        guard let uuid = Self(value.description) else {
            preconditionFailure("\"\(value)\" in the source code is not a UUID")
        }
        self = uuid
    }
}

#if !hasFeature(Embedded)
    extension BluetoothUUID: LosslessStringConvertible, Codable {
        /// A UUID from its ``description`` in any width.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            guard let uuid = Self(try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is not a UUID.")
            }
            self = uuid
        }

        /// Encodes the ``description``.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }
    }
#endif
