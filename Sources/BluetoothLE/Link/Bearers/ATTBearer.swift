import BluetoothATT
import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// An ATT bearer over a channel: the only sender and receiver of its PDUs.
///
/// The protocol's rules are in ``ATTBearerCore``; this class adds the channel, the timers and the roles of both sides.
/// Confined to the event loop, with its link, which passes it the channel's events.
// Holds more than ten variables: the wire with the core is one of them; the others are what it needs of a channel, a clock and
// a link.
final class ATTBearer {
    private let mark: ComponentCount.Mark
    let channel: any HostChannel
    private var wire: BearerWire
    private var sentWithoutTurn: UInt8 = 0
    private var timers: BearerLoopTimers
    private let record: BearerRecord
    /// The reason of the end; nil while the bearer is open.
    @Boxed private(set) var closeReason: BluetoothError?
    private weak var link: Link?
    /// The number among the link's enhanced bearers; nil for the fixed channel's bearer.
    let id: UInt64?
    /// For an enhanced bearer, the fixed channel's.
    private weak var mainBearer: ATTBearer?
    private var ownPeerServer = PeerServer()
    /// The peer in its role as a client.
    var peerClient: PeerClient

    /// Creates a bearer over a connected channel.
    ///
    /// - Parameters:
    ///   - link: receives the bearer's events; not retained.
    ///   - main: for an enhanced bearer, the fixed channel's bearer and this one's number.
    init(_ channel: any HostChannel, of link: Link, enhancing main: (bearer: ATTBearer, id: UInt64)? = nil) {
        mark = link.loop.components.mark("ATTBearer")
        self.channel = channel
        var server = GATTServer(
            limits: GATTServer.Limits(
                receiveMTU: link.configuration.receiveMTU, minimumEncryptionKeySize: link.minimumKeySize))
        server.asksForAuthorization = true
        wire = BearerWire(ATTBearerCore(server: server, isEnhanced: main != nil))
        timers = BearerLoopTimers(on: link.loop)
        record = BearerRecord(of: link.peer, in: link.log)
        self.link = link
        (id, mainBearer) = (main?.id, main?.bearer)
        peerClient = PeerClient(of: link.localServer)
    }

    deinit {
        // Releasing the last reference to a connection ends its link as disconnecting does.
        guard !isClosed, core.sending != .ended else { return }
        let outstanding = core.outstandingAtEnd()
        guard id == nil, !outstanding.isEmpty else { return }
        timers.loop.execute { [channel] in channel.close(nil, owing: outstanding, whenDown: nil) }
    }

    /// The rules of the protocol.
    private(set) var core: ATTBearerCore {
        _read { yield wire.core }
        _modify { yield &wire.core }
    }

    /// The device at the other end.
    var peer: BluetoothAddress { record.peer }

    /// The peer in its role as a server.
    var peerServer: PeerServer {
        _read { yield home.ownPeerServer }
        _modify { yield &home.ownPeerServer }
    }

    /// The bearer with the state that all bearers of the link share.
    private var home: ATTBearer { id == nil ? self : mainBearer ?? self }

    var mtu: Int {
        get { core.mtu }
        set { core.mtu = newValue }
    }

    var isClosed: Bool { $closeReason.exists }

    var loop: EventLoop { timers.loop }

    /// The number of requests in flight or waiting.
    var requestCount: Int { core.requestCount }

    // MARK: Sending

    /// Enqueues a procedure and sends its first request if none is in flight.
    func submit(_ transaction: any ClientTransaction, reportsBeginning: Bool = false) {
        core.submit(transaction, reportsBeginning: reportsBeginning)
        flush()
    }

    /// Enqueues a command and sends it if the channel is writable.
    func submit(_ command: any CommandMessage) {
        core.submit(command)
        flush()
    }

    /// Sends a Write Command immediately; returns false if it must be queued or is too long.
    func sendAtOnce(_ value: [UInt8], to handle: AttributeHandle) -> Bool {
        value.count <= ATTValueLimits(mtu: mtu).write && wire.encodeCommand(value.span.bytes, to: handle)
            && send()
    }

    /// Performs the core's steps until there are none or the channel is full.
    func flush() {
        while let step = wire.next() { perform(step) }
    }

    private func perform(_ step: ATTBearerCore.Step) {
        switch step {
        case .send: send()
        case .encodeValue:
            updateSecurity()
            if localServer.withDatabase({ wire.encodeValue(database: $0) }) { send() }
        case .end(let ended): ended.operation.end(ended.failure)
        case .began: core.takeBegun()?.began()
        case .clientChanged: link?.clientChanged()
        case .setTimer(let timer, let isOn): timers.set(timer, isOn: isOn, of: self)
        case .setReading(let isOn): channel.setReading(isOn)
        case .close(let failure): close(BluetoothError(failure, peer), failure)
        }
    }

    /// Enqueues the configuration writes that subscribers and completed writes require.
    func submitConfigurations() {
        // The fixed channel's bearer completes the writes that an enhanced bearer leaves at its end.
        let bearer = isClosed ? home : self
        while let write = peerServer.subscribers.nextWrite(on: bearer) { bearer.core.submit(write) }
        if bearer !== self { bearer.flush() }
    }

    @discardableResult
    private func send() -> Bool {
        switch wire.send(on: channel, record) {
        case .sent:
            core.didSend()
            return true
        case .wouldBlock:
            core.channelIsFull()
            channel.notifyWhenWritable()
        case .held: core.channelHolds()
        // The end follows, after what has arrived before.
        case .failed: core.channelEnded()
        }
        return false
    }

    // MARK: Receiving

    /// Handles a packet of the connected channel.
    func receive(_ packet: RawSpan) {
        guard !isClosed else { return }
        take(packet)
        flush()
    }

    func channelIsWritable() {
        core.channelIsWritable()
        flush()
    }

    private func take(_ bytes: RawSpan) {
        record.received(bytes)
        if let opcode = ATTOpcode(of: bytes), opcode.isSentByClient, opcode != .handleValueConfirmation {
            return receiveFromClient(bytes)
        }
        do {
            if let pdu = try core.receive(bytes) { return deliver(pdu) }
        } catch {
            record.note("\(error)")
        }
        if core.consumeStrayResponse() { record.note("dropped a response that matches no request") }
    }

    private func deliver(_ pdu: ATTServerPDU) {
        switch pdu {
        case .handleValueNotification(let handle, let value): deliver(value, of: handle, as: .notification)
        case .handleValueIndication(let handle, let value):
            if let range = peerServer.serviceChanged.receiveIndication(of: handle, value) {
                // The database is invalidated before the subscribers of Service Changed receive it.
                link?.servicesChanged(in: range)
                guard peerServer.subscribers.contains(handle) else { return }
            }
            deliver(value, of: handle, as: .indication)
        case .multipleHandleValueNotification(var list):
            while let entry = list.next() { deliver(entry.value, of: entry.handle, as: .notification) }
        default: record.note("ignored unknown PDU \(pdu.opcode)")
        }
    }

    private func deliver(
        _ value: RawSpan, of handle: AttributeHandle, as kind: ClientCharacteristicConfiguration
    ) {
        guard let (events, bytes) = peerServer.subscribers.deliver(value, of: handle, as: kind) else { return }
        events.send(.value(bytes, of: handle))
    }

    // MARK: The end

    /// Handles the expiry of a time limit.
    func timedOut() {
        core.timedOut()
        flush()
    }

    /// Closes, as the channel has ended.
    func channelEnded(_ reason: BluetoothError) {
        guard !isClosed else { return }
        core.channelEnded()
        close(reason)
    }

    /// Closes the channel and fails all operations with the given reason. Only the first reason counts.
    ///
    /// - Parameter down: succeeds when the link is down.
    func close(
        _ reason: BluetoothError, _ failure: ATTBearerCore.Failure? = nil,
        whenDown down: Promise<Void, BluetoothError>? = nil
    ) {
        guard !isClosed else { return }
        closeReason = reason
        let hasChannelEnded = core.sending == .ended
        let outstanding = core.close(failure)
        flush()
        // The channel of an enhanced bearer is not shared.
        let told = id == nil ? link?.explained(reason) ?? reason : reason
        channel.close(
            told, owing: hasChannelEnded || id != nil ? OutstandingTransactions() : outstanding, whenDown: down)
        ownPeerServer.subscribers.finish(reason)
        link?.bearerHasEnded(self, reason)
    }
}

// MARK: - The peer's client

// The client's requests, and our responses, notifications and indications.
extension ATTBearer {
    /// The state of the peer's client.
    var client: GATTClientState {
        get { core.server.client }
        set { core.server.client = newValue }
    }

    /// Whether a caller on the loop may send its next value without a turn of the loop. After 64 it takes one, so that timers
    /// and other packets have their turn, however fast the channel takes them.
    func maySendWithoutTurn() -> Bool {
        sentWithoutTurn = (sentWithoutTurn + 1) % 64
        return sentWithoutTurn != 0
    }

    /// Sends a notification ahead of the queue; false when it must be queued, which also finds why it must not be sent.
    func notifyAtOnce(_ value: [UInt8], of characteristic: AttributeHandle) -> Bool {
        updateSecurity()
        let isEncoded = localServer.withDatabase {
            wire.encodeNotification(value.span.bytes, of: characteristic, database: $0)
        }
        return isEncoded && send()
    }

    /// Enqueues a notification or indication of a local value, and sends it if possible.
    func submit(_ update: any ValueUpdate, as kind: ClientCharacteristicConfiguration) {
        if kind == .notification { core.notify(update) } else { core.indicate(update) }
        flush()
    }

    /// Continues the request of an event with the program's answer, or with nil refuses the pending request as a whole.
    func answer(_ event: GATTServerEvent?, with result: Result<[UInt8], ATTErrorCode>) {
        report(peerClient.serve(&core, enhancing: mainBearer) { $0.answer(event, with: result, database: &$1) })
        flush()
    }

    /// Updates the link's security in the server, if any attribute requires security.
    func updateSecurity() {
        guard localServer.isProtected, let security = link?.clientSecurity else { return }
        core.server.security = security
    }

    /// Indicates Service Changed for a change of the local attributes, if the peer's client has subscribed.
    func localServicesChanged(in range: AttributeHandleRange, _ serviceChanged: AttributeHandle?) {
        localServer.withDatabase { core.databaseChanged(in: range, $0, serviceChanged: serviceChanged) }
        flush()
    }

    /// Indicates Service Changed for changes during the client's absence, if it has subscribed.
    func indicateMissedChanges() {
        core.indicateServiceChanged(in: .all, at: localServer.serviceChanged)
        flush()
    }

    /// Marks prepared writes on an enhanced bearer as outdated by a change of the attributes.
    func preparedWritesMayBeStale() { localServer.withDatabase { core.server.databaseChanged($0) } }

    private var localServer: LocalServer { peerClient.localServer }

    /// Responds to a request of the peer's client. Further requests wait in the host while the response cannot be sent.
    private func receiveFromClient(_ bytes: RawSpan) {
        updateSecurity()
        if peerClient.isAwaited { link?.clientBecomesActive() }
        report(peerClient.serve(&core, enhancing: mainBearer) { $0.receive(bytes, database: &$1) })
    }

    /// Passes events of the client to the link.
    private func report(_ events: [GATTServerEvent]) {
        for event in events {
            if case .requestOutOfTurn(let opcode) = event { record.note("ignored \(opcode) out of turn") }
            link?.handle(event, from: id)
        }
    }
}

/// The timers of a bearer on the loop.
///
/// Each timer is created when first set: with thousands of links, most never need all.
struct BearerLoopTimers {
    let loop: EventLoop
    private var request: LoopTimer?
    private var indication: LoopTimer?

    init(on loop: EventLoop) { self.loop = loop }

    /// Restarts or cancels a timer.
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
        let loopTimer = existing ?? loop.makeTimer(of: bearer) { $0.timedOut() }
        loopTimer.set(after: AttributeProtocol.transactionTimeout)
        return loopTimer
    }
}
