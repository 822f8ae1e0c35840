import BluetoothLoop
import Logging

/// Where adapters come from: this machine's kernel, a simulated one. Opens nothing by itself.
package protocol HostProvider: Sendable {
    /// The loop that everything of it lives on.
    var loop: EventLoop { get }

    /// Whether the adapters are this machine's, so that their devices are there the next time the program runs.
    var isMachine: Bool { get }

    /// A directory of the adapters, which is followed by nobody yet. Called on the loop.
    func makeDirectory(log: Logger) -> any HostDirectory
}

/// What a host does for an opened adapter, a protocol for each role.
///
/// What is declared – keys, pairing settings, a scan – holds until it is declared otherwise; errors come as they are told to
/// programs.
//
// Lives on the loop, with the session.
package protocol Host: AnyObject {
    var channels: any HostChannels { get }
    var links: any HostLinks { get }
    var scanning: any HostScanning { get }
    var advertising: any HostAdvertising { get }
    var pairing: any HostPairing { get }

    /// Why this program may not scan and connect, or not advertise and be connected to, as far as that is a matter of rights.
    var obstacles: HostObstacles { get }

    /// Has the session told when something says that the adapter may be off, or gone, before that is told, and when nothing
    /// can be done with it for now, or for good.
    func follow(
        onUnreachable: @escaping () -> Void, onEnd: @escaping (_ reason: BluetoothError, _ isForGood: Bool) -> Void)

    /// Takes note that the adapter cannot be used for now.
    func leave(_ reason: BluetoothError)

    /// Takes note that the adapter can be used again, as it is now; says whether that is news.
    func comeBack(as adapter: AdapterInformation) -> Bool

    /// Ends everything for good: nobody needs it any more.
    func close(_ reason: BluetoothError)
}

/// What rights a program lacks, each with what gives them to it; nil where it lacks none.
package struct HostObstacles: Sendable {
    package var central: BluetoothError?
    package var peripheral: BluetoothError?

    package init(central: BluetoothError? = nil, peripheral: BluetoothError? = nil) {
        (self.central, self.peripheral) = (central, peripheral)
    }
}
