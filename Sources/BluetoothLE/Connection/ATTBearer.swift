import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// An ATT bearer over a channel: the one place where PDUs are sent and received.
///
/// The rules are those of ``ATTBearerCore``; here are the channel and the timers, and what both sides of the link are to each
/// other. Lives on the loop with its link, which feeds it the channel's events.
final class ATTBearer {
    private let mark: ComponentCount.Mark
    let channel: any HostChannel
    private(set) var core: ATTBearerCore
    private var writer = ByteWriter(growingTo: 517)
    private var timers: BearerLoopTimers
    private let record: BearerRecord
    /// Why it has ended; nil while it has not.
    private(set) var closeReason: BluetoothError?
    private weak var owner: (any BearerOwner)?
    private let membership: Membership
    /// Called when nothing is in flight any more, while nothing is begun.
    private var whenQuiet: (() -> Void)?
    private var ownPeerServer = PeerServer()
    /// The peer as a client.
    var peerClient: PeerClient

    private enum Membership {
        /// The fixed channel's.
        case main
        /// An enhanced one, with its number, besides the fixed channel's.
        case enhanced(UInt64, WeakReference<ATTBearer>)
    }

    /// Which of its link's enhanced bearers it is; nil for the fixed channel's.
    var id: UInt64? { if case .enhanced(let id, _) = membership { id } else { nil } }
    private var mainBearer: ATTBearer? { if case .enhanced(_, let main) = membership { main.object } else { nil } }

    /// A bearer over a connected channel.
    ///
    /// - Parameters:
    ///   - localServer: what the peer finds when it is a client as well.
    ///   - owner: receives the reports; the bearer does not retain it.
    ///   - main: the fixed channel's bearer, and the number of this one, for an enhanced one of its link.
    init(
        _ channel: any HostChannel, peer: BluetoothAddress, server localServer: LocalServer, receiveMTU: UInt16,
        loop: EventLoop, log: Logger, of owner: any BearerOwner,
        enhancing main: (bearer: ATTBearer, id: UInt64)? = nil
    ) {
        mark = loop.components.mark("ATTBearer")
        self.channel = channel
        var server = GATTServer(limits: GATTServer.Limits(receiveMTU: receiveMTU))
        server.asksForAuthorization = true
        core = ATTBearerCore(server: server, isEnhanced: main != nil)
        timers = BearerLoopTimers(on: loop)
        record = BearerRecord(of: peer, in: log)
        self.owner = owner
        membership = if let main { .enhanced(main.id, WeakReference(to: main.bearer)) } else { .main }
        peerClient = PeerClient(of: localServer)
    }

    deinit {
        // A connection that nobody holds ends its link like one that is told to.
        guard !isClosed, core.sending != .ended else { return }
        let outstanding = core.outstanding
        guard id == nil, !outstanding.isEmpty else { return }
        timers.loop.execute { [channel] in channel.close(owing: outstanding) }
    }

    /// The device at the other end.
    var peer: BluetoothAddress { record.peer }

    /// The peer as a server.
    var peerServer: PeerServer {
        _read { yield home.ownPeerServer }
        _modify { yield &home.ownPeerServer }
    }

    /// The bearer that keeps what all bearers of the link share.
    private var home: ATTBearer { mainBearer ?? self }

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

    /// Queues a command and sends it if the channel takes it.
    func submit(_ command: any CommandMessage) {
        core.submit(command)
        flush()
    }

    /// Sends a Write Command from where it stands, or returns false when it has to wait for its turn, or is too long.
    func sendAtOnce(_ value: [UInt8], to handle: AttributeHandle) -> Bool {
        value.count <= ATTValueLimits(mtu: mtu).write && core.encodeCommand(value.span.bytes, to: handle, into: &writer)
            && send()
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

    /// Does what is to be done until there is nothing left or the channel is full.
    func flush() {
        while let step = core.next(into: &writer) { perform(step) }
    }

    private func perform(_ step: ATTBearerCore.Step) {
        switch step {
        case .send: send()
        case .encodeValue:
            updateSecurity()
            if peerClient.encodeValue(&core, into: &writer) { send() }
        case .end(let ended): ended.operation.end(ended.failure)
        case .clientChanged: peerClient.onChange?()
        case .setTimer(let timer, let isOn): timers.set(timer, isOn: isOn, of: self)
        case .setReading(let isOn): channel.setReading(isOn)
        case .quiet: whenQuiet.take()?()
        case .close(let failure): close(BluetoothError(failure, peer), failure)
        }
    }

    /// Queues the writes of configurations that follow from who subscribes and from the outcome of others.
    func submitConfigurations() {
        // What an enhanced bearer leaves undone at its end is done on the fixed channel's.
        let bearer = isClosed ? home : self
        while let write = peerServer.subscribers.nextWrite(on: bearer) { bearer.core.submit(write) }
        if bearer !== self { bearer.flush() }
    }

    @discardableResult
    private func send() -> Bool {
        switch channel.send(writer.bytes.span.bytes) {
        case .sent:
            record.sent(writer.bytes.span.bytes)
            core.didSend()
            return true
        case .wouldBlock:
            core.channelIsFull()
            channel.notifyWhenWritable()
        // The host tells the reason once, so it is not asked a second time.
        case .failed(let error): channelEnded(error)
        }
        return false
    }

    // MARK: Receiving

    /// Takes an event of the connected channel.
    func handle(_ event: ChannelEvent) {
        switch event {
        case .readable: receiveOne()
        case .writable:
            core.channelIsWritable()
            flush()
        case .closed(let error): channelEnded(error)
        }
    }

    @discardableResult
    private func receiveOne() -> Bool {
        let outcome = channel.receive { receive($0) }
        flush()
        return outcome
    }

    private func receive(_ bytes: RawSpan) {
        record.received(bytes)
        if let opcode = ATTOpcode(of: bytes), opcode.isSentByClient, opcode != .handleValueConfirmation {
            return receiveFromClient(bytes)
        }
        do {
            if let pdu = try core.receive(bytes) { deliver(pdu) }
        } catch {
            record.note("\(error)")
        }
    }

    private func deliver(_ pdu: ATTServerPDU) {
        guard let range = peerServer.receive(pdu, record) else { return }
        owner?.servicesChanged(in: range)
        peerServer.deliverServiceChange(pdu)
    }

    // MARK: The end

    /// A time limit is over.
    func timedOut() {
        core.timedOut()
        flush()
    }

    /// Takes in what arrived before the channel's end, which is still good, and closes.
    private func channelEnded(_ error: ChannelFailure) {
        guard core.sending != .ended else { return }
        core.channelEnded()
        while !isClosed, receiveOne() {}
        guard error.kind != .notEncrypted, let owner else {
            return close(channel.error(error, .link(peer)))
        }
        if let reason = owner.reasonOfEnd(error, of: self) { close(reason) }
    }

    /// Closes the channel and ends everything that waits, for the given reason. Only the first reason counts.
    func close(_ reason: BluetoothError) { close(reason, nil) }

    private func close(_ reason: BluetoothError, _ failure: ATTBearerCore.Failure?) {
        guard !isClosed else { return }
        closeReason = reason
        let hasChannelEnded = core.sending == .ended
        let outstanding = core.close(failure)
        whenQuiet = nil
        flush()
        // An enhanced bearer's channel is its own.
        if hasChannelEnded || id != nil { channel.close() } else { channel.close(owing: outstanding) }
        ownPeerServer.subscribers.finish(reason)
        owner?.bearerHasEnded(self, reason)
    }
}

/// The owner of bearers, to which they report.
protocol BearerOwner: AnyObject {
    /// What the end of a bearer's channel means; nil when that comes later, by its ``ATTBearer/close(_:)``.
    func reasonOfEnd(_ failure: ChannelFailure, of bearer: ATTBearer) -> BluetoothError?
    /// A bearer has closed, whoever closed it.
    func bearerHasEnded(_ bearer: ATTBearer, _ reason: BluetoothError)
    /// The peer's client did what the program has to know or to answer.
    func take(_ event: GATTServerEvent, from bearer: UInt64?)
    /// Attributes of the peer's have changed.
    func servicesChanged(in range: AttributeHandleRange)
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
        tell(peerClient.receive(answer, &core, enhancing: mainBearer))
        flush()
    }

    /// Reads how the link is protected, where that counts.
    func updateSecurity() { peerClient.updateSecurity(&core, of: channel) }

    /// Our own attributes have changed in `range`: the peer's client is sent an indication if it wants to know.
    func localServicesChanged(in range: AttributeHandleRange, _ serviceChanged: AttributeHandle?) {
        peerClient.servicesChanged(in: range, serviceChanged, &core)
        flush()
    }

    /// Our attributes have changed while the peer's client was away: it is sent an indication if it wants to know.
    func indicateMissedChanges() {
        peerClient.indicateMissedChanges(&core)
        flush()
    }

    /// The attributes have changed, for what is prepared to be written on an enhanced bearer.
    func preparedWritesMayBeStale() { peerClient.preparedWritesMayBeStale(&core) }

    /// Answers the peer's client. Its requests wait in the host while the answer to the last cannot be sent.
    private func receiveFromClient(_ bytes: RawSpan) {
        updateSecurity()
        peerClient.onRequest?()
        tell(peerClient.receive(bytes, &core, enhancing: mainBearer))
    }

    /// Hands on what the program has to know or to answer.
    private func tell(_ events: [GATTServerEvent]) {
        for event in events {
            if case .requestOutOfTurn(let opcode) = event { record.note("ignored \(opcode) out of turn") }
            owner?.take(event, from: id)
        }
    }
}

/// The time limits of a bearer on the loop.
///
/// Each timer is made when it is first set, as most links never need all: there may be thousands of links.
struct BearerLoopTimers {
    let loop: EventLoop
    private var request: LoopTimer?
    private var indication: LoopTimer?

    init(on loop: EventLoop) { self.loop = loop }

    /// Sets a timer anew, or cancels it.
    mutating func set(_ timer: BearerTimer, isOn: Bool, of bearer: ATTBearer) {
        switch timer {
        case .request: request = changed(request, isOn, bearer)
        case .indication: indication = changed(indication, isOn, bearer)
        }
    }

    private func changed(_ existing: LoopTimer?, _ isOn: Bool, _ bearer: ATTBearer) -> LoopTimer? {
        guard isOn else {
            existing?.cancel()
            return existing
        }
        let loopTimer = existing ?? loop.makeLocalTimer { [weak bearer] in bearer?.timedOut() }
        loopTimer.set(after: AttributeProtocol.transactionTimeout)
        return loopTimer
    }
}

/// Records what goes over a bearer, in the log.
struct BearerRecord {
    /// The device at the other end.
    let peer: BluetoothAddress
    private let log: Logger

    init(of peer: BluetoothAddress, in log: Logger) {
        (self.peer, self.log) = (peer, log)
    }

    // Inlined with what follows, as every packet passes here.
    @inline(__always) func sent(_ pdu: RawSpan) {
        log.trace("ATT → \(AttributeProtocol.description(of: pdu))", metadata: ["peer": "\(peer)"])
    }

    @inline(__always) func received(_ pdu: RawSpan) {
        log.trace("ATT ← \(AttributeProtocol.description(of: pdu))", metadata: ["peer": "\(peer)"])
    }

    /// Logs an oddity.
    func note(_ oddity: @autoclosure () -> String) {
        log.debug("\(oddity())", metadata: ["peer": "\(peer)"])
    }
}
