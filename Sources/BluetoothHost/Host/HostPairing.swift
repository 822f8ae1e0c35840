import BluetoothPrimitives

/// The pairing procedures of an adapter in the host: settings, questions and results.
//
// Lives on the loop, with the pairings.
package protocol HostPairing: AnyObject {
    /// The pairing settings of this side.
    var settings: PairingSettings { get }

    /// The program that is responsible for pairing.
    var authority: PairingAuthority { get }

    /// Registers the handler of pairing events.
    func follow(_ onEvent: @escaping (PairingEvent) -> Void)

    /// Changes the settings; if they are in use, in the host as well, and keeps those in force if the host refuses.
    nonisolated(nonsending) func change(
        to wanted: PairingSettings, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError)

    /// Puts the settings into force, in place of another program's, until ``release(isLast:)``.
    nonisolated(nonsending) func apply(_ operation: BluetoothError.Operation) async throws(BluetoothError)

    /// Whether the settings are put into force at each beginning and end of a link, and now: a peer may pair, and other
    /// programs change them.
    func setServing(_ isServing: Bool)

    /// Puts the settings into force for the next link, without waiting.
    func applySoon()

    /// Restores what the settings have changed, unless another program has changed it since, or centrals are served.
    ///
    /// - Parameter isLast: whether it is restored although the settings are just being put into force.
    func release(isLast: Bool)

    /// Checks the settings after a change of the adapter, and applies them again if needed.
    func adapterChanged()

    /// Discards the state of a removed adapter.
    func adapterWasRemoved(_ reason: BluetoothError)

    /// Answers a question.
    func reply(_ answer: PairingAnswer, to question: PairingQuestion, _ peer: BluetoothAddress)

    /// The ways of pairing with out-of-band data.
    var outOfBandMethods: OutOfBandMethods { get }

    /// The level that a link must be raised to, so that the host pairs with out-of-band data and reaches `.high` at least.
    var outOfBandLevel: SecurityLevel { get }

    /// Makes new out-of-band values of this side, which replace the former ones.
    nonisolated(nonsending) func makeOutOfBandData(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> OutOfBandData

    /// Sets the values that were received from a device, for the pairings with it until they are removed.
    nonisolated(nonsending) func setOutOfBandData(
        _ data: OutOfBandData, of peer: BluetoothAddress, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError)

    /// Removes the values of a device, without waiting.
    func removeOutOfBandData(of peer: BluetoothAddress)

    /// Gives the host the data of a device again, which it has lost with the adapter.
    func restoreOutOfBandData(_ data: OutOfBandData, of peer: BluetoothAddress)

    /// Ends the link to a peer, as far as this program may; `connected` is the address it was connected by.
    func disconnect(_ peer: BluetoothAddress, connectedAs connected: BluetoothAddress)
}

/// The settings of an adapter for pairing.
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

/// A pairing event of the host. It carries no keys, only their properties.
package enum PairingEvent: Sendable {
    case question(PairingQuestion, BluetoothAddress)
    /// Pairing failed, or a link could not be encrypted.
    case failed(BluetoothAddress)
    case keyMade(BluetoothAddress, MadeKey)
    /// A device's keys were removed from this machine.
    case keysForgotten(BluetoothAddress)
}

/// The program that is responsible for pairing on an adapter.
package enum PairingAuthority {
    case ours
    /// Another program, with the error that pairing fails with here.
    case others(BluetoothError)
    case notPermitted(BluetoothError)
}
