import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

/// What a process may do with the simulated kernel, and what else runs on the machine.
struct HostConditions {
    var hasNetRaw = true
    var hasNetAdmin = true
    var hasNetBindService = false
    var canWatchRadioSwitches = true
    var hasEnhancedFlowControl = true
    var isBluetoothDaemonRunning = false
    var socketError: KernelError?
    var executablePath: String? = "/usr/bin/simulated"
    var kernelRelease = "6.12.0-simulated"
}

/// One machine: its kernel's Bluetooth with all adapters and sockets.
final class HostKernel {
    unowned let world: KernelWorld
    var conditions: HostConditions
    /// In the order in which they were plugged in.
    var adapters: [Adapter] = []
    /// How many there have been.
    private(set) var pluggedCount = 0
    var managementSockets: [ManagementSocketState] = []
    /// Raw sockets, also of adapters that are gone.
    var hciSockets: [HCISocketState] = []
    var monitorSockets: [MonitorSocketState] = []
    /// Newest first.
    var listeners: [ListenerState] = []

    /// Management commands that are refused, as when somebody else is in the way.
    var refusedOpcodes: [ManagementOpcode: ManagementStatus] = [:]
    /// Management commands that are never answered.
    var silentOpcodes: Set<ManagementOpcode> = []
    /// Somebody else is discovering.
    var isDiscoveryTaken = false

    init(world: KernelWorld, conditions: HostConditions) {
        self.world = world
        self.conditions = conditions
    }

    func adapter(_ index: UInt16) -> Adapter? {
        adapters.first { $0.index == index }
    }

    /// Newest first, as the kernel's list of devices is.
    var newestFirst: [Adapter] { adapters.reversed() }

    // MARK: Hotplug

    @discardableResult
    func plug(_ controller: SimulatedController, address: BluetoothAddress, isSettled: Bool) -> Adapter {
        // An index stays taken as long as a raw socket of the adapter that had it is open.
        var index: UInt16 = 0
        while adapter(index) != nil || hciSockets.contains(where: { $0.index == index }) { index += 1 }
        let adapter = Adapter(
            kernel: self, index: index, controller: controller, address: address, isSettled: isSettled)
        adapters.append(adapter)
        pluggedCount += 1
        world.add(adapter.controller)
        send(.indexAdded, index: index)
        adapter.monitorPlugged()
        if controller.isPowered { adapter.setPowered(true) }
        return adapter
    }

    func unplug(_ adapter: Adapter) {
        guard adapters.contains(where: { $0 === adapter }) else { return }
        adapter.unplugged()
        adapters.removeAll { $0 === adapter }
        adapter.controller.remove()
        send(.indexRemoved, index: adapter.index)
        monitor(.deletedIndex, adapter: adapter.index)
    }

    // MARK: Routes

    /// The adapter that a socket bound to `source` uses for a peer (`hci_get_route`).
    func route(from source: BluetoothAddress, to peer: BluetoothAddress) -> Adapter? {
        newestFirst.first { adapter in
            guard adapter.isRunning else { return false }
            return source.isZero
                ? adapter.controller.publicAddress != peer : adapter.identityAddress == source
        }
    }
}

/// A listening L2CAP socket.
final class ListenerState {
    let identifier: Int
    let kernel: HostKernel
    let channel: L2CAPChannel
    let source: BluetoothAddress
    let options: L2CAPOptions
    var accept: LoopBound<L2CAPAcceptHandler>?

    init(
        kernel: HostKernel, channel: L2CAPChannel, source: BluetoothAddress, options: L2CAPOptions,
        accept: LoopBound<L2CAPAcceptHandler>
    ) {
        self.kernel = kernel
        self.channel = channel
        self.source = source
        self.options = options
        self.accept = accept
        identifier = kernel.world.makeIdentifier()
        kernel.world.add(self)
        kernel.listeners.insert(self, at: 0)
    }

    func close() {
        guard let accept else { return }
        self.accept = nil
        kernel.world.release(accept)
        kernel.world.remove(self)
        kernel.listeners.removeAll { $0 === self }
    }

    /// Whether a link of `adapter` is for it.
    func matches(_ adapter: Adapter) -> Bool {
        // Zero means any adapter, but its kind still has to be that of the adapter's own address.
        source.isZero ? source.kind == adapter.identityAddress.kind : source == adapter.identityAddress
    }
}
