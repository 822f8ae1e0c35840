import BluetoothPrimitives
import BluetoothSockets
import BluetoothSystem
import CBluetoothSockets

/// A raw HCI socket of one adapter (`HCI_CHANNEL_RAW`).
final class LinuxHCISocket: HCISocket, DescriptorBacked {
    let socket: DescriptorSocket

    init(adapter: UInt16, driver: EpollDriver, _ handler: @escaping SocketHandler) throws(KernelError) {
        let descriptor = try FileDescriptor.hci()
        try descriptor.bind(sockaddr_hci(adapter: adapter, channel: HCI_CHANNEL_RAW))
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

/// The management socket (`HCI_CHANNEL_CONTROL`).
final class LinuxManagementSocket: DescriptorBacked {
    let socket: DescriptorSocket

    init(driver: EpollDriver, _ handler: @escaping SocketHandler) throws(KernelError) {
        let descriptor = try FileDescriptor.hci()
        try descriptor.bind(
            sockaddr_hci(adapter: UInt16(truncatingIfNeeded: HCI_DEV_NONE), channel: HCI_CHANNEL_CONTROL))
        socket = DescriptorSocket(descriptor, driver: driver)
        try socket.start(handler)
    }

    deinit {
        socket.closeUnused()
    }
}

/// The monitor (`HCI_CHANNEL_MONITOR`).
final class LinuxMonitorSocket: DescriptorBacked {
    let socket: DescriptorSocket

    /// A busy controller fills the default buffer within a tenth of a second.
    private static let receiveBuffer = 4 << 20

    init(driver: EpollDriver, _ handler: @escaping SocketHandler) throws(KernelError) {
        let descriptor = try FileDescriptor.hci()
        try descriptor.applyBuffers(L2CAPOptions(receiveBuffer: Self.receiveBuffer))
        try descriptor.bind(
            sockaddr_hci(adapter: UInt16(truncatingIfNeeded: HCI_DEV_NONE), channel: HCI_CHANNEL_MONITOR))
        socket = DescriptorSocket(descriptor, driver: driver)
        try socket.start(handler)
    }

    deinit {
        socket.closeUnused()
    }
}
