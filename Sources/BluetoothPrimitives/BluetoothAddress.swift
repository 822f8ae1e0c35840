/// A device address with its kind (Core Vol 6 Part B §1.3).
///
/// The same 48 bits as a public and as a random address are two different devices.
public struct BluetoothAddress: Hashable, Sendable {
    /// Which address space the 48 bits come from.
    public enum Kind: UInt8, Sendable, CaseIterable {
        /// Assigned by the IEEE.
        case `public` = 0
        /// Made up by the device.
        case random = 1
    }

    /// What kind of random address the two top bits say it is (Core Vol 6 Part B §1.3.2).
    public enum RandomKind: Sendable {
        /// Kept until the device restarts.
        case `static`
        /// Changes; whoever holds the identity resolving key can tell whose it is.
        case resolvablePrivate
        /// Changes; nobody can tell whose it is.
        case nonResolvablePrivate
        /// Not assigned by the specification.
        case reserved
    }

    /// The 48 bits as a number: the byte printed first is the most significant.
    public let value: UInt64
    /// Public or random.
    public let kind: Kind

    /// An address from the low 48 bits of `value`.
    @inlinable
    public init(_ value: UInt64, kind: Kind) {
        self.value = value & 0xFFFF_FFFF_FFFF
        self.kind = kind
    }

    /// Reads six pairs of hexadecimal digits separated by colons, such as `C0:98:E5:12:34:56`.
    ///
    /// Returns nil for anything else.
    public init?(_ text: some StringProtocol, kind: Kind = .public) {
        var value: UInt64 = 0
        var position = 0
        for character in text.utf8 {
            if position % 3 == 2 {
                guard character == UInt8(ascii: ":") else { return nil }
            } else {
                guard let digit = hexadecimalDigit(character) else { return nil }
                value = value << 4 | UInt64(digit)
            }
            position += 1
            guard position <= 17 else { return nil }
        }
        guard position == 17 else { return nil }
        self.init(value, kind: kind)
    }

    /// The all-zero address, which stands for "none" and "any".
    public static let zero = BluetoothAddress(0, kind: .public)

    /// Whether all 48 bits are zero.
    public var isZero: Bool { value == 0 }

    /// What the two top bits say, for a random address; nil for a public one.
    public var randomKind: RandomKind? {
        guard kind == .random else { return nil }
        switch value >> 46 {
        case 0b11: return .static
        case 0b01: return .resolvablePrivate
        case 0b00: return .nonResolvablePrivate
        default: return .reserved
        }
    }

    /// Whether a device can be known by it for good, and keys can belong to it: a public or a static random address
    /// (Core Vol 3 Part C §10.8).
    public var isIdentity: Bool { kind == .public || randomKind == .static }

    /// A static random address made from 46 random bits (Core Vol 6 Part B §1.3.2.1).
    public static func randomStatic(using generator: inout some RandomNumberGenerator) -> BluetoothAddress {
        let all: UInt64 = 0x3FFF_FFFF_FFFF
        return BluetoothAddress(UInt64.random(in: 1..<all, using: &generator) | 0b11 << 46, kind: .random)
    }

    /// A non-resolvable private address made from 46 random bits (Core Vol 6 Part B §1.3.2.2).
    public static func randomNonResolvablePrivate(
        using generator: inout some RandomNumberGenerator
    ) -> BluetoothAddress {
        BluetoothAddress(UInt64.random(in: 1..<0x3FFF_FFFF_FFFF, using: &generator), kind: .random)
    }
}

extension BluetoothAddress: CustomStringConvertible {
    /// Six pairs of capital hexadecimal digits with colons.
    public var description: String {
        (0..<6).map { hexadecimal(value >> (40 - 8 * UInt64($0)) & 0xFF, digits: 2) }.joined(separator: ":")
    }
}

extension BluetoothAddress: Comparable {
    /// Orders by the number, public before random.
    public static func < (left: BluetoothAddress, right: BluetoothAddress) -> Bool {
        (left.value, left.kind.rawValue) < (right.value, right.kind.rawValue)
    }
}
