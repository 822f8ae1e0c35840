import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// An L2CAP socket: one channel of one link, or a request for one.
//
// Holds more than ten variables: the options, limits and counters of one kernel socket.
final class L2CAPSocketState: SocketState {
    enum State {
        /// Waiting for the link, or for the peer's answer to a channel request.
        case connecting
        case connected
        /// Connected, but waiting for the link to be encrypted: nothing is sent, received packets are dropped.
        case configuring
        case ended
    }

    unowned let adapter: SimulatedAdapter
    private(set) weak var connection: HostConnection?
    let channel: L2CAPChannel
    var key: ChannelKey
    private(set) var state = State.connecting
    let receiveMTU: UInt16
    var sendMTU: UInt16
    /// The level to raise the link to as soon as it is up.
    private(set) var wantedSecurity: SecurityLevel?
    /// The credits of a connection-oriented channel, in both directions.
    private var credits: ChannelCredits
    private var outbox: Outbox
    private var connectTimer: ScheduledEvent?
    /// The kernel's address of the peer, which follows that of the link after a moment.
    var peer: BluetoothAddress

    /// The packets that wait for the link.
    private struct Outbox {
        var packets = RingBuffer<[UInt8]>()
        var cost = 0
        let limit: Int
    }

    private static let defaultMTU: UInt16 = 672
    /// The time after which the kernel gives up a channel whose link was not encrypted (`L2CAP_DISC_TIMEOUT`).
    private static let refusalDelay = Duration.seconds(2)
    /// The kernel's default time limit of an attempt.
    private static let defaultConnectTimeout = Duration.seconds(40)

    init(
        adapter: SimulatedAdapter, connection: HostConnection, channel: L2CAPChannel, options: L2CAPOptions,
        handler: LoopBound<SocketHandler>? = nil
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
        credits = ChannelCredits(mtu: receiveMTU)
        outbox = Outbox(
            limit: SocketBuffer.bytes(
                asked: options.sendBuffer, minimum: SocketBuffer.minimumSendBytes, isForced: false))
        peer = connection.peer
        super.init(world: world, handler: handler)
        inboxLimit = SocketBuffer.bytes(
            asked: options.receiveBuffer, minimum: SocketBuffer.minimumReceiveBytes,
            isForced: adapter.kernel.conditions.hasNetAdmin)
    }

    // MARK: Connecting

    /// Starts to connect: the kernel gives up after `timeout`.
    func startConnecting(timeout: Duration?) {
        connectTimer = world.schedule(after: timeout ?? Self.defaultConnectTimeout) { [weak self] in
            self?.refused()
        }
    }

    private func refused() {
        guard state == .connecting else { return }
        state = .ended
        connectTimer?.cancel()
        connection?.close(self)
        fail(KernelError("connect", .connectionRefused))
    }

    /// Handles a link that is up.
    func linkReady(_ end: LinkEnd) {
        guard state == .connecting else { return }
        guard case .dynamic(let psm) = channel else { return becomeConnected(end) }
        // A connection-oriented channel waits for its required security before the request.
        if let wantedSecurity, let connection, wantedSecurity > connection.security.reported(on: end).level {
            connection.security.raise(to: wantedSecurity)
            return
        }
        // A channel to a PSM needs a request; the answer takes a round trip.
        end.tell(
            .channelRequested(psm: psm, key, credits.terms(room: room)) { [weak self] answer in
                end.other.send(.procedure { self?.channelAnswered(answer, on: end) })
            })
    }

    private func channelAnswered(_ answer: ChannelAnswer, on end: LinkEnd) {
        guard state == .connecting, let level = connection?.security.reported(on: end).level else { return }
        switch answer {
        case .accepted(let terms):
            sendMTU = terms.mtu
            credits.open(with: terms)
            becomeConnected(end)
        case .needsSecurity where level <= .medium:
            // The kernel tries the next level, and repeats the request when the link has it.
            wantedSecurity = level == .low ? .medium : .high
            linkReady(end)
        case .needsSecurity, .refused: refused()
        }
    }

    private func becomeConnected(_ end: LinkEnd) {
        connectTimer?.cancel()
        state = .connected
        notifyWhenWritable()
        if let wantedSecurity, let connection, wantedSecurity > connection.security.reported(on: end).level {
            connection.security.raise(to: wantedSecurity)
        }
    }

    /// Accepts a peer's request for a connection-oriented channel; returns this side's parameters.
    func accept(_ terms: ChannelTerms) -> ChannelTerms {
        sendMTU = terms.mtu
        credits.open(with: terms)
        accepted()
        return credits.terms(room: room)
    }

    /// Accepts a fixed channel of a peer's link.
    func accepted() {
        state = .connected
    }

    // MARK: Data

    private func isTooFull(_ limit: Int) -> Bool { outbox.cost >= limit }

    /// Whether the kernel accepts no packets because the other side does not (`BT_SK_SUSPEND`).
    private var isSuspended: Bool {
        if case .dynamic = key { credits.toSend == 0 } else { false }
    }

    /// The kernel reports that when half of the buffer is free.
    override var isWritable: Bool { state == .connected && !isSuspended && !isTooFull(outbox.limit / 2) }

    override func acceptOutgoing(_ packet: [UInt8]) -> SendOutcome {
        guard state == .connected, let connection else { return .failed(KernelError("send", .notConnected)) }
        guard packet.count <= Int(sendMTU) else { return .failed(KernelError("send", .messageTooLong)) }
        guard !isSuspended, !isTooFull(outbox.limit) else { return .wouldBlock }
        // On a connection-oriented channel the kernel makes no frame of an empty SDU.
        if case .dynamic = key {
            if packet.isEmpty { return .sent }
            credits.accept(ofSDU: packet.count)
        }
        outbox.packets.append(packet)
        outbox.cost += SocketBuffer.cost(of: packet.count)
        connection.pump()
        return .sent
    }

    /// Passes the first queued packet to the controller.
    func sendNext(over end: LinkEnd) -> Bool {
        guard state == .connected, let packet = outbox.packets.first else { return false }
        var byteCount: Int?
        if case .dynamic = key {
            guard credits.reserved > 0 else { return false }
            let frame = credits.sendFrame(ofSDU: packet.count)
            byteCount = frame.byteCount
            if !frame.isLast {
                end.tell(.frame(key), byteCount: frame.byteCount)
                return true
            }
        }
        _ = takeUnsent()
        adapter.monitor(packet, channel: key, on: end, isSent: true)
        end.send(.data(key, packet, byteCount: byteCount))
        return true
    }

    /// The packet still sent of a socket that is being closed; on a connection-oriented channel only as far as there
    /// are credits.
    func takeLast() -> LinkMessage? {
        guard let packet = outbox.packets.first else { return nil }
        guard case .dynamic = key else {
            _ = takeUnsent()
            return .data(key, packet)
        }
        var byteCount = 0
        while true {
            guard credits.reserved > 0 else {
                while takeUnsent() != nil { world.statistics.packetsWithoutCredits += 1 }
                return nil
            }
            let frame = credits.sendFrame(ofSDU: packet.count)
            byteCount += frame.byteCount
            if frame.isLast { break }
        }
        _ = takeUnsent()
        return .data(key, packet, byteCount: byteCount)
    }

    /// On connection-oriented channels the other side is granted credits.
    override func roomMade() {
        grantCredits()
    }

    private func grantCredits() {
        guard case .dynamic = key, state == .connected, let end = connection?.end else { return }
        let count = credits.grant(room: room)
        guard count > 0 else { return }
        end.tell(.credits(count, key))
    }

    func creditsGranted(_ count: Int) {
        credits.received(count)
        connection?.pump()
    }

    /// Records a frame; one without a credit ends the channel.
    @discardableResult
    func frameArrived() -> Bool {
        guard state == .connected else { return false }
        guard credits.frameArrived() else {
            state = .ended
            connection?.close(self)
            fail(KernelError("recv", .connectionReset))
            return false
        }
        if credits.granted == 0 { grantCredits() }
        return true
    }

    func takeUnsent() -> [UInt8]? {
        guard let packet = outbox.packets.popFirst() else { return nil }
        outbox.cost -= SocketBuffer.cost(of: packet.count)
        return packet
    }

    func arrived(_ packet: [UInt8]) {
        guard state == .connected, !isClosed else {
            world.statistics.packetsWithoutChannel += 1
            return
        }
        // Credits limit the sender of a connection-oriented channel; on fixed ones excess packets are lost.
        var hasCredits = false
        if case .dynamic = key {
            guard frameArrived() else { return }
            hasCredits = true
        }
        guard packet.count <= Int(receiveMTU) else {
            world.statistics.oversizedPackets += 1
            return
        }
        if !deliver(packet, hasCredits: hasCredits) { world.statistics.receiveOverflows += 1 }
        grantCredits()
    }

    // MARK: Security

    func connectionHandle() throws(KernelError) -> UInt16 {
        guard state == .connected, let end = connection?.end else {
            throw KernelError("getsockopt(L2CAP_CONNINFO)", .notConnected)
        }
        return end.handle.rawValue
    }

    func security() throws(KernelError) -> LinkSecurity {
        guard state == .connected || state == .configuring, let connection, let end = connection.end else {
            if state == .connecting { return LinkSecurity(level: wantedSecurity ?? .low, keySize: 0) }
            throw KernelError("getsockopt(BT_SECURITY)", .notConnected)
        }
        return connection.security.reported(on: end)
    }

    func raiseSecurity(to level: SecurityLevel) throws(KernelError) {
        guard state == .connected || state == .configuring, let connection, let end = connection.end else {
            throw KernelError("setsockopt(BT_SECURITY)", .notConnected)
        }
        guard state == .connected, level > connection.security.reported(on: end).level else {
            throw KernelError("setsockopt(BT_SECURITY)", .invalidArgument)
        }
        state = .configuring
        connection.security.raise(to: level)
    }

    /// Handles the encryption of the link.
    func securityRaised() {
        if state == .connecting, case .dynamic = channel, wantedSecurity != nil, let end = connection?.end {
            return linkReady(end)
        }
        guard state == .configuring else { return }
        state = .connected
        writabilityChanged()
        connection?.pump()
    }

    /// Handles the peer's refusal to encrypt the link. A channel that waited for it is given up after a delay.
    func securityFailed() {
        guard state == .connecting, case .dynamic = channel, wantedSecurity != nil else { return }
        world.schedule(after: Self.refusalDelay) { [weak self] in self?.refused() }
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
        let call = state == .connecting ? "connect" : "recv"
        state = .ended
        while takeUnsent() != nil { world.statistics.packetsLostWithLink += 1 }
        fail(KernelError(call, error))
    }
}
