import BluetoothLoop
import BluetoothPrimitives

/// The keys of one adapter's devices in the host, and the events of those that pairing makes.
//
// Lives on the loop, with the bonds.
package protocol HostKeys: AnyObject {
    var loop: EventLoop { get }

    /// The state of the keys in the host.
    var status: KeyStatus { get }

    /// Registers the source of the keys to load, the most important first, and the handler of key events.
    func follow(wanted: @escaping () -> [PeerKeys], _ onEvent: @escaping (KeyEvent) -> Void)

    /// Starts the key events of an adapter, also of one that was plugged in again. Loads keys only while serving.
    func begin(_ adapter: UInt16)

    /// Whether keys are loaded at each beginning and end of a link, and now: a central encrypts automatically, and
    /// other programs replace the host's keys.
    func setServing(_ isServing: Bool)

    /// Replaces the keys in the host by those to load; ``status`` has what prevented it.
    nonisolated(nonsending) func load() async

    /// As ``load()``, after the host's keys were replaced, without waiting.
    func reload()

    /// Removes a device's keys from the host, and ends its link if `disconnect`; nil if there is nothing to wait for.
    func forget(_ identity: BluetoothAddress, disconnect: Bool) -> Promise<Void, BluetoothError>?

    /// Removes the keys of a device that are not stored from the host, and ends its link if `disconnect`; then calls
    /// `completion`.
    ///
    /// - Parameter adapter: nil for the one whose events were begun.
    func remove(
        _ peer: BluetoothAddress, onAdapter adapter: UInt16?, disconnect: Bool, then completion: @escaping () -> Void)

    /// Stops the events.
    func close()
}
