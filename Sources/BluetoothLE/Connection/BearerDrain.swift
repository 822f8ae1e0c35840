import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT
import Logging

/// Holds a link's attribute channel after its connection has ended, until nothing is outstanding there.
///
/// The kernel keeps a link for two seconds after its last socket was closed. A connect to the device within that time gets
/// the same link, where the late response to the last request would be taken for the response to another. So a connect
/// waits until everything is answered, the link has ended, or the kernel has dropped it.
//
// Lives on the loop, held by its socket's handler until the end.
final class BearerDrain {
    /// How long to wait for responses. The kernel drops the link two seconds later, which must be within
    /// ``ConnectQueue/kernelLinger``.
    static let limit = Duration.milliseconds(300)

    private let loop: EventLoop
    private let controller: Controller
    private let peer: BluetoothAddress
    private var socket: (any L2CAPSocket)?
    private var peers: Set<BluetoothAddress> = []
    private var outstanding = OutstandingTransactions()
    private var timer: LoopTimer?

    init(of peer: BluetoothAddress, at controller: Controller) {
        self.peer = peer
        self.controller = controller
        loop = controller.loop
    }

    /// Takes over the socket and its outstanding transactions.
    func begin(_ socket: any L2CAPSocket, _ outstanding: OutstandingTransactions) {
        self.socket = socket
        self.outstanding = outstanding
        // After pairing the kernel knows the device by another address.
        peers = [peer, socket.peer]
        let handle = try? socket.connectionHandle()
        for peer in peers { controller.linkGoesDown(peer, handle) }
        controller.log.debug("waits for the last answers", metadata: ["peer": "\(peer)"])
        timer = loop.makeLocalTimer { [weak self] in self?.end() }
        timer?.set(after: Self.limit)
        // Where a request of the peer could not be answered at once.
        socket.setReading(true)
        advance()
    }

    /// Takes an event of the socket.
    func handle(_ event: SocketEvent) {
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
        // A device that waits for an answer itself would wait on the next link as well, for ever: it needs a new one.
        guard !outstanding.isPeerWaiting else { return end() }
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
        case .failed: end()
        }
    }

    /// Nothing is outstanding: the link can be used again, or is down.
    private func settle() {
        guard socket != nil else { return }
        end()
        for peer in peers { controller.linkIsDown(peer) }
    }

    /// Leaves the link to the kernel, which drops it.
    private func end() {
        socket?.close()
        socket = nil
        timer = nil
    }
}
