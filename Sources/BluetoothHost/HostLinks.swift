import BluetoothLoop
import BluetoothPrimitives
import BluetoothHCI

/// What a host tells of the links of an adapter, and what can be asked about them.
///
/// Without the right to follow a controller (CAP_NET_RAW) links are as good, but less is known of them.
//
// Lives on the loop, with the session.
package protocol HostLinks: AnyObject {
    /// To be called before links are made or accepted, so that their events are not missed; ``endFollowing()`` follows.
    func beginFollowing()

    /// Somebody for whom links were followed needs it no more.
    func endFollowing()

    /// Begins to follow a link of ours that has just come up, as long as what is returned is kept; nil where nothing can be
    /// told of links.
    /// - Parameter onEncrypted: called when the link is encrypted.
    func attach(_ handle: UInt16, onEncrypted: (() -> Void)?) -> (any HostLink)?
}

/// One link of an adapter: what it runs with, and what can be asked for.
///
/// What is asked fails with `.disconnected` once the link has ended, and with the controller's refusal.
package protocol HostLink: AnyObject {
    /// What it runs with; nil where that was not told.
    var parameters: ConnectionParameters? { get }
    /// The size of its packets; nil until it is told.
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

    /// Changes what it runs with; returns what came of it.
    nonisolated(nonsending) func setParameters(
        _ parameters: LEConnectionParameters, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> ConnectionParameters

    /// Keeps it at these parameters from now on, or leaves it to its peer.
    func keepParameters(
        _ range: LEConnectionParameters?, _ operation: BluetoothError.Operation
    ) throws(BluetoothError)

    /// Has changes told from now on, and at last why there will be no more; throws where the link has ended.
    func follow(
        _ operation: BluetoothError.Operation, _ onChange: @escaping (Result<LinkChange, BluetoothError>) -> Void
    ) throws(BluetoothError)

    /// Why it has ended, where its channel says `failure`.
    func reasonOfEnd(_ peer: BluetoothAddress, _ failure: ChannelFailure) -> BluetoothError

    /// Ends what waits for the link, for this reason.
    func end(_ reason: BluetoothError)
}
