import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT
import Logging

/// The transaction engine over a socket: the one place where PDUs are sent and received.
///
/// It lives on the actor of its connection, which feeds it the socket's events.
final class ATTBearer {
    private let socket: any L2CAPSocket
    private let loop: EventLoop
    private let log: Logger
    private let peer: BluetoothAddress
    private var engine = TransactionEngine()
    private var writer = ByteWriter(capacity: 517)
    private let requestTimer: LoopTimer
    private let indicationTimer: LoopTimer
    private var timedRequest: UInt64?
    private var timedIndication: UInt64?
    private var isSocketFull = false
    private var isReadingPaused = false
    /// Whether the socket has ended, so that nothing can be sent while what it still holds is received.
    private var isEnding = false
    private let onEnd: @Sendable (BluetoothError) -> Void
    private(set) var closeReason: BluetoothError?
    /// Who wants the values the peer notifies and indicates.
    var subscribers = SubscriberTable()
    private var server: GATTServer
    private var database: AttributeDatabase
    private var answer = ByteWriter(capacity: 517)
    /// What the peer's client has agreed on with our server; in force once our response is on its way.
    private var agreedMTU: Int?

    /// A bearer over a connected socket; `onTimeOut` is called on the loop when an answer is 30 s late, `onEnd` once the
    /// bearer has closed, whoever closed it.
    ///
    /// `database` is what the peer finds when it is a client as well.
    init(
        _ socket: any L2CAPSocket, peer: BluetoothAddress, database: AttributeDatabase, receiveMTU: UInt16,
        loop: EventLoop, log: Logger, onTimeOut: @escaping @Sendable () -> Void,
        onEnd: @escaping @Sendable (BluetoothError) -> Void
    ) {
        self.onEnd = onEnd
        self.database = database
        server = GATTServer(limits: GATTServer.Limits(receiveMTU: receiveMTU))
        self.socket = socket
        self.peer = peer
        self.loop = loop
        self.log = log
        requestTimer = loop.makeTimer(onTimeOut)
        indicationTimer = loop.makeTimer(onTimeOut)
    }

    var mtu: Int {
        get { engine.mtu }
        set {
            engine.mtu = newValue
            server.mtu = newValue
        }
    }

    var isClosed: Bool { closeReason != nil }
}

// MARK: - Sending

extension ATTBearer {
    /// Queues a procedure and sends its first request if it is its turn.
    func submit(_ transaction: any ClientTransaction) {
        engine.submit(transaction)
        flush()
    }

    /// Queues an indication and sends it if it is its turn.
    func submit(_ indication: any ServerTransaction) {
        engine.submit(indication)
        flush()
    }

    /// Queues a command or a notification and sends it if the socket takes it.
    func submit(_ message: any UnansweredMessage) {
        engine.submit(message)
        flush()
    }

    /// Sends a Write Command from where it stands, or returns false when it has to wait for its turn.
    func sendAtOnce(_ value: [UInt8], to handle: AttributeHandle) -> Bool {
        guard !isSocketFull, !isEnding, engine.isIdleForMessages else { return false }
        writer.removeAll()
        writer.capacity = engine.mtu
        guard (try? ATTClientPDU.writeCommand(handle, value: value.span.bytes).encode(into: &writer)) != nil else {
            return false
        }
        switch socket.send(writer.bytes.span.bytes) {
        case .sent:
            trace("→", writer.bytes)
            return true
        case .wouldBlock:
            waitForRoom()
            return false
        case .failed(let error):
            // The kernel tells the reason once, so it is not asked a second time.
            socketEnded(error)
            return false
        }
    }

    /// Sends what is to be sent until nothing is left or the socket is full.
    func flush() {
        while !isSocketFull, !isEnding, let outgoing = engine.nextToSend(into: &writer) {
            switch socket.send(writer.bytes.span.bytes) {
            case .sent:
                trace("→", writer.bytes)
                engine.didSend(outgoing, writer)
                if outgoing == .response { didRespond() }
            case .wouldBlock: waitForRoom()
            case .failed(let error): return socketEnded(error)
            }
        }
        setTimers()
    }

    private func didRespond() {
        if isReadingPaused {
            isReadingPaused = false
            socket.setReading(true)
        }
        guard let mtu = agreedMTU else { return }
        agreedMTU = nil
        engine.mtu = mtu
    }

    private func waitForRoom() {
        isSocketFull = true
        socket.notifyWhenWritable()
    }

    private func setTimers() {
        if engine.requestInFlight != timedRequest {
            timedRequest = engine.requestInFlight
            set(requestTimer, isOn: timedRequest != nil)
        }
        if engine.indicationInFlight != timedIndication {
            timedIndication = engine.indicationInFlight
            set(indicationTimer, isOn: timedIndication != nil)
        }
    }

    private func set(_ timer: LoopTimer, isOn: Bool) {
        if isOn { timer.set(after: AttributeProtocol.transactionTimeout) } else { timer.cancel() }
    }

    private func trace(_ direction: String, _ bytes: [UInt8]) {
        log.trace("ATT \(direction) \(bytes.hexadecimal)", metadata: ["peer": "\(peer)"])
    }
}

// MARK: - Receiving

extension ATTBearer {
    /// Takes an event of the connected socket.
    func handle(_ event: SocketEvent) {
        switch event {
        case .readable: receiveOne()
        case .writable:
            isSocketFull = false
            flush()
        case .closed(let error): socketEnded(error)
        }
    }

    @discardableResult
    private func receiveOne() -> Bool {
        let outcome = socket.receive { receive($0) }
        flush()
        if engine.hasResponse, !isReadingPaused {
            isReadingPaused = true
            socket.setReading(false)
        }
        return outcome == .packet
    }

    private func receive(_ pdu: RawSpan) {
        log.trace("ATT ← \([UInt8](pdu).hexadecimal)", metadata: ["peer": "\(peer)"])
        guard let opcode = ATTOpcode(of: pdu) else { return }
        if opcode == .handleValueConfirmation {
            engine.receiveConfirmation()
        } else if opcode.isSentByClient {
            receiveFromClient(pdu, opcode)
        } else {
            receiveFromServer(pdu, opcode)
        }
    }

    private func receiveFromServer(_ bytes: RawSpan, _ opcode: ATTOpcode) {
        do {
            let pdu = try ATTServerPDU(decoding: bytes)
            switch pdu {
            case .handleValueNotification(let handle, let value):
                subscribers.deliver(value, of: handle)
            case .handleValueIndication(let handle, let value):
                subscribers.deliver(value, of: handle)
                engine.oweConfirmation()
            case .multipleHandleValueNotification(let list):
                var list = list
                while let entry = list.next() { subscribers.deliver(entry.value, of: entry.handle) }
            case .unknown: log.debug("ignored unknown PDU \(opcode)", metadata: ["peer": "\(peer)"])
            default:
                if !engine.receive(pdu) { closeForWrongAnswer(opcode) }
            }
        } catch {
            log.debug("\(error)", metadata: ["peer": "\(peer)"])
            if opcode.type == .response, !engine.receiveMalformedAnswer(error) { closeForWrongAnswer(opcode) }
        }
    }

    /// Which answer belongs to which request cannot be told any more.
    private func closeForWrongAnswer(_ opcode: ATTOpcode) {
        close(
            BluetoothError(
                .protocolViolation, .init("exchange attributes", peer: peer),
                "The peer answered a request that was not made (\(opcode)); the link is closed."))
    }

    /// Answers the peer's client. Its requests wait in the kernel while the answer to the last cannot be sent.
    private func receiveFromClient(_ bytes: RawSpan, _ opcode: ATTOpcode) {
        for event in server.receive(bytes, database: &database, into: &answer) {
            if case .mtuExchanged(let mtu) = event { agreedMTU = mtu }
        }
        guard answer.count > 0 else { return }
        if !engine.respond(answer.bytes) { log.debug("ignored \(opcode) out of turn", metadata: ["peer": "\(peer)"]) }
    }
}

// MARK: - The end

extension ATTBearer {
    /// Takes in what arrived before the socket's end, which is still good, and closes.
    private func socketEnded(_ error: KernelError) {
        guard !isEnding else { return }
        isEnding = true
        while !isClosed, receiveOne() {}
        close(.disconnected(peer, error))
    }

    /// Closes the socket and ends everything that waits, for the given reason. Only the first reason counts.
    func close(_ reason: BluetoothError) {
        guard closeReason == nil else { return }
        closeReason = reason
        engine.close()
        end()
    }

    /// Ends the bearer because an answer is 30 s late (Core Vol 3 Part F §3.3.3).
    func timeOut() {
        guard closeReason == nil else { return }
        closeReason = BluetoothError(
            .disconnected, .init("exchange attributes", peer: peer),
            "The peer did not answer within \(AttributeProtocol.transactionTimeout.inSeconds); the link is closed.",
            isRetryable: true)
        engine.timeOut()
        end()
    }

    private func end() {
        requestTimer.cancel()
        indicationTimer.cancel()
        socket.close()
        guard let closeReason else { return }
        subscribers.finish(closeReason)
        onEnd(closeReason)
    }
}
