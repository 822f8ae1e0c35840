import BluetoothLE
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// Several adapters as one: one scan that all of them contribute to, and links by the adapter with the best signal.
///
/// ```swift
/// let group = try await AdapterGroup([
///     Adapter.open(.index(0), power: .powerOn), Adapter.open(.index(1), power: .powerOn),
/// ])
/// for try await found in try await group.scan() {
///     print(found.localName ?? "", found.signals.map { "\($0.adapter) \($0.rssi ?? 0)" })
/// }
/// ```
///
/// A link is made by the adapter that receives the device best, of those with room for another link; by the next one if
/// that fails. A device that no scan of the group has received within 30 s is awaited by all adapters, and the first to
/// reach it has the link. A device that has a bond stays with the adapters that have it.
///
/// Adapters may be powered off, unplugged and plugged in again, and be added and removed at any time: scans and kept
/// connections continue with the others. Advertising, serving and pairing are up to each `Adapter`, which remains
/// usable by itself.
public final class AdapterGroup: Central {
    let core: SessionReference<GroupCore>

    /// Creates a group of opened adapters, which must have the same event loop, as those of one kernel have.
    /// - Throws: `.invalidArgument` when there is none, when an adapter is named twice, or when their loops differ;
    ///   `.cancelled` when an adapter is closed.
    public nonisolated(nonsending) init(_ adapters: [Adapter]) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("make a group of adapters")
        guard let loop = adapters.first?.loop else {
            throw .invalidArgument(operation, "A group needs an adapter.")
        }
        core = SessionReference(sending: GroupCore(on: loop), in: DetachedSession(on: loop))
        for adapter in adapters { try await add(adapter) }
    }

    /// The event loop of the adapters.
    public var loop: EventLoop { core.loop }

    /// The adapters, in the order in which they were added, including those that are off, blocked or absent.
    public nonisolated(nonsending) var adapters: [Adapter] {
        get async { await core { $0.members.all.map(\.adapter) } }
    }

    /// Adds an adapter; the group's scans begin on it.
    /// - Throws: `.invalidArgument` when the group has it already, or when it has another event loop; `.cancelled` when
    ///   the adapter or the group is closed.
    public nonisolated(nonsending) func add(_ adapter: Adapter) async throws(BluetoothError) {
        guard adapter.loop === loop else {
            throw .invalidArgument(
                .init("add to the group", adapter: adapter.information.name),
                "The adapters of a group must belong to one kernel.")
        }
        let slots = await adapter.session.slotsOnLoop
        try await core { core throws(BluetoothError) in try core.add(adapter, slots) }
    }

    /// Removes an adapter: the group's scans end on it, and no further link is made by it; its links stay up. An
    /// adapter that is not in the group is no error.
    public nonisolated(nonsending) func remove(_ adapter: Adapter) async {
        await core { $0.remove(adapter) }
    }

    /// Waits until an adapter of the group is powered on with LE enabled.
    /// - Throws: the obstacle of the first adapter at the time limit, with its remedy; `.cancelled`.
    public nonisolated(nonsending) func ready(timeout: Duration? = .seconds(30)) async throws(BluetoothError) {
        try await core { core async throws(BluetoothError) in try await core.members.ready(timeout: timeout) }
    }

    /// The bonds of all adapters, sorted by address.
    public nonisolated(nonsending) func bonds() async -> [Bond] {
        var bonds: [Bond] = []
        for adapter in await adapters { bonds += await adapter.bonds() }
        return bonds.sorted { $0.identity < $1.identity }
    }

    /// Waits until the group is closed; returns the reason, or `.cancelled` when the task is cancelled.
    /// - Parameter handler: called with the reason on the loop, as part of the closing.
    public nonisolated(nonsending) func closed(
        _ handler: @escaping @Sendable (BluetoothError) -> Void
    ) async -> BluetoothError {
        await core { await $0.members.closed(handler) }
    }

    /// Ends the group's scans and kept connections. The adapters stay open, and other links up.
    public nonisolated(nonsending) func close() async {
        await core {
            $0.close(
                BluetoothError(.cancelled, .init("use the group"), "This program has closed the group of adapters."))
        }
    }
}

// MARK: - Scanning

extension AdapterGroup {
    /// A stream of the advertisements that the adapters receive, a device once; the controllers scan when the call
    /// returns.
    ///
    /// The policy for duplicates applies to the group: what one adapter has reported is not repeated for another. The
    /// adapter with the best signal decides on a device's content, so that adapters which receive it in turn deliver it
    /// once. `ScanOptions.scanResponseTimeout` has no effect, and with `ScanOptions.batching` the reports of the last batch
    /// are not delivered. Reports dropped at an adapter count as missed, too.
    ///
    /// The scan continues as long as one adapter can be used, also on one that comes later; with
    /// `ScanOptions.whenAdapterUnavailable` as `.resume` also while there is none.
    /// - Throws: what `Adapter.scan(_:)` throws, if no adapter can scan.
    public nonisolated(nonsending) func scan(
        _ options: ScanOptions
    ) async throws(BluetoothError) -> BoundedStream<GroupAdvertisement> {
        try await core { core async throws(BluetoothError) in try await core.scans.scan(options, for: self) }
    }
}

// MARK: - Connecting

extension AdapterGroup {
    /// Connects to a device by the adapter that suits best, and exchanges the ATT_MTU.
    ///
    /// Where the first adapter does not reach the device within a third of the time limit, 10 s at most, has no room for
    /// another link or leaves, the next one tries; one that gets room takes part again. With a
    /// `ConnectionOptions.slotTimeout` it waits for the end of a link if no adapter has room, and with
    /// `ConnectionOptions.waitsForAdapter` for an adapter if none can be used.
    /// - Throws: what `Adapter.connect(to:options:)` throws, if no adapter can connect.
    public nonisolated(nonsending) func connect(
        to peer: BluetoothAddress, options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        try await core { core async throws(BluetoothError) in try await core.connector.connect(to: peer, options) }
    }
}

/// The components of a group.
//
// Lives on the loop, with the handle.
final class GroupCore {
    private let mark: ComponentCount.Mark
    let members: GroupMembers
    let scans: GroupScans
    let connector: GroupConnector

    init(on loop: EventLoop) {
        mark = loop.components.mark("GroupCore")
        members = GroupMembers(on: loop)
        scans = GroupScans(members)
        connector = GroupConnector(members, scans)
    }

    func add(_ adapter: Adapter, _ slots: LoopBound<LinkSlots>) throws(BluetoothError) {
        try members.add(adapter, slots) { [weak self] id, hasEnded in
            if hasEnded { self?.remove(id) } else { self?.changed() }
        }
        changed()
    }

    func remove(_ adapter: Adapter) {
        if let id = members.id(of: adapter) { remove(id) }
    }

    private func remove(_ id: Int) {
        members.remove(id)
        changed(without: id)
    }

    private func changed(without removed: Int? = nil) {
        members.changed()
        scans.adaptersChanged(without: removed)
    }

    func close(_ reason: BluetoothError) {
        scans.close(reason)
        members.close(reason)
    }
}
