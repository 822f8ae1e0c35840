import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothLoop
import BluetoothPrimitives

/// An attribute channel retained after its connection has ended, until no transaction is outstanding on it.
///
/// The kernel keeps a link for two seconds after its last channel. A connect within that time gets the same link, where
/// the late response to the last request would be taken for the response to another. So a connect waits until
/// everything is answered, the link has ended, or the kernel has dropped it.
///
/// The kernel does not drop a link with another channel of this program. Then the attribute channel is retained until
/// there is none, and a connect meanwhile waits or fails as busy.
//
// Lives on the loop, held by the links that are about to end.
final class AttributeDrain: ChannelReceiver {
    private let mark: ComponentCount.Mark
    /// The time to wait for responses. The kernel drops the link two seconds later, which must be within
    /// ``LingeringLinks/linger``.
    static let limit = Duration.milliseconds(300)

    private enum Phase {
        /// Responses may arrive, and the time limit is not reached.
        case waiting
        /// Another channel keeps the link.
        case kept
        /// The link is left to the kernel, which must have dropped it when the time limit is reached.
        case left
    }

    private let links: LingeringLinks
    /// Nil once the link is left to the kernel.
    private var channel: KernelChannel?
    /// The link's handle, if known.
    let handle: UInt16?
    /// The peer's addresses: pairing may have revealed another.
    private var peers: Set<BluetoothAddress>
    private var outstanding: OutstandingTransactions
    private var phase = Phase.waiting
    /// Whether the link must not be reused, whatever is answered.
    private var isSpent: Bool
    private var timer: LoopTimer?

    init(
        of peer: BluetoothAddress, _ channel: KernelChannel, _ outstanding: OutstandingTransactions,
        _ links: LingeringLinks
    ) {
        mark = links.loop.components.mark("AttributeDrain")
        (self.channel, self.outstanding, self.links) = (channel, outstanding, links)
        peers = [peer, channel.peer]
        handle = channel.linkHandle
        isSpent = outstanding.hasTimedOut
    }

    func begin() {
        for peer in peers { links.linkGoesDown(peer, handle) }
        links.drainBegins(self)
        timer = links.loop.makeTimer(of: self) { $0.timePassed() }
        timer?.set(after: Self.limit)
        // A request of the peer may have paused reading.
        channel?.setReading(true)
        advance()
    }

    func receive(_ pdu: RawSpan) {
        note(pdu)
        advance()
    }

    func channelIsWritable() { advance() }

    func channelEnded(_ reason: BluetoothError) { settle() }

    private func note(_ pdu: RawSpan) {
        outstanding.receive(pdu)
        switch ATTOpcode(of: pdu)?.type {
        // The connection has ended, so no subscriber received an indication.
        case .request, .indication: outstanding.isPeerWaiting = true
        default: break
        }
    }

    private func advance() {
        guard channel != nil else { return }
        // A peer that waits for a response itself would wait on the next link as well, for ever: it needs a new link.
        guard !isSpent, !outstanding.isPeerWaiting else { return spend() }
        if outstanding.isCancellationDue, outstanding.request == nil { cancelPreparedWrites() }
        if outstanding.isEmpty { settle() }
    }

    private func cancelPreparedWrites() {
        var writer = ByteWriter(growingTo: AttributeProtocol.defaultMTU)
        guard let channel, (try? ATTClientPDU.executeWriteRequest(.cancelAll).encode(into: &writer)) != nil else {
            return
        }
        switch channel.send(writer.span) {
        case .sent:
            outstanding.isCancellationDue = false
            outstanding.request = .executeWriteRequest
        case .wouldBlock, .held: channel.notifyWhenWritable()
        case .failed: spend()
        }
    }

    private func timePassed() {
        switch phase {
        case .waiting: leave()
        // No PDUs may follow on a bearer whose transaction has timed out (Core Vol 3 Part F §3.3.3).
        case .kept: isSpent = true
        case .left: end()
        }
    }

    private func spend() {
        isSpent = true
        if phase == .waiting { leave() }
    }

    /// Checks again: a channel of this program has opened or closed.
    func channelsChanged() {
        if phase != .waiting { leave() }
    }

    /// Leaves the link to the kernel, which drops it unless another channel keeps it.
    private func leave() {
        if let channel { peers.insert(channel.peer) }
        if links.keepsLink(to: peers) {
            guard phase != .kept else { return }
            if phase == .waiting { timer?.set(after: AttributeProtocol.transactionTimeout) } else { timer?.cancel() }
            phase = .kept
            for peer in peers { links.linkStays(peer, handle) }
        } else if phase != .left {
            closeChannel()
            // The kernel's two seconds begin only now.
            if phase == .kept { for peer in peers { links.linkGoesDown(peer, handle) } }
            timer?.set(after: phase == .kept ? LingeringLinks.linger : LingeringLinks.linger - Self.limit)
            phase = .left
        }
    }

    /// Records the link's end. The socket reports it as well.
    func linkEnded() {
        if channel == nil { end() }
    }

    /// Ends the drain: nothing is outstanding, so the link can be reused, or is down.
    func settle() {
        end()
        for peer in peers { links.linkIsDown(peer) }
    }

    private func end() {
        closeChannel()
        timer = nil
        links.drainEnds(self)
    }

    private func closeChannel() {
        channel?.close()
        channel = nil
    }
}
