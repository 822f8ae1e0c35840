/// A TCP port or a UNIX socket, which accepts connections of other programs.
public final class SocketPort: Sendable {
    /// The address or the path, for people: of a TCP port with the number that the kernel has chosen for 0.
    public let name: String
    /// Whether only programs on this machine reach it.
    public let isLocal: Bool

    private let socket: OpenDescriptor
    /// The file of a UNIX socket; nil for a TCP port.
    private let file: UNIXSocketFile?

    /// Listens at an address with TCP.
    /// - Throws: ``ProgramError`` with ``ExitStatus/linkLost``, for a reserved port with ``ExitStatus/notPermitted``.
    public init(at address: NetworkAddress) throws {
        let number = systemSocket(address.family, streamSocket)
        guard number >= 0 else { throw Self.failure("\(address)") }
        socket = OpenDescriptor(number, label: "TCP port")
        file = nil
        // A port is free again immediately, and [::] is no IPv4 address.
        setOption(SOL_SOCKET, SO_REUSEADDR, of: number)
        if address.family == AF_INET6 { setOption(CInt(IPPROTO_IPV6), IPV6_V6ONLY, of: number) }
        guard address.withSocketAddress({ bind(number, $0, $1) }) == 0, listen(number, 4) == 0 else {
            throw Self.failure("\(address)")
        }
        var storage = sockaddr_storage()
        let own = endpoint(&storage) { getsockname(number, $0, $1) } ?? address
        (name, isLocal) = ("\(own)", own.isLoopback)
    }

    /// Listens at a path. A socket that a killed program has left there is replaced; the file is removed at the end.
    /// - Parameter access: who may connect.
    /// - Throws: ``ProgramError`` with ``ExitStatus/linkLost`` if the socket is in use, with ``ExitStatus/cannotCreate`` if the
    ///   path is taken by anything else or has no folder, with ``ExitStatus/notPermitted`` if the access cannot be granted.
    public init(atPath path: String, access: PortAccess) throws {
        (name, isLocal) = (path, true)
        let number = systemSocket(AF_UNIX, streamSocket)
        guard number >= 0 else { throw Self.failure(printable(path)) }
        socket = OpenDescriptor(number, label: "UNIX socket")
        file = try UNIXSocketFile(path, of: number, access: access)
        guard listen(number, 4) == 0 else { throw Self.failure(printable(path)) }
    }

    /// The next connection; nil if the task is cancelled.
    public func accept() async throws -> SocketClient? {
        while !Task.isCancelled {
            var storage = sockaddr_storage()
            var number: Int32 = -1
            let peer = endpoint(&storage) {
                number = systemAccept(socket.number, $0, $1)
                return number
            }
            if number >= 0 {
                return file == nil
                    ? SocketClient(number, tcp: peer.map { "\($0)" } ?? "an unknown address")
                    : SocketClient(number, unix: name)
            }
            switch errno {
            case EAGAIN: await socket.waitUntilReadable()
            // The client has given up, or its network is down (accept(2)).
            case EINTR, ECONNABORTED, ENETDOWN, EPROTO, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH: continue
            default:
                throw ProgramError(.linkLost, "Cannot accept connections at \(printable(name)): \(systemMessage())")
            }
        }
        return nil
    }

    private static func failure(_ name: String) -> ProgramError {
        let number = errno
        let remedy: String? =
            switch number {
            case EADDRINUSE: "Choose another port, or see which program has it: ss -ltnp"
            case EACCES: "Choose a port above 1023: those below need the capability CAP_NET_BIND_SERVICE."
            case EADDRNOTAVAIL: "The address must be one of this machine: ip address"
            default: nil
            }
        return ProgramError(
            number == EACCES ? .notPermitted : .linkLost, "Cannot listen at \(name): \(systemMessage(number))",
            remedy: remedy)
    }
}

/// A connection that a ``SocketPort`` has accepted; closed with the object.
public final class SocketClient: Sendable {
    /// The program at the other end, for people: its address, or the path of the UNIX socket.
    public let peer: String
    /// Whether it has connected with TCP, as a web browser does.
    public let usesTCP: Bool

    private let socket: OpenDescriptor

    init(_ number: Int32, unix path: String) {
        (peer, usesTCP) = (path, false)
        socket = OpenDescriptor(number, label: "UNIX client", isSocket: true)
    }

    init(_ number: Int32, tcp peer: String) {
        (self.peer, usesTCP) = (peer, true)
        socket = OpenDescriptor(number, label: "TCP client", isSocket: true)
        setOption(CInt(IPPROTO_TCP), TCP_NODELAY, of: number)
        // A client whose machine has vanished does not keep others out for more than a minute.
        setOption(SOL_SOCKET, SO_KEEPALIVE, of: number)
        for (option, value) in [(TCP_KEEPIDLE, 30), (TCP_KEEPINTVL, 10), (TCP_KEEPCNT, 3), (TCP_USER_TIMEOUT, 60_000)] {
            setOption(CInt(IPPROTO_TCP), option, CInt(value), of: number)
        }
    }

    /// The next bytes; empty at their end; nil if the task is cancelled.
    public func read() async throws -> [UInt8]? {
        while !Task.isCancelled {
            if let bytes = try socket.read(4096, from: peer) { return bytes }
            await socket.waitUntilReadable()
        }
        return nil
    }

    /// Waits until there are bytes to read, or they have ended, or the task is cancelled.
    public func waitUntilReadable() async { await socket.waitUntilReadable() }

    /// Waits until the client has closed its side, whether or not its bytes have been read, or the task is cancelled.
    public func waitUntilClosed() async throws { try await socket.waitUntilPeerCloses() }

    /// Writes as many of the bytes as there is room for now, and returns their number.
    public func tryWrite(_ bytes: ArraySlice<UInt8>) throws -> Int { try socket.write(bytes, to: peer) }

    /// Waits until there is room to write, or the task is cancelled.
    public func waitUntilWritable() async { await socket.waitUntilWritable() }
}

private func setOption(_ level: CInt, _ option: CInt, _ value: CInt = 1, of number: Int32) {
    var value = value
    _ = setsockopt(number, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
}

/// The address that a system call writes into `storage`.
private func endpoint(
    _ storage: inout sockaddr_storage,
    _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
) -> NetworkAddress? {
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = withUnsafeMutablePointer(to: &storage) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
    }
    return status >= 0 ? NetworkAddress(storage) : nil
}
