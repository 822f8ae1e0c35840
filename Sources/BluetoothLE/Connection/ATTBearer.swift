import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT
import Logging

/// The transaction engine over a socket: the one place where PDUs are sent and received.
///
/// It lives on the actor of its connection, which feeds it the socket's events.
final class ATTBearer {
    let socket: any L2CAPSocket
    private let loop: EventLoop
    let log: Logger
    let peer: BluetoothAddress
    private let trace: ChannelTrace?
    var engine = TransactionEngine()
    private var writer = ByteWriter(growingTo: 517)
    private let requestTimer: LoopTimer
    private let indicationTimer: LoopTimer
    /// Runs while the kernel encrypts the link and something is to be sent.
    private var encryptionTimer: LoopTimer?
    private let onEncryptionTimeOut: @Sendable () -> Void
    private var timedRequest: UInt64?
    private var timedIndication: UInt64?
    private var isSocketFull = false
    /// Whether the socket has just said that it can send: when it cannot, it has ended.
    private var isToldWritable = false
    private var isReadingPaused = false
    /// Called when nothing is in flight any more, while nothing is begun.
    private var whenQuiet: (() -> Void)?
    /// Whether somebody else watches that the link gets encrypted.
    private var isEncryptionWatched = false
    /// Whether the socket has ended, so that nothing can be sent while what it still holds is received.
    private var isEnding = false
    private let onEnd: @Sendable (BluetoothError) -> Void
    /// Who gets the socket when answers are outstanding at the end; nil closes it in any case.
    private let drain: LoopBound<BearerDrain>?
    private(set) var closeReason: BluetoothError?
    /// Tells what the end of the socket means, where somebody knows more than the socket; nil when that is told later,
    /// by ``close(_:)``.
    var reasonOfEnd: ((KernelError) -> BluetoothError?)?
    /// Where the peer tells of changes of its services, and who is told.
    var serviceChanged: AttributeHandle?
    var onServicesChanged: ((AttributeHandleRange) -> Void)?
    /// What the peer's server has said it does not know.
    var unsupportedRequests: Set<ATTOpcode> = []
    /// Who wants the values the peer notifies and indicates, on whichever bearer of the link.
    var subscribers: SubscriberTable {
        _read { yield home.ownSubscribers }
        _modify { yield &home.ownSubscribers }
    }
    /// The bearer that keeps what all bearers of the link share.
    private var home: ATTBearer { mainBearer ?? self }
    private var ownSubscribers = SubscriberTable()
    /// The fixed channel's bearer, for an enhanced one.
    weak var mainBearer: ATTBearer?
    var isEnhanced = false
    var server: GATTServer
    let localServer: LocalServer
    /// Who is told what the peer's client did that the program has to know or to answer.
    var onPeerRequest: ((GATTServerEvent) -> Void)?
    /// Whether the peer's client has to be told that our attributes have changed while it was away.
    var owesServiceChanged = false
    /// Whether the controller has told that the link is encrypted, which the kernel may take in a little later.
    var isToldEncrypted = false
    /// Told before what the peer's client asks is looked at.
    var onRequest: (() -> Void)?
    /// What tells the peer's client that our attributes have changed, while it waits for its turn.
    var waitingServiceChanged: ServiceChangedIndication?
    /// What has changed and could not be told, since too many indications wait.
    var untoldChange: AttributeHandleRange?
    /// Told when what is known of the peer's client has changed without its asking for anything.
    var onClientChanged: (() -> Void)?
    /// What the peer indicated before it was known where it tells of changes; at most sixteen attributes.
    private var earlyIndications: Set<AttributeHandle> = []
    private static let earlyIndicationLimit = 16
    var answer = ByteWriter(growingTo: 517)
    /// What the peer's client has agreed on with our server; in force once our response is on its way.
    var agreedMTU: Int?

    /// A bearer over a connected socket; `onTimeOut` is called on the loop when an answer is 30 s late, `onEnd` once the
    /// bearer has closed, whoever closed it.
    ///
    /// `localServer` is what the peer finds when it is a client as well.
    init(
        _ socket: any L2CAPSocket, peer: BluetoothAddress, server localServer: LocalServer, receiveMTU: UInt16,
        loop: EventLoop, log: Logger, trace: ChannelTrace? = nil, drain: LoopBound<BearerDrain>? = nil,
        onTimeOut: @escaping @Sendable () -> Void,
        onEncryptionTimeOut: @escaping @Sendable () -> Void = {}, onEnd: @escaping @Sendable (BluetoothError) -> Void
    ) {
        self.onEnd = onEnd
        self.drain = drain
        self.onEncryptionTimeOut = onEncryptionTimeOut
        self.localServer = localServer
        server = GATTServer(limits: GATTServer.Limits(receiveMTU: receiveMTU))
        server.asksForAuthorization = true
        self.socket = socket
        self.peer = peer
        self.loop = loop
        self.log = log
        self.trace = trace
        requestTimer = loop.makeTimer(onTimeOut)
        indicationTimer = loop.makeTimer(onTimeOut)
    }

    deinit {
        // A connection that nobody holds ends its link like one that is told to.
        guard closeReason == nil, !isEnding, let drain else { return }
        let outstanding = outstandingAtEnd
        guard !outstanding.isEmpty else { return }
        loop.execute { [socket] in drain.value.begin(socket, outstanding) }
    }

    var mtu: Int {
        get { engine.mtu }
        set {
            engine.mtu = newValue
            server.mtu = newValue
        }
    }

    var isClosed: Bool { closeReason != nil }
    /// Whether the socket takes nothing for now.
    var isWaitingForRoom: Bool { isSocketFull }

    /// Whether the peer may have told of a change there before anybody listened.
    func mayHaveMissed(_ handle: AttributeHandle?) -> Bool {
        earlyIndications.count >= Self.earlyIndicationLimit || handle.map(earlyIndications.contains) ?? false
    }

    /// How many requests are under way or wait.
    var requestCount: Int { engine.requestCount }

    /// Makes it an enhanced bearer of the link that has `main` on its fixed channel.
    func joinBearer(_ main: ATTBearer) {
        mainBearer = main
        isEnhanced = true
    }
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
            didSend(writer.bytes)
            return true
        case .wouldBlock:
            waitForRoom()
            return false
        case .failed(let error) where error.number == .notConnected && !isToldWritable:
            waitForEncryption()
            return false
        case .failed(let error):
            // The kernel tells the reason once, so it is not asked a second time.
            socketEnded(error)
            return false
        }
    }

    /// Sends what is to be sent until nothing is left or the socket is full.
    func flush() {
        // Ends of writes are told in the midst of the engine's work; what follows from them is queued here.
        while let write = subscribers.nextWrite(on: self) { engine.submit(write) }
        while !isSocketFull, !isEnding, let outgoing = engine.nextToSend(into: &writer) {
            switch socket.send(writer.bytes.span.bytes) {
            case .sent:
                didSend(writer.bytes)
                engine.didSend(outgoing, writer)
                switch outgoing {
                case .response: didRespond()
                case .indication where waitingServiceChanged?.isWritten == true: waitingServiceChanged = nil
                default: break
                }
            case .wouldBlock: waitForRoom()
            case .failed(let error) where error.number == .notConnected && !isToldWritable: waitForEncryption()
            case .failed(let error): return socketEnded(error)
            }
        }
        setTimers()
        tellWhenQuiet()
    }

    /// Begins nothing from now on, and calls `whenQuiet` when nothing waits for the peer's answer.
    ///
    /// The kernel drops what arrives while it encrypts a link at this side's wish, so no answer may be outstanding then.
    func hold(whenQuiet: @escaping () -> Void) {
        engine.isHeld = true
        isEncryptionWatched = true
        self.whenQuiet = whenQuiet
        tellWhenQuiet()
    }

    private func tellWhenQuiet() {
        guard let whenQuiet, engine.requestInFlight == nil, engine.indicationInFlight == nil else { return }
        self.whenQuiet = nil
        whenQuiet()
    }

    /// Goes on with what waits, once the link is encrypted or is not to be.
    func release() {
        whenQuiet = nil
        engine.isHeld = false
        isEncryptionWatched = false
        flush()
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

    /// While the kernel encrypts the link it refuses to send; it tells when the socket is writable again, or that the
    /// link has ended. When the peer refuses to pair it may tell neither, so that it is given the time a pairing has
    /// (Core Vol 3 Part H §3.4).
    private func waitForEncryption() {
        waitForRoom()
        guard encryptionTimer == nil, !isEncryptionWatched else { return }
        let timer = loop.makeTimer(onEncryptionTimeOut)
        timer.set(after: .seconds(30))
        encryptionTimer = timer
    }

    /// Ends the bearer because the link was not encrypted in time.
    func encryptionTimedOut() {
        close(
            BluetoothError(
                .disconnected, .init("encrypt the link", peer: peer), "The link was not encrypted within 30 s.",
                isRetryable: true, disconnectReason: .authentication))
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

    private func didSend(_ pdu: [UInt8]) {
        trace?.sent(pdu.span.bytes)
        log.trace("ATT → \(AttributeProtocol.description(of: pdu.span.bytes))", metadata: ["peer": "\(peer)"])
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
            encryptionTimer = nil
            isToldWritable = true
            defer { isToldWritable = false }
            flush()
            payServiceChanged()
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
        trace?.received(pdu)
        log.trace("ATT ← \(AttributeProtocol.description(of: pdu))", metadata: ["peer": "\(peer)"])
        guard let opcode = ATTOpcode(of: pdu) else { return }
        if opcode == .handleValueConfirmation {
            engine.receiveConfirmation()
            if untoldChange != nil {
                // What follows the one that was confirmed makes room.
                flush()
                tellOfUntoldChange()
            }
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
                subscribers.deliver(value, of: handle, as: .notification)
            case .handleValueIndication(let handle, let value):
                if handle == home.serviceChanged { home.receiveServiceChanged(value) }
                if home.serviceChanged == nil, home.earlyIndications.count < Self.earlyIndicationLimit {
                    home.earlyIndications.insert(handle)
                }
                if handle != home.serviceChanged || subscribers.contains(handle) {
                    subscribers.deliver(value, of: handle, as: .indication)
                }
                engine.oweConfirmation()
            case .multipleHandleValueNotification(let list):
                var list = list
                while let entry = list.next() {
                    subscribers.deliver(entry.value, of: entry.handle, as: .notification)
                }
            case .unknown: log.debug("ignored unknown PDU \(opcode)", metadata: ["peer": "\(peer)"])
            default:
                if !engine.receive(pdu) { closeForWrongAnswer(opcode) }
            }
        } catch {
            log.debug("\(error)", metadata: ["peer": "\(peer)"])
            if opcode.type == .response, !engine.receiveMalformedAnswer(error) { closeForWrongAnswer(opcode) }
        }
    }

    /// Takes the range that changed; one that makes no sense stands for everything (Core Vol 3 Part G §7.1).
    private func receiveServiceChanged(_ value: RawSpan) {
        var reader = ByteReader(value)
        let start = AttributeHandle((try? reader.readUInt16()) ?? 0)
        let range = AttributeHandleRange(start: start, end: AttributeHandle((try? reader.readUInt16()) ?? 0))
        onServicesChanged?(range.isValid ? range : .all)
    }

    /// Which answer belongs to which request cannot be told any more.
    private func closeForWrongAnswer(_ opcode: ATTOpcode) {
        // The answer to what was asked is most likely still to come.
        close(
            BluetoothError(
                .protocolViolation, .init("exchange attributes", peer: peer),
                "The peer answered a request that was not made (\(opcode)); the link is closed.",
                disconnectReason: .protocolViolation),
            isResponseDue: true)
    }
}

// MARK: - The end

extension ATTBearer {
    /// Takes in what arrived before the socket's end, which is still good, and closes.
    private func socketEnded(_ error: KernelError) {
        guard !isEnding else { return }
        isEnding = true
        while !isClosed, receiveOne() {}
        guard let reasonOfEnd else { return close(.disconnected(peer, error)) }
        if let reason = reasonOfEnd(error) { close(reason) }
    }

    /// Closes the socket and ends everything that waits, for the given reason. Only the first reason counts.
    func close(_ reason: BluetoothError) { close(reason, isResponseDue: false) }

    private func close(_ reason: BluetoothError, isResponseDue: Bool) {
        guard closeReason == nil else { return }
        closeReason = reason
        var outstanding = outstandingAtEnd
        if isResponseDue { outstanding.isResponseDue = true }
        engine.close()
        end(outstanding)
    }

    /// Ends the bearer because an answer is 30 s late (Core Vol 3 Part F §3.3.3).
    func timeOut() {
        guard closeReason == nil else { return }
        closeReason = BluetoothError(
            .disconnected, .init("exchange attributes", peer: peer),
            "The peer did not answer within \(AttributeProtocol.transactionTimeout.inSeconds); the link is closed.",
            isRetryable: true, disconnectReason: .attributeTimeout)
        let outstanding = outstandingAtEnd
        engine.timeOut()
        end(outstanding)
    }

    /// What the two sides still owe each other.
    private var outstandingAtEnd: OutstandingTransactions {
        var outstanding = engine.outstandingAtEnd()
        if server.isWaitingForProgram || server.preparedWriteCount > 0 { outstanding.isPeerWaiting = true }
        return outstanding
    }

    private func end(_ outstanding: OutstandingTransactions) {
        requestTimer.cancel()
        indicationTimer.cancel()
        encryptionTimer = nil
        whenQuiet = nil
        if let drain, !isEnding, !outstanding.isEmpty {
            drain.value.begin(socket, outstanding)
        } else {
            socket.close()
        }
        guard let closeReason else { return }
        ownSubscribers.finish(closeReason)
        onEnd(closeReason)
    }
}
