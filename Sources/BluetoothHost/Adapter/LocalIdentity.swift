import BluetoothPrimitives

/// The identity of an adapter beyond its public address: the static random address of one without a public address, and
/// the identity resolving key by which bonded devices resolve its private addresses (Core Vol 3 Part C §10.7, §10.8).
///
/// It is stored with the bonds, since bonded devices know the adapter by it.
public struct LocalIdentity: Hashable, Sendable {
    /// The static random address of an adapter without a public one.
    package var staticAddress: BluetoothAddress
    /// The key that generates private addresses; distributed to devices in pairing.
    package var identityResolvingKey: SecurityKey

    /// Creates an identity from its parts.
    package init(staticAddress: BluetoothAddress, identityResolvingKey: SecurityKey) {
        self.staticAddress = staticAddress
        self.identityResolvingKey = identityResolvingKey
    }

    /// Creates a random identity.
    package static func random() -> LocalIdentity {
        var generator = SystemRandomNumberGenerator()
        return LocalIdentity(
            staticAddress: .randomStatic(using: &generator), identityResolvingKey: .random(using: &generator))
    }
}
