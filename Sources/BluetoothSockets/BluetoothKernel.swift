import BluetoothPrimitives

/// An adapter as the kernel lists it (`HCIGETDEVLIST`, `HCIGETDEVINFO`). Reading the list needs no privilege.
public struct KernelAdapter: Hashable, Sendable {
    /// N of hciN. Not stable: an adapter that is unplugged and plugged again may come back with another.
    public var index: UInt16
    /// The public address; zero where the controller has none.
    public var address: BluetoothAddress
    /// Whether the kernel has the controller up.
    public var isUp: Bool

    /// An adapter from its parts.
    public init(index: UInt16, address: BluetoothAddress, isUp: Bool) {
        self.index = index
        self.address = address
        self.isUp = isUp
    }
}

/// The seam: packet sockets, who opens them, and the time they live in.
///
/// `LinuxKernel` implements it with file descriptors, `SimulatedKernel` with memory; what stands above sees bytes and
/// cannot tell which it has. Nothing here knows what the packets mean.
///
/// Sockets are opened and used on ``loop``; the list of adapters and the environment may be read from anywhere.
public protocol BluetoothKernel: AnyObject, Sendable {
    /// The loop that owns every socket of this kernel, with its clock and its timers.
    var loop: EventLoop { get }

    /// The adapters the kernel has, lowest index first. Needs no privilege.
    func adapters() throws(KernelError) -> [KernelAdapter]

    /// Where an adapter is plugged in, by which one without a public address is recognised: the same when it was unplugged
    /// and when the machine was off, as far as the kernel can tell. Needs no privilege.
    func place(ofAdapter index: UInt16) -> String

    /// What around the sockets decides whether Bluetooth can be used here: privileges, radio switches, other programs.
    func environment() -> HostEnvironment

    /// The radio switches of all Bluetooth adapters, as ``environment()`` tells them among much else. Needs no privilege.
    func radioSwitches() -> [HostEnvironment.RadioSwitch]

    /// Has `handler` called, on ``loop``, whenever a radio switch may have changed, for as long as the watch is kept.
    ///
    /// The management socket tells when a switch turns an adapter off, but not when it is given free again. Nil where
    /// this process cannot know.
    func watchRadioSwitches(_ handler: @escaping () -> Void) -> (any RadioSwitchWatch)?

    /// Opens the management socket (`HCI_CHANNEL_CONTROL`). Opening needs no privilege; most commands need CAP_NET_ADMIN.
    func openManagement(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket

    /// Opens a raw HCI socket of an adapter (`HCI_CHANNEL_RAW`). LE commands and events need CAP_NET_RAW.
    func openHCI(adapter: UInt16, _ handler: @escaping SocketHandler) throws(KernelError) -> any HCISocket

    /// Opens the monitor (`HCI_CHANNEL_MONITOR`), which tells everything that all adapters and their users exchange from
    /// now on, after what adapters there are. Needs CAP_NET_RAW.
    ///
    /// Each packet is kind, adapter and length in two bytes each, then what was exchanged. Nothing can be sent. What its
    /// user does not take in time is lost without a trace.
    func openMonitor(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket

    /// Begins to connect an L2CAP channel.
    ///
    /// The socket tells ``SocketEvent/writable`` when it is connected and ``SocketEvent/closed(_:)`` when it failed.
    /// Closing it first cancels the attempt. Needs no privilege.
    /// - Parameters:
    ///   - peer: whom to connect to; the kernel searches for ever for an address with the wrong kind.
    ///   - channel: which channel of the link.
    ///   - adapter: the adapter's own address; zero takes the first that is up.
    ///   - options: what to set on the socket beforehand.
    ///   - handler: takes the socket's events.
    func connectL2CAP(
        to peer: BluetoothAddress, channel: L2CAPChannel, from adapter: BluetoothAddress, options: L2CAPOptions,
        _ handler: @escaping SocketHandler
    ) throws(KernelError) -> any L2CAPSocket

    /// Listens for L2CAP channels that peers open. Needs no privilege, but CAP_NET_BIND_SERVICE for PSMs below 0x80.
    func listenL2CAP(
        channel: L2CAPChannel, on adapter: BluetoothAddress, options: L2CAPOptions,
        _ accept: @escaping L2CAPAcceptHandler
    ) throws(KernelError) -> any L2CAPListener
}
