import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT
import KernelHost
import Logging

/// A link to a device with its attribute bearers, which ``Connection`` stands for.
///
/// Owned by its handle, and, while it is up, by the links of its adapter.
final class Link {
    let loop: EventLoop
    /// The device at the other end.
    let peer: BluetoothAddress
    /// This side's role on the link.
    let role: ConnectionRole
    /// What the program holds; nil once it has dropped that, which ends the link.
    weak var connection: Connection?

    let log: Logger
    /// What the peer finds here when it is a client as well.
    let localServer: LocalServer
    let receiveMTU: UInt16
    private let trace: AdapterTrace?
    private var linkTrace: LinkTrace?
    /// What it uses of its adapter; nil where no adapter has made it, and after the end.
    private(set) var adapter: LinkSurroundings?
    /// Kept while the link is up.
    private(set) var session: AdapterSession?
    private var opening: Promise<Void, BluetoothError>?
    /// Whether the kernel may be about to end the link, which another connection of this program has left to it.
    private(set) var isPrecarious = false
    private var socket: (any L2CAPSocket)?
    private var establishedBearer: ATTBearer?
    /// Gets the socket when answers are outstanding at the end; nil where no adapter has made the link.
    private var drain: LoopBound<BearerDrain>?
    /// The bearers beside the fixed channel's; nil until there is one.
    private(set) var enhancedBearersIfAny: EnhancedBearers?
    /// Follows the link at the controller; nil where no adapter has made it. See Link+Parameters.
    private(set) var attachment: LinkAttachment?
    /// The peer's database; nil until it is asked for.
    private(set) var databaseIfAny: PeerDatabase?
    /// Where it is remembered.
    private let cache: ConnectionCache?
    /// What its bond means for it; nil as long as that is nothing.
    private(set) var bondedPeerIfAny: BondedPeer?
    /// Who the peer was at the end of the link.
    private var lastIdentity: BluetoothAddress?
    /// What the peer asks of the program; nil until it asks for something. See Link+LocalServer.
    var peerRequests: PeerRequests?
    /// Who keeps the connection, and wants to know when it has ended.
    private var onEnd: ((Connection) -> Void)?
    /// Whether the link did not take a value in time, and perhaps still takes none; see Broadcasting.
    var isBehind = false
    /// What is done where the peer wants a better protected link.
    let securityPolicy: SecurityPolicy
    /// How well it is protected; nil until that is of interest.
    private(set) var protectionIfAny: LinkProtection?
    private var end: BluetoothError?
    private var endWaiters = WaiterList<BluetoothError, BluetoothError>()

    init(
        to peer: BluetoothAddress, role: ConnectionRole = .central, of session: AdapterSession? = nil,
        in adapter: LinkSurroundings? = nil, server: LocalServer,
        cache: ConnectionCache? = nil, receiveMTU: UInt16, securityPolicy: SecurityPolicy = .automatic,
        on loop: EventLoop, log: Logger, trace: AdapterTrace? = nil
    ) {
        (self.session, self.adapter) = (session, adapter)
        self.securityPolicy = securityPolicy
        self.peer = peer
        self.role = role
        localServer = server
        self.cache = cache
        self.receiveMTU = min(max(receiveMTU, 23), 517)
        self.loop = loop
        self.log = log
        self.trace = trace
    }

    var bonds: BondKeeper? { adapter?.bonds.value }
    var pairings: Pairings? { adapter?.pairings.value }

    var enhancedBearers: EnhancedBearers {
        if let enhancedBearersIfAny { return enhancedBearersIfAny }
        let bearers = EnhancedBearers()
        enhancedBearersIfAny = bearers
        return bearers
    }

    /// Knows no more of the peer's database than a link just made.
    func forgetDatabase() { databaseIfAny = nil }

    var bondedPeer: BondedPeer {
        if let bondedPeerIfAny { return bondedPeerIfAny }
        let peer = BondedPeer()
        bondedPeerIfAny = peer
        return peer
    }

    var database: PeerDatabase {
        if let databaseIfAny { return databaseIfAny }
        let database = PeerDatabase(rememberedIn: cache)
        databaseIfAny = database
        return database
    }

    var protection: LinkProtection {
        if let protectionIfAny { return protectionIfAny }
        let protection = LinkProtection()
        protectionIfAny = protection
        return protection
    }

    // MARK: Opening

    /// Connects the attribute channel; returns when the link is up.
    nonisolated(nonsending) func open(
        options: L2CAPOptions, isPrecarious: Bool = false, timeout: Duration?
    ) async throws(BluetoothError) {
        self.isPrecarious = isPrecarious
        let operation = BluetoothError.Operation("connect", peer: peer)
        let call = Promise<Void, BluetoothError>()
        opening = call
        guard let adapter else { throw .noRoute(operation) }
        do {
            socket = try adapter.kernel.connectL2CAP(
                to: peer, channel: .attribute, from: adapter.address, options: options, handler(makeDrain(adapter)))
        } catch {
            let reason = reason(of: error, otherwise: .connecting(operation, error)) ?? .connecting(operation, error)
            finish(reason)
            throw reason
        }
        do {
            try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            var error = error
            if error.code == .timedOut { error.remedy = BluetoothError.outOfReachRemedy }
            // Closing the socket is what cancels the attempt in the kernel.
            finish(error)
            throw error
        }
    }

    /// The device has answered: the link is not about to end.
    func linkHolds() { isPrecarious = false }

    /// Gives up an attempt that has not been answered, so that another gets its turn.
    func giveWay() {
        giveUp(BluetoothError(.gaveWay, .init("connect", peer: peer), "The attempt has given way to others."))
    }

    /// Gives up an attempt that has not been answered; a link that is up stays.
    func giveUp(_ reason: BluetoothError) {
        guard opening != nil else { return }
        finish(reason.about(.init("connect", peer: peer)))
    }

    /// Takes over a channel that is connected already, such as one of a pair of sockets in a test.
    func adopt(
        _ connect: (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket, for connection: Connection
    ) throws(KernelError) {
        self.connection = connection
        socket = try connect { [weak self] event in self?.handle(event) }
        establish()
    }

    /// Takes over the attribute channel of a link that the peer has made; says who takes its events.
    ///
    /// - Parameter onEnd: called on the loop when the link has ended.
    func accept(
        _ socket: any L2CAPSocket, onEnd: @escaping (Connection) -> Void
    ) -> SocketHandler {
        self.onEnd = onEnd
        self.socket = socket
        let drain = adapter.map { makeDrain($0) }
        establish()
        attach()
        return handler(drain)
    }

    /// Says who keeps the connection from now on; `onEnd` is called on the loop when the link has ended.
    func keep(_ onEnd: @escaping (Connection) -> Void) { self.onEnd = onEnd }

    private func makeDrain(_ adapter: LinkSurroundings) -> LoopBound<BearerDrain> {
        let drain = LoopBound(BearerDrain(of: peer, at: adapter.controller.value), on: loop)
        self.drain = drain
        return drain
    }

    /// Takes the socket's events, and hands them on once the connection is no more.
    private func handler(_ drain: LoopBound<BearerDrain>?) -> SocketHandler {
        { [weak self] event in
            guard let self else { return drain?.value.handle(event) ?? () }
            handle(event)
        }
    }

    /// Begins to follow the link.
    ///
    /// While it is being encrypted, which begins at once where that was asked for, the kernel does not tell its handle;
    /// such a link is followed from when that is done.
    private func attach() {
        guard let adapter, attachment == nil else { return }
        establishedBearer?.reasonOfEnd = { [weak self, peer] error in
            guard let self else { return .disconnected(peer, error) }
            return reasonOfEnd(error)
        }
        guard let handle = try? socket?.connectionHandle() else { return }
        attachment = adapter.controller.value.attach(handle) { [weak self] in
            if let self { bondedPeer.linkIsEncrypted(self) }
        }
    }

    private func establish() {
        guard let socket else { return }
        linkTrace = trace?.link(over: socket, isCentral: role == .central)
        log.debug("link up", metadata: ["peer": "\(peer)"])
        establishedBearer = makeBearer(
            socket, trace: linkTrace?.attributeChannel, drain: drain,
            onTimeOut: { [weak self] timer in self?.establishedBearer?.timedOut(timer) },
            onEnd: { [weak self] reason in self?.finish(reason) })
        establishedBearer?.onServicesChanged = { [weak self] range in
            if let self { database.servicesChanged(in: range, self) }
        }
        establishedBearer?.onPeerRequest = { [weak self] event in
            self?.take(event, from: nil)
        }
        adapter?.registry.value.add(self)
        pairings?.mayConcern(addresses)
        if adapter != nil { bondedPeer.awaitClient(self) }
    }

    func makeBearer(
        _ socket: any L2CAPSocket, trace: ChannelTrace? = nil, drain: LoopBound<BearerDrain>? = nil,
        enhancing mainBearer: ATTBearer? = nil, onTimeOut: @escaping (BearerTimer) -> Void,
        onEnd: @escaping (BluetoothError) -> Void
    ) -> ATTBearer {
        ATTBearer(
            socket, peer: peer, server: localServer, receiveMTU: receiveMTU, loop: loop, log: log, trace: trace,
            drain: drain, enhancing: mainBearer, onTimeOut: onTimeOut, onEnd: onEnd)
    }

    private func handle(_ event: SocketEvent) {
        if end != nil {
            drain?.value.handle(event)
            return
        }
        if let bearer = establishedBearer {
            if attachment == nil, adapter != nil, event == .writable { attach() }
            if event == .writable, protectionIfAny?.encryptionMayBeOver(self) == false { return }
            return bearer.handle(event)
        }
        switch event {
        case .writable:
            establish()
            attach()
            opening?.succeed()
            opening = nil
        case .closed(let error):
            let operation = BluetoothError.Operation("connect", peer: peer)
            if isPrecarious, error.number == .connectionAborted { return finish(.metTheEnd(operation, .kernel(error))) }
            let failure = BluetoothError.connecting(operation, error)
            if let reason = reason(of: error, otherwise: failure) { finish(reason) }
        case .readable: break
        }
    }

    // MARK: The end

    /// Ends the link and everything that waits for it. Only the first reason counts.
    func finish(_ reason: BluetoothError) {
        guard end == nil else { return }
        bondedPeerIfAny?.keep(self)
        let reason = isConnected ? protection.explaining(reason, self) : reason
        end = reason
        protectionIfAny?.end(reason)
        pairings?.isOver(addresses)
        let registry = adapter?.registry
        (adapter, session) = (nil, nil)
        opening?.fail(reason)
        opening = nil
        enhancedBearersIfAny?.end(reason)
        establishedBearer?.close(reason)
        databaseIfAny?.finish(reason)
        endPeerRequests(reason)
        registry?.value.remove(self)
        lastIdentity = socketPeer
        // The bearer has closed it, or has left it to those who wait for the last answers.
        if establishedBearer == nil { socket?.close() }
        socket = nil
        if let attachment {
            attachment.controller.value.linkEnded(attachment.number, reason)
            self.attachment = nil
            establishedBearer?.reasonOfEnd = nil
        }
        linkTrace?.ended(reason)
        linkTrace = nil
        endWaiters.succeedAll(reason)
        if let connection { onEnd?(connection) }
        onEnd = nil
        log.debug("link ended: \(reason.message)", metadata: ["peer": "\(peer)"])
    }

    func disconnect() {
        finish(
            BluetoothError(
                .disconnected, .init("disconnect", peer: peer), DisconnectReason.local.sentence,
                disconnectReason: .local))
    }

    /// The program has let go of the handle.
    func dropped() {
        if connection == nil { disconnect() }
    }

    /// Why the link ended; nil while it has not.
    var endReason: BluetoothError? { end }

    var isConnected: Bool { establishedBearer != nil && end == nil }

    nonisolated(nonsending) func closed() async -> BluetoothError {
        if let end { return end }
        let call = endWaiters.makePromise()
        do {
            return try await call.value(.init("wait for the end", peer: peer), timeout: nil, on: loop)
        } catch {
            return error
        }
    }

    /// The bearer, as long as it is of use.
    func bearer(for operation: BluetoothError.Operation) throws(BluetoothError) -> ATTBearer {
        if let end { throw BluetoothError(.closed, operation, bearerEnd: end) }
        guard let establishedBearer else {
            throw BluetoothError(.disconnected, operation, "The link is not up yet.", isRetryable: true)
        }
        return establishedBearer
    }

    /// The bearer for a request of at most `length` bytes.
    func requestBearer(
        for operation: BluetoothError.Operation, fitting length: Int
    ) throws(BluetoothError) -> ATTBearer {
        let main = try bearer(for: operation)
        return enhancedBearersIfAny?.leastBusy(orRather: main, fitting: length) ?? main
    }

    // MARK: Facts

    /// How many bearers carry attributes.
    var bearerCount: Int {
        isConnected ? 1 + (enhancedBearersIfAny?.open.reduce(0) { count, _ in count + 1 } ?? 0) : 0
    }

    /// The address the kernel knows the peer by now: after pairing its identity.
    var socketPeer: BluetoothAddress { socket?.peer ?? lastIdentity ?? peer }

    var identity: BluetoothAddress { socketPeer }

    var maximumTransmissionUnit: Int { establishedBearer?.mtu ?? AttributeProtocol.defaultMTU }

    var maximumCommandLength: Int {
        min(maximumTransmissionUnit - 3, AttributeProtocol.maximumAttributeValueLength)
    }

    var unwantedValueCount: Int { establishedBearer?.subscribers.unwantedCount ?? 0 }

    /// The attribute channel's socket.
    var attributeSocket: (any L2CAPSocket)? { socket }

    func security() throws(BluetoothError) -> LinkSecurity {
        let operation = BluetoothError.Operation("read the security level", peer: peer)
        _ = try bearer(for: operation)
        do throws(KernelError) {
            guard let socket else { throw KernelError("getsockopt", .notConnected) }
            return try socket.security()
        } catch {
            throw .disconnected(peer, error)
        }
    }
}
