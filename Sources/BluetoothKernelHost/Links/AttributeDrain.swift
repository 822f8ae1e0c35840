import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothLoop
import BluetoothPrimitives

/// Holds a link's attribute channel after its connection has ended, until nothing is outstanding there.
///
/// A connect to the device within the two seconds for which the kernel keeps the link gets the same link, where the late
/// response to the last request would be taken for the response to another. So a connect waits until everything is answered,
/// the link has ended, or the kernel has dropped it.
///
/// It does not drop one that another channel of this program is on. So the attribute channel is held until there is none,
/// and whoever connects meanwhile waits, or is told that the device is busy.
//
// Lives on the loop, held by the links that are about to end.
final class AttributeDrain {
    private let mark: ComponentCount.Mark
    /// How long to wait for responses. The kernel drops the link two seconds later, which must be within
    /// ``EndingLinks/linger``.
    static let limit = Duration.milliseconds(300)

    private enum Phase {
        /// Answers may come, or the time for them is not over.
        case waiting
        /// A channel keeps the link.
        case kept
        /// The link is left to the kernel, which must have dropped it when the time is over.
        case left
    }

    private let links: EndingLinks
    /// Nil once the link is left to the kernel.
    private var channel: KernelChannel?
    /// The link's handle, where it is known.
    let handle: UInt16?
    /// What the kernel knows the device by: after pairing, by another address.
    private var peers: Set<BluetoothAddress>
    private var outstanding: OutstandingTransactions
    private var phase = Phase.waiting
    /// Whether the link is of no more use, whatever is answered.
    private var isSpent: Bool
    private var timer: LoopTimer?

    init(
        of peer: BluetoothAddress, _ channel: KernelChannel, _ outstanding: OutstandingTransactions,
        _ links: EndingLinks
    ) {
        mark = links.loop.components.mark("AttributeDrain")
        (self.channel, self.outstanding, self.links) = (channel, outstanding, links)
        peers = [peer, channel.peer]
        handle = channel.linkHandle
        isSpent = outstanding.isTooLate
    }

    func begin() {
        for peer in peers { links.linkGoesDown(peer, handle) }
        links.drainBegins(self)
        timer = links.loop.makeLocalTimer { [weak self] in self?.timePassed() }
        timer?.set(after: Self.limit)
        // Where a request of the peer could not be answered at once.
        channel?.setReading(true)
        advance()
    }

    /// Takes an event of the socket.
    func take(_ event: SocketEvent) {
        switch event {
        case .readable:
            guard let channel else { return }
            _ = channel.receive { receive($0) }
            advance()
        case .writable: advance()
        case .closed: settle()
        }
    }

    private func receive(_ pdu: RawSpan) {
        guard let opcode = ATTOpcode(of: pdu) else { return }
        switch opcode {
        case .handleValueConfirmation: outstanding.isConfirmationDue = false
        // Nobody is there any more who could have been told.
        case .handleValueIndication: outstanding.isPeerWaiting = true
        default:
            if opcode.type == .response { outstanding.isResponseDue = false }
            if opcode.type == .request { outstanding.isPeerWaiting = true }
        }
    }

    private func advance() {
        guard channel != nil else { return }
        // A device that waits for an answer itself would wait on the next link as well, for ever: it needs a new one.
        guard !isSpent, !outstanding.isPeerWaiting else { return spend() }
        if outstanding.isCancellationDue, !outstanding.isResponseDue { cancelPreparedWrites() }
        if outstanding.isEmpty { settle() }
    }

    private func cancelPreparedWrites() {
        var writer = ByteWriter(growingTo: AttributeProtocol.defaultMTU)
        guard let channel, (try? ATTClientPDU.executeWriteRequest(.cancelAll).encode(into: &writer)) != nil else {
            return
        }
        switch channel.send(writer.bytes.span.bytes) {
        case .sent:
            outstanding.isCancellationDue = false
            outstanding.isResponseDue = true
        case .wouldBlock: channel.notifyWhenWritable()
        case .failed: spend()
        }
    }

    private func timePassed() {
        switch phase {
        case .waiting: leave()
        // No PDUs follow on a bearer whose transaction has timed out (Core Vol 3 Part F §3.3.3).
        case .kept: isSpent = true
        case .left: end()
        }
    }

    private func spend() {
        isSpent = true
        if phase == .waiting { leave() }
    }

    /// A channel of this program has opened or closed.
    func channelsChanged() {
        if phase != .waiting { leave() }
    }

    /// Leaves the link to the kernel, which drops it, unless a channel keeps it.
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
            timer?.set(after: phase == .kept ? EndingLinks.linger : EndingLinks.linger - Self.limit)
            phase = .left
        }
    }

    /// The controller has ended the link. The socket tells itself.
    func linkEnded() {
        if channel == nil { end() }
    }

    /// Nothing is outstanding: the link can be used again, or is down.
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
