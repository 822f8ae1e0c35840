import BluetoothHCI
import BluetoothManagement

/// The conditions of a simulated machine: the privileges of its processes, its kernel and its other software.
public struct MachineConditions: Sendable {
    /// Whether processes have CAP_NET_RAW. Checked when a socket is used.
    public var hasNetRaw = true
    /// Whether processes have CAP_NET_ADMIN. Management sockets keep the privilege they were opened with.
    public var hasNetAdmin = true
    /// Whether processes have CAP_NET_BIND_SERVICE, which PSMs below 0x80 need.
    public var hasNetBindService = false
    /// Whether the process may follow the radio switches, which requires read access to `/dev/rfkill`.
    public var canWatchRadioSwitches = true
    /// Whether the kernel's Enhanced Credit Based Flow Control Mode is on (`enable_ecred`).
    public var hasEnhancedFlowControl = true
    /// Whether another program is discovering devices.
    var isDiscoveryTaken = false
    /// Whether the environment reports that BlueZ's daemon is running.
    public var isBluetoothDaemonRunning = false
    /// The error of opening a Bluetooth socket; nil if that works.
    public var socketError: KernelError?
    /// The running program's file in the environment.
    public var executablePath: String? = "/usr/bin/simulated"
    /// The kernel's release in the environment.
    public var kernelRelease = "6.12.0-simulated"
    /// Whether the environment reports a program with privileges that its caller does not have (`AT_SECURE`).
    public var isSecureExecution = false
}

/// One machine: its kernel's Bluetooth with all adapters and sockets.
final class HostKernel {
    unowned let world: KernelWorld
    var conditions: MachineConditions
    /// The adapters in the order in which they were plugged in.
    private(set) var adapters: [SimulatedAdapter] = []
    /// The number of adapters plugged in so far.
    private(set) var pluggedCount = 0
    /// The marks that programs hold.
    var marks: Set<String> = []
    let monitor = Monitor()
    let management = ManagementSockets()
    let rawSockets = RawSockets()
    private(set) lazy var l2cap = L2CAPSockets(kernel: self)

    init(world: KernelWorld, conditions: MachineConditions) {
        self.world = world
        self.conditions = conditions
    }

    func adapter(_ index: UInt16) -> SimulatedAdapter? {
        adapters.first { $0.index == index }
    }

    /// The adapters, newest first, as in the kernel's list.
    var newestFirst: [SimulatedAdapter] { adapters.reversed() }

    // MARK: Hotplug

    @discardableResult
    func plug(
        _ controller: SimulatedController, address: BluetoothAddress, fault: ControllerFault? = nil, isSettled: Bool
    ) -> SimulatedAdapter {
        // An index stays in use as long as a raw socket of its former adapter is open.
        var index: UInt16 = 0
        while adapter(index) != nil || rawSockets.hasOne(of: index) { index += 1 }
        let adapter = SimulatedAdapter(
            kernel: self, index: index, controller: controller, address: address, fault: fault, isSettled: isSettled)
        adapters.append(adapter)
        pluggedCount += 1
        world.add(adapter.controller)
        management.send(ManagementIndexAdded(), index: index)
        adapter.plugged()
        if controller.isPowered { adapter.setPowered(true) }
        return adapter
    }

    func unplug(_ adapter: SimulatedAdapter) {
        guard adapters.contains(where: { $0 === adapter }) else { return }
        adapter.unplugged()
        adapters.removeAll { $0 === adapter }
        adapter.controller.remove()
        management.send(ManagementIndexRemoved(), index: adapter.index)
        monitor.report(.deletedIndex, adapter: adapter.index)
    }

    /// Unplugs an adapter and plugs it in again, as unbinding and binding its driver does.
    func rebind(_ adapter: SimulatedAdapter) {
        adapter.controller.intervene(.unbinding)
        let (configuration, address) = (adapter.controller.configuration, adapter.controller.ownAddress)
        let fault = adapter.controller.fault
        unplug(adapter)
        var fresh = configuration
        (fresh.isPowered, fresh.isLEEnabled) = (false, !fresh.isDualMode)
        world.schedule(after: .milliseconds(100)) { [weak self] in
            self?.plug(fresh, address: address, fault: fault, isSettled: false)
        }
    }

    // MARK: Routes

    /// The adapter that a socket bound to `source` uses for a peer (`hci_get_route`).
    func route(from source: BluetoothAddress, to peer: BluetoothAddress) -> SimulatedAdapter? {
        newestFirst.first { adapter in
            guard adapter.isRunning else { return false }
            return source.isZero
                ? adapter.controller.publicAddress != peer : adapter.identityAddress == source
        }
    }

    /// Whether the kernel is still reading an adapter that a socket bound to `source` could use.
    func isSettling(_ source: BluetoothAddress) -> Bool {
        adapters.contains { $0.isSettling && (source.isZero || $0.controller.publicAddress == source) }
    }
}
