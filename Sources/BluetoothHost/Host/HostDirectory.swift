import BluetoothLoop
import BluetoothPrimitives

/// The adapters of a host: their list, their states, and the preparation of one for use.
///
/// It reports changes from ``start()`` on, and polls nothing.
//
// Lives on the loop, with its owner.
package protocol HostDirectory: AnyObject {
    var loop: EventLoop { get }

    /// The present adapters, lowest index first.
    var adapters: [AdapterInformation] { get }

    /// The number of changes so far.
    var changeCount: UInt64 { get }

    /// Registers handlers, called on the loop: `onEnd` once, when no more changes can be reported.
    func follow(_ onChange: @escaping (AdapterChange) -> Void, onEnd: @escaping (BluetoothError) -> Void)

    /// Starts following the adapters; returns when all present ones are known.
    nonisolated(nonsending) func start() async throws(BluetoothError)

    /// Waits for a change after the first `count`.
    nonisolated(nonsending) func change(
        since count: UInt64, _ operation: BluetoothError.Operation, timeout: Duration
    ) async throws(BluetoothError)

    /// Reads the state of an adapter that may be gone, off or blocked according to another source, ahead of the report.
    func refreshState(of index: UInt16)

    /// Reads the states of which this process is not notified.
    func refresh()

    /// Brings an adapter into the state in which LE works, as far as `requirements` allows, and returns its information.
    /// - Parameter store: the stored data of the adapter; nil if there is none.
    nonisolated(nonsending) func prepare(
        _ adapter: AdapterInformation, _ requirements: AdapterRequirements, store: (any AdapterStore)?
    ) async throws(BluetoothError) -> AdapterInformation

    /// The present adapters, with the stored static addresses of those without a public one.
    nonisolated(nonsending) func adapters(store: any AdapterStore) async -> [AdapterInformation]

    /// Powers an adapter on or off; returns when that is done.
    nonisolated(nonsending) func setPowered(_ isOn: Bool, _ index: UInt16) async throws(BluetoothError)

    /// Whether this process has powered an adapter off, by this directory or another, and no program has powered it on
    /// since.
    func isSwitchedOff(_ index: UInt16) -> Bool

    /// Gives an adapter the settings that it had before: power, LE, those of pairing, and no static address if it had
    /// none. A change that is still under way is waited for. Every setting is tried.
    /// - Throws: the first failure.
    nonisolated(nonsending) func restoreSettings(
        of adapter: AdapterInformation, to former: AdapterInformation
    ) async throws(BluetoothError)

    /// Creates the store of an adapter's keys in the host; it reports nothing yet.
    func makeKeys() -> any HostKeys

    /// Creates the host of a prepared adapter.
    func makeHost(of adapter: AdapterRecord) -> any Host

    /// Closes the directory without notifying its followers; waiting calls fail with the reason.
    func close(_ reason: BluetoothError)
}

extension HostDirectory {
    /// The adapter with an index, if there is one.
    package func adapter(_ index: UInt16) -> AdapterInformation? { adapters.first { $0.index == index } }
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
}

extension AdapterStore {
    /// Does nothing: there are no keys.
    package nonisolated(nonsending) func prepare(_ information: AdapterInformation) async {}
}
