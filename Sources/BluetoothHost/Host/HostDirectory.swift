import BluetoothLoop
import BluetoothPrimitives

/// The adapters of a host: their list, their states, and the preparation of one for use.
///
/// It reports changes to its receiver, and polls nothing.
//
// Lives on the loop, with its owner.
package protocol HostDirectory: AnyObject {
    var loop: EventLoop { get }

    /// The present adapters, in the host's order.
    var adapters: [AdapterInformation] { get }

    /// The receiver of the changes from now on; not retained.
    var receiver: (any DirectoryReceiver)? { get set }

    /// Reads the state of an adapter that may be gone, off or blocked according to another source, ahead of the report;
    /// without one, the states of which this process is not notified.
    func refresh(_ adapter: AdapterID?)

    /// Brings an adapter into a state, and returns its information.
    /// - Parameter store: the stored data of the adapter; nil if there is none.
    @discardableResult
    nonisolated(nonsending) func bring(
        _ adapter: AdapterInformation, to target: AdapterTarget, store: (any AdapterStore)?
    ) async throws(BluetoothError) -> AdapterInformation

    /// The present adapters, with the stored static addresses of those without a public one.
    nonisolated(nonsending) func adapters(store: any AdapterStore) async -> [AdapterInformation]

    /// Whether this process has powered an adapter off, by this directory or another, and no program has powered it on
    /// since.
    func isSwitchedOff(_ adapter: AdapterID) -> Bool

    /// The pairing of the adapter that is prepared, and its keys.
    var pairing: any HostPairing { get }

    /// Creates the host of a prepared adapter.
    func makeHost(of adapter: AdapterRecord) -> any Host

    /// Closes the directory without notifying its receiver; waiting calls fail with the reason.
    func close(_ reason: BluetoothError)
}

extension HostDirectory {
    /// The adapter with an identity, if there is one.
    package func adapter(_ id: AdapterID) -> AdapterInformation? { adapters.first { $0.id == id } }
}

/// A change of a host's adapters, or the end of the reports.
package enum DirectoryEvent {
    case changed(AdapterChange)
    /// No more changes can be reported.
    case ended(BluetoothError)
}

/// The receiver of a directory's events.
//
// Lives on the loop.
package protocol DirectoryReceiver: AnyObject {
    func receive(_ event: DirectoryEvent)
}

/// A state of an adapter that a program requests.
package enum AdapterTarget {
    /// Ready for LE, as far as the requirements allow.
    case ready(AdapterRequirements)
    /// Powered off.
    case off
    /// With the settings that it had before: power, LE, those of pairing, and no static address if it had none. A change
    /// that is still under way is waited for. Every setting is tried; the first failure is thrown.
    case restored(AdapterInformation)
}

/// The requirements of a program on an adapter.
package struct AdapterRequirements: Hashable, Sendable {
    /// The rule for powering it on.
    package var power: PowerPolicy
    /// The privacy mode; nil leaves it as it is.
    package var privacy: PrivacyMode?

    package init(power: PowerPolicy, privacy: PrivacyMode? = nil) {
        (self.power, self.privacy) = (power, privacy)
    }
}

/// The stored data needed before an adapter is used.
//
// Lives on the loop.
package protocol AdapterStore: AnyObject {
    /// The identity of an adapter without a public address; created if none is stored and `makes` is true, otherwise
    /// nil.
    /// - Parameter place: the adapter's place on the bus, or its public address.
    nonisolated(nonsending) func localIdentity(ofAdapterAt place: String, orMake makes: Bool) async -> LocalIdentity?

    /// Reads the bonds of the adapter.
    nonisolated(nonsending) func prepare(_ information: AdapterInformation) async

    /// The keys to load into the host, the most important first; nil if none are stored ever.
    var keys: [PeerKeys]? { get }
}

extension AdapterStore {
    /// Does nothing: there are no keys.
    package nonisolated(nonsending) func prepare(_ information: AdapterInformation) async {}
    package var keys: [PeerKeys]? { nil }
}
