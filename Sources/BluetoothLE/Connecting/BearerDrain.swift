import ATT
import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives
import GATT
import Logging

/// Holds a link's attribute channel after its connection has ended, until nothing is outstanding there.
///
/// The kernel keeps a link for two seconds after its last socket was closed. A connect to the device within that time gets
/// the same link, where the late response to the last request would be taken for the response to another. So a connect
/// waits until everything is answered, the link has ended, or the kernel has dropped it.
///
/// It does not drop one that another channel of this program is on. So the attribute channel is held until there is none,
/// and whoever connects meanwhile waits, or is told that the device is busy.
//
// Lives on the loop, held by its socket's handler and the connects until the end.
final class BearerDrain {
    private let mark: ComponentCount.Mark
    /// How long to wait for responses. The kernel drops the link two seconds later, which must be within
    /// ``ConnectQueue/kernelLinger``.
    static let limit = Duration.milliseconds(300)

    private enum Phase {
        /// Answers may come, or the time for them is not over.
        case waiting
        /// A channel keeps the link.
        case kept
        /// The link is left to the kernel, which must have dropped it when the time is over.
        case left
    }

    private let loop: EventLoop
    private let connects: Connects
    private let peer: BluetoothAddress
    /// Nil before the beginning, and once the link is left to the kernel.
    private var socket: (any HostChannel)?
    /// The link's handle, where it is known.
    private(set) var handle: UInt16?
    private var peers: Set<BluetoothAddress> = []
    private var outstanding = OutstandingTransactions()
    private var phase = Phase.waiting
    /// Whether the link is of no more use, whatever is answered.
    private var isSpent = false
    private var timer: LoopTimer?

    init(of peer: BluetoothAddress, at connects: Connects) {
        mark = connects.loop.components.mark("BearerDrain")
        self.peer = peer
        self.connects = connects
        loop = connects.loop
    }

    /// Takes over the socket and its outstanding transactions.
    func begin(_ socket: any HostChannel, _ outstanding: OutstandingTransactions) {
        self.socket = socket
        self.outstanding = outstanding
        isSpent = outstanding.isTooLate
        // After pairing the kernel knows the device by another address.
        peers = [peer, socket.peer]
        handle = socket.linkHandle
        for peer in peers { connects.linkGoesDown(peer, handle) }
        connects.drainBegins(self)
        connects.log.debug("waits for the last answers", metadata: ["peer": "\(peer)"])
        timer = loop.makeLocalTimer { [weak self] in self?.timePassed() }
        timer?.set(after: Self.limit)
        // Where a request of the peer could not be answered at once.
        socket.setReading(true)
        advance()
    }

    /// Takes an event of the socket.
    func handle(_ event: ChannelEvent) {
        switch event {
        case .readable:
            guard let socket else { return }
            _ = socket.receive { receive($0) }
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
        guard socket != nil else { return }
        // A device that waits for an answer itself would wait on the next link as well, for ever: it needs a new one.
        guard !isSpent, !outstanding.isPeerWaiting else { return spend() }
        if outstanding.isCancellationDue, !outstanding.isResponseDue { cancelPreparedWrites() }
        if outstanding.isEmpty { settle() }
    }

    private func cancelPreparedWrites() {
        var writer = ByteWriter(growingTo: AttributeProtocol.defaultMTU)
        guard let socket, (try? ATTClientPDU.executeWriteRequest(.cancelAll).encode(into: &writer)) != nil else {
            return
        }
        switch socket.send(writer.bytes.span.bytes) {
        case .sent:
            outstanding.isCancellationDue = false
            outstanding.isResponseDue = true
        case .wouldBlock: socket.notifyWhenWritable()
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
        if let socket { peers.insert(socket.peer) }
        if connects.keepsLink(to: peers) {
            guard phase != .kept else { return }
            if phase == .waiting { timer?.set(after: AttributeProtocol.transactionTimeout) } else { timer?.cancel() }
            phase = .kept
            for peer in peers { connects.linkStays(peer, handle) }
        } else if phase != .left {
            socket?.close()
            socket = nil
            // The kernel's two seconds begin only now.
            if phase == .kept { for peer in peers { connects.linkGoesDown(peer, handle) } }
            timer?.set(after: phase == .kept ? ConnectQueue.kernelLinger : ConnectQueue.kernelLinger - Self.limit)
            phase = .left
        }
    }

    /// The controller has ended the link. The socket tells itself.
    func linkEnded() {
        if socket == nil { end() }
    }

    /// Nothing is outstanding: the link can be used again, or is down.
    func settle() {
        end()
        for peer in peers { connects.linkIsDown(peer) }
    }

    private func end() {
        socket?.close()
        socket = nil
        timer = nil
        connects.drainEnds(self)
    }
}
