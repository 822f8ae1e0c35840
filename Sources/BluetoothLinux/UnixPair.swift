import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem

/// One end of a pair of local sockets that replaces an L2CAP channel.
final class UnixSocket: L2CAPSocket, DescriptorBacked {
    let socket: DescriptorSocket
    let peer: BluetoothAddress
    private let receiveMTU: UInt16
    private let sendMTU: UInt16

    init(
        _ descriptor: consuming FileDescriptor, peer: BluetoothAddress, options: L2CAPOptions, driver: EpollDriver,
        _ handler: @escaping SocketHandler
    ) throws(KernelError) {
        socket = DescriptorSocket(descriptor, driver: driver)
        self.peer = peer
        // The kernel's own default for L2CAP.
        receiveMTU = options.receiveMTU ?? 672
        sendMTU = options.sendMTU ?? 672
        try socket.descriptor.applyBuffers(options)
        try socket.start(handler)
    }

    deinit {
        socket.closeUnused()
    }

    func send(_ packet: RawSpan) -> SendOutcome {
        guard packet.byteCount <= sendMTU else { return .failed(KernelError("send", .messageTooLong)) }
        return socket.send(packet)
    }

    func connectionHandle() throws(KernelError) -> UInt16 {
        guard socket.descriptor.isOpen else { throw KernelError("getsockopt(L2CAP_CONNINFO)", .notConnected) }
        return 1
    }

    func security() throws(KernelError) -> LinkSecurity {
        guard socket.descriptor.isOpen else { throw KernelError("getsockopt(BT_SECURITY)", .notConnected) }
        return LinkSecurity(level: .low, keySize: 0)
    }

    func raiseSecurity(to level: SecurityLevel) throws(KernelError) {
        throw KernelError("setsockopt(BT_SECURITY)", .operationNotSupported)
    }

    func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16) {
        (receiveMTU, sendMTU)
    }
}
