import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import Logging

/// A Bluetooth adapter.
///
/// Opening powers on the controller without a daemon, if the caller requests it. When the adapter is powered off,
/// blocked or unplugged, operations under way end with the reason. The object stays usable: it recognises the adapter
/// by its address, also under another index, and works again when the adapter is back. ``states()`` reports the state,
/// and ``ready(timeout:)`` waits for the adapter.
public final class Adapter: Sendable {
    package let session: AdapterSession

    init(_ session: AdapterSession) {
        self.session = session
    }

    /// The event loop of the adapter and all its objects.
    public var loop: EventLoop { session.loop }

    /// The adapter's information; the last known while the adapter is absent.
    public var information: AdapterInformation { session.information }

    /// Ends the adapter's advertising, scans, sockets, streams, kept connections, and connection attempts, which throw
    /// `.cancelled`. The controller keeps its state, and connections that the program holds stay up. All new bonds are
    /// stored when this returns. A step of the recovery that is under way is completed first, so that it leaves the adapter on.
    public nonisolated(nonsending) func close() async {
        await session.close()
    }
}

extension Adapter {
    /// The privileges that this program lacks.
    package nonisolated(nonsending) func obstacles() async -> HostObstacles { await session { $0.host.obstacles } }
}

// MARK: - States

extension Adapter {
    /// The adapter's current state.
    public var state: AdapterState { session.state }

    /// A stream of the adapter's states that begins with the current one.
    ///
    /// Each call creates a separate stream. It delivers the newest state: a slow consumer misses intermediate states,
    /// never the current one. The stream ends when its loop is left or the adapter is closed; cancelling the task
    /// throws `.cancelled`.
    public func states() -> BoundedStream<AdapterState> { session.states }

    /// Waits until the adapter is powered on with LE enabled.
    /// - Parameter timeout: the maximum time to wait; nil for no limit.
    /// - Throws: the obstacle at the time limit, with its remedy: `.adapterOff`, `.adapterBlocked`, `.noAdapter`, or
    ///   `.notPermitted` when this program may not power the adapter on; `.cancelled`.
    public nonisolated(nonsending) func ready(timeout: Duration? = .seconds(30)) async throws(BluetoothError) {
        try await session.ready(timeout: timeout)
    }

    /// Powers the adapter on with LE enabled, or off (management `Set Powered`).
    ///
    /// Returns when the adapter has the state. Powering off ends everything under way on the adapter, including that of
    /// other programs. Needs CAP_NET_ADMIN, unless the adapter already has the state.
    /// - Throws: `.adapterBlocked`, `.noAdapter`, `.notPermitted`, `.busy` when another change in the kernel takes more
    ///   than two seconds, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func setPowered(_ isOn: Bool) async throws(BluetoothError) {
        try await session.setPowered(isOn)
    }
}

// MARK: - Capacity

extension Adapter {
    /// The adapter's advertising sets and links: how many are in use, and how many there can be, as far as this is
    /// known. Advertising sets need CAP_NET_ADMIN.
    public nonisolated(nonsending) var capacity: AdapterCapacity {
        get async { await session { await $0.slots.capacity() } }
    }
}

// MARK: - Defaults

extension Adapter {
    /// The adapter's defaults for parameters that a program leaves unset (management
    /// `Read Default System Configuration`, `Get PHY Configuration`); nil for what the kernel does not report.
    /// `AdapterDefaults.phys` needs CAP_NET_ADMIN, the rest no privilege.
    /// - Throws: `.unsupported` by a kernel before 5.9, `.noAdapter`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func defaults() async throws(BluetoothError) -> AdapterDefaults {
        try await session.defaults()
    }

    /// Changes the adapter's defaults for parameters that a program leaves unset, for all programs (management
    /// `Set Default System Configuration`). Needs CAP_NET_ADMIN.
    ///
    /// The kernel keeps them until the adapter is removed; this object sets them again when it is back.
    /// - Throws: `.invalidArgument` for values outside the specification's ranges or that contradict each other, with
    ///   nothing changed; `.notPermitted`, `.unsupported` by a kernel before 5.9, `.noAdapter`, `.timedOut`,
    ///   `.cancelled`.
    public nonisolated(nonsending) func setDefaults(_ defaults: AdapterDefaults) async throws(BluetoothError) {
        try await session.setDefaults(defaults)
    }
}

// MARK: - Health

extension Adapter {
    /// The health of the controller and its scan, as far as this program watches it; see ``RecoveryOptions``.
    public nonisolated(nonsending) var health: AdapterHealth {
        get async { await session { $0.health.health } }
    }

    /// What the controller reports of itself: versions, features, buffers and limits. Needs CAP_NET_RAW.
    /// - Throws: `.notPermitted`, `.adapterOff`, `.adapterBlocked`, `.noAdapter`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func controllerProperties() async throws(BluetoothError) -> ControllerProperties {
        try await session.controllerProperties()
    }

    /// The health after a test: a harmless command that the controller must answer. One that does not is found out
    /// after 5 s. Needs no privilege.
    /// - Throws: `.adapterOff`, `.adapterBlocked`, `.noAdapter`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func checkHealth() async throws(BluetoothError) -> AdapterHealth {
        try await session.checkHealth()
    }

    /// A stream of the events of the adapter's health from now on. Each call creates a separate stream.
    ///
    /// When `bufferCapacity` events wait, the oldest makes room. The stream ends when its loop is left or the adapter is
    /// closed.
    public nonisolated(nonsending) func healthEvents(bufferCapacity: Int = 64) async -> BoundedStream<HealthEvent> {
        await session { $0.health.events(bufferCapacity) }
    }
}
