import BluetoothHCI

/// The receiver of what a host reports of its own accord. The host retains it; since it retains what scans, advertises
/// and watches the adapter's health, these must not retain the host.
//
// Called on the loop. The events of links, channels and pairings have receivers of their own.
package protocol HostReceiver: AnyObject {
    func receive(_ event: HostEvent)

    /// Receives borrowed reports of the declared scan.
    func receive(_ reports: AdvertisingReports)
}

/// An event of a host.
package enum HostEvent {
    /// What is pending ends for this reason: the adapter cannot be used for now, or ever again.
    case ended(BluetoothError, isForGood: Bool)
    /// The adapter can be used again after ``ended(_:isForGood:)``.
    case resumed
    /// Scanning was interrupted: chains of fragments will not be completed.
    case scanStopped
    /// The declared scan failed or the adapter left, permanently if `isForGood`. It stays declared until it is replaced.
    case scanEnded(BluetoothError, isForGood: Bool)
    case advertising(UInt64, AdvertisingEvent)
    /// A link of the adapter has ended, this program's or another's. Reported while links are followed
    /// (``HostChannels/followLinks()``).
    case linkEnded
    /// The host has noticed a problem; what a device or another program may cause as well is not certain.
    case problem(RadioProblem, isCertain: Bool)
}
