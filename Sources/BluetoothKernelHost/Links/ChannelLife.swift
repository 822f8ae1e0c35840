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
        case connecting
        case open
        /// The link is being encrypted; the timer runs unless security is being raised here.
        case encrypting(LoopTimer?)
        /// A drain is the receiver.
        case draining
        case over
    }

    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let peer: BluetoothAddress
    let isAttributeChannel: Bool
    /// Nil if no adapter made the channel.
    private let links: LingeringLinks?
    private var phase: Phase
    private var receiver: (any ChannelReceiver)?
    /// The recorder of the attribute channel of a link that is up.
    var trace: ChannelTrace?
    /// Whether the kernel may be about to end the link.
    private var mayEndSoon = false
    /// The socket, whose events call this object; it is dropped with the channel.
    private weak var socket: (any L2CAPSocket)?
    /// A connection-oriented channel's claim on the link.
    private var claim: LinkClaim?

    /// A channel that is being opened from this side.
    init(
        to peer: BluetoothAddress, _ channel: L2CAPChannel, _ links: LingeringLinks, _ receiver: any ChannelReceiver
    ) {
        mark = links.loop.components.mark("ChannelLife")
        (loop, self.peer, self.links, self.receiver) = (links.loop, peer, links, receiver)
        phase = .connecting
        isAttributeChannel = channel == .attribute
        if isAttributeChannel { mayEndSoon = links.beginLink(to: peer) }
    }

    /// An open channel; ``begin(_:)`` follows.
    init(of peer: BluetoothAddress, _ channel: L2CAPChannel, _ links: LingeringLinks? = nil, on loop: EventLoop) {
        mark = loop.components.mark("ChannelLife")
        (self.loop, self.peer, self.links) = (loop, peer, links)
        phase = .open
        isAttributeChannel = channel == .attribute
    }

    /// Sets the receiver of an open channel.
    func begin(_ receiver: any ChannelReceiver) { if case .open = phase { self.receiver = receiver } }

    // MARK: Events

    func receive(_ event: SocketEvent) {
        switch event {
        case .readable: passPacket()
        case .writable:
            socketIsWritable()
            receiver?.channelIsWritable()
        case .closed(let error): socketEnded(error)
        }
    }

    /// Passes one packet to the receiver; returns whether there was one. An end noticed by this is also an event.
    @discardableResult
    func passPacket() -> Bool {
        guard let socket, let receiver else { return false }
        return socket.receive { packet in
            trace?.received(packet)
            receiver.receive(packet)
        } == .packet
    }

    private func socketIsWritable() {
        switch phase {
        case .connecting:
            phase = .open
            claimLink()
        // When security is raised here, this may have been queued before.
        case .encrypting(.some): phase = .open
        case .encrypting(nil), .open, .draining, .over: break
        }
    }

    private func socketEnded(_ error: KernelError) {
        // An attempt that the kernel has lost, or that has joined a cancelled one, may still succeed.
        if case .connecting = phase, isAttributeChannel, [.connectionReset, .timedOut].contains(error.number) {
            links?.linkGoesDown(peer, isAttempt: true)
        }
        finish(ChannelFailure(error))
    }

    /// Passes what has arrived, and then the end.
    private func finish(_ failure: ChannelFailure) {
        while passPacket() {}
        let receiver = receiver
        end()
        receiver?.channelEnded(failure)
    }

    private func end() { (phase, receiver) = (.over, nil) }

    private var isInUse: Bool {
        switch phase {
        case .open, .encrypting: true
        case .connecting, .draining, .over: false
        }
    }

    /// Ends an attribute channel, of which the reason is known to a failed call alone.
    func sendFailed(_ failure: ChannelFailure) {
        guard isAttributeChannel else { return }
        loop.executeLocally { [weak self] in if let self, isInUse { finish(failure) } }
    }

    // MARK: The link

    /// Sets the socket.
    func begin(_ socket: any L2CAPSocket) {
        self.socket = socket
        claimLink()
    }

    /// Claims the link for an open connection-oriented channel; an unanswered attempt has no link to keep.
    private func claimLink() {
        if case .open = phase, !isAttributeChannel, let socket { claim = links?.claim(socket) }
    }

    /// Records that the peer has answered on the link.
    func confirmLink() { mayEndSoon = false }

    /// Whether an end that this machine may have caused is that of an earlier link that was about to end.
    func isMeantForAnother(_ failure: ChannelFailure) -> Bool {
        mayEndSoon && [.aborted, .notSecured].contains(failure.kind)
    }

    /// The controller's status if it has refused the link because the link limit is reached.
    func refusal(_ failure: ChannelFailure) -> HCIStatus? {
        // The kernel's translations of 0x09 and 0x0D; the second stands for other failures as well.
        guard [.tooManyLinks, .connectionRefused].contains(failure.kernelError.number) else { return nil }
        return links?.controller.refusal(peer)
    }

    func isMeantForAnother(_ reason: DisconnectReason?) -> Bool {
        mayEndSoon && (reason == .localHost || reason == .remote)
    }

    // MARK: Encryption

    /// Records that security is being raised from this side; that pairing has a time limit of its own.
    func raiseBegins() {
        guard isAttributeChannel else { return }
        switch phase {
        case .open, .encrypting: phase = .encrypting(nil)
        case .connecting, .draining, .over: break
        }
    }

    /// Records the end of encryption: the kernel reports the link's handle again, which it does not meanwhile.
    func encryptionIsOver() { if case .encrypting = phase { phase = .open } }

    /// The socket refuses to send; returns whether the link is, or may be, being encrypted. The end of a socket is
    /// reported by an event instead.
    func waitsForEncryption() -> Bool {
        guard isAttributeChannel else { return false }
        switch phase {
        case .encrypting(nil): return true
        case .open, .encrypting:
            let timer = loop.makeTimer(of: self) { $0.encryptionIsDue() }
            timer.set(after: Self.encryptionLimit)
            phase = .encrypting(timer)
            return true
        case .connecting, .draining, .over: return false
        }
    }

    private func encryptionIsDue() {
        if case .encrypting = phase { finish(ChannelFailure(.notEncrypted)) }
    }

    // MARK: The end

    /// Records that the channel is being closed.
    func close() {
        // Only closing the socket cancels an attempt, and with a delay.
        if case .connecting = phase, isAttributeChannel { links?.linkGoesDown(peer, isAttempt: true) }
        end()
        claim?.end()
        claim = nil
    }

    /// Passes an unused attribute channel to a drain; returns whether it is retained until nothing is outstanding.
    func drain(_ channel: KernelChannel, _ outstanding: OutstandingTransactions) -> Bool {
        guard let links, !outstanding.isEmpty, isInUse else { return false }
        let drain = AttributeDrain(of: peer, channel, outstanding, links)
        receiver = drain
        phase = .draining
        drain.begin()
        return true
    }
}
