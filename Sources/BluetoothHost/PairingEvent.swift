import BluetoothPrimitives

/// What an adapter brings to its pairings.
package struct PairingSettings: Hashable, Sendable {
    package var ioCapability = IOCapability.noInputNoOutput
    package var isBondable = true
    package var secureConnections = SecureConnectionsMode.on

    package init(
        ioCapability: IOCapability = .noInputNoOutput, isBondable: Bool = true,
        secureConnections: SecureConnectionsMode = .on
    ) {
        self.ioCapability = ioCapability
        self.isBondable = isBondable
        self.secureConnections = secureConnections
    }
}

/// What a host tells of a pairing. It has no keys, only what they are worth.
package enum PairingEvent: Sendable {
    case question(PairingQuestion, BluetoothAddress)
    /// Pairing failed, or a link could not be encrypted.
    case failed(BluetoothAddress)
    case keyMade(BluetoothAddress, MadeKey)
    /// A device's keys are gone from this machine.
    case keysForgotten(BluetoothAddress)
}

/// Whose business the pairings on an adapter are, with what is in the way of others.
package enum PairingAuthority {
    case ours
    /// Another program's.
    case others(BluetoothError)
    case notPermitted(BluetoothError)
}
