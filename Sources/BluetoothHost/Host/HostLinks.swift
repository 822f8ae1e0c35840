import BluetoothLoop
import BluetoothPrimitives
import BluetoothHCI

/// The links of an adapter: their events and the procedures on them.
///
/// Without the privilege to follow a controller (CAP_NET_RAW) links work as well, but less of their state is known.
//
// Lives on the loop, with the session.
package protocol HostLinks: AnyObject {
    /// Starts following the controller; must precede creating or accepting links, so that their events are not missed.
    /// Balanced by ``endFollowing()``.
    func beginFollowing()

    /// Balances one ``beginFollowing()``.
    func endFollowing()

    /// Makes links to a peer that are created from now on begin with these connection parameters, until
    /// ``endInitialParameters(_:)`` of the result. Nil if the host cannot, which it logs.
    /// - Throws: `.timedOut`, `.cancelled`.
    nonisolated(nonsending) func beginInitialParameters(
        _ parameters: LEConnectionParameters, for peer: BluetoothAddress, timeout: Duration?
    ) async throws(BluetoothError) -> UInt64?

    /// Ends one ``beginInitialParameters(_:for:timeout:)``.
    func endInitialParameters(_ number: UInt64)

    /// Makes the controller look for devices on LE Coded as well while it connects, if that is among `phys`, until
    /// ``endConnecting(_:)`` of the result. Nil if that needs nothing, or if the host cannot, which it logs.
    /// - Throws: `.unsupported` if the controller lacks one of the PHYs; `.timedOut`, `.cancelled`.
    nonisolated(nonsending) func beginConnecting(
        on phys: LEPHYSet, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> UInt64?

    /// Ends one ``beginConnecting(on:_:timeout:)``.
    func endConnecting(_ number: UInt64)

    /// Follows a new link of this program as long as the result is retained; nil if link events are not available.
    /// - Parameter onEncrypted: called when the link is encrypted.
    func attach(_ handle: UInt16, onEncrypted: (() -> Void)?) -> (any HostLink)?
}

/// A link of an adapter: its parameters and the procedures that change them.
///
/// Procedures fail with `.disconnected` once the link has ended, and with the controller's refusal.
package protocol HostLink: AnyObject {
    /// The connection parameters; nil if they were not reported.
    var parameters: ConnectionParameters? { get }
    /// The data length; nil until it is reported.
    var dataLength: LinkDataLength? { get }

    nonisolated(nonsending) func rssi(
        _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> Int?

    nonisolated(nonsending) func transmitPower(
        _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> Int

    nonisolated(nonsending) func phys(
        _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> LinkPHYs

    nonisolated(nonsending) func setPHYs(
        _ preference: LEPHYPreference, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> LinkPHYs

    nonisolated(nonsending) func setDataLength(
        octets: UInt16, time: UInt16, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError)

    /// Changes the connection parameters and returns the resulting ones; ``keepParameters(_:isPolicy:_:)`` applies.
    nonisolated(nonsending) func setParameters(
        _ parameters: LEConnectionParameters, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> ConnectionParameters

    /// Enforces these parameters from now on, or leaves the parameters to the peer. Without a policy, which takes precedence,
    /// that means three requests a link. A host that answers the peer's requests refuses those for others.
    func keepParameters(
        _ range: LEConnectionParameters?, isPolicy: Bool, _ operation: BluetoothError.Operation
    ) throws(BluetoothError)

    /// Registers the handlers of changes and of their end, with its reason; throws if the link has ended.
    func follow(
        _ operation: BluetoothError.Operation, _ onChange: @escaping (Result<LinkChange, BluetoothError>) -> Void
    ) throws(BluetoothError)

    /// The reason for the link's end, given that its channel reports `failure`.
    func reasonOfEnd(_ peer: BluetoothAddress, _ failure: ChannelFailure) -> BluetoothError

    /// Fails the calls that wait for the link, for this reason.
    func end(_ reason: BluetoothError)

    /// Whether the controller's reports about the link arrive, such as that of encryption.
    var isFollowed: Bool { get }

    /// Asks the controller to end the link, whatever address the host has for its peer.
    func disconnect()
}
