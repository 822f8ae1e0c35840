import BluetoothATT
import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// A link to a device with its attribute bearers: the component behind ``Connection``.
///
/// Owned by its handle, and, while it is established, by the adapter's registry.
// Holds more than ten variables: a link has what it was made with, one state, its owners, and the parts that depend on them.
final class Link {
    private let mark: ComponentCount.Mark
    private enum State {
        /// Before the link is established, with the host's channel and the waiting caller, if any.
        case opening((any HostChannel)?, Promise<Void, BluetoothError>?)
        /// With the host's link, if there is one; see Link+Parameters.
        case up(ATTBearer, (any HostLink)?)
        /// With the reason, the peer's identity, and the former bearer.
        indirect case ended(BluetoothError, identity: BluetoothAddress, ATTBearer?)

        /// The present or former bearer.
        var bearer: ATTBearer? {
            switch self {
            case .opening: nil
            case .up(let bearer, _): bearer
            case .ended(_, _, let bearer): bearer
            }
        }
    }

    let loop: EventLoop
    /// The device at the other end.
    let peer: BluetoothAddress
    /// This side's role on the link.
    let role: ConnectionRole
    let configuration: LinkConfiguration
    /// The program's handle; nil after its release, which ends the link.
    private weak var handle: Connection?
    /// The session, which the link retains, and its services; nil for a link without an adapter, and after the end.
    private var home: (session: any AnyObject & Sendable, adapter: LinkEnvironment)?

    private var state = State.opening(nil, nil)
    /// The number of callers that have the connection besides one: it ends with the last of them.
    var otherCallers = 0
    /// The owner of the connection, which releases it when the link has ended.
    weak var keeper: KeptConnections?
    private var endWaiters = WaiterList<BluetoothError, BluetoothError>()
    /// The components created on first use; see LinkParts.
    private var parts = LinkParts()
    /// How long other links wait for this one.
    private(set) var patience = LinkPatience()

    init(
        to peer: BluetoothAddress, as role: ConnectionRole = .central,
        in home: (session: any AnyObject & Sendable, adapter: LinkEnvironment)? = nil,
        _ configuration: LinkConfiguration, on loop: EventLoop
    ) {
        mark = loop.components.mark("Link")
        self.home = home
        (self.peer, self.role) = (peer, role)
        self.configuration = configuration
        self.loop = loop
    }

    /// The program's handle; nil after its release.
    var connection: Connection? { handle }
    /// The adapter's services; nil for a link without an adapter, and after the end.
    var adapter: LinkEnvironment? { home?.adapter }
    /// The host's link; nil without one.
    var hostLink: (any HostLink)? { if case .up(_, let hostLink) = state { hostLink } else { nil } }
    var log: Logger { configuration.log }
    var localServer: LocalServer { configuration.server }
    var bonds: BondManager? { adapter?.bonds }
    var pairings: Pairings? { adapter?.pairings }

    // MARK: Parts

    var enhancedBearersIfAny: EnhancedBearers? { parts.enhancedBearers }
    var databaseIfAny: PeerDatabase? { parts.database }
    var bondedPeerIfAny: BondedPeer? { parts.bondedPeer }
    var protectionIfAny: LinkProtection? { parts.protection }
    var peerRequestsIfAny: PeerRequests? { parts.peerRequests }
    var eventsIfAny: LinkEvents? { parts.events }
    var settingsRequests: SettingsRequests? {
        get { parts.settingsRequests }
        set { parts.settingsRequests = newValue }
    }

    var enhancedBearers: EnhancedBearers { LinkParts.made(&parts.enhancedBearers) { EnhancedBearers(on: loop) } }
    var bondedPeer: BondedPeer { LinkParts.made(&parts.bondedPeer) { BondedPeer(on: loop) } }
    var protection: LinkProtection { LinkParts.made(&parts.protection) { LinkProtection(on: loop) } }
    var peerRequests: PeerRequests { LinkParts.made(&parts.peerRequests) { PeerRequests(on: loop) } }
    var events: LinkEvents { LinkParts.made(&parts.events) { LinkEvents() } }
    var database: PeerDatabase {
        LinkParts.made(&parts.database) { PeerDatabase(cachedIn: configuration.cache, on: loop) }
    }

    /// Discards the state of the peer's database.
    func discardDatabase() { parts.database = nil }

    /// A stream of the changes that the host reports from now on.
    func changes(
        of hostLink: any HostLink, capacity: Int, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> BoundedStream<LinkChange> {
        try hostLink.follow(operation) { [weak self] change in
            switch change {
            case .success(let change): self?.parts.changes.send(change)
            case .failure(let reason): self?.parts.changes.finish(reason)
            }
        }
        return parts.changes.stream(
            capacity: capacity, policy: .dropOldest, operation, from: loop, keeping: connection)
    }

    // MARK: Opening

    /// Connects the attribute channel; returns when the link is established.
    /// - Throws: also `.preempted`: by others, or as the host must be prepared again.
    nonisolated(nonsending) func open(_ request: LinkRequest) async throws(BluetoothError) {
        let (operation, timeout) = (request.operation, request.remaining(at: loop.now))
        let call = Promise<Void, BluetoothError>()
        state = .opening(nil, call)
        guard let adapter else { throw .noRoute(operation) }
        do {
            let channel = try adapter.channels.host.connect(request, LinkReceiver(self))
            if case .opening = state { state = .opening(channel, call) } else { channel.close() }
        } catch {
            finish(error)
            throw error
        }
        do {
            try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            var error = error
            if error.code == .timedOut { error.remedy = BluetoothError.outOfReachRemedy }
            finish(error)
            throw error
        }
    }

    /// Gives up an attempt without an answer, so that another gets its turn.
    func preempt() {
        giveUp(BluetoothError(.preempted, .init("connect", peer: peer), "The attempt was preempted by others."))
    }

    /// Gives up an attempt without an answer; an established link stays.
    func giveUp(_ reason: BluetoothError) {
        guard case .opening(_, .some) = state else { return }
        finish(reason.about(.init("connect", peer: peer)))
    }

    /// Takes ownership of a connected channel, such as one of a pair of channels in a test.
    func adopt(_ channel: any HostChannel, for connection: Connection) {
        handle = connection
        establish(channel)
    }

    /// Takes ownership of the attribute channel of an incoming connection; returns its receiver.
    ///
    /// - Parameter keeper: releases the connection when the link has ended.
    func accept(_ channel: any HostChannel, keptBy keeper: KeptConnections? = nil) -> any ChannelReceiver {
        self.keeper = keeper
        establish(channel)
        attach()
        return LinkReceiver(self)
    }

    /// Sets the program's handle.
    func setHandle(_ connection: Connection) { handle = connection }

    /// Registers the link with the host.
    ///
    /// While a link is being encrypted, which starts with it on request, its handle may be unknown; such a link is
    /// registered afterwards.
    private func attach() {
        guard adapter != nil, case .up(let bearer, nil) = state else { return }
        state = .up(bearer, bearer.channel.attach())
    }

    private func establish(_ channel: any HostChannel) {
        log.debug("link up", metadata: ["peer": "\(peer)"])
        state = .up(ATTBearer(channel, of: self), nil)
        adapter?.registry.add(self)
        pairings?.resolveHeldQuestions(on: self)
        if adapter != nil { bondedPeer.awaitClient(self) }
    }

    /// Handles a packet of the attribute channel.
    func receive(_ packet: RawSpan) {
        if case .up(let bearer, _) = state { bearer.receive(packet) }
    }

    func channelIsWritable() {
        switch state {
        case .up(let bearer, let hostLink):
            if hostLink == nil { attach() }
            bearer.channelIsWritable()
        // Nil if the host reports an event before it has returned the channel.
        case .opening(let channel, let call):
            guard let channel else { return }
            establish(channel)
            attach()
            call?.succeed()
        case .ended: break
        }
    }

    func channelEnded(_ reason: BluetoothError) {
        switch state {
        case .up(let bearer, _): bearer.channelEnded(reason)
        case .opening: finish(reason)
        case .ended: break
        }
    }

    // MARK: The end

    /// Ends the link and fails all operations with the given reason. Only the first reason counts.
    func finish(_ reason: BluetoothError, whenDown down: Promise<Void, BluetoothError>? = nil) {
        if case .ended = state { return }
        bondedPeerIfAny?.persistClientState(self)
        let reason = explained(reason)
        let former = state
        state = .ended(reason, identity: identity, former.bearer)
        protectionIfAny?.end(reason)
        pairings?.endDialogs(addresses)
        let (registry, pairings) = (adapter?.registry, pairings)
        home = nil
        enhancedBearersIfAny?.end(reason)
        switch former {
        case .opening(let channel, let call):
            call?.fail(reason)
            channel?.close()
        case .up(let bearer, _):
            // The bearer closes its channel, or leaves it to the host until the last responses have arrived.
            bearer.close(reason, whenDown: down)
        case .ended: break
        }
        parts.changes.finish(reason)
        databaseIfAny?.finish(reason)
        peerRequestsIfAny?.end(reason)
        registry?.remove(self)
        pairings?.linkEnded()
        endWaiters.succeedAll(reason)
        if let connection { keeper?.remove(connection) }
        log.debug("link ended: \(reason.message)", metadata: ["peer": "\(peer)"])
    }

    /// The reason of the link's end, with that of the pairing or of the adapter.
    func explained(_ reason: BluetoothError) -> BluetoothError {
        let own = isConnected ? protection.explaining(reason, self) : reason
        return adapter?.explaining(own) ?? own
    }

    /// Whether the caller that leaves the connection is the last.
    func isLeftByLast() -> Bool {
        guard otherCallers > 0 else { return true }
        otherCallers -= 1
        return false
    }

    /// The reason of the end; nil before.
    var endReason: BluetoothError? { if case .ended(let reason, _, _) = state { reason } else { nil } }

    var isConnected: Bool { if case .up = state { true } else { false } }

    /// Whether the attribute channel has ended, perhaps before the reason is known.
    var hasChannelEnded: Bool { state.bearer?.channel.isOpen == false }

    nonisolated(nonsending) func disconnected() async -> BluetoothError {
        if let endReason { return endReason }
        let call = endWaiters.makePromise()
        do {
            return try await call.value(.init("wait for the end", peer: peer), timeout: nil, on: loop)
        } catch {
            return error
        }
    }

    /// The fixed channel's bearer, while the link is up.
    var mainBearer: ATTBearer? { if case .up(let bearer, _) = state { bearer } else { nil } }

    /// Returns the fixed channel's bearer; throws if the link is not established.
    func bearer(for operation: BluetoothError.Operation) throws(BluetoothError) -> ATTBearer {
        switch state {
        case .up(let bearer, _): return bearer
        case .ended(let reason, _, _): throw BluetoothError(.closed, operation, bearerEnd: reason)
        case .opening:
            throw BluetoothError(.disconnected, operation, "The link is not established yet.", isRetryable: true)
        }
    }

    /// Returns the bearer for a request of at most `length` bytes.
    func requestBearer(
        for operation: BluetoothError.Operation, fitting length: Int
    ) throws(BluetoothError) -> ATTBearer {
        let main = try bearer(for: operation)
        return enhancedBearersIfAny?.leastBusy(orRather: main, fitting: length) ?? main
    }

    // MARK: Information

    /// The number of ATT bearers.
    var bearerCount: Int {
        isConnected ? 1 + (enhancedBearersIfAny?.open.reduce(0) { count, _ in count + 1 } ?? 0) : 0
    }

    /// The peer's identity where it has shown that it has it; otherwise the address of the link's beginning.
    var identity: BluetoothAddress {
        if case .ended(_, let identity, _) = state { return identity }
        // The host may use another address for a moment after the pairing.
        return bondedPeerIfAny?.provenIdentity ?? (proves(hostIdentity) ? hostIdentity : peer)
    }

    /// The peer's addresses in pairing questions.
    var addresses: LinkAddresses { LinkAddresses(connected: peer, known: identity) }

    /// The host's present address of the peer: after pairing the identity that the peer claims.
    var hostIdentity: BluetoothAddress {
        switch state {
        case .opening(let channel, _): channel?.peer ?? peer
        case .up(let bearer, _): bearer.channel.peer
        case .ended(_, let identity, _): identity
        }
    }

    var maximumTransmissionUnit: Int { state.bearer?.mtu ?? AttributeProtocol.defaultMTU }

    var maximumCommandLength: Int { ATTValueLimits(mtu: maximumTransmissionUnit).write }

    var unwantedValueCount: Int { state.bearer?.peerServer.subscribers.unwantedCount ?? 0 }

    func security() throws(BluetoothError) -> LinkSecurity {
        try bearer(for: .init("read the security level", peer: peer)).channel.security()
    }

    // MARK: Local values

    /// A value on its way to the peer.
    enum SentValue {
        /// The host has it.
        case atOnce
        case pending(Promise<Void, BluetoothError>)
    }

    /// Begins to send a local value to the peer; nil if the peer has not subscribed.
    func beginSending(
        _ value: [UInt8], of characteristic: AttributeHandle, as kind: ClientCharacteristicConfiguration
    ) -> SentValue? {
        guard let bearer = mainBearer, bearer.client.configurations[characteristic]?.isSuperset(of: kind) == true else {
            bondedPeerIfAny?.valueIsDue(of: characteristic, self)
            return nil
        }
        let isBehind = kind == .notification ? bearer.core.isCongested : bearer.core.isConfirmationDue
        if kind == .notification, !isBehind, bearer.notifyAtOnce(value, of: characteristic) { return .atOnce }
        let operation = BluetoothError.Operation(sending: kind, to: peer, of: characteristic)
        let message = ValueCall(value, of: characteristic, operation, on: bearer)
        if isBehind, patience.isOnTrial {
            patience.missed()
            message.call.fail(.linkIsBehind(operation))
        } else {
            bearer.submit(message, as: kind)
        }
        return .pending(message.call)
    }

    /// Records how a value for all subscribers has ended.
    ///
    /// - Parameters:
    ///   - error: the failure; nil after success.
    ///   - isSpared: whether the others waited less for it than the caller allows.
    func recordDelivery(_ error: BluetoothError?, isSpared: Bool) {
        if error == nil {
            guard patience.took(at: loop.now) else { return }
            log.notice(
                "values wait for this link again; it has missed \(patience.missedCount) values",
                metadata: ["peer": "\(peer)"])
        } else if error?.code == .timedOut {
            patience.missed()
            if !isSpared, isConnected { adapter?.registry.linkStalled(peer) }
        }
    }
}

/// The receiver of a link's attribute channel, which does not retain the link: releasing its last handle ends it.
final class LinkReceiver: ChannelReceiver {
    private(set) weak var link: Link?

    init(_ link: Link) { self.link = link }

    func receive(_ packet: RawSpan) { link?.receive(packet) }
    func channelIsWritable() { link?.channelIsWritable() }
    func channelEnded(_ reason: BluetoothError) { link?.channelEnded(reason) }
}
