import BluetoothLE
import GATT

/// Tells whose a resolvable private address is, and makes such addresses (Core Vol 3 Part H §2.2.2, Vol 6 Part B
/// §1.3.2.2).
///
/// ```swift
/// await adapter.setAddressResolver(PrivateAddressResolver())
/// ```
public struct PrivateAddressResolver: AddressResolver {
    /// A resolver; it keeps nothing.
    public init() {}

    /// Whether a resolvable private address was made with an identity resolving key.
    public func matches(_ address: BluetoothAddress, _ key: SecurityKey) -> Bool {
        guard address.randomKind == .resolvablePrivate else { return false }
        return Self.hash(of: address.value >> 24, key) == address.value & 0xFF_FFFF
    }

    /// A resolvable private address of the device with this key.
    ///
    /// - Parameter random: makes its 22 random bits.
    public func address(
        with key: SecurityKey, using random: inout some RandomNumberGenerator
    ) -> BluetoothAddress? {
        // Neither all zero nor all one, and the two bits that say what kind of address it is.
        let prand = UInt64.random(in: 1..<0x3F_FFFF, using: &random) | 1 << 22
        return BluetoothAddress(prand << 24 | Self.hash(of: prand, key), kind: .random)
    }

    /// The function ah: the last 24 bits of the cipher over 24 bits.
    private static func hash(of random: UInt64, _ key: SecurityKey) -> UInt64 {
        // The kernel has keys with their least significant byte first, the cipher takes the most significant.
        let cipher = AES128(key: key.bytes.reversed().reduce(0) { $0 << 8 | UInt128($1) })
        return UInt64(truncatingIfNeeded: cipher.encrypt(UInt128(random))) & 0xFF_FFFF
    }
}
