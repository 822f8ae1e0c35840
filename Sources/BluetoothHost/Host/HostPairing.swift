import BluetoothLoop
import BluetoothPrimitives

/// The pairing procedures of an adapter in the host and the keys that they make: settings, questions and results.
//
// Lives on the loop, with the pairings.
package protocol HostPairing: AnyObject {
    /// The receiver of the pairing events. What happened to stored keys before it was set is passed to it then.
    var receiver: (any PairingReceiver)? { get set }

    /// The program that is responsible for pairing.
    var authority: PairingAuthority { get }

    /// The state of the keys in the host.
    var keyStatus: KeyStatus { get }

    /// Whether there is a key for one of a device's addresses: a stored one, or, where the stored keys are not known, one
    /// that a pairing has made since the start.
    func hasKey(_ addresses: [BluetoothAddress]) -> Bool

    /// Changes the settings; if they are in use, in the host as well, and keeps those in force if the host refuses.
    nonisolated(nonsending) func change(
        to wanted: PairingSettings, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError)

    /// Puts the settings into force, in place of another program's, until ``release()``.
    @discardableResult
    func apply() -> Promise<Void, BluetoothError>

    /// Restores what the settings have changed, unless another program has changed it since, or centrals are served.
    func release()

    /// Whether the settings and the keys are put into force at each beginning and end of a link, and now: a peer may pair
    /// or encrypts automatically, and other programs change them.
    func setServing(_ isServing: Bool)

    /// Checks the settings after a change of the adapter, and applies them again if needed; with a reason, discards the
    /// state of an adapter that was removed, until the next change.
    func adapterChanged(removed reason: BluetoothError?)

    /// Answers a question.
    func reply(_ answer: PairingAnswer, to question: PairingQuestion, _ peer: BluetoothAddress)

    /// Ends the link to a peer, as far as this program may; `connected` is the address it was connected by.
    func disconnect(_ peer: BluetoothAddress, connectedAs connected: BluetoothAddress)

    /// Loads the stored keys into the host, in place of those that it has; ``keyStatus`` has what prevented it.
    ///
    /// - Parameter evenIfEmpty: whether having none removes the keys of other programs.
    @discardableResult
    func loadKeys(evenIfEmpty: Bool) -> Promise<Void, BluetoothError>

    /// Removes a device's keys from the host, and ends its link if `disconnect`.
    @discardableResult
    func removeKeys(of peer: BluetoothAddress, disconnect: Bool) -> Promise<Void, BluetoothError>

    /// Makes new out-of-band values of this side, which replace the former ones.
    nonisolated(nonsending) func makeOutOfBandData(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> OutOfBandData

    /// Sets the values that were received from a device, for the pairings with it until they are removed by nil, also
    /// after the adapter was removed. The result is the level that a link must be raised to, so that the host pairs with
    /// them and reaches `.high` at least.
    @discardableResult
    func setOutOfBandData(_ data: OutOfBandData?, of peer: BluetoothAddress) -> Promise<SecurityLevel, BluetoothError>

    /// Stops the events, and restores the settings although they may just be put into force.
    func close()
}

/// The receiver of a host's pairing events.
//
// Called on the loop.
package protocol PairingReceiver: AnyObject {
    /// Receives an event, with the receivers of the attribute channels of this program's links that it concerns: first that
    /// of the link that pairs.
    func receive(_ event: PairingEvent, of links: [any ChannelReceiver])
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

/// A pairing event of the host: one ordered stream for all devices of the adapter.
package enum PairingEvent: Sendable {
    /// The security of a link of this program has changed, or might have.
    case security(SecurityEvent)
    case question(PairingQuestion, BluetoothAddress)
    /// Pairing made keys; those to be stored are stored if both sides bond.
    case keys(PeerKeys, isStored: Bool)
    /// Pairing failed, or a link could not be encrypted, for this reason unless this side has refused.
    case failed(BluetoothAddress, PairingFailure)
    /// A device's keys were removed from this machine, by another program perhaps, with its bond in the store or
    /// without.
    case keysForgotten(BluetoothAddress)
    /// A link of any program has ended.
    case linkEnded
}

/// An event of a link's security. After ``HostChannel/raiseSecurity(to:owing:isBegun:)`` one of the last three follows, where
/// encryption has its security.
package enum SecurityEvent: Hashable, Sendable {
    /// The host has begun to raise the security, which cannot be withdrawn any longer.
    case began
    /// The link is encrypted: with the security that was asked for, as far as the peer goes along, and can be used; or, at
    /// whichever side's request, with a security that the host does not know yet.
    case encrypted(LinkSecurity?)
    /// The host refuses to raise the security.
    case refused(BluetoothError.Cause)
    /// The pairing, or the encryption with a stored key, has failed.
    case failed(PairingFailure)
}

/// The program that is responsible for pairing on an adapter.
package enum PairingAuthority {
    case ours
    /// Another program, with the error that pairing fails with here.
    case others(BluetoothError)
    case notPermitted(BluetoothError)
}

/// The state of a host's keys.
package enum KeyStatus: Hashable, Sendable {
    case loaded
    case notPermitted
    /// Another program loads its own keys and receives those that pairing makes.
    case others
    case failed(BluetoothError)
}
