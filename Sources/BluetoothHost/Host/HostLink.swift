import BluetoothLoop
import BluetoothPrimitives
import BluetoothHCI

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

    /// Whether the controller's reports about the link arrive, such as that of encryption.
    var isFollowed: Bool { get }

    /// Asks the controller to end the link, whatever address the host has for its peer.
    func disconnect()
}
