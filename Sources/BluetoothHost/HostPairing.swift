import BluetoothPrimitives

/// The pairings on one adapter as a host does them: their settings, their questions, their ends.
//
// Lives on the loop, with the pairings.
package protocol HostPairing: AnyObject {
    /// What it brings to its pairings.
    var settings: PairingSettings { get }

    /// Whose business they are now.
    var authority: PairingAuthority { get }

    /// Has what happens told from now on.
    func follow(_ onEvent: @escaping (PairingEvent) -> Void)

    /// Has the host take other settings; where it refuses, those before it.
    nonisolated(nonsending) func change(
        to wanted: PairingSettings, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError)

    /// Makes sure that the settings are in force; where `again` says so, also if another program may have changed them.
    nonisolated(nonsending) func apply(
        _ operation: BluetoothError.Operation, again: Bool
    ) async throws(BluetoothError)

    /// The adapter has changed, so that the settings may have to be brought back.
    func adapterChanged()

    /// The adapter is gone, and with it what was in force.
    func adapterIsGone(_ reason: BluetoothError)

    /// Answers a question.
    func reply(_ answer: PairingAnswer, to question: PairingQuestion, _ peer: BluetoothAddress)

    /// Has the host end the link to a peer, as far as this program may; it was connected to by the address `connected`.
    func disconnect(_ peer: BluetoothAddress, connectedAs connected: BluetoothAddress)
}

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
