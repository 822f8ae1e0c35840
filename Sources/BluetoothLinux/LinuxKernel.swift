import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import CBluetoothSockets

/// Bluetooth through the sockets of the Linux kernel (`AF_BLUETOOTH`), without a daemon.
///
/// Sockets are opened and used on ``loop``, whose thread waits in epoll; without activity it sleeps.
package final class LinuxKernel: BluetoothKernel {
    /// The kernel with the loop shared by the whole process, created at first use.
    ///
    /// Throws when the process had no file descriptor or thread left for it then (`epoll_create1`, `eventfd`,
    /// `pthread_create`).
    package static var shared: LinuxKernel {
        get throws(KernelError) { try sharedResult.get() }
    }

    private static let sharedResult = Result { () throws(KernelError) in try LinuxKernel() }

    /// The event loop of every socket opened here.
    package let loop: EventLoop
    private let driver: EpollDriver

    /// Creates a kernel with a loop and a thread of its own, which runs until `loop.stop()`.
    ///
    /// Throws when the process has no file descriptor or thread left (`epoll_create1`, `eventfd`, `pthread_create`).
    package init() throws(KernelError) {
        driver = try EpollDriver()
        loop = EventLoop(driver: driver)
    }

    /// Runs the loop, as the main actor's, on the calling thread, `body` first, until `loop.stop()`.
    ///
    /// Traps if the loop has a thread of its own, as it has from its first work on.
    package func runMainActor(after body: () -> Void) {
        driver.runOnCallingThread { loop.runMainActor(after: body) }
    }

    /// Calls `handler` on the loop whenever another library has written to `descriptor`, its event descriptor, for as
    /// long as the loop runs. Called on the loop.
    package func watch(event descriptor: CInt, _ handler: @escaping @Sendable () -> Void) throws(KernelError) {
        assert(loop.isCurrent, "descriptors are watched on the loop")
        try EventWatch(descriptor, driver: driver, handler).start()
    }

    /// The adapters in the kernel (`HCIGETDEVLIST`, `HCIGETDEVINFO`), lowest index first. Needs no privilege.
    ///
    /// Throws `socket: EAFNOSUPPORT` if the kernel has no Bluetooth.
    package func adapters() throws(KernelError) -> [KernelAdapter] {
        try KernelAdapter.current()
    }

    /// The device below `/sys/devices` that the adapter belongs to, such as a port of a USB hub; the adapter's name if
    /// it belongs to none.
    package func port(ofAdapter index: UInt16) -> String {
        let name = "hci\(index)"
        return resolvedPath("/sys/class/bluetooth/\(name)/device") ?? name
    }

    /// The handles of an adapter's links that the kernel knows (`HCIGETCONNLIST`). Needs no privilege.
    package func linkHandles(ofAdapter index: UInt16) throws(KernelError) -> [UInt16] {
        try KernelAdapter.linkHandles(of: index)
    }

    /// The current environment: `/proc`, `/sys`, and the result of opening sockets.
    package func environment() -> HostEnvironment {
        .current()
    }

    /// The radio switches of Bluetooth adapters in `/sys/class/rfkill`.
    package func radioSwitches() -> [HostEnvironment.RadioSwitch] {
        HostEnvironment.radioSwitches(in: "/sys/class/rfkill")
    }

    /// Follows `/dev/rfkill`; nil if this process may not read it.
    package func watchRadioSwitches(_ handler: @escaping () -> Void) -> (any RadioSwitchWatch)? {
        assert(loop.isCurrent, "watches are made on the loop")
        return LinuxRadioSwitchWatch(driver: driver, loop: loop, handler)
    }

    /// Intervenes in the control of an adapter, on a thread of its own: the kernel waits for the controller, up to ten
    /// seconds if that hangs.
    package func control(
        _ control: AdapterControl, adapter index: UInt16, then completion: @escaping (KernelError?) -> Void
    ) {
        let completion = LoopBound(completion, on: loop)
        do throws(KernelError) {
            try startThread(named: "bluetooth-reset") { [loop] in
                do throws(KernelError) {
                    try control.carryOut(on: index)
                    loop.execute { completion.value(nil) }
                } catch {
                    loop.execute { completion.value(error) }
                }
            }
        } catch {
            loop.execute { completion.value(error) }
        }
    }

    /// Opens the management socket (`bind` to `HCI_CHANNEL_CONTROL`).
    package func openManagement(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket {
        assert(loop.isCurrent, "sockets are opened on the loop")
        return try LinuxHCISocket(channel: HCI_CHANNEL_CONTROL, driver: driver, handler)
    }

    /// Opens a raw HCI socket of an adapter (`bind` to `HCI_CHANNEL_RAW`).
    ///
    /// Throws `bind: ENODEV` if there is no such adapter.
    package func openHCI(
        adapter: UInt16, _ handler: @escaping SocketHandler
    ) throws(KernelError) -> any HCISocket {
        assert(loop.isCurrent, "sockets are opened on the loop")
        return try LinuxHCISocket(adapter: adapter, channel: HCI_CHANNEL_RAW, driver: driver, handler)
    }

    /// Opens the monitor (`bind` to `HCI_CHANNEL_MONITOR`).
    ///
    /// Throws `bind: EPERM` without CAP_NET_RAW.
    package func openMonitor(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket {
        assert(loop.isCurrent, "sockets are opened on the loop")
        return try LinuxHCISocket(channel: HCI_CHANNEL_MONITOR, driver: driver, handler)
    }

    /// Starts to connect an L2CAP channel (`bind`, `setsockopt`, `connect`).
    ///
    /// Closing cancels at once; another attempt to the same peer within a few milliseconds joins the cancelled one and
    /// may end with it (`connect: ECONNRESET`, `connect: ETIMEDOUT`).
    ///
    /// Throws at once `connect: EHOSTUNREACH` without an adapter that is up, `connect: ECONNREFUSED` if LE is off, and
    /// `connect: EBUSY` while another socket has the peer's fixed channel.
    package func connectL2CAP(
        to peer: BluetoothAddress, channel: L2CAPChannel, from adapter: BluetoothAddress, options: L2CAPOptions,
        _ handler: @escaping SocketHandler
    ) throws(KernelError) -> any L2CAPSocket {
        assert(loop.isCurrent, "sockets are opened on the loop")
        return try LinuxL2CAPSocket(
            to: peer, channel: channel, from: adapter, options: options, driver: driver, loop: loop, handler)
    }

    /// Listens for L2CAP channels that peers open (`bind`, `setsockopt`, `listen`).
    ///
    /// Throws `bind: EACCES` for a PSM below 0x80 without CAP_NET_BIND_SERVICE, `bind: EINVAL` for one above 0xFF.
    package func listenL2CAP(
        channel: L2CAPChannel, on adapter: BluetoothAddress, options: L2CAPOptions,
        _ accept: @escaping L2CAPAcceptHandler
    ) throws(KernelError) -> any L2CAPListener {
        assert(loop.isCurrent, "sockets are opened on the loop")
        return try LinuxL2CAPListener(
            channel: channel, on: adapter, options: options, driver: driver, loop: loop, accept)
    }

    /// Creates the two ends of a connected channel within this process (`socketpair(AF_UNIX, SOCK_SEQPACKET)`).
    ///
    /// For tests and measurements of the layers above the kernel seam, on machines without Bluetooth: real descriptors,
    /// real buffers, no link. Each end's peer has a synthetic address, the connection handle is 1, and encryption is
    /// not possible. Called on the loop.
    /// - Parameters:
    ///   - options: MTUs and buffers of both ends; other options are ignored.
    ///   - first: the handler of the first end's events.
    ///   - second: the handler of the second end's events.
    package func unixPair(
        options: L2CAPOptions = L2CAPOptions(), _ first: @escaping SocketHandler, _ second: @escaping SocketHandler
    ) throws(KernelError) -> (first: any L2CAPSocket, second: any L2CAPSocket) {
        assert(loop.isCurrent, "sockets are opened on the loop")
        let pair = try FileDescriptor.pair()
        return (
            try unixSocket(
                pair.first, to: BluetoothAddress(0xC000_0000_0002, kind: .random), options: options, first),
            try unixSocket(
                pair.second, to: BluetoothAddress(0xC000_0000_0001, kind: .random), options: options, second)
        )
    }

    /// Creates one end of such a channel; another process may have the other. Called on the loop.
    package func unixSocket(
        _ descriptor: consuming FileDescriptor, to peer: BluetoothAddress, options: L2CAPOptions = L2CAPOptions(),
        _ handler: @escaping SocketHandler
    ) throws(KernelError) -> any L2CAPSocket {
        try UnixSocket(descriptor, peer: peer, options: options, driver: driver, handler)
    }
}

extension AdapterControl {
    /// Carries out the intervention, which blocks.
    fileprivate func carryOut(on index: UInt16) throws(KernelError) {
        switch self {
        case .reset: try FileDescriptor.hci().reset(index)
        case .down: try FileDescriptor.hci().takeDown(index)
        case .up: try FileDescriptor.hci().takeUp(index)
        case .rebind:
            guard let device = AdapterDevice(ofAdapter: index) else {
                throw KernelError("unbind", .noSuchDevice)
            }
            try device.rebind()
        }
    }
}
