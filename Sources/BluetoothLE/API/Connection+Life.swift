import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives
import GATT
import KernelHost
import Logging

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

    /// Ends the link. Calls under way fail with ``BluetoothError/Code/disconnected``, streams end with it.
    ///
    /// The kernel drops the link itself two seconds after its last channel is closed. As long as a
    /// ``ConnectionOrientedChannel`` keeps it, an answer that is outstanding now keeps the device `.busy` for
    /// ``Adapter/connect(to:options:)-(BluetoothAddress,_)``.
    public nonisolated(nonsending) func disconnect() async {
        await core { $0.disconnect() }
    }

    /// As ``disconnect()``; nobody waits for it.
    package func disconnectSoon() { core.later { $0.disconnect() } }

    /// As ``disconnect()``, at once; for callers on the loop.
    package func disconnectNow() { core.value.disconnect() }

    /// As ``maximumCommandLength``, for callers on the loop.
    package var maximumCommandLengthNow: Int { core.value.maximumCommandLength }

    /// Whether the link is up; for callers on the loop.
    package var isConnectedNow: Bool { core.value.isConnected }

    /// Whether the link is up.
    public var isConnected: Bool {
        get async { await core { $0.isConnected } }
    }

    /// Waits for the end of the link and tells why it ended; a cancelled task is told so instead.
    public nonisolated(nonsending) func closed() async -> BluetoothError {
        await core { await $0.closed() }
    }

    /// Who the peer is, as far as the kernel can tell: ``peer``, or what pairing has told of a device that came with an
    /// address that changes.
    public var identity: BluetoothAddress {
        get async { await core { $0.identity } }
    }

    /// The ATT_MTU in force, 23 to 517 bytes (Core Vol 3 Part F §3.2.8).
    public var maximumTransmissionUnit: Int {
        get async { await core { $0.maximumTransmissionUnit } }
    }

    /// The longest value a Write Command or a single Write Request carries: ATT_MTU − 3 bytes, and never more than the
    /// 512 bytes a value can have (Core Vol 3 Part F §3.2.9), beyond which a peer drops it.
    public var maximumCommandLength: Int {
        get async { await core { $0.maximumCommandLength } }
    }

    /// How many values the peer notified that nobody had subscribed to.
    public var unwantedValueCount: Int {
        get async { await core { $0.unwantedValueCount } }
    }

    /// The link's protection now (`getsockopt(BT_SECURITY)`): how far it is encrypted, and with how long a key.
    ///
    /// Needs no privilege.
    /// - Throws: `.disconnected` after the end.
    public nonisolated(nonsending) func security() async throws(BluetoothError) -> LinkSecurity {
        try await core { (link) throws(BluetoothError) in try link.security() }
    }
}
