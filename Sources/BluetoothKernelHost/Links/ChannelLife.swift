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
final class ChannelLife {
    /// The time limit for encrypting a link.
    static let encryptionLimit = Duration.seconds(30)

    private enum Phase {
        case connecting
        case open
        /// The link is being encrypted; the timer runs unless security is being raised here.
        case encrypting(LoopTimer?)
        case draining(AttributeDrain)
        case over
    }

    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let peer: BluetoothAddress
    let isAttributeChannel: Bool
    /// Nil if no adapter made the channel.
    private let links: LingeringLinks?
    private var phase: Phase
    /// The handler of the channel's events.
    private var handler: ChannelHandler?
    /// Whether the kernel may be about to end the link.
    private var mayEndSoon = false
    /// A connection-oriented channel's socket, and its claim on the link.
    private weak var socket: (any L2CAPSocket)?
    private var claim: LinkClaim?

    /// A channel that is being opened from this side.
    init(
        to peer: BluetoothAddress, _ channel: L2CAPChannel, _ links: LingeringLinks, _ handler: @escaping ChannelHandler
    ) {
        mark = links.loop.components.mark("ChannelLife")
        (loop, self.peer, self.links, self.handler) = (links.loop, peer, links, handler)
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

    /// Sets the handler of an open channel.
    func begin(_ handler: @escaping ChannelHandler) { self.handler = handler }

    // MARK: Events

    func receive(_ event: SocketEvent) {
        let handler = handler
        switch phase {
        case .open, .encrypting: receiveNext(event)
        case .connecting: receiveFirst(event)
        case .draining(let drain): return drain.receive(event)
        case .over: return
        }
        handler?(ChannelEvent(event))
    }

    private func receiveNext(_ event: SocketEvent) {
        switch event {
        case .readable: break
        // When security is raised here, this may have been queued before.
        case .writable: if case .encrypting(.some) = phase { phase = .open }
        case .closed: end()
        }
    }

    private func receiveFirst(_ event: SocketEvent) {
        switch event {
        case .writable:
            phase = .open
            claimLink()
        case .closed(let error):
            end()
            // An attempt that the kernel has lost, or that has joined a cancelled one, may still succeed.
            if isAttributeChannel, [.connectionReset, .timedOut].contains(error.number) {
                links?.linkGoesDown(peer, isAttempt: true)
            }
        case .readable: break
        }
    }

    private func end() { (phase, handler) = (.over, nil) }

    // MARK: The link

    /// Sets the socket.
    func begin(_ socket: any L2CAPSocket) {
        guard !isAttributeChannel, links != nil else { return }
        self.socket = socket
        claimLink()
    }

    /// Claims the link for an open connection-oriented channel; an unanswered attempt has no link to keep.
    private func claimLink() {
        if case .open = phase, let socket { claim = links?.claim(socket) }
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
            let timer = loop.makeLocalTimer { [weak self] in self?.encryptionIsDue() }
            timer.set(after: Self.encryptionLimit)
            phase = .encrypting(timer)
            return true
        case .connecting, .draining, .over: return false
        }
    }

    private func encryptionIsDue() {
        guard case .encrypting = phase else { return }
        let handler = handler
        end()
        handler?(.closed(ChannelFailure(.notEncrypted)))
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
        guard let links, !outstanding.isEmpty else { return false }
        switch phase {
        case .open, .encrypting: break
        case .connecting, .draining, .over: return false
        }
        let drain = AttributeDrain(of: peer, channel, outstanding, links)
        handler = nil
        phase = .draining(drain)
        drain.begin()
        return true
    }
}
