import BluetoothLoop
import Logging

/// The hosts of a source of adapters. It opens nothing until a directory is made.
package protocol HostProvider: Sendable {
    /// Creates a directory that knows all present adapters, and reports their changes. Called on the loop.
    nonisolated(nonsending) func makeDirectory(log: Logger) async throws(BluetoothError) -> any HostDirectory
}

/// The host of an opened adapter, with a protocol for each role.
///
/// Declared state – keys, pairing settings, a scan – applies until it is replaced; errors are those that programs
/// receive.
//
// Lives on the loop, with the session.
package protocol Host: AnyObject {
    var channels: any HostChannels { get }
    var scanning: any HostScanning { get }
    var advertising: any HostAdvertising { get }
    var health: any HostHealth { get }

    /// The privileges that this program lacks to scan and connect, and to advertise and accept connections.
    var obstacles: HostObstacles { get }

    /// The adapter's defaults; nil for those that the host does not report.
    /// - Throws: `.unsupported`, `.timedOut`, `.cancelled`.
    nonisolated(nonsending) func defaults(
        _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) -> AdapterDefaults

    /// Changes the adapter's defaults, within the specification's ranges, which apply until they are replaced.
    /// - Throws: `.notPermitted`, `.unsupported`, `.timedOut`, `.cancelled`.
    nonisolated(nonsending) func setDefaults(
        _ defaults: AdapterDefaults, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError)

    /// Registers the receiver of the events; called once, before anything is declared.
    func start(_ receiver: any HostReceiver)

    /// Follows a step of the adapter's life, as the session learns of it from the directory.
    func adapterChanged(_ step: AdapterStep)

    /// Closes the host.
    func close(_ reason: BluetoothError)
}

/// A step of an adapter's life.
package enum AdapterStep {
    /// It is about to leave. What has arrived from it is delivered, since the directory may have reported first what
    /// happened after that.
    case leaving
    /// It cannot be used for now: what is pending ends for this reason.
    case left(BluetoothError)
    /// Its state, which is known by now, makes it unavailable: advertising sets are paused, or end if they do not wait
    /// for it. If it is known to come back, all wait.
    case unavailable(BluetoothError, comesBack: Bool)
    /// It can be used, or can be used again: what is declared is resumed.
    case available
    /// It may have forgotten its advertising sets.
    case forgetful
    /// It is being closed: advertising sets end, and the ends of links are not attributed to it any more.
    case closing(BluetoothError)
}

/// The privileges that a program lacks, each with its remedy; nil where it lacks none.
package struct HostObstacles: Sendable {
    package var central: BluetoothError?
    package var peripheral: BluetoothError?

    package init(central: BluetoothError? = nil, peripheral: BluetoothError? = nil) {
        (self.central, self.peripheral) = (central, peripheral)
    }
}
