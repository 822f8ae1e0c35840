import BluetoothPrimitives
import BluetoothSockets
import BluetoothSystem
import CBluetoothSockets

/// An HCI socket: a raw one of one adapter, the management socket, or the monitor.
final class LinuxHCISocket: HCISocket, DescriptorBacked {
    let socket: DescriptorSocket

    /// A busy controller fills the monitor's default buffer within a tenth of a second.
    private static let monitorBuffer = L2CAPOptions(receiveBuffer: 4 << 20)

    init(
        adapter: UInt16 = UInt16(truncatingIfNeeded: HCI_DEV_NONE), channel: CInt, driver: EpollDriver,
        _ handler: @escaping SocketHandler
    ) throws(KernelError) {
        let descriptor = try FileDescriptor.hci()
        if channel == HCI_CHANNEL_MONITOR { try descriptor.applyBuffers(Self.monitorBuffer) }
        try descriptor.bind(sockaddr_hci(adapter: adapter, channel: channel))
        socket = DescriptorSocket(descriptor, driver: driver)
        try socket.start(handler)
    }

    deinit {
        socket.closeUnused()
    }

    func setFilter(_ filter: HCISocketFilter) throws(KernelError) {
        let low = UInt32(truncatingIfNeeded: filter.events)
        let high = UInt32(truncatingIfNeeded: filter.events >> 32)
        try socket.descriptor.set(
            .filter,
            to: hci_filter(
                type_mask: filter.packetTypes, event_mask: (low, high), opcode: filter.opcode.littleEndian))
    }
}
