import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import Logging

/// A Bluetooth adapter, through everything that happens to it.
///
/// Opening it brings the controller up without any daemon, if the caller wants that. When it is powered off, blocked or
/// unplugged, what is under way ends with the reason; the adapter itself stays usable and works again when it is back,
/// with another index or not: it is known by its address. ``states`` reports its state, ``ready(timeout:)`` waits.
public final class Adapter: Sendable {
    let session: AdapterSession

    init(_ session: AdapterSession) {
        self.session = session
    }

    /// The loop everything of this adapter lives on.
    public var loop: EventLoop { session.loop }

    /// Opens an adapter of any host.
    package static func open(
        _ selector: AdapterSelector = .first, power: PowerPolicy = .leave, waitingFor limit: Duration? = nil,
        bonds: BondStorage = .standard, bondLimit: BondLimit = BondLimit(), privacy: PrivacyMode? = nil,
        of provider: any HostProvider, log: Logger = Logger(label: "bluetooth.adapter"), trace: PacketTrace? = nil
    ) async throws(BluetoothError) -> Adapter {
        let session = try await DetachedSession(on: provider.loop).open(
            selector, power: power, waitingFor: limit, bonds: bonds, bondLimit: bondLimit, privacy: privacy,
            of: provider, log: log, trace: trace)
        return Adapter(session)
    }

    /// The adapter's information: the latest, also while the adapter is away.
    public var information: AdapterInformation { session.information }

    /// Ends the adapter's advertising, scans, sockets, streams, kept connections, and attempts to connect, which
    /// throw `.cancelled`. The controller keeps its state; connections that the program holds stay up. All new bonds are
    /// stored when this returns.
    public nonisolated(nonsending) func close() async {
        await session.close()
    }
}

extension Adapter {
    /// The rights that this program lacks.
    package nonisolated(nonsending) func obstacles() async -> HostObstacles { await session.obstacles }
}

// MARK: - States

extension Adapter {
    /// The adapter's state now.
    public var state: AdapterState { session.state }

    /// The adapter's states: the present one, and each that follows.
    ///
    /// Each call makes a stream of its own. It hands out the newest state: a consumer that is slow misses what was in
    /// between, never the present state. It lives until its loop is left, or until the adapter is closed, which
    /// finishes it regularly; cancelling the task throws `.cancelled`.
    public var states: BoundedStream<AdapterState> { session.states }

    /// Waits until the adapter is powered on and LE works.
    /// - Parameter timeout: the most time to wait; nil for ever.
    /// - Throws: what is in the way when the time is over, with the fix: `.adapterOff`, `.adapterBlocked`, `.noAdapter`,
    ///   or `.notPermitted` when this program may not switch it on; `.cancelled`.
    public nonisolated(nonsending) func ready(timeout: Duration?) async throws(BluetoothError) {
        try await session.ready(timeout: timeout)
    }

    /// Powers the adapter on, and LE with it, or off (management `Set Powered`).
    ///
    /// Returns when it is so. Powering off ends what is under way on it, of other programs too. Needs CAP_NET_ADMIN
    /// unless it is so already.
    /// - Throws: `.adapterBlocked`, `.noAdapter`, `.notPermitted`, `.busy` when the kernel is at work on another change
    ///   for more than two seconds, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func setPowered(_ isOn: Bool) async throws(BluetoothError) {
        try await session.setPowered(isOn)
    }
}
