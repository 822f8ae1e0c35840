import BluetoothLoop
import BluetoothPrimitives

/// An adapter in the kernel's list (`HCIGETDEVLIST`, `HCIGETDEVINFO`). Reading the list needs no privilege.
package struct KernelAdapter: Hashable, Sendable {
    /// The adapter's index, N in the name hciN. Not stable: it may change when an adapter is unplugged and plugged in
    /// again.
    package var index: UInt16
    /// The public address; zero where the controller has none.
    package var address: BluetoothAddress
    /// Whether the controller is powered on.
    package var isUp: Bool

    /// An adapter with the given fields.
    package init(index: UInt16, address: BluetoothAddress, isUp: Bool) {
        self.index = index
        self.address = address
        self.isUp = isUp
    }
}

/// An intervention in the kernel's control of an adapter.
package enum AdapterControl: Hashable, Sendable {
    /// Resets the controller, and ends its links (`HCIDEVRESET`).
    case reset
    /// Takes the adapter down (`HCIDEVDOWN`).
    case down
    /// Takes the adapter up (`HCIDEVUP`).
    case up
    /// Unbinds the adapter's device from its driver, and binds it again (sysfs).
    case rebind
}

/// The interface to a kernel: packet sockets, their creation, and their clock.
///
/// `LinuxKernel` implements it with file descriptors, `SimulatedKernel` in memory; the layers above only exchange bytes
/// and work with both. The interface does not interpret the packets. Every kernel is a source of adapters.
///
/// Open and use sockets on `loop`; the list of adapters and the environment are available on any thread.
package protocol BluetoothKernel: AdapterSource {
    /// The kernel's adapters, lowest index first. Needs no privilege.
    func adapters() throws(KernelError) -> [KernelAdapter]

    /// The port of an adapter, which identifies one without a public address: it stays the same after unplugging and
    /// after a reboot, as far as the kernel can determine. Needs no privilege.
    func port(ofAdapter index: UInt16) -> String

    /// The handles of an adapter's links that the kernel knows (`HCIGETCONNLIST`). Needs no privilege.
    func linkHandles(ofAdapter index: UInt16) throws(KernelError) -> [UInt16]

    /// The conditions for using Bluetooth on this host: privileges, radio switches, other programs.
    func environment() -> HostEnvironment

    /// The radio switches of all Bluetooth adapters, a part of ``environment()``. Needs no privilege.
    func radioSwitches() -> [HostEnvironment.RadioSwitch]

    /// Calls `handler` on `loop` whenever a radio switch may have changed, until the returned watch is released.
    ///
    /// The management socket reports that a switch powers an adapter off, but not that it is unblocked. Nil when this
    /// process cannot watch the switches.
    func watchRadioSwitches(_ handler: @escaping () -> Void) -> (any RadioSwitchWatch)?

    /// Intervenes in the control of an adapter, which may take seconds. Needs CAP_NET_ADMIN, or, for
    /// `AdapterControl.rebind`, the permission to write to sysfs.
    /// - Parameter completion: called on the loop, once, with the error.
    func control(
        _ control: AdapterControl, adapter index: UInt16, then completion: @escaping (KernelError?) -> Void)

    /// Opens the management socket (`HCI_CHANNEL_CONTROL`). Opening needs no privilege; most commands need
    /// CAP_NET_ADMIN.
    func openManagement(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket

    /// Opens a raw HCI socket of an adapter (`HCI_CHANNEL_RAW`). LE commands and events need CAP_NET_RAW.
    func openHCI(adapter: UInt16, _ handler: @escaping SocketHandler) throws(KernelError) -> any HCISocket

    /// Opens the monitor channel (`HCI_CHANNEL_MONITOR`), which reports the existing adapters and then all traffic
    /// between adapters and programs. Needs CAP_NET_RAW.
    ///
    /// Each packet has kind, adapter and length in two bytes each, then the payload. The socket cannot send. The kernel
    /// silently drops packets that are not received in time.
    func openMonitor(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket

    /// Connects an L2CAP channel.
    ///
    /// The socket reports `SocketEvent.writable` when it is connected and `SocketEvent.closed(_:)` after a failure.
    /// Closing it earlier cancels the attempt. Needs no privilege.
    /// - Parameters:
    ///   - peer: The address of the peer; with the wrong address type the kernel searches without limit.
    ///   - channel: The channel of the link.
    ///   - adapter: The address of the adapter; zero for the first that is powered on.
    ///   - options: The options of the socket.
    ///   - handler: The handler of the socket's events.
    func connectL2CAP(
        to peer: BluetoothAddress, channel: L2CAPChannel, from adapter: BluetoothAddress, options: L2CAPOptions,
        _ handler: @escaping SocketHandler
    ) throws(KernelError) -> any L2CAPSocket

    /// Listens for L2CAP channels opened by peers. Needs no privilege, but CAP_NET_BIND_SERVICE for PSMs below 0x80.
    func listenL2CAP(
        channel: L2CAPChannel, on adapter: BluetoothAddress, options: L2CAPOptions,
        _ accept: @escaping L2CAPAcceptHandler
    ) throws(KernelError) -> any L2CAPListener
}

extension BluetoothKernel {
    /// The kernel.
    package var hostSource: HostSource { HostSource(self) }
}
