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
/// connections continue with the others. Advertising, serving and pairing are up to each ``Adapter``, which remains
/// usable by itself.
public final class AdapterGroup: Sendable {
    private let core: SessionReference<GroupCore>

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
    public var adapters: [Adapter] {
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
        try await core { core throws(BluetoothError) in try core.members.add(adapter, slots) }
    }

    /// The numbers of stored signals of a device: the group's, then those of its scans.
    func signalCounts(of address: BluetoothAddress) async -> [Int] {
        await core { [$0.members.signalCount(of: address)] + $0.scans.signalCounts(of: address) }
    }

    /// Removes an adapter: the group's scans end on it, and no further link is made by it; its links stay up. An
    /// adapter that is not in the group is no error.
    public nonisolated(nonsending) func remove(_ adapter: Adapter) async {
        await core { _ = $0.members.remove(adapter) }
    }

    /// Waits until an adapter of the group is powered on with LE enabled.
    /// - Throws: the obstacle of the first adapter at the time limit, with its remedy; `.cancelled`.
    public nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError) {
        try await core { core async throws(BluetoothError) in try await core.members.ready(timeout: timeout) }
    }

    /// Ends the group's scans and kept connections. The adapters stay open, and other links up.
    public nonisolated(nonsending) func close() async {
        await core {
            $0.members.close(
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
    /// once. ``ScanOptions/scanResponseTimeout`` has no effect. Reports dropped at an adapter count as missed, too.
    ///
    /// The scan continues as long as one adapter can be used, also on one that comes later; with
    /// ``ScanOptions/whenAdapterLeaves`` as `.resume` also while there is none.
    /// - Throws: what ``Adapter/scan(_:)`` throws, if no adapter can scan.
    public nonisolated(nonsending) func scan(
        _ options: ScanOptions = ScanOptions()
    ) async throws(BluetoothError) -> BoundedStream<GroupAdvertisement> {
        let owner = core
        return try await core { core async throws(BluetoothError) in
            try await core.scans.scan(options, for: GroupOwner(owner))
        }
    }

    /// The devices that advertise within a time, each once, with its newest advertisement: strongest signal first.
    /// - Throws: what ``scan(_:)`` and its stream throw.
    public nonisolated(nonsending) func devices(
        for duration: Duration, options: ScanOptions = ScanOptions()
    ) async throws(BluetoothError) -> [GroupAdvertisement] {
        var options = options
        options.duration = duration
        options.duplicates = .all
        var table = GroupDeviceTable(capacity: options.deviceLimit)
        for try await found in try await scan(options) { table.record(found) }
        return table.all
    }

    /// The first advertisement that fulfils a condition; scans until then.
    /// - Parameters:
    ///   - timeout: the maximum time to scan; nil for ``ScanOptions/duration``, and without one no limit.
    ///   - options: the options of the scan.
    ///   - condition: called for each advertisement that passes the options' filter; by default all do.
    /// - Throws: `.notFound` when the time is over, besides what ``scan(_:)`` throws.
    public nonisolated(nonsending) func firstAdvertisement(
        timeout: Duration? = .seconds(10), options: ScanOptions = ScanOptions(),
        where condition: @Sendable (Advertisement) -> Bool = { _ in true }
    ) async throws(BluetoothError) -> GroupAdvertisement {
        var options = options
        options.duration = timeout ?? options.duration
        for try await found in try await scan(options) where condition(found.advertisement) { return found }
        let time = options.duration.map { " within \($0.inSeconds)" } ?? ""
        throw BluetoothError(
            .notFound, .init("look for a device"), "No device that matches was seen\(time).",
            remedy: BluetoothError.outOfReachRemedy, isRetryable: true)
    }
}

// MARK: - Connecting

extension AdapterGroup {
    /// Connects to a device by the adapter that suits best, and exchanges the ATT_MTU.
    ///
    /// Where the first adapter does not reach the device within a third of the time limit, 10 s at most, has no room for
    /// another link or leaves, the next one tries; one that gets room takes part again. With a
    /// ``ConnectionOptions/slotTimeout`` it waits for the end of a link if no adapter has room, and with
    /// ``ConnectionOptions/waitsForAdapter`` for an adapter if none can be used.
    /// - Throws: what ``Adapter/connect(to:options:)-(BluetoothAddress,_)`` throws, if no adapter can connect.
    public nonisolated(nonsending) func connect(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        try await core { core async throws(BluetoothError) in try await core.connector.connect(to: peer, options) }
    }

    /// Connects to the device of an advertisement, as ``connect(to:options:)-(BluetoothAddress,_)`` does.
    /// - Throws: `.invalidArgument` when the advertisement is anonymous or not connectable.
    public nonisolated(nonsending) func connect(
        to found: GroupAdvertisement, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        try await connect(
            to: found.advertisement.connectableAddress(for: .init("connect")),
            options: options.hearing(found.advertisement))
    }

    /// Connects to a device by its identity resolving key, whatever its private address is, by the adapter that suits
    /// best.
    ///
    /// All adapters scan for the device. It is connected to at the address that it advertises with, as
    /// ``connect(to:options:)-(BluetoothAddress,_)`` does, and found again if it changes that before the link is up. Where
    /// an adapter has a bond with the device, that one connects, without a scan.
    /// - Throws: what ``Adapter/connect(to:options:)-(DeviceIdentity,_)`` throws, if no adapter can connect.
    public nonisolated(nonsending) func connect(
        to identity: DeviceIdentity, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        try await core { core async throws(BluetoothError) in
            try await core.connect(to: .identity(identity), options: options)
        }
    }

    /// Scans, and connects to the first connectable device that fulfils a condition. The time limit is for both
    /// together.
    /// - Throws: `.notFound` when the time is over without such a device, besides what scanning and connecting throw.
    public nonisolated(nonsending) func connect(
        options: ConnectionOptions = ConnectionOptions(), scan: ScanOptions = ScanOptions(),
        firstMatching condition: @Sendable (Advertisement) -> Bool
    ) async throws(BluetoothError) -> Connection {
        let start = loop.now
        let found = try await firstAdvertisement(timeout: options.timeout, options: scan) { advertisement in
            advertisement.hasConnectableAddress && condition(advertisement)
        }
        return try await connect(to: found, options: options.afterSearch(since: start, now: loop.now))
    }

    /// Keeps a device connected by whichever adapter suits until the returned object is disconnected or released, or
    /// the group is closed; see ``Adapter/keepConnected(to:options:policy:)-(BluetoothAddress,_,_)``.
    public func keepConnected(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions(),
        policy: ReconnectionPolicy = ReconnectionPolicy()
    ) -> KeptConnection {
        keep(.address(peer), options, policy)
    }

    private func keep(
        _ target: ReconnectionTarget, _ options: ConnectionOptions, _ policy: ReconnectionPolicy
    ) -> KeptConnection {
        let core = core
        return KeptConnection(to: target, options, policy, on: loop) { reconnector in
            await core { await $0.run(reconnector.value) }
        }
    }

    /// Keeps a device connected that is known by its identity resolving key, whatever its private address is, by
    /// whichever adapter suits; see ``Adapter/keepConnected(to:options:policy:)-(DeviceIdentity,_,_)``.
    public func keepConnected(
        to identity: DeviceIdentity, options: ConnectionOptions = ConnectionOptions(),
        policy: ReconnectionPolicy = ReconnectionPolicy()
    ) -> KeptConnection {
        keep(.identity(identity), options, policy)
    }

    /// Keeps the device of an advertisement connected.
    /// - Throws: `.invalidArgument` when the advertisement is anonymous or not connectable.
    public func keepConnected(
        to found: GroupAdvertisement, options: ConnectionOptions = ConnectionOptions(),
        policy: ReconnectionPolicy = ReconnectionPolicy()
    ) throws(BluetoothError) -> KeptConnection {
        keepConnected(
            to: try found.advertisement.connectableAddress(for: .init("connect")),
            options: options.hearing(found.advertisement), policy: policy)
    }

    package nonisolated(nonsending) func connect(
        to identity: DeviceIdentity, options: ConnectionOptions,
        onAddress: @escaping @Sendable (BluetoothAddress, Advertisement?) -> Void
    ) async throws(BluetoothError) -> Connection {
        try await core { core async throws(BluetoothError) in
            try await core.connect(to: identity, options: options, onAddress: onAddress)
        }
    }

    /// Waits until the group is closed; returns the reason, or `.cancelled`.
    package nonisolated(nonsending) func closed() async -> BluetoothError {
        await core { await $0.closed() }
    }
}

/// The components of a group.
//
// Lives on the loop, with the handle.
final class GroupCore: ReconnectionRadio {
    private let mark: ComponentCount.Mark
    let members: GroupMembers
    let scans: GroupScans
    let connector: GroupConnector

    init(on loop: EventLoop) {
        mark = loop.components.mark("GroupCore")
        members = GroupMembers(on: loop)
        scans = GroupScans(members)
        connector = GroupConnector(members)
    }

    nonisolated(nonsending) func connect(
        to target: ReconnectionTarget, options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        switch target {
        case .address(let peer): try await connector.connect(to: peer, options)
        case .identity(let identity):
            try await GroupRadio(members, scans, connector).connect(to: identity, options: options)
        }
    }

    nonisolated(nonsending) func connect(
        to identity: DeviceIdentity, options: ConnectionOptions,
        onAddress: @Sendable (BluetoothAddress, Advertisement?) -> Void
    ) async throws(BluetoothError) -> Connection {
        try await GroupRadio(members, scans, connector).connect(to: identity, options: options, onAddress: onAddress)
    }

    nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError) {
        try await members.ready(timeout: timeout)
    }

    /// Keeps a device connected until the reconnector's end, or the group's.
    nonisolated(nonsending) func run(_ reconnector: Reconnector) async {
        let number = members.followEnd { [weak reconnector] reason in reconnector?.adapterClosed(reason) }
        defer { members.unfollowEnd(number) }
        await reconnector.run(on: self)
    }

    /// Waits for the group's end.
    nonisolated(nonsending) func closed() async -> BluetoothError {
        let operation = BluetoothError.Operation("use the group")
        let call = Promise<Void, BluetoothError>()
        let number = members.followEnd { call.fail($0) }
        defer { members.unfollowEnd(number) }
        do throws(BluetoothError) {
            try await call.value(operation, timeout: nil, on: members.loop)
            return .cancelled(operation)
        } catch {
            return error
        }
    }
}

/// Retains a group for a stream.
private final class GroupOwner: Sendable {
    private let core: SessionReference<GroupCore>

    init(_ core: SessionReference<GroupCore>) { self.core = core }
}
