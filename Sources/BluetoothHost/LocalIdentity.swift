import BluetoothPrimitives

/// What an adapter is to others where its public address does not say it: the address of one that has none, and the key by
/// which bonded devices know it behind addresses that change (Core Vol 3 Part C §10.7, §10.8).
///
/// It belongs to the bonds: devices know the adapter they were paired with by it.
public struct LocalIdentity: Hashable, Sendable {
    /// The static random address of an adapter that has no public one.
    public var staticAddress: BluetoothAddress
    /// What private addresses are made with, and told to devices in pairing.
    public var identityResolvingKey: SecurityKey

    /// An identity from its parts.
    public init(staticAddress: BluetoothAddress, identityResolvingKey: SecurityKey) {
        self.staticAddress = staticAddress
        self.identityResolvingKey = identityResolvingKey
    }

    /// One that nobody has yet.
    package static func random() -> LocalIdentity {
        var generator = SystemRandomNumberGenerator()
        return LocalIdentity(
            staticAddress: .randomStatic(using: &generator), identityResolvingKey: .random(using: &generator))
    }
}
