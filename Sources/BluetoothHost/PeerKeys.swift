import BluetoothPrimitives

/// The keys that pairing has made with a device, or some of them.
package struct PeerKeys: Sendable {
    /// The device's public or static random address.
    package var identity: BluetoothAddress
    /// What encrypts links with it.
    package var longTermKeys: [LongTermKey]
    /// Tells which private addresses are the device's.
    package var identityResolvingKey: SecurityKey?
    /// What signs writes.
    package var signatureKeys: [SignatureResolvingKey]

    package init(
        identity: BluetoothAddress, longTermKeys: [LongTermKey] = [], identityResolvingKey: SecurityKey? = nil,
        signatureKeys: [SignatureResolvingKey] = []
    ) {
        self.identity = identity
        self.longTermKeys = longTermKeys
        self.identityResolvingKey = identityResolvingKey
        self.signatureKeys = signatureKeys
    }
}

/// What a host tells of the keys of devices.
package enum KeyEvent: Sendable {
    /// Pairing has made keys that are to be kept.
    case made(PeerKeys)
    /// Another program has had the host forget a device.
    case forgotten(BluetoothAddress)
}

/// Whether a host knows the keys of devices.
package enum KeyStanding: Hashable, Sendable {
    case loaded
    case notPermitted
    /// Another program loads its own, and is told of those that pairing makes.
    case others
    case failed(BluetoothError)
}
