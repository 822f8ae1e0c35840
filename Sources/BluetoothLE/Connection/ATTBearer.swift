import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT
import KernelHost
import Logging

/// An ATT bearer over a socket: the one place where PDUs are sent and received.
///
/// The rules are those of ``ATTBearerCore``; here are the socket, the timers and the trace. It lives on the actor of its
/// connection, which feeds it the socket's events.
final class ATTBearer {
    let socket: any L2CAPSocket
    private let loop: EventLoop
    let log: Logger
    let peer: BluetoothAddress
    private let trace: ChannelTrace?
    /// Gets the socket when answers are outstanding at the end; nil closes it in any case.
    private let drain: LoopBound<BearerDrain>?
    private(set) var core: ATTBearerCore
    private var writer = ByteWriter(growingTo: 517)
    private var timers: BearerLoopTimers
    private let onEnd: (BluetoothError) -> Void
    private(set) var closeReason: BluetoothError?
    /// Tells what the end of the socket means, where more is known than the socket says; nil when that comes later, by
    /// ``close(_:)``.
    var reasonOfEnd: ((KernelError) -> BluetoothError?)?
    /// Called when nothing is in flight any more, while nothing is begun.
    private var whenQuiet: (() -> Void)?

    // MARK: The peer as a server

    /// Who subscribes to the peer's values, on whichever bearer of the link.
    var subscribers: SubscriberTable {
        _read { yield home.ownSubscribers }
        _modify { yield &home.ownSubscribers }
    }
    /// The bearer that keeps what all bearers of the link share.
    private var home: ATTBearer { mainBearer ?? self }
    private var ownSubscribers = SubscriberTable()
    /// The fixed channel's bearer, for an enhanced one.
    private weak var mainBearer: ATTBearer?
    /// Where the peer indicates changes of its services, and who is notified.
    var remoteServiceChanged = RemoteServiceChanged()
    var onServicesChanged: ((AttributeHandleRange) -> Void)?
    /// What the peer's server has said it does not know.
    var unsupportedRequests: Set<ATTOpcode> = []

    // MARK: The peer as a client

    private let localServer: LocalServer
    /// Receives what the peer's client did that the program has to know or to answer.
    var onPeerRequest: ((GATTServerEvent) -> Void)?
    /// Called before a request of the peer's client is processed.
    var onRequest: (() -> Void)?
    /// Called when what is known of the peer's client has changed without a request.
    var onClientChanged: (() -> Void)?
    /// Whether the controller has reported that the link is encrypted, which the kernel may take in a little later.
    var isToldEncrypted = false

    /// A bearer over a connected socket; `onTimeOut` is called on the loop when a time limit is over, for
    /// ``timedOut(_:)``, `onEnd` once the bearer has closed, whoever closed it.
    ///
    /// - Parameters:
    ///   - localServer: what the peer finds when it is a client as well.
    ///   - mainBearer: the fixed channel's bearer, for an enhanced one of its link.
    init(
        _ socket: any L2CAPSocket, peer: BluetoothAddress, server localServer: LocalServer, receiveMTU: UInt16,
        loop: EventLoop, log: Logger, trace: ChannelTrace? = nil, drain: LoopBound<BearerDrain>? = nil,
        enhancing mainBearer: ATTBearer? = nil,
        onTimeOut: @escaping (BearerTimer) -> Void, onEnd: @escaping (BluetoothError) -> Void
    ) {
        self.onEnd = onEnd
        self.drain = drain
        self.localServer = localServer
        self.mainBearer = mainBearer
        var server = GATTServer(limits: GATTServer.Limits(receiveMTU: receiveMTU))
        server.asksForAuthorization = true
        core = ATTBearerCore(server: server, isEnhanced: mainBearer != nil)
        self.socket = socket
        self.peer = peer
        self.loop = loop
        self.log = log
        self.trace = trace
        timers = BearerLoopTimers(on: loop, onTimeOut)
    }

    deinit {
        // A connection that nobody holds ends its link like one that is told to.
        guard closeReason == nil, core.sending != .ended, let drain else { return }
        let outstanding = core.outstanding
        guard !outstanding.isEmpty else { return }
        loop.execute { [socket] in drain.value.begin(socket, outstanding) }
    }

    var mtu: Int {
        get { core.mtu }
        set { core.mtu = newValue }
    }

    var isClosed: Bool { closeReason != nil }

    /// How many requests are under way or wait.
    var requestCount: Int { core.requestCount }

    // MARK: Sending

    /// Queues a procedure and sends its first request if it is its turn.
    func submit(_ transaction: any ClientTransaction) {
        core.submit(transaction)
        flush()
    }

    /// Queues a command and sends it if the socket takes it.
    func submit(_ command: any CommandMessage) {
        core.submit(command)
        flush()
    }

    /// Sends a Write Command from where it stands, or returns false when it has to wait for its turn.
    func sendAtOnce(_ value: [UInt8], to handle: AttributeHandle) -> Bool {
        core.encodeCommand(value.span.bytes, to: handle, into: &writer) && send()
    }

    /// Begins nothing from now on, and calls `body` when nothing waits for the peer's answer.
    func quiesce(then body: @escaping () -> Void) {
        whenQuiet = body
        core.quiesce()
        flush()
    }

    /// Goes on with what waits, once the link is encrypted or is not to be.
    func resume() {
        whenQuiet = nil
        core.resume()
        flush()
    }

    /// Does what is to be done until there is nothing left or the socket is full.
    func flush() {
        while let step = core.next(into: &writer) { perform(step) }
    }

    private func perform(_ step: ATTBearerCore.Step) {
        switch step {
        case .send: send()
        case .encodeValue:
            updateSecurity()
            if localServer.withDatabase({ core.encodeValue(database: $0, into: &writer) }) { send() }
        case .end(let ended): ended.operation.end(ended.failure)
        case .clientChanged: onClientChanged?()
        case .setTimer(let timer, let isOn): timers.set(timer, isOn: isOn)
        case .setReading(let isOn): socket.setReading(isOn)
        case .quiet: whenQuiet.take()?()
        case .close(let failure): close(BluetoothError(failure, peer), failure)
        }
    }

    /// Queues the writes of configurations that follow from who subscribes and from the outcome of others.
    func submitConfigurations() {
        // What an enhanced bearer leaves undone at its end is done on the fixed channel's.
        let bearer = isClosed ? home : self
        while let write = subscribers.nextWrite(on: bearer) { bearer.core.submit(write) }
        if bearer !== self { bearer.flush() }
    }

    @discardableResult
    private func send() -> Bool {
        switch socket.send(writer.bytes.span.bytes) {
        case .sent:
            trace?.sent(writer.bytes.span.bytes)
            log.trace(
                "ATT → \(AttributeProtocol.description(of: writer.bytes.span.bytes))", metadata: ["peer": "\(peer)"])
            core.didSend()
            return true
        case .wouldBlock:
            core.socketIsFull()
            socket.notifyWhenWritable()
        case .failed(let error):
            if error.number == .notConnected, core.socketIsNotConnected() {
                socket.notifyWhenWritable()
            } else {
                // The kernel tells the reason once, so it is not asked a second time.
                socketEnded(error)
            }
        }
        return false
    }

    // MARK: Receiving

    /// Takes an event of the connected socket.
    func handle(_ event: SocketEvent) {
        switch event {
        case .readable: receiveOne()
        case .writable:
            core.socketIsWritable()
            flush()
        case .closed(let error): socketEnded(error)
        }
    }

    @discardableResult
    private func receiveOne() -> Bool {
        let outcome = socket.receive { receive($0) }
        flush()
        return outcome == .packet
    }

    private func receive(_ bytes: RawSpan) {
        trace?.received(bytes)
        log.trace("ATT ← \(AttributeProtocol.description(of: bytes))", metadata: ["peer": "\(peer)"])
        if let opcode = ATTOpcode(of: bytes), opcode.isSentByClient, opcode != .handleValueConfirmation {
            return receiveFromClient(bytes)
        }
        do {
            if let pdu = try core.receive(bytes) { deliver(pdu) }
        } catch {
            log.debug("\(error)", metadata: ["peer": "\(peer)"])
        }
    }

    private func deliver(_ pdu: ATTServerPDU) {
        switch pdu {
        case .handleValueNotification(let handle, let value):
            subscribers.deliver(value, of: handle, as: .notification)
        case .handleValueIndication(let handle, let value):
            if let range = home.remoteServiceChanged.receiveIndication(of: handle, value) {
                home.onServicesChanged?(range)
                guard subscribers.contains(handle) else { return }
            }
            subscribers.deliver(value, of: handle, as: .indication)
        case .multipleHandleValueNotification(var list):
            while let entry = list.next() { subscribers.deliver(entry.value, of: entry.handle, as: .notification) }
        default: log.debug("ignored unknown PDU \(pdu.opcode)", metadata: ["peer": "\(peer)"])
        }
    }

    // MARK: The end

    /// A time limit is over.
    func timedOut(_ timer: BearerTimer) {
        core.timedOut(timer)
        flush()
    }

    /// Takes in what arrived before the socket's end, which is still good, and closes.
    private func socketEnded(_ error: KernelError) {
        guard core.sending != .ended else { return }
        core.socketEnded()
        while !isClosed, receiveOne() {}
        guard let reasonOfEnd else { return close(.disconnected(peer, error)) }
        if let reason = reasonOfEnd(error) { close(reason) }
    }

    /// Closes the socket and ends everything that waits, for the given reason. Only the first reason counts.
    func close(_ reason: BluetoothError) { close(reason, nil) }

    private func close(_ reason: BluetoothError, _ failure: ATTBearerCore.Failure?) {
        guard closeReason == nil else { return }
        closeReason = reason
        let hasSocketEnded = core.sending == .ended
        let outstanding = core.close(failure)
        whenQuiet = nil
        flush()
        if let drain, !hasSocketEnded, !outstanding.isEmpty {
            drain.value.begin(socket, outstanding)
        } else {
            socket.close()
        }
        ownSubscribers.finish(reason)
        onEnd(reason)
    }
}

// MARK: - The peer as a client

// Its requests, our answers, notifications and indications.
extension ATTBearer {
    /// What is known of the peer as a client.
    var client: GATTClientState {
        get { core.server.client }
        set { core.server.client = newValue }
    }

    /// Queues a notification or an indication of one of our values, and sends it if it is its turn.
    func submit(_ update: any ValueUpdate, as kind: ClientCharacteristicConfiguration) {
        if kind == .notification { core.notify(update) } else { core.indicate(update) }
        flush()
    }

    /// Continues with what waits for the program.
    func answer(_ answer: ServerAnswer) {
        serve { core.answer(answer, database: &$0) }
        flush()
    }

    /// Reads how the link is protected, where that counts.
    func updateSecurity() {
        guard localServer.isProtected, let security = try? socket.security() else { return }
        core.server.security = BearerSecurity(security)
        guard isToldEncrypted, !core.server.security.isEncrypted else { return }
        // No link is encrypted with a shorter key.
        core.server.security = BearerSecurity(isEncrypted: true, encryptionKeySize: 7, hasLongTermKey: true)
    }

    /// Our own attributes have changed in `range`: the peer's client is sent an indication if it wants to know.
    func localServicesChanged(in range: AttributeHandleRange, _ serviceChanged: AttributeHandle?) {
        localServer.withDatabase { core.databaseChanged(in: range, $0, serviceChanged: serviceChanged) }
        flush()
    }

    /// Our attributes have changed while the peer's client was away: it is sent an indication if it wants to know.
    func indicateMissedChanges() {
        core.indicateServiceChanged(in: .all, at: localServer.serviceChanged)
        flush()
    }

    /// The attributes have changed, for what is prepared to be written on an enhanced bearer.
    func preparedWritesMayBeStale() {
        localServer.withDatabase { core.server.databaseChanged($0) }
    }

    /// Answers the peer's client. Its requests wait in the kernel while the answer to the last cannot be sent.
    private func receiveFromClient(_ bytes: RawSpan) {
        updateSecurity()
        onRequest?()
        serve { core.receive(bytes, database: &$0) }
    }

    /// Lets the core do something with the database and what is known of the client, which is the same on all bearers of
    /// the link, and hands on what the program has to know.
    private func serve(_ body: (inout AttributeDatabase) -> [GATTServerEvent]) {
        if let mainBearer { client = mainBearer.client }
        let events = localServer.withDatabase { body(&$0) }
        mainBearer?.client = client
        for event in events {
            if case .requestOutOfTurn(let opcode) = event {
                log.debug("ignored \(opcode) out of turn", metadata: ["peer": "\(peer)"])
            }
            onPeerRequest?(event)
        }
    }
}

extension BluetoothError {
    /// Why the rules of a bearer demand its end.
    fileprivate init(_ failure: ATTBearerCore.Failure, _ peer: BluetoothAddress) {
        switch failure {
        case .wrongAnswer(let opcode):
            self.init(
                .protocolViolation, .init("exchange attributes", peer: peer),
                "The peer answered a request that was not made (\(opcode)); the link is closed.",
                disconnectReason: .protocolViolation)
        case .unanswered:
            self.init(
                .disconnected, .init("exchange attributes", peer: peer),
                "The peer did not answer within \(AttributeProtocol.transactionTimeout.inSeconds); the link is closed.",
                isRetryable: true, disconnectReason: .attributeTimeout)
        case .notEncrypted:
            self.init(
                .disconnected, .init("encrypt the link", peer: peer), "The link was not encrypted within 30 s.",
                isRetryable: true, disconnectReason: .authentication)
        }
    }
}
