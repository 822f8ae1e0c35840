import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import BluetoothKernelHost
import Logging

// Links over sockets that the program brings along.
extension Connection {
    /// A connection over an L2CAP channel that is connected already: one that a peer opened, or one of a pair that
    /// stands for a link in a test.
    ///
    /// The ATT_MTU is 23 until ``exchangeMTU(offering:timeout:)`` or the peer's client raises it.
    /// - Parameters:
    ///   - connect: hands over the channel and is given the handler of its events; called once, on `loop`.
    ///   - peer: the device at the other end.
    ///   - loop: the loop that owns the channel.
    ///   - database: what the peer finds here when it is a client as well.
    ///   - receiveMTU: the largest PDU to receive, 23 to 517 bytes.
    ///   - log: where the link's events are told.
    ///   - trace: what records the link.
    public convenience init(
        over connect: @Sendable (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket,
        to peer: BluetoothAddress, on loop: EventLoop, database: AttributeDatabase = .empty, receiveMTU: UInt16 = 517,
        log: Logger = Logger(label: "bluetooth.connection"), trace: PacketTrace? = nil
    ) async throws(KernelError) {
        let configuration = LinkConfiguration(server: LocalServer(database), receiveMTU: receiveMTU, log: log)
        let recorder = AdapterTrace(trace?.synthesis, adapter: 0)
        let link = Link(to: peer, configuration, on: loop)
        self.init(SessionReference(sending: link, in: LooseSession(on: loop)), to: peer)
        try await core { (link) throws(KernelError) in
            try link.adopt(
                { (link) throws(KernelError) in
                    try KernelChannel(connect, of: peer, .attribute, recorder, on: loop) { [weak link] event in
                        link?.receive(event)
                    }
                }, for: self)
        }
    }
}

extension ConnectionOrientedChannel {
    /// A channel over a socket that is connected already, such as one of a pair that stands for a link in a test.
    /// - Parameters:
    ///   - connect: hands over the socket and is given the handler of its events; called once, on `loop`.
    ///   - peer: the device at the other end.
    ///   - psm: the service's number.
    ///   - loop: the loop that owns the socket.
    ///   - log: where the channel's end is told.
    public convenience init(
        over connect: @Sendable (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket,
        to peer: BluetoothAddress, psm: UInt16, on loop: EventLoop, log: Logger = Logger(label: "bluetooth.channel")
    ) async throws(KernelError) {
        self.init(
            sending: CreditBasedChannel(to: peer, psm: psm, on: loop, log: log), to: peer, psm: psm, on: loop)
        try await core { (channel) throws(KernelError) in
            try channel.adopt { (handler) throws(KernelError) in
                try KernelChannel(connect, of: peer, .dynamic(psm: psm), nil, on: loop, handler)
            }
        }
    }
}
