import BluetoothLoop
import Logging

/// Where adapters come from: this machine's kernel, a simulated one. Opens nothing by itself.
package protocol HostProvider: Sendable {
    /// The loop that everything of it lives on.
    var loop: EventLoop { get }

    /// Whether the adapters are this machine's, so that their devices are there the next time the program runs.
    var isMachine: Bool { get }

    /// A directory of the adapters, without a follower. Called on the loop.
    func makeDirectory(log: Logger) -> any HostDirectory
}

/// The host of an opened adapter, with a protocol for each role.
///
/// What is declared – keys, pairing settings, a scan – holds until it is declared otherwise; errors come as programs receive
/// them.
//
// Lives on the loop, with the session.
package protocol Host: AnyObject {
    var channels: any HostChannels { get }
    var links: any HostLinks { get }
    var scanning: any HostScanning { get }
    var advertising: any HostAdvertising { get }
    var pairing: any HostPairing { get }

    /// The rights that this program lacks to scan and connect, and to advertise and accept connections.
    var obstacles: HostObstacles { get }

    /// Begins to report to the session: `onUnreachable` when the adapter may be off or gone before its directory reports that,
    /// `onEnd` when nothing can be done with it for now, or for good.
    func follow(
        onUnreachable: @escaping () -> Void, onEnd: @escaping (_ reason: BluetoothError, _ isForGood: Bool) -> Void)

    /// Suspends what is under way: the adapter cannot be used for now.
    func leave(_ reason: BluetoothError)

    /// Resumes what is declared: the adapter can be used again; returns false if it was not suspended.
    func comeBack(as adapter: AdapterInformation) -> Bool

    /// Ends everything for good.
    func close(_ reason: BluetoothError)
}

/// The rights that a program lacks, each with its remedy; nil where it lacks none.
package struct HostObstacles: Sendable {
    package var central: BluetoothError?
    package var peripheral: BluetoothError?

    package init(central: BluetoothError? = nil, peripheral: BluetoothError? = nil) {
        (self.central, self.peripheral) = (central, peripheral)
    }
}
