import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import BluetoothKernelHost
import Logging

// Links over sockets that the program supplies.
extension Connection {
    /// Creates a connection over a connected L2CAP channel: one that a peer opened, or one end of a pair that replaces
    /// a link in a test.
    ///
    /// The ATT_MTU is 23 until ``exchangeMTU(offering:timeout:)`` or the peer's client raises it.
    /// - Parameters:
    ///   - connect: returns the channel, given the handler of its events; called once, on `loop`.
    ///   - peer: the device at the other end.
    ///   - loop: the loop that owns the channel.
    ///   - database: the attributes served to the peer's client.
    ///   - receiveMTU: the size of the largest PDU to receive, 23 to 517 bytes.
    ///   - log: receives the link's events.
    ///   - trace: records the link's packets.
    package convenience init(
        over connect: @Sendable (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket,
        to peer: BluetoothAddress, on loop: EventLoop, database: AttributeDatabase = .empty, receiveMTU: UInt16 = 517,
        log: Logger = Logger(label: "bluetooth.connection"), trace: PacketTrace? = nil
    ) async throws(KernelError) {
        let configuration = LinkConfiguration(server: LocalServer(database), receiveMTU: receiveMTU, log: log)
        let recorder = AdapterTrace(trace?.synthesis, adapter: 0)
        let link = Link(to: peer, configuration, on: loop)
        self.init(SessionReference(sending: link, in: DetachedSession(on: loop)), to: peer)
        try await core { (link) throws(KernelError) in
            let channel = try KernelChannel(connect, of: peer, .attribute, recorder, on: loop, LinkReceiver(link))
            link.adopt(channel, for: self)
        }
    }
}

extension ConnectionOrientedChannel {
    /// Creates a channel over a connected socket, such as one end of a pair that replaces a link in a test.
    /// - Parameters:
    ///   - connect: returns the socket, given the handler of its events; called once, on `loop`.
    ///   - peer: the device at the other end.
    ///   - psm: the service's Protocol/Service Multiplexer.
    ///   - loop: the loop that owns the socket.
    ///   - log: receives the channel's end.
    package convenience init(
        over connect: @Sendable (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket,
        to peer: BluetoothAddress, psm: UInt16, on loop: EventLoop, log: Logger = Logger(label: "bluetooth.channel")
    ) async throws(KernelError) {
        self.init(
            sending: CreditBasedChannel(to: peer, psm: psm, on: loop, log: log), to: peer, psm: psm, on: loop)
        try await core { (channel) throws(KernelError) in
            channel.adopt(try KernelChannel(connect, of: peer, .dynamic(psm: psm), nil, on: loop, channel))
        }
    }
}
