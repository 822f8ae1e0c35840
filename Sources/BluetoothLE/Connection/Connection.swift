import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT
import Logging

/// Which side of a link this is (Core Vol 3 Part C §2.2.2).
public enum ConnectionRole: Hashable, Sendable {
    /// This side made the link, to a device that advertised.
    case central
    /// The device made the link, to what this machine advertised.
    case peripheral
}

/// A link to a device with its attribute bearer.
///
/// Every call ends with a value or a ``BluetoothError``: the peer's answer, the time limit, the task's cancellation, or
/// the end of the link, whichever comes first. Calls may be made at the same time from several tasks; requests are sent
/// one after the other, as the Attribute Protocol demands. The link is closed by ``disconnect()`` or when the last
/// reference goes.
public actor Connection: LoopActor {
    /// The loop the connection lives on; a task that prefers it as its executor saves two thread switches a call.
    public nonisolated let loop: EventLoop
    /// The device at the other end.
    public nonisolated let peer: BluetoothAddress
    /// This side's role on the link; either side may be GATT client and server, whatever its role.
    public nonisolated let role: ConnectionRole

    let log: Logger
    /// What the peer finds here when it is a client as well.
    let localServer: LocalServer
    let receiveMTU: UInt16
    private let trace: AdapterTrace?
    private var linkTrace: LinkTrace?
    /// How the peer was reached: from which adapter of which kernel.
    private(set) var route: (adapter: BluetoothAddress, kernel: any BluetoothKernel)?
    private var opening: Promise<Void, BluetoothError>?
    /// Whether the kernel may be about to end the link, which another connection of this program has left to it.
    private(set) var isPrecarious = false
    private var socket: (any L2CAPSocket)?
    private var establishedBearer: ATTBearer?
    /// Gets the socket when answers are outstanding at the end; nil where no adapter has made the link.
    private var drain: LoopBound<BearerDrain>?
    /// The bearers beside the fixed channel's, oldest first. See Connection+EnhancedBearers.
    var enhancedBearers: [EnhancedBearer] = []
    var nextBearerID: UInt64 = 0
    /// Follows the link at the controller; nil where no adapter has made it. See Connection+Link.
    private(set) var attachment: LinkAttachment?
    /// Whose link it is; nil where no adapter has made it, and after the end.
    private(set) var adapter: AdapterSession?
    /// What is known of the peer's database; see Connection+Caching.
    var knownDatabase: KnownDatabase? {
        get { knownDatabaseStorage?.value }
        set {
            if let knownDatabaseStorage, let newValue {
                knownDatabaseStorage.value = newValue
            } else {
                knownDatabaseStorage = newValue.map { KnownDatabase.Storage($0) }
            }
        }
    }
    private var knownDatabaseStorage: KnownDatabase.Storage?
    /// Where the peer's database is remembered.
    let cache: ConnectionCache?
    /// The last change of what is remembered, which the next waits for.
    var remembering: Task<Void, Never>?
    /// The bonds of the adapter; nil where no adapter has made the link. See Connection+Bonds.
    let bonds: LoopBound<BondKeeper>?
    /// The pairings of the adapter; nil where no adapter has made the link, and after the end.
    private(set) var pairings: LoopBound<Pairings>?
    /// Whether what is kept of a bonded client waits for the link to be encrypted.
    var awaitsRestoring = false
    /// Whether the first encryption of the link, with the key of a bond from before, is that bond's first use.
    var isReturn = false
    /// Subscriptions that a bonded client has brought along, of which the program has not been told yet.
    var untoldSubscriptions: Set<AttributeHandle> = []
    /// Whether the link has been seen to be encrypted.
    var wasEncrypted = false
    /// Who the peer was at the end of the link.
    private var lastIdentity: BluetoothAddress?
    /// Whether that was to forget it, which need not be done twice.
    var isForgotten = false
    /// What the peer asks of the program; nil until it asks for something. See Connection+LocalServer.
    var peerRequests: PeerRequests?
    /// Who keeps the connection, and wants to know when it has ended.
    private var onEnd: (@Sendable (Connection) -> Void)?
    /// Whether the link did not take a value in time, and perhaps still takes none; see Broadcasting.
    var isBehind = false
    /// What is done where the peer wants a better protected link.
    let securityPolicy: SecurityPolicy
    /// The raising of the link's protection that is going on; see Connection+Security.
    var securityRaise: SecurityRaise?
    var nextSecurityRaise: UInt64 = 0
    /// How often the link's protection was raised.
    var securityChangeCount: UInt64 = 0
    /// How the last pairing that was not this side's came to nothing.
    var lastPairingFailure: PairingFailure?
    /// What the kernel has told of the key this link's last pairing made, and who waits for that.
    var madeKey: MadeKey?
    var madeKeyWaiters = WaiterList<MadeKey, BluetoothError>()
    private var end: BluetoothError?
    private var endWaiters = WaiterList<BluetoothError, BluetoothError>()

    init(
        to peer: BluetoothAddress, role: ConnectionRole = .central, server: LocalServer,
        cache: ConnectionCache? = nil, bonds: LoopBound<BondKeeper>? = nil, pairings: LoopBound<Pairings>? = nil,
        receiveMTU: UInt16, securityPolicy: SecurityPolicy = .automatic, on loop: EventLoop, log: Logger,
        trace: AdapterTrace? = nil
    ) {
        self.bonds = bonds
        self.pairings = pairings
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

    init(
        to peer: BluetoothAddress, database: AttributeDatabase, receiveMTU: UInt16, on loop: EventLoop, log: Logger
    ) {
        self.init(
            to: peer, role: .peripheral, server: LocalServer(database), receiveMTU: receiveMTU, on: loop, log: log)
    }

    deinit {
        localServer.remove(ObjectIdentifier(self))
    }

    // MARK: Opening

    /// Connects the attribute channel; returns when the link is up.
    func open(
        from adapter: AdapterSession, on kernel: any BluetoothKernel, options: L2CAPOptions, isPrecarious: Bool = false,
        timeout: Duration?
    ) async throws(BluetoothError) {
        self.isPrecarious = isPrecarious
        let operation = BluetoothError.Operation("connect", peer: peer)
        let call = Promise<Void, BluetoothError>()
        opening = call
        self.adapter = adapter
        let address = adapter.information.address
        route = (address, kernel)
        let drain = LoopBound(BearerDrain(of: peer, at: adapter.controller.value), on: loop)
        self.drain = drain
        do {
            socket = try kernel.connectL2CAP(
                to: peer, channel: .attribute, from: address, options: options, handler(drain))
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
    func adopt(_ connect: (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket) throws(KernelError) {
        socket = try connect { [weak self] event in self?.assumeIsolated(with: event) { $0.handle($1) } }
        establish()
    }

    /// Takes over the attribute channel of a link that the peer has made; says who takes its events.
    ///
    /// - Parameter onEnd: called on the loop when the link has ended.
    func accept(
        _ socket: any L2CAPSocket, by adapter: AdapterSession, of kernel: any BluetoothKernel,
        onEnd: @escaping @Sendable (Connection) -> Void
    ) -> SocketHandler {
        self.adapter = adapter
        self.onEnd = onEnd
        route = (adapter.information.address, kernel)
        self.socket = socket
        let drain = LoopBound(BearerDrain(of: peer, at: adapter.controller.value), on: loop)
        self.drain = drain
        establish()
        attach()
        return handler(drain)
    }

    /// Says who keeps the connection from now on; `onEnd` is called on the loop when the link has ended.
    func keep(_ onEnd: @escaping @Sendable (Connection) -> Void) { self.onEnd = onEnd }

    /// Takes the socket's events, and hands them on once the connection is no more.
    private func handler(_ drain: LoopBound<BearerDrain>) -> SocketHandler {
        { [weak self] event in
            guard let self else { return drain.value.handle(event) }
            assumeIsolated(with: event) { $0.handle($1) }
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
            return assumeIsolated { $0.reasonOfEnd(error) }
        }
        guard let handle = try? socket?.connectionHandle() else { return }
        attachment = adapter.controller.value.attach(handle) { [weak self] in
            self?.assumeIsolated { $0.linkEncrypted() }
        }
    }

    private func establish() {
        guard let socket else { return }
        linkTrace = trace?.link(over: socket, isCentral: role == .central)
        log.debug("link up", metadata: ["peer": "\(peer)"])
        establishedBearer = makeBearer(
            socket, trace: linkTrace?.attributeChannel, drain: drain,
            onTimeOut: { [weak self] timer in self?.assumeIsolated { $0.establishedBearer?.timedOut(timer) } },
            onEnd: { [weak self] reason in self?.assumeIsolated { $0.finish(reason) } })
        establishedBearer?.onServicesChanged = { [weak self] range in
            self?.assumeIsolated { $0.servicesChanged(in: range) }
        }
        establishedBearer?.onPeerRequest = { [weak self] event in
            self?.assumeIsolated(with: event) { $0.take($1, from: nil) }
        }
        localServer.add(self)
        pairings?.value.mayConcern(addresses)
        awaitClient()
    }

    func makeBearer(
        _ socket: any L2CAPSocket, trace: ChannelTrace? = nil, drain: LoopBound<BearerDrain>? = nil,
        enhancing mainBearer: ATTBearer? = nil, onTimeOut: @escaping @Sendable (BearerTimer) -> Void,
        onEnd: @escaping @Sendable (BluetoothError) -> Void
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
            if event == .writable, !encryptionMayBeOver() { return }
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
        keepClient()
        let reason = explainingSecurity(reason)
        end = reason
        endSecurityRaise(reason)
        pairings?.value.isOver(addresses)
        (adapter, pairings) = (nil, nil)
        opening?.fail(reason)
        opening = nil
        endEnhancedBearers(reason)
        establishedBearer?.close(reason)
        knownDatabase?.finish(reason)
        endPeerRequests(reason)
        localServer.remove(ObjectIdentifier(self))
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
        onEnd?(self)
        onEnd = nil
        log.debug("link ended: \(reason.message)", metadata: ["peer": "\(peer)"])
    }

    /// Ends the link. Calls under way fail with ``BluetoothError/Code/disconnected``, streams end with it.
    ///
    /// The kernel drops the link itself two seconds after its last channel is closed. As long as a
    /// ``ConnectionOrientedChannel`` keeps it, an answer that is outstanding now keeps the device `.busy` for
    /// ``Adapter/connect(to:options:)-(BluetoothAddress,_)``.
    public func disconnect() {
        finish(
            BluetoothError(
                .disconnected, .init("disconnect", peer: peer), DisconnectReason.local.sentence,
                disconnectReason: .local))
    }

    /// Why the link ended; nil while it has not.
    var endReason: BluetoothError? { end }

    /// Whether the link is up.
    public var isConnected: Bool { establishedBearer != nil && end == nil }

    /// Waits for the end of the link and tells why it ended; a cancelled task is told so instead.
    public func closed() async -> BluetoothError {
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

    // MARK: Facts

    /// The address the kernel knows the peer by now: after pairing its identity.
    var socketPeer: BluetoothAddress { socket?.peer ?? lastIdentity ?? peer }

    /// Who the peer is, as far as the kernel can tell: ``peer``, or what pairing has told of a device that came with an
    /// address that changes.
    public var identity: BluetoothAddress { socketPeer }

    /// The ATT_MTU in force, 23 to 517 bytes (Core Vol 3 Part F §3.2.8).
    public var maximumTransmissionUnit: Int { establishedBearer?.mtu ?? AttributeProtocol.defaultMTU }

    /// The longest value a Write Command or a single Write Request carries: ATT_MTU − 3 bytes, and never more than the
    /// 512 bytes a value can have (Core Vol 3 Part F §3.2.9), beyond which a peer drops it.
    public var maximumCommandLength: Int {
        min(maximumTransmissionUnit - 3, AttributeProtocol.maximumAttributeValueLength)
    }

    /// How many values the peer notified that nobody had subscribed to.
    public var unwantedValueCount: Int { establishedBearer?.subscribers.unwantedCount ?? 0 }

    /// The attribute channel's socket.
    var attributeSocket: (any L2CAPSocket)? { socket }

    /// The link's protection now (`getsockopt(BT_SECURITY)`): how far it is encrypted, and with how long a key.
    ///
    /// Needs no privilege.
    /// - Throws: `.disconnected` after the end.
    public func security() throws(BluetoothError) -> LinkSecurity {
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
