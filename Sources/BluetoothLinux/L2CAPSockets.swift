import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import CBluetoothSockets

/// An L2CAP channel, connecting, connected or accepted.
//
// Unchecked because of the cached address, which like the rest is used on the loop's thread only.
final class LinuxL2CAPSocket: L2CAPSocket, DescriptorBacked, @unchecked Sendable {
    /// The kernel's default time limit of an attempt.
    private static let defaultConnectTimeout = Duration.seconds(40)
    /// The delay of our own time limit after the kernel's.
    private static let margin = Duration.seconds(1)

    let socket: DescriptorSocket
    private var lastPeer: BluetoothAddress

    /// Starts to connect.
    init(
        to peer: BluetoothAddress, channel: L2CAPChannel, from adapter: BluetoothAddress, options: L2CAPOptions,
        driver: EpollDriver, loop: EventLoop, _ handler: @escaping SocketHandler
    ) throws(KernelError) {
        let descriptor = try FileDescriptor.l2cap()
        // The kernel connects LE only from a socket that is bound to LE.
        try descriptor.bind(sockaddr_l2(adapter, channel.anySource))
        try descriptor.apply(options)
        if let security = options.security { try descriptor.setSecurity(security) }
        if let timeout = options.connectTimeout { try descriptor.set(.sendTimeout, to: timeval(timeout)) }
        try descriptor.connect(to: sockaddr_l2(peer, channel))
        lastPeer = peer
        socket = DescriptorSocket(descriptor, driver: driver)
        try socket.startConnecting(
            limit: (options.connectTimeout ?? Self.defaultConnectTimeout) + Self.margin, on: loop, handler)
    }

    /// Creates a socket for a connection that a listener accepted.
    init(accepted descriptor: consuming FileDescriptor, driver: EpollDriver) throws(KernelError) {
        lastPeer = try descriptor.peerAddress().address
        socket = DescriptorSocket(descriptor, driver: driver)
    }

    deinit {
        socket.closeUnused()
    }

    var peer: BluetoothAddress {
        if let address = try? socket.descriptor.peerAddress().address { lastPeer = address }
        return lastPeer
    }

    func connectionHandle() throws(KernelError) -> UInt16 {
        try socket.descriptor.get(.connectionInformation, into: l2cap_conninfo()).hci_handle
    }

    func security() throws(KernelError) -> LinkSecurity {
        try socket.descriptor.security()
    }

    func raiseSecurity(to level: SecurityLevel) throws(KernelError) {
        try socket.descriptor.setSecurity(level)
    }

    func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16) {
        let receive = try socket.descriptor.get(.receiveMTU, into: 0)
        return (receive, try socket.descriptor.get(.sendMTU, into: 0))
    }
}

extension L2CAPChannel {
    /// The address a connecting socket is bound to: the same fixed channel, or a dynamic one without a PSM.
    fileprivate var anySource: L2CAPChannel {
        switch self {
        case .fixed: self
        case .dynamic: .dynamic(psm: 0)
        }
    }
}

extension timeval {
    /// A timeout in microseconds, at least one: zero means none.
    fileprivate init(_ duration: Duration) {
        let microseconds = max(1, duration.clampedNanoseconds / 1000)
        self.init(tv_sec: time_t(microseconds / 1_000_000), tv_usec: suseconds_t(microseconds % 1_000_000))
    }
}

extension FileDescriptor {
    /// Applies the options that are set after binding, except security and timeout.
    func apply(_ options: L2CAPOptions) throws(KernelError) {
        // The other mode is the kernel's default, and a kernel without the enhanced mode does not have the option.
        if options.flowControl == .enhancedCreditBased {
            try set(.mode, to: L2CAPFlowControl.enhancedCreditBased.rawValue)
        }
        if let mtu = options.receiveMTU { try set(.receiveMTU, to: mtu) }
        if let mtu = options.sendMTU { try set(.sendMTU, to: mtu) }
        try applyBuffers(options)
    }

    /// Sets the sizes of the buffers.
    func applyBuffers(_ options: L2CAPOptions) throws(KernelError) {
        if let bytes = options.sendBuffer { try set(.sendBuffer, to: CInt(clamping: bytes)) }
        guard let bytes = options.receiveBuffer else { return }
        do throws(KernelError) {
            try set(.receiveBufferForced, to: CInt(clamping: bytes))
        } catch  where error.number == .notPermitted {
            try set(.receiveBuffer, to: CInt(clamping: bytes))
        }
    }

    func security() throws(KernelError) -> LinkSecurity {
        let security = try get(.security, into: bt_security())
        // Level 0 means service discovery without security; levels above 4 are not defined.
        return LinkSecurity(level: SecurityLevel(rawValue: security.level) ?? .low, keySize: Int(security.key_size))
    }

    func setSecurity(_ level: SecurityLevel) throws(KernelError) {
        try set(.security, to: bt_security(level: level.rawValue, key_size: 0))
    }
}
