import BluetoothHost
import BluetoothKernel
import KernelHost
import Logging

/// A Bluetooth adapter, through everything that happens to it.
///
/// Opening it brings the controller up without any daemon, if the caller wants that. When it is powered off, blocked or
/// unplugged, what is under way ends with the reason; the adapter itself stays usable and works again when it is back,
/// with another index or not: it is known by its address. ``states`` tells how it stands, ``ready(timeout:)`` waits.
public final class Adapter: Sendable {
    let session: AdapterSession

    init(_ session: AdapterSession) {
        self.session = session
    }

    /// The loop everything of this adapter lives on.
    public var loop: EventLoop { session.loop }

    /// Opens an adapter and makes sure that LE works on it.
    ///
    /// Needs CAP_NET_ADMIN when something has to be switched on. What was switched on stays on.
    /// - Parameters:
    ///   - selector: which adapter.
    ///   - power: whether it may be powered on, now and later.
    ///   - limit: how long to wait for an adapter that can be used, such as one that is found late while the machine
    ///     boots or that is still blocked; nil for not at all.
    ///   - bonds: which bonds it works with. Their keys are loaded into the kernel in place of those it has, before the
    ///     adapter is powered on where this call does that, so that bonded devices reconnect without pairing again;
    ///     where CAP_NET_ADMIN is missing, or BlueZ's daemon is running, ``bondStanding`` tells that they are not.
    ///   - bondLimit: the maximum number of bonds, and what happens when a device pairs at that limit.
    ///   - privacy: whether the adapter shows others addresses that change, behind which only bonded devices know it
    ///     (management `Set Privacy`), with a key that is kept with the bonds; nil leaves that as it is. The kernel changes
    ///     it while the adapter is off only, so one that is on is switched off and on for it, which ends what other
    ///     programs do on it, unless `power` is ``PowerPolicy/leave``.
    ///   - kernel: whose adapter; nil for the machine's own kernel.
    ///   - log: takes what happens: PDUs and packets as `trace`, oddities as `debug`.
    ///   - trace: records what goes over the air and between program and kernel; of the same kernel.
    /// - Throws: `.noBluetooth`, `.noAdapter`, `.adapterOff`, `.adapterBlocked`, `.notPermitted`, `.unsupported`, each
    ///   with the fix. Where several were tried, the message says what is wrong with each.
    public static func open(
        _ selector: AdapterSelector = .first, power: PowerPolicy = .leave, waitingFor limit: Duration? = nil,
        bonds: BondKeeping = .standard, bondLimit: BondLimit = BondLimit(), privacy: PrivacyMode? = nil,
        on kernel: (any BluetoothKernel)? = nil, log: Logger = Logger(label: "bluetooth.adapter"),
        trace: PacketTrace? = nil
    ) async throws(BluetoothError) -> Adapter {
        let kernel = try chosenKernel(kernel, .init("open \(selector)"))
        return try await open(
            selector, power: power, waitingFor: limit, bonds: bonds, bondLimit: bondLimit, privacy: privacy,
            of: KernelProvider(kernel, trace: trace?.synthesis), log: log, trace: trace)
    }

    /// Opens an adapter of any host.
    package static func open(
        _ selector: AdapterSelector = .first, power: PowerPolicy = .leave, waitingFor limit: Duration? = nil,
        bonds: BondKeeping = .standard, bondLimit: BondLimit = BondLimit(), privacy: PrivacyMode? = nil,
        of provider: any HostProvider, log: Logger = Logger(label: "bluetooth.adapter"), trace: PacketTrace? = nil
    ) async throws(BluetoothError) -> Adapter {
        let session = try await LooseSession(on: provider.loop).open(
            selector, power: power, waitingFor: limit, bonds: bonds, bondLimit: bondLimit, privacy: privacy,
            of: provider, log: log, trace: trace)
        return Adapter(session)
    }

    /// What is known of the adapter: as it is now, and while it is away as it was last.
    public var information: AdapterInformation { session.information }

    /// Ends the adapter's advertising, scans, sockets, streams, maintained connections, and attempts to connect, which
    /// throw `.cancelled`. The controller keeps its state; connections that the program holds stay up. All new bonds are
    /// stored when this returns.
    public nonisolated(nonsending) func close() async {
        await session.close()
    }
}

extension Adapter {
    /// What rights this program lacks.
    package nonisolated(nonsending) func obstacles() async -> HostObstacles { await session.obstacles }
}

// MARK: - States

extension Adapter {
    /// How the adapter stands now.
    public var state: AdapterState { session.state }

    /// How the adapter stands: now, and whenever that changes.
    ///
    /// Each call makes a stream of its own. It hands out the newest state: a consumer that is slow misses what was in
    /// between, never where things stand. It lives until its loop is left, or until the adapter is closed, which
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
