import BluetoothATT
import BluetoothGATT
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Logging

/// The links that centrals make: listens while services or connectable advertising are active, and delivers the links
/// to the program if it accepts them. Links that the program has not accepted are served and retained here.
// Holds more than ten variables: what listening depends on, and the two that take its links: the program or this object.
final class IncomingLinks {
    private let mark: ComponentCount.Mark
    /// The maximum number of unaccepted links; further ones are closed at once.
    static let limit = 32

    private let maker: LinkMaker
    private let server: LocalServer
    private let registry: LinkRegistry
    private let pairings: Pairings
    private let loop: EventLoop
    private let log: Logger
    /// The listener for unaccepted links. The kernel prefers the program's own listener, which is newer.
    private var listener: (any HostChannelListener)?
    /// The program's accepted links; nil while it accepts none.
    private(set) var accepted: AcceptedLinks? {
        didSet { useMayHaveChanged() }
    }
    private let unclaimedConnections = KeptConnections()
    /// Whether an advertising set is connectable.
    var isAdvertised = false
    private var isClosed = false

    init(
        making maker: LinkMaker, _ server: LocalServer, _ registry: LinkRegistry, _ pairings: Pairings,
        on loop: EventLoop, log: Logger
    ) {
        mark = loop.components.mark("IncomingLinks")
        self.maker = maker
        self.server = server
        self.registry = registry
        self.pairings = pairings
        self.loop = loop
        self.log = log
    }

    private var channels: any HostChannels { maker.environment.channels.host }

    /// The links that the program has not accepted, oldest first.
    var unclaimed: [Connection] { unclaimedConnections.all }

    /// Whether this object listens for links that the program does not accept.
    var isServing: Bool { listener != nil }

    // MARK: Accepting

    /// Begins to accept links for the program, starting with the unaccepted ones.
    func accept(
        _ options: IncomingConnectionOptions, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> AcceptedLinks {
        if let last = accepted, !last.listener.isListening { stopAccepting(last) }
        guard accepted == nil else {
            throw BluetoothError(
                .busy, operation, "This program already accepts the connections of this adapter.",
                remedy: "Use only one loop, or end the other one first.")
        }
        if listener == nil { reportOtherListener() }
        let links = AcceptedLinks(options, operation, on: loop)
        // Before the first link arrives, so that it can have enhanced bearers.
        if options.enhancedBearers > 0 { try listenForEnhancedBearers(links.listener, options, operation) }
        try links.listener.listen(.attribute, by: channels, options.socketOptions, operation) {
            [weak self, weak links] channel in
            guard let self, let links else { return nil }
            return take(channel, for: links, options)
        }
        let bound = LoopBound((WeakReference(to: self), WeakReference(to: links)), on: loop)
        links.listener.whenEnded {
            let (incoming, links) = bound.value
            if let links = links.object { incoming.object?.stopAccepting(links) }
        }
        server.reportFeatures(options.enhancedBearers > 0 ? .enhancedBearers : [])
        accepted = links
        claim(for: links)
        return links
    }

    private func stopAccepting(_ links: AcceptedLinks) {
        guard let accepted, accepted === links else { return }
        self.accepted = nil
        server.reportFeatures([])
        offersChanged()
    }

    /// Delivers the unaccepted links to the program.
    private func claim(for links: AcceptedLinks) {
        for connection in unclaimedConnections.takeAll() {
            connection.core.value.keeper = links.kept
            links.add(connection)
        }
    }

    // MARK: Serving

    /// Starts or stops listening: on while services are published or advertising is connectable, unless the program
    /// itself accepts links. Without services only if no other program listens: the newest listener gets the links, and
    /// would take them from those that have some.
    func offersChanged() {
        defer { useMayHaveChanged() }
        guard !isClosed, server.isPublishing || isAdvertised else { return stopServing() }
        guard listener == nil, accepted == nil else { return }
        guard server.isPublishing || !channels.hasOtherListener else {
            return log.notice("incoming connections are left to another program that serves on this adapter")
        }
        reportOtherListener()
        let options = IncomingConnectionOptions()
        do {
            listener = try channels.listen(
                .attribute, options.socketOptions, .init("serve connections", adapter: maker.environment.adapterName)
            ) { [weak self] channel in self?.serve(channel, options) }
        } catch {
            // Not fatal: published services are also served on outgoing connections.
            log.warning("incoming connections are not served: \(error)")
        }
    }

    private func useMayHaveChanged() {
        let unaccepted: Pairings.Incoming = listener == nil ? .none : server.isPublishing ? .served : .advertised
        pairings.setIncoming(accepted != nil ? .accepted : unaccepted)
    }

    /// Reports that the links of another program go to this one, or to whichever begins last.
    private func reportOtherListener() {
        guard channels.hasOtherListener else { return }
        log.notice("another program serves on this adapter too: links go to the program that started last")
    }

    /// Stops listening; links stay up.
    private func stopServing() {
        guard let listener else { return }
        self.listener = nil
        listener.close()
    }

    /// Stops listening and ends the unaccepted links.
    func endServing() {
        stopServing()
        useMayHaveChanged()
        for connection in unclaimedConnections.takeAll() { connection.disconnectNow() }
    }

    /// Ends all listening when the adapter is closed.
    func close(_ reason: BluetoothError) {
        isClosed = true
        endServing()
        accepted?.listener.end(reason)
    }

    private func serve(_ channel: any HostChannel, _ options: IncomingConnectionOptions) -> (any ChannelReceiver)? {
        // A link may have been pending when the program began to accept links.
        guard accepted != nil || unclaimed.count < Self.limit else {
            log.warning(
                "closed a link: \(Self.limit) incoming connections are not accepted yet",
                metadata: ["peer": "\(channel.peer)"])
            return nil
        }
        return take(channel, for: accepted, options)
    }

    // MARK: Channels

    /// Makes a connection of an incoming channel for the program, or, if that accepts none, retains it here; it is released
    /// when its link has ended.
    private func take(
        _ channel: any HostChannel, for links: AcceptedLinks?, _ options: IncomingConnectionOptions
    ) -> any ChannelReceiver {
        let connection = maker.makeConnection(
            to: channel.peer, as: .peripheral, receiveMTU: UInt16(clamping: options.maximumTransmissionUnit),
            options.security)
        let keeper = links?.kept ?? unclaimedConnections
        let receiver = connection.core.value.accept(channel, keptBy: keeper)
        // A link that has already ended would stay.
        guard connection.isConnectedNow else { return receiver }
        if let links { links.add(connection) } else { keeper.add(connection) }
        return receiver
    }

    /// Listens for enhanced bearers of any link, whichever side made the link.
    private func listenForEnhancedBearers(
        _ listener: Listener<Connection>, _ options: IncomingConnectionOptions, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        try listener.listen(
            .enhancedBearer, by: channels,
            .enhancedBearer(receiveMTU: UInt16(clamping: options.maximumTransmissionUnit)), operation
        ) { [registry] channel in
            // The newest link to a device is the one that is up; see ``LinkRegistry``.
            let link = registry.all.last {
                $0.enhancedBearers.takes(channel, $0, atMost: options.enhancedBearers)
            }
            return link.flatMap { $0.enhancedBearers.accept(channel, $0) }
        }
    }
}
