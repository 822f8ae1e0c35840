import BluetoothSockets
import BluetoothPrimitives
import BluetoothSystem
import CBluetoothSockets

// Sockets, their options, and the adapter ioctls.

extension FileDescriptor {
    /// A raw HCI socket, not bound.
    static func hci() throws(KernelError) -> FileDescriptor {
        let type = kernel_raw_socket | kernel_socket_flags
        return FileDescriptor(try check("socket") { socket(AF_BLUETOOTH, type, BTPROTO_HCI) })
    }

    /// An L2CAP socket that preserves packet boundaries.
    static func l2cap() throws(KernelError) -> FileDescriptor {
        let type = kernel_packet_socket | kernel_socket_flags
        return FileDescriptor(try check("socket") { socket(AF_BLUETOOTH, type, BTPROTO_L2CAP) })
    }

    /// The two ends of a pair of local sockets that preserve packet boundaries.
    static func pair() throws(KernelError) -> UnixPair {
        let type = kernel_packet_socket | kernel_socket_flags
        var numbers: (CInt, CInt) = (-1, -1)
        try check("socketpair") {
            withUnsafeMutablePointer(to: &numbers) {
                $0.withMemoryRebound(to: CInt.self, capacity: 2) { socketpair(AF_UNIX, type, 0, $0) }
            }
        }
        return UnixPair(first: FileDescriptor(numbers.0), second: FileDescriptor(numbers.1))
    }

    struct UnixPair: ~Copyable {
        var first: FileDescriptor
        var second: FileDescriptor
    }

    /// Runs `body` with `address` as the generic socket address of the system calls.
    fileprivate func withSocketAddress<Address, Result>(
        _ address: inout Address, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        let size = socklen_t(MemoryLayout<Address>.size)
        return withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }

    /// Binds a raw HCI socket to a channel of an adapter, or an L2CAP socket to an address and channel.
    func bind<Address>(_ address: Address) throws(KernelError) {
        var address = address
        try check("bind") { withSocketAddress(&address) { systemBind(number, $0, $1) } }
    }

    /// Starts to connect.
    func connect(to address: sockaddr_l2) throws(KernelError) {
        var address = address
        do throws(KernelError) {
            try check("connect") { withSocketAddress(&address) { systemConnect(number, $0, $1) } }
        } catch  where error.number == .inProgress {}
    }

    func listen(backlog: CInt) throws(KernelError) {
        try check("listen") { systemListen(number, backlog) }
    }

    /// The next queued connection.
    func accept() throws(KernelError) -> FileDescriptor {
        FileDescriptor(try check("accept4") { accept4(number, nil, nil, kernel_socket_flags) })
    }

    /// The socket's local address.
    func localAddress() throws(KernelError) -> sockaddr_l2 { try address("getsockname", getsockname) }

    /// The peer's address.
    func peerAddress() throws(KernelError) -> sockaddr_l2 { try address("getpeername", getpeername) }

    private func address(
        _ name: String, _ call: (CInt, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> CInt
    ) throws(KernelError) -> sockaddr_l2 {
        var address = sockaddr_l2()
        try check(name) {
            withSocketAddress(&address) { pointer, size in
                var size = size
                return call(number, pointer, &size)
            }
        }
        return address
    }

    /// Sends one packet.
    @inline(__always)
    func send(_ packet: RawSpan) throws(KernelError) {
        let number = number
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        try check("send") { packet.withUnsafeBytes { systemSend(number, $0.baseAddress, $0.count, flags) } }
    }

    /// Receives one packet and returns its length, more than `buffer` holds if it was truncated.
    @inline(__always)
    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(KernelError) -> Int {
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL) | CInt(MSG_TRUNC)
        return try check("recv") { recv(number, buffer.baseAddress, buffer.count, flags) }
    }

    /// Whether the connection under the socket has ended.
    var isHungUp: Bool {
        var poll = pollfd(fd: number, events: 0, revents: 0)
        return systemPoll(&poll, 1, 0) == 1 && CInt(poll.revents) & (POLLHUP | POLLERR) != 0
    }
}

// MARK: Socket options

/// A socket option of the kernel, whose value has the layout of `Value`.
struct SocketOption<Value> {
    let name: String
    let level: CInt
    let number: CInt
}

extension SocketOption<UInt8> {
    static let mode = SocketOption(name: "BT_MODE", level: SOL_BLUETOOTH, number: BT_MODE)
}

extension SocketOption<UInt16> {
    static let sendMTU = SocketOption(name: "BT_SNDMTU", level: SOL_BLUETOOTH, number: BT_SNDMTU)
    static let receiveMTU = SocketOption(name: "BT_RCVMTU", level: SOL_BLUETOOTH, number: BT_RCVMTU)
}

extension SocketOption<CInt> {
    static let error = SocketOption(name: "SO_ERROR", level: SOL_SOCKET, number: SO_ERROR)
    static let sendBuffer = SocketOption(name: "SO_SNDBUF", level: SOL_SOCKET, number: SO_SNDBUF)
    static let receiveBuffer = SocketOption(name: "SO_RCVBUF", level: SOL_SOCKET, number: SO_RCVBUF)
    static let receiveBufferForced = SocketOption(name: "SO_RCVBUFFORCE", level: SOL_SOCKET, number: SO_RCVBUFFORCE)
}

extension SocketOption<timeval> {
    static let sendTimeout = SocketOption(name: "SO_SNDTIMEO", level: SOL_SOCKET, number: SO_SNDTIMEO)
}

extension SocketOption<bt_security> {
    static let security = SocketOption(name: "BT_SECURITY", level: SOL_BLUETOOTH, number: BT_SECURITY)
}

extension SocketOption<l2cap_conninfo> {
    static let connectionInformation = SocketOption(name: "L2CAP_CONNINFO", level: SOL_L2CAP, number: L2CAP_CONNINFO)
}

extension SocketOption<hci_filter> {
    static let filter = SocketOption(name: "HCI_FILTER", level: SOL_HCI, number: HCI_FILTER)
}

extension FileDescriptor {
    func set<Value: BitwiseCopyable>(_ option: SocketOption<Value>, to value: Value) throws(KernelError) {
        var value = value
        try check("setsockopt(\(option.name))") {
            setsockopt(number, option.level, option.number, &value, socklen_t(MemoryLayout<Value>.size))
        }
    }

    func get<Value: BitwiseCopyable>(_ option: SocketOption<Value>, into value: Value) throws(KernelError) -> Value {
        var value = value
        var size = socklen_t(MemoryLayout<Value>.size)
        try check("getsockopt(\(option.name))") { getsockopt(number, option.level, option.number, &value, &size) }
        return value
    }

    /// The socket's error; the kernel reports it once. Nil when there is none.
    func takeError() -> ErrorNumber? {
        do throws(KernelError) {
            let number = try get(.error, into: 0)
            return number == 0 ? nil : ErrorNumber(rawValue: number)
        } catch {
            return error.number
        }
    }
}

// MARK: Adapters

extension FileDescriptor {
    /// `HCIGETDEVLIST`: fills `request`, which begins with the number of adapters it has room for.
    func adapterList(_ request: inout [UInt8]) throws(KernelError) {
        try check("HCIGETDEVLIST") { ioctl(number, UInt(kernel_hci_get_device_list), &request) }
    }

    /// `HCIGETDEVINFO`.
    func adapterInformation(_ index: UInt16) throws(KernelError) -> hci_dev_info {
        var information = hci_dev_info()
        information.dev_id = index
        try check("HCIGETDEVINFO") { ioctl(number, UInt(kernel_hci_get_device_info), &information) }
        return information
    }

    /// `HCIGETCONNLIST`: fills `request`, which begins with the adapter's index and the number of links it has room for.
    func connectionList(_ request: inout [UInt8]) throws(KernelError) {
        try check("HCIGETCONNLIST") { ioctl(number, UInt(kernel_hci_get_connection_list), &request) }
    }

    /// `HCIDEVUP`; an adapter that is up already is no error.
    func takeUp(_ index: UInt16) throws(KernelError) {
        do throws(KernelError) {
            try check("HCIDEVUP") { ioctl(number, UInt(kernel_hci_device_up), CInt(index)) }
        } catch  where error.number == .alreadyInProgress {}
    }

    /// `HCIDEVDOWN`.
    func takeDown(_ index: UInt16) throws(KernelError) {
        try check("HCIDEVDOWN") { ioctl(number, UInt(kernel_hci_device_down), CInt(index)) }
    }

    /// `HCIDEVRESET`.
    func reset(_ index: UInt16) throws(KernelError) {
        try check("HCIDEVRESET") { ioctl(number, UInt(kernel_hci_device_reset), CInt(index)) }
    }
}

// MARK: Marks

/// A local socket with the abstract address of a mark, or one connected to it. The address ends with its process; like
/// Bluetooth sockets it belongs to the network namespace, which has to be the machine's.
final class MarkSocket: Sendable {
    private let descriptor: FileDescriptor

    /// Calls `bind` or `connect`. For datagrams no socket has to listen, and the holder of the address learns nothing.
    init(
        _ mark: String, _ name: String, _ call: (CInt, UnsafePointer<sockaddr>?, socklen_t) -> CInt
    ) throws(KernelError) {
        let type = kernel_datagram_socket | kernel_socket_flags
        descriptor = FileDescriptor(try check("socket") { socket(AF_UNIX, type, 0) })
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // Behind a zero byte, and as long as the mark.
        let unused = MemoryLayout.size(ofValue: address.sun_path) - 1 - mark.utf8.count
        guard unused >= 0 else { throw KernelError(name, .invalidArgument) }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.dropFirst().copyBytes(from: mark.utf8) }
        try check(name) {
            descriptor.withSocketAddress(&address) { call(descriptor.number, $0, $1 - socklen_t(unused)) }
        }
    }
}

extension LinuxKernel: ProgramMarks {
    package func hold(_ mark: String) -> (any AnyObject & Sendable)? { try? MarkSocket(mark, "bind", systemBind) }

    package func isHeld(_ mark: String) -> Bool { (try? MarkSocket(mark, "connect", systemConnect)) != nil }
}
