import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothLoop
import BluetoothHCI
import BluetoothPrimitives

/// The lifetime of a channel's socket: opening, use and end, including the drain of an attribute channel. It handles
/// the socket's events.
///
/// While the kernel encrypts a link at this side's request, the socket of its attribute channel refuses to send as if
/// it were not connected. A peer that refuses to pair may stay in that state without an event, so it has the time limit
/// of a pairing (Core Vol 3 Part H §3.4), unless security is being raised here, which has a time limit of its own.
//
// Lives on the loop, held by its channel and by the socket's handler.
// Holds more than ten variables: one socket from its opening to the end of its drain.
final class ChannelLife {
    /// The time limit for encrypting a link.
    static let encryptionLimit = Duration.seconds(30)

    private enum Phase {
        /// With the recorder of the link that it gets.
        indirect case connecting(LinkRequest, AdapterTrace?)
        case open
        /// The link is being encrypted, or about to be, at this side's request.
        case securing(SecurityRaise)
        /// The link is being encrypted.
        case encrypting(LoopTimer)
        /// A drain is the receiver.
        case draining
        /// The channel has ended, for this reason unless the adapter is; the timer limits the wait for that.
        indirect case ended(BluetoothError, LoopTimer?)
        case over
    }

    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let peer: BluetoothAddress
    private let channel: L2CAPChannel
    private let isAttributeChannel: Bool
    /// Nil if no adapter made the channel, and after the end.
    private var adapter: LoopBound<LingeringLinks>?
    /// The stream of the adapter's pairings; nil without an adapter, and after the end.
    private var pairings: PairingStream?
    private var phase: Phase
    private(set) var receiver: (any ChannelReceiver)?
    /// The recorder of the attribute channel of a link that is up.
    private(set) var trace: ChannelTrace?
    /// The request for the link of an attribute channel.
    private var request: LinkRequest?
    /// Whether a link of this program's to the peer may be about to end.
    private var followsOwnLink = false
    /// The socket, whose events call this object; it is dropped with the channel.
    private weak var socket: (any L2CAPSocket)?
    /// The attribute channel's link, while it is followed.
    private weak var link: KernelLink?
    /// Whether the controller has reported that the link is encrypted.
    private var isEncrypted = false
    /// Whether there was a pairing on the link, or an attempt.
    var hasPaired = false

    /// A channel that is being opened from this side.
    init(
        _ request: LinkRequest, _ links: LingeringLinks, _ recorder: AdapterTrace?, _ receiver: any ChannelReceiver
    ) {
        mark = links.loop.components.mark("ChannelLife")
        (loop, peer, self.receiver) = (links.loop, request.peer, receiver)
        (adapter, pairings) = (LoopBound(links, on: loop), links.pairings)
        phase = .connecting(request, recorder)
        channel = request.channel
        isAttributeChannel = channel == .attribute
        guard isAttributeChannel else { return }
        self.request = request
        followsOwnLink = links.beginLink(to: peer)
        pairings?.ends(peer)
    }

    /// An open channel; ``begin(_:)`` follows.
    init(
        of peer: BluetoothAddress, _ channel: L2CAPChannel, _ links: LingeringLinks? = nil,
        _ pairings: PairingStream? = nil, on loop: EventLoop
    ) {
        mark = loop.components.mark("ChannelLife")
        (self.loop, self.peer, self.pairings) = (loop, peer, pairings ?? links?.pairings)
        adapter = links.map { LoopBound($0, on: loop) }
        phase = .open
        self.channel = channel
        isAttributeChannel = channel == .attribute
    }

    deinit {
        if let adapter { loop.execute { adapter.value.channelsChanged() } }
    }

    private var links: LingeringLinks? { adapter?.value }

    /// The peer's address at the beginning of the link, and the present one.
    var addresses: [BluetoothAddress] { [peer, socket?.peer ?? peer] }

    /// Sets the receiver of an open channel, and the recorder of its link.
    func begin(_ receiver: any ChannelReceiver, _ recorder: AdapterTrace?, isCentral: Bool) {
        guard case .open = phase else { return }
        self.receiver = receiver
        beginRecord(recorder, isCentral: isCentral)
    }

    private func beginRecord(_ recorder: AdapterTrace?, isCentral: Bool) {
        guard let recorder, let socket, isAttributeChannel else { return }
        trace = recorder.link(over: socket, isCentral: isCentral).attributeChannel
    }

    // MARK: Events

    func receive(_ event: SocketEvent) {
        switch event {
        case .readable: passPacket()
        case .writable: if socketIsWritable() { receiver?.channelIsWritable() }
        case .closed(let error): socketEnded(error)
        }
    }

    /// Passes one packet to the receiver; returns whether there was one. An end noticed by this is also an event.
    @discardableResult
    private func passPacket() -> Bool {
        guard let socket, let receiver else { return false }
        let outcome = socket.receive { packet in
            trace?.received(packet)
            raise?.didReceive(packet)
            receiver.receive(packet)
        }
        if let raise { report(raise.beginIfQuiet()) }
        return outcome == .packet
    }

    /// Returns whether the channel can be used.
    private func socketIsWritable() -> Bool {
        switch phase {
        case .connecting(_, let recorder):
            phase = .open
            isOpen()
            beginRecord(recorder, isCentral: true)
        case .securing(let raise):
            let (isUsable, event) = raise.socketIsWritable()
            report(event)
            return isUsable
        case .encrypting: phase = .open
        case .open, .draining, .ended, .over: break
        }
        return true
    }

    private func socketEnded(_ error: KernelError) {
        // An attempt that the kernel has lost, or that has joined a cancelled one, may still succeed.
        if case .connecting = phase, isAttributeChannel, [.connectionReset, .timedOut].contains(error.number) {
            links?.linkGoesDown(peer, isAttempt: true)
        }
        finish(error)
    }

    /// Passes what has arrived, and then the end, as soon as its reason is known.
    private func finish(_ error: KernelError) {
        if case .ended = phase { return }
        while passPacket() {}
        guard receiver != nil else { return end() }
        let (own, isCertain) = ending(error)
        phase = .ended(own, nil)
        let reason =
            isCertain
            ? own : links?.ends.reason(of: error, otherwise: own, isLocal: own.disconnectReason == .localHost, self)
        if let reason { return finish(reason) }
        guard case .ended = phase else { return }
        let timer = loop.makeTimer(of: self) { $0.explain(nil) }
        timer.set(after: LinkEndAttribution.powerOffLimit)
        phase = .ended(own, timer)
    }

    /// Whether the reason of the end is pending.
    var isUnexplained: Bool { if case .ended(_, .some) = phase { true } else { false } }

    /// Passes the end, whose reason is the adapter's, or, with nil, its own.
    func explain(_ reason: BluetoothError?) {
        if case .ended(let own, .some) = phase { finish(reason.map { own.caused(by: $0) } ?? own) }
    }

    private func finish(_ reason: BluetoothError) {
        guard case .ended = phase else { return }
        let receiver = receiver
        end()
        receiver?.channelEnded(reason)
    }

    private func end() {
        switch phase {
        case .connecting, .draining, .over: break
        case .open, .securing, .encrypting, .ended: endPairing()
        }
        let links = links
        (phase, receiver, adapter, pairings) = (.over, nil, nil, nil)
        if !isAttributeChannel { links?.channelsChanged() }
    }

    private func endPairing() {
        if isAttributeChannel { pairings?.unfollow(self) }
    }

    /// Whether the channel is open.
    var isInUse: Bool {
        switch phase {
        case .open, .securing, .encrypting: true
        case .connecting, .draining, .ended, .over: false
        }
    }

    /// Ends a bearer, of which the reason is known to a failed call alone.
    func sendFailed(_ error: KernelError) {
        guard channel.isBearer else { return }
        loop.executeLocally { [weak self] in if let self, isInUse { finish(error) } }
    }

    // MARK: Reasons

    /// The reason of the end, and whether it is not the adapter's in any case.
    private func ending(_ error: KernelError) -> (BluetoothError, isCertain: Bool) {
        switch phase {
        case .connecting(let request, _): return (openingFailed(request, error), links == nil)
        case .draining: return (.disconnected(peer, error), true)
        case .open, .securing, .encrypting, .ended, .over: break
        }
        let isLate = error == .notEncrypted
        var own = isLate ? .notEncrypted(peer) : link.map { explained($0.reasonOfEnd(peer, error)) } ?? reason(error)
        if isAttributeChannel, let pairings { own = pairings.explained(own, of: self) }
        // Another program's link lasts for two seconds after its last socket, and nothing tells of it.
        let isLocal = own.code == .disconnected && own.disconnectReason == .localHost
        if case .open = phase, isLocal, request?.isAnswered == false {
            own = .metTheEnd(.init("connect", peer: peer), own.cause)
        }
        // The peer's own reason is certain, and so is the end of an earlier link.
        let isCertain = own.cause == .controller(.remoteUserTerminatedConnection) || own.code == .connectionFailed
        return (own, isCertain || links == nil)
    }

    /// The error for a failed call on the open channel.
    func reason(_ error: KernelError) -> BluetoothError { explained(.ended(channel, peer, error)) }

    /// The reason of a link's end, unless it is an earlier one of this program's that was about to end.
    private func explained(_ reason: BluetoothError) -> BluetoothError {
        guard mayEndSoon, reason.disconnectReason == .localHost || reason.disconnectReason == .remote else {
            return reason
        }
        return .metTheEnd(.init("connect", peer: peer), reason.cause)
    }

    private func openingFailed(_ request: LinkRequest, _ error: KernelError) -> BluetoothError {
        let reason = BluetoothError.opening(request, error)
        guard isAttributeChannel else { return reason }
        if let status = refusal(error) { return .linkLimitReached(request.operation, .controller(status)) }
        guard [.connectionAborted, .accessDenied].contains(error.number) else { return reason }
        if mayEndSoon { return .metTheEnd(request.operation, reason.cause) }
        // The kernel ends a link that it cannot encrypt, perhaps before its beginning is handled here.
        return request.options.security == nil ? reason : .pairing(request.operation, .keyMissing, end: reason)
    }

    /// The controller's status if it has refused the link because the link limit is reached.
    private func refusal(_ error: KernelError) -> HCIStatus? {
        // The kernel's translations of 0x09 and 0x0D; the second stands for other failures as well.
        guard [.tooManyLinks, .connectionRefused].contains(error.number) else { return nil }
        return links?.controller.links.takeRefusal(of: peer)
    }

    // MARK: The link

    /// Sets the socket.
    func begin(_ socket: any L2CAPSocket) {
        self.socket = socket
        if case .open = phase { isOpen() }
    }

    /// Registers an open channel: an attribute channel for the pairings on its link, others since they keep the link.
    private func isOpen() {
        if isAttributeChannel { pairings?.follow(self) } else { links?.channelOpened(self) }
    }

    /// The peer of a link that the channel keeps: nil after its end.
    var keptPeer: BluetoothAddress? { if case .over = phase { nil } else { socket?.peer } }

    /// Whether the kernel may be about to end the link, this program's earlier one, on which the peer has not answered yet.
    private var mayEndSoon: Bool { followsOwnLink && request?.isAnswered == false }

    /// Follows the link with this handle.
    func attach(_ handle: UInt16) -> KernelLink? {
        let link = links?.controller.links.attach(handle) { [weak self] in self?.linkIsEncrypted() }
        self.link = link
        return link
    }

    // MARK: Encryption

    /// The raising of the link's security.
    var raise: SecurityRaise? { if case .securing(let raise) = phase { raise } else { nil } }

    /// Raises the link's security, or ends that before it begins; returns the event, if one is due at once.
    func raiseSecurity(
        to level: SecurityLevel?, owing outstanding: OutstandingTransactions, isBegun: Bool
    ) -> SecurityEvent? {
        guard isInUse, let socket else { return nil }
        guard let level else {
            if case .securing = phase { raiseIsOff() }
            return nil
        }
        let timer = loop.makeTimer(of: self) { $0.securityTimerFired() }
        let isBegun = isBegun && !isEncrypted
        let raise = SecurityRaise(to: level, owing: outstanding, isBegun: isBegun, over: socket, timer, on: loop)
        phase = .securing(raise)
        let event = raise.begin()
        checkEnd(event)
        return event
    }

    private func securityTimerFired() {
        if case .securing(let raise) = phase { report(raise.timerFired()) }
    }

    /// Handles the controller's report that the link is encrypted, which may precede the kernel's own.
    func linkIsEncrypted() {
        isEncrypted = true
        if case .securing(let raise) = phase {
            report(raise.linkIsEncrypted())
            // The end of the raise has the security.
            if raise.isUnderWay { return }
        }
        report(.encrypted(nil))
    }

    private func report(_ event: SecurityEvent?) {
        guard let event else { return }
        checkEnd(event)
        pairings?.report(.security(event), of: [self])
    }

    private func checkEnd(_ event: SecurityEvent?) {
        switch event {
        case nil, .began, .encrypted(nil): break
        case .encrypted:
            if case .securing(let raise) = phase, raise.hasHeld { socket?.notifyWhenWritable() }
            phase = .open
            pairings?.ends(socket?.peer ?? peer)
        case .refused: raiseIsOff()
        case .failed: phase = .open
        }
    }

    /// The raise has not begun: the link may still be encrypted for another channel. A writable socket ends the limit.
    private func raiseIsOff() {
        phase = .open
        if waitsForEncryption() { socket?.notifyWhenWritable() }
    }

    /// Records the end of encryption: the kernel reports the link's handle again, which it does not meanwhile.
    func encryptionIsOver() { if case .encrypting = phase { phase = .open } }

    /// The socket refuses to send; returns whether the link is, or may be, being encrypted. The end of a socket is
    /// reported by an event instead.
    func waitsForEncryption() -> Bool {
        guard isAttributeChannel else { return false }
        switch phase {
        case .securing: return true
        case .open, .encrypting:
            let timer = loop.makeTimer(of: self) { $0.encryptionIsDue() }
            timer.set(after: Self.encryptionLimit)
            phase = .encrypting(timer)
            return true
        case .connecting, .draining, .ended, .over: return false
        }
    }

    private func encryptionIsDue() {
        if case .encrypting = phase { finish(.notEncrypted) }
    }

    // MARK: The end

    /// Records the end of the link.
    func linkEnds(_ reason: BluetoothError) {
        link?.end(reason)
        trace.take()?.link.ended(reason)
    }

    /// Lets `down` succeed when the link of the channel, which is about to be closed, is down.
    func awaitEnd(_ down: Promise<Void, BluetoothError>, of channel: KernelChannel, isDrained: Bool) {
        let links = isAttributeChannel ? links : nil
        if links?.awaitEnd(down, of: channel.peer, channel.linkHandle, isDrained: isDrained) != true { down.succeed() }
    }

    /// Records that the channel is being closed.
    func close() {
        // Only closing the socket cancels an attempt, and with a delay.
        if case .connecting = phase, isAttributeChannel { links?.linkGoesDown(peer, isAttempt: true) }
        end()
    }

    /// Passes an unused attribute channel to a drain; returns whether it is retained until nothing is outstanding.
    func drain(_ channel: KernelChannel, _ outstanding: OutstandingTransactions) -> Bool {
        guard let links, !outstanding.isEmpty, isInUse else { return false }
        let drain = AttributeDrain(of: peer, channel, outstanding, links)
        endPairing()
        receiver = drain
        phase = .draining
        drain.begin()
        return true
    }
}
