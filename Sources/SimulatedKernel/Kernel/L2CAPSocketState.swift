import BluetoothKernel
import BluetoothPrimitives
import HCI

/// An L2CAP socket: one channel of one link, or the wish for one.
final class L2CAPSocketState: SocketState {
    enum State {
        /// Waiting for the link, or for the peer's answer to a channel request.
        case connecting
        case connected
        /// Connected, but waiting for the link to be encrypted: nothing is sent, what comes in is dropped.
        case configuring
        case ended
    }

    unowned let adapter: Adapter
    private(set) weak var connection: HostConnection?
    let channel: L2CAPChannel
    var key: ChannelKey
    private(set) var state = State.connecting
    let receiveMTU: UInt16
    var sendMTU: UInt16
    /// The level to raise the link to as soon as it is there.
    let wantedSecurity: SecurityLevel?
    private let sendLimit: Int
    private var outbox = PacketQueue()
    private var outboxCost = 0
    private var connectTimer: ScheduledEvent?
    private var lastPeer: BluetoothAddress

    private static let defaultMTU: UInt16 = 672
    /// How long the kernel tries to connect unless told otherwise.
    private static let defaultConnectTimeout = Duration.seconds(40)

    init(
        adapter: Adapter, connection: HostConnection, channel: L2CAPChannel, options: L2CAPOptions,
        handler: SocketHandler? = nil
    ) {
        self.adapter = adapter
        self.connection = connection
        self.channel = channel
        let world = adapter.world
        switch channel {
        case .fixed(let identifier): key = .fixed(identifier)
        case .dynamic: key = .dynamic(world.makeIdentifier())
        }
        receiveMTU = options.receiveMTU ?? Self.defaultMTU
        sendMTU = options.sendMTU ?? Self.defaultMTU
        wantedSecurity = options.security
        sendLimit = SocketBuffer.bytes(
            asked: options.sendBuffer, minimum: SocketBuffer.minimumSendBytes, isForced: false)
        lastPeer = connection.peer
        super.init(world: world, handler: handler)
        inboxLimit = SocketBuffer.bytes(
            asked: options.receiveBuffer, minimum: SocketBuffer.minimumReceiveBytes,
            isForced: adapter.kernel.conditions.hasNetAdmin)
    }

    var isConnecting: Bool { state == .connecting }

    var peer: BluetoothAddress {
        if let connection, state != .ended { lastPeer = connection.peer }
        return lastPeer
    }

    // MARK: Connecting

    /// Begins to connect: the kernel gives up after `timeout`.
    func startConnecting(timeout: Duration?) {
        connectTimer = world.schedule(after: timeout ?? Self.defaultConnectTimeout) { [weak self] in
            guard let self, state == .connecting else { return }
            state = .ended
            connection?.close(self)
            fail(KernelError("connect", .connectionRefused))
        }
    }

    /// The link is up.
    func linkReady(_ end: LinkEnd) {
        guard state == .connecting else { return }
        guard case .dynamic(let psm) = channel else { return becomeConnected(end) }
        // A channel of a service has to be asked for; the answer takes a round trip.
        let (key, mtu) = (key, receiveMTU)
        end.send(
            .procedure { [weak self] in
                end.other.side.node.openChannel(psm, key: key, mtu: mtu, on: end.other) { granted in
                    end.other.send(.procedure { self?.channelAnswered(granted, on: end) })
                }
            })
    }

    private func channelAnswered(_ mtu: UInt16?, on end: LinkEnd) {
        guard state == .connecting else { return }
        guard let mtu else {
            state = .ended
            connection?.close(self)
            fail(KernelError("connect", .connectionRefused))
            return
        }
        sendMTU = mtu
        becomeConnected(end)
    }

    private func becomeConnected(_ end: LinkEnd) {
        connectTimer?.cancel()
        state = .connected
        announceWritable()
        if let wantedSecurity, wantedSecurity > end.link.security.level {
            connection?.raiseSecurity(to: wantedSecurity)
        }
    }

    /// It came about by a peer's connection.
    func acceptedOn(_ end: LinkEnd) {
        state = .connected
    }

    // MARK: Data

    private func isTooFull(_ limit: Int) -> Bool { outboxCost >= limit }

    /// The kernel says so when half of the buffer is free.
    override var isWritable: Bool { state == .connected && !isTooFull(sendLimit / 2) }

    override func takeOutgoing(_ packet: [UInt8]) -> SendOutcome {
        guard state == .connected, let connection else { return .failed(KernelError("send", .notConnected)) }
        guard packet.count <= Int(sendMTU) else { return .failed(KernelError("send", .messageTooLong)) }
        guard !isTooFull(sendLimit) else { return .wouldBlock }
        outbox.append(packet)
        outboxCost += SocketBuffer.cost(of: packet.count)
        connection.pump()
        return .sent
    }

    /// Hands the first packet that waits to the controller.
    func sendNext(over end: LinkEnd) -> Bool {
        guard state == .connected else { return false }
        if case .dynamic = key, !end.other.side.node.hasCredit(key, on: end.other) { return false }
        guard let packet = takeUnsent() else { return false }
        end.send(.data(key, packet))
        return true
    }

    /// On connection-oriented channels the other side is told that it may send again.
    override func roomMade() {
        guard case .dynamic = key, let end = connection?.end else { return }
        end.send(.procedure { end.other.side.node.hasRoom(end.other) })
    }

    func takeUnsent() -> [UInt8]? {
        guard let packet = outbox.popFirst() else { return nil }
        outboxCost -= SocketBuffer.cost(of: packet.count)
        return packet
    }

    func arrived(_ packet: [UInt8]) {
        guard state == .connected, !isClosed else {
            world.statistics.packetsWithoutChannel += 1
            return
        }
        guard packet.count <= Int(receiveMTU) else {
            world.statistics.oversizedPackets += 1
            return
        }
        // Credits hold back the sender of a connection-oriented channel; on fixed ones what does not fit is lost.
        var hasCredits = false
        if case .dynamic = key { hasCredits = true }
        if !deliver(packet, hasCredits: hasCredits) { world.statistics.receiveOverflows += 1 }
    }

    // MARK: Security

    func connectionHandle() throws(KernelError) -> UInt16 {
        guard state == .connected, let end = connection?.end else {
            throw KernelError("getsockopt(L2CAP_CONNINFO)", .notConnected)
        }
        return end.handle.rawValue
    }

    func security() throws(KernelError) -> LinkSecurity {
        guard state == .connected || state == .configuring, let end = connection?.end else {
            if state == .connecting { return LinkSecurity(level: wantedSecurity ?? .low, keySize: 0) }
            throw KernelError("getsockopt(BT_SECURITY)", .notConnected)
        }
        return end.link.security
    }

    func raiseSecurity(to level: SecurityLevel) throws(KernelError) {
        guard state == .connected || state == .configuring, let connection, let end = connection.end else {
            throw KernelError("setsockopt(BT_SECURITY)", .notConnected)
        }
        guard state == .connected, level > end.link.security.level else {
            throw KernelError("setsockopt(BT_SECURITY)", .invalidArgument)
        }
        state = .configuring
        connection.raiseSecurity(to: level)
    }

    /// The link has been encrypted.
    func securityRaised() {
        guard state == .configuring else { return }
        state = .connected
        writabilityChanged()
        connection?.pump()
    }

    // MARK: Ending

    override func didClose() {
        connectTimer?.cancel()
        let wasEnded = state == .ended
        state = .ended
        if !wasEnded { connection?.close(self) }
    }

    func linkEnded(_ error: ErrorNumber) {
        connectTimer?.cancel()
        guard state != .ended else { return }
        _ = peer
        let call = state == .connecting ? "connect" : "recv"
        state = .ended
        while takeUnsent() != nil { world.statistics.packetsLostWithLink += 1 }
        fail(KernelError(call, error))
    }
}
