import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothLoop
import BluetoothPrimitives

/// What becomes of a channel's socket: it is made, used, and closed, and an attribute channel's is held at the end until
/// nothing is outstanding there. Takes the socket's events.
///
/// While the kernel encrypts a link at this side's wish, the socket of its attribute channel refuses to send as if it were
/// not connected. When the peer refuses to pair it may do so for ever, and tell nothing; so that has the time limit of a
/// pairing (Core Vol 3 Part H §3.4), unless protection is being raised here, which has a limit of its own.
//
// Lives on the loop, held by its channel and by the socket's handler.
final class ChannelLife {
    /// How long a link may take to be encrypted.
    static let encryptionLimit = Duration.seconds(30)

    private enum Phase {
        case connecting
        case open
        /// The link is being encrypted; the timer runs unless protection is being raised here.
        case encrypting(LoopTimer?)
        case draining(AttributeDrain)
        case over
    }

    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let peer: BluetoothAddress
    let isAttributeChannel: Bool
    /// Nil where no adapter has made the channel.
    private let links: EndingLinks?
    private var phase: Phase
    /// Who takes what happens.
    private var handler: ChannelHandler?
    /// Whether the kernel may be about to end the link.
    private var isPrecarious = false
    /// A connection-oriented channel's socket, and its claim on the link it is on.
    private weak var socket: (any L2CAPSocket)?
    private var claim: LinkClaim?

    /// A channel that is being opened from here.
    init(to peer: BluetoothAddress, _ channel: L2CAPChannel, _ links: EndingLinks, _ handler: @escaping ChannelHandler)
    {
        mark = links.loop.components.mark("ChannelLife")
        (loop, self.peer, self.links, self.handler) = (links.loop, peer, links, handler)
        phase = .connecting
        isAttributeChannel = channel == .attribute
        if isAttributeChannel { isPrecarious = links.beginLink(to: peer) }
    }

    /// A channel that is open; ``begin(_:)`` follows.
    init(of peer: BluetoothAddress, _ channel: L2CAPChannel, _ links: EndingLinks? = nil, on loop: EventLoop) {
        mark = loop.components.mark("ChannelLife")
        (self.loop, self.peer, self.links) = (loop, peer, links)
        phase = .open
        isAttributeChannel = channel == .attribute
    }

    /// Says who takes what happens on a channel that is open.
    func begin(_ handler: @escaping ChannelHandler) { self.handler = handler }

    // MARK: Events

    func take(_ event: SocketEvent) {
        let handler = handler
        switch phase {
        case .open, .encrypting: takeNext(event)
        case .connecting: takeFirst(event)
        case .draining(let drain): return drain.take(event)
        case .over: return
        }
        handler?(ChannelEvent(event))
    }

    private func takeNext(_ event: SocketEvent) {
        switch event {
        case .readable: break
        // When protection is raised here, that may have been said before it began.
        case .writable: if case .encrypting(.some) = phase { phase = .open }
        case .closed: end()
        }
    }

    private func takeFirst(_ event: SocketEvent) {
        switch event {
        case .writable:
            phase = .open
            claimLink()
        case .closed(let error):
            end()
            // One that the kernel has lost, or that has joined another that was given up, may still come about.
            if isAttributeChannel, [.connectionReset, .timedOut].contains(error.number) {
                links?.linkGoesDown(peer, isAttempt: true)
            }
        case .readable: break
        }
    }

    private func end() { (phase, handler) = (.over, nil) }

    // MARK: The link

    /// Takes note of the socket.
    func begin(_ socket: any L2CAPSocket) {
        guard !isAttributeChannel, links != nil else { return }
        self.socket = socket
        claimLink()
    }

    /// A connection-oriented channel that is open keeps the link; an attempt that nobody answers has no link to keep.
    private func claimLink() {
        if case .open = phase, let socket { claim = links?.claim(socket) }
    }

    /// The peer has answered on the link.
    func linkHolds() { isPrecarious = false }

    /// Whether an end that may be the doing of this machine, or of anybody, is that of a link that was about to end.
    func isMeantForAnother(_ failure: ChannelFailure) -> Bool { isPrecarious && failure.kind == .aborted }

    func isMeantForAnother(_ reason: DisconnectReason?) -> Bool {
        isPrecarious && (reason == .localHost || reason == .remote)
    }

    // MARK: Encryption

    /// Protection is being raised from here; the pairing has a time limit of its own.
    func raiseBegins() {
        guard isAttributeChannel else { return }
        switch phase {
        case .open, .encrypting: phase = .encrypting(nil)
        case .connecting, .draining, .over: break
        }
    }

    /// The kernel tells the link's handle, which it does not while it encrypts.
    func encryptionIsOver() { if case .encrypting = phase { phase = .open } }

    /// The socket refuses to send; says whether the link is, or may be, being encrypted. Of a socket that has ended that
    /// is told as an event.
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

    /// The channel is being closed.
    func close() {
        // Only a socket that was closed cancels an attempt, and not at once.
        if case .connecting = phase, isAttributeChannel { links?.linkGoesDown(peer, isAttempt: true) }
        end()
        claim?.end()
        claim = nil
    }

    /// The attribute channel is of no more use to the program; says whether it is held until nothing is outstanding there.
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
