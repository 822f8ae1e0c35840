import BluetoothLoop
import BluetoothPrimitives

/// What a host knows of the keys of one adapter's devices, and what it tells of those that pairing makes.
//
// Lives on the loop, with the bonds.
package protocol HostKeys: AnyObject {
    var loop: EventLoop { get }

    /// Whether it knows the keys.
    var standing: KeyStanding { get }

    /// Has the host ask for the keys that it should know, the most important first, and tell what happens to keys.
    func follow(wanted: @escaping () -> [PeerKeys], _ onEvent: @escaping (KeyEvent) -> Void)

    /// Begins to tell of an adapter's keys. None is loaded by that.
    func begin(_ adapter: UInt16)

    /// Has the host know the keys that it should, in place of those it had; ``standing`` tells what is in the way.
    nonisolated(nonsending) func load() async

    /// As ``load()``, of an adapter that was plugged in again; nobody waits for it.
    func reload(_ adapter: UInt16)

    /// As ``load()``, as the host has others; nobody waits for it.
    func reload()

    /// Has the host forget a device and end the link with it, where it knows this program's keys or may know older ones;
    /// nil where there is nothing to wait for.
    func forget(_ identity: BluetoothAddress) -> Promise<Void, BluetoothError>?

    /// Has the host forget a device whose keys are not kept, and end the link with it; then calls `completion`.
    func refuse(_ identity: BluetoothAddress, then completion: @escaping () -> Void)

    /// Has the host end the link with a device.
    func disconnect(_ peer: BluetoothAddress)

    /// Nothing is told any more.
    func close()
}
