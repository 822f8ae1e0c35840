import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import BluetoothSockets

/// A kernel that is another one but for what its type says.
package protocol WrappingKernel: BluetoothKernel {
    var base: SimulatedKernel { get }
}

extension WrappingKernel {
    package var loop: EventLoop { base.loop }
    package func adapters() throws(KernelError) -> [KernelAdapter] { try base.adapters() }
    package func port(ofAdapter index: UInt16) -> String { base.port(ofAdapter: index) }
    package func environment() -> HostEnvironment { base.environment() }

    package func openManagement(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket {
        try base.openManagement(handler)
    }

    package func openMonitor(_ handler: @escaping SocketHandler) throws(KernelError) -> any PacketSocket {
        try base.openMonitor(handler)
    }

    package func openHCI(adapter: UInt16, _ handler: @escaping SocketHandler) throws(KernelError) -> any HCISocket {
        try base.openHCI(adapter: adapter, handler)
    }

    package func connectL2CAP(
        to peer: BluetoothAddress, channel: L2CAPChannel, from adapter: BluetoothAddress, options: L2CAPOptions,
        _ handler: @escaping SocketHandler
    ) throws(KernelError) -> any L2CAPSocket {
        try base.connectL2CAP(to: peer, channel: channel, from: adapter, options: options, handler)
    }

    package func listenL2CAP(
        channel: L2CAPChannel, on adapter: BluetoothAddress, options: L2CAPOptions,
        _ accept: @escaping L2CAPAcceptHandler
    ) throws(KernelError) -> any L2CAPListener {
        try base.listenL2CAP(channel: channel, on: adapter, options: options, accept)
    }
}
