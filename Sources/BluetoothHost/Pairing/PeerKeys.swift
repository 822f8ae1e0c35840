import BluetoothPrimitives

/// The keys of a device from pairing, or some of them.
package struct PeerKeys: Sendable {
    /// The device's public or static random address.
    package var identity: BluetoothAddress
    /// The private address that the device had during the pairing, if it had one: the host may name its link by that
    /// for a moment still.
    package var privateAddress: BluetoothAddress?
    /// The keys that encrypt links.
    package var longTermKeys: [LongTermKey]
    /// The key that resolves the device's private addresses.
    package var identityResolvingKey: SecurityKey?

    package init(
        identity: BluetoothAddress, longTermKeys: [LongTermKey] = [], identityResolvingKey: SecurityKey? = nil
    ) {
        self.identity = identity
        self.longTermKeys = longTermKeys
        self.identityResolvingKey = identityResolvingKey
    }
}
