import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSockets

/// A simulated kernel but for what its type says.
protocol WrappingKernel: BluetoothKernel {
    var base: SimulatedKernel { get }
}

extension WrappingKernel {
    var loop: EventLoop { base.loop }
    func adapters() throws(KernelError) -> [KernelAdapter] { try base.adapters() }
    func port(ofAdapter index: UInt16) -> String { base.port(ofAdapter: index) }
    func environment() -> HostEnvironment { base.environment() }

    func openManagement(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket {
        try base.openManagement(handler)
    }

    func openMonitor(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket {
        try base.openMonitor(handler)
    }

    func connectL2CAP(
        to peer: BluetoothAddress, channel: L2CAPChannel, from adapter: BluetoothAddress, options: L2CAPOptions,
        _ handler: @escaping SocketHandler
    ) throws(KernelError) -> any L2CAPSocket {
        try base.connectL2CAP(to: peer, channel: channel, from: adapter, options: options, handler)
    }

    func listenL2CAP(
        channel: L2CAPChannel, on adapter: BluetoothAddress, options: L2CAPOptions,
        _ accept: @escaping L2CAPAcceptHandler
    ) throws(KernelError) -> any L2CAPListener {
        try base.listenL2CAP(channel: channel, on: adapter, options: options, accept)
    }
}
