import BluetoothLoop
import BluetoothPrimitives

/// The adapters a host can open: which there are, how they stand, and what makes one ready for use.
///
/// It tells what happens from ``start()`` on, and asks nothing by the clock.
//
// Lives on the loop, with whoever owns it.
package protocol HostDirectory: AnyObject {
    var loop: EventLoop { get }

    /// The adapters there are now, lowest index first.
    var adapters: [AdapterInformation] { get }

    /// How many changes there have been.
    var changeCount: UInt64 { get }

    /// Has changes told from now on, on the loop; the second closure once, when nothing more can be told.
    func follow(_ onChange: @escaping (AdapterChange) -> Void, onEnd: @escaping (BluetoothError) -> Void)

    /// Begins to follow; returns when all adapters of the moment are known.
    nonisolated(nonsending) func start() async throws(BluetoothError)

    /// Waits for a change, unless there has been one since there were `count` of them.
    nonisolated(nonsending) func change(
        since count: UInt64, _ operation: BluetoothError.Operation, timeout: Duration
    ) async throws(BluetoothError)

    /// Looks at an adapter of which something else says that it may be gone, off or blocked, before that is told.
    func look(at index: UInt16)

    /// Looks at what nobody tells this process of.
    func refresh()

    /// Brings an adapter into the state in which LE works, as far as `wish` allows, and describes it then.
    /// - Parameter knowledge: what was kept of it; nil where nothing is.
    nonisolated(nonsending) func prepare(
        _ adapter: AdapterInformation, _ wish: AdapterWish, knowing knowledge: (any AdapterKnowledge)?
    ) async throws(BluetoothError) -> AdapterInformation

    /// The adapters there are, with the static addresses that are kept for those that have no public one.
    nonisolated(nonsending) func adapters(knowing knowledge: any AdapterKnowledge) async -> [AdapterInformation]

    /// Powers an adapter on or off; returns when it is so.
    nonisolated(nonsending) func setPowered(_ isOn: Bool, _ index: UInt16) async throws(BluetoothError)

    /// The keys of an adapter's devices, of which nothing is told yet.
    func makeKeys() -> any HostKeys

    /// What is done for an adapter that was made ready; `state` is how it stands, as far as that was told.
    func makeHost(of adapter: AdapterFacts, state: @escaping () -> AdapterState) -> any Host

    /// Ends it, from its user's side: nobody is told, and what waits fails with the reason.
    func close(_ reason: BluetoothError)
}

extension HostDirectory {
    /// The adapter with an index, if there is one.
    package func adapter(_ index: UInt16) -> AdapterInformation? { adapters.first { $0.index == index } }
}

/// What a program wants of an adapter.
package struct AdapterWish: Hashable, Sendable {
    /// Whether it may be powered on.
    package var power: PowerPolicy
    /// Whether it is to hide its address; nil is as it is.
    package var privacy: PrivacyMode?

    package init(power: PowerPolicy, privacy: PrivacyMode? = nil) {
        (self.power, self.privacy) = (power, privacy)
    }
}

/// What has to be known of an adapter before it is used.
//
// Lives on the loop.
package protocol AdapterKnowledge: AnyObject {
    /// What an adapter calls itself where its public address does not say it; made up where nothing is kept and that is
    /// wished for, and otherwise nil.
    /// - Parameter place: where it is plugged in, or its public address.
    nonisolated(nonsending) func localIdentity(ofAdapterAt place: String, orMake makes: Bool) async -> LocalIdentity?

    /// Has the host know the keys of bonded devices.
    nonisolated(nonsending) func prepare(_ information: AdapterInformation) async
}

extension AdapterKnowledge {
    /// Nothing: there are no keys.
    package nonisolated(nonsending) func prepare(_ information: AdapterInformation) async {}
}
