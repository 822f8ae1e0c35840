import BluetoothCryptography
import BluetoothPrimitives

/// A resolver and generator of resolvable private addresses (Core Vol 3 Part H §2.2.2, Vol 6 Part B §1.3.2.2).
///
/// Scans resolve the addresses of bonded devices automatically.
package struct PrivateAddressResolver: Sendable {
    /// Creates a resolver, which has no state.
    package init() {}

    /// Whether a resolvable private address was made with an identity resolving key.
    package func matches(_ address: BluetoothAddress, _ key: SecurityKey) -> Bool {
        guard address.randomKind == .resolvablePrivate else { return false }
        return FourResolvingKeys(FourBlocks(first: key.number)).matches(address.value) & 1 == 1
    }

    /// A resolvable private address of the device with this key.
    ///
    /// - Parameter random: the source of its 22 random bits.
    package func address(
        with key: SecurityKey, using random: inout some RandomNumberGenerator
    ) -> BluetoothAddress? {
        // Neither all zeros nor all ones, and the two bits that mark a resolvable private address.
        let prand = UInt64.random(in: 1..<0x3F_FFFF, using: &random) | 1 << 22
        return BluetoothAddress(
            FourResolvingKeys(FourBlocks(first: key.number)).address(of: prand), kind: .random)
    }
}
