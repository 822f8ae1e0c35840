import BluetoothATT
import BluetoothGATT
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Logging

/// The links that centrals make: listens for them while there is something to offer, and hands them to the program where it
/// accepts them. Those that nobody takes are served and kept here.
final class IncomingLinks {
    private let mark: ComponentCount.Mark
    /// The maximum of links that nobody takes; further ones are closed at once.
    static let limit = 32

    private let maker: LinkMaker
    private let server: LocalServer
    private let advertising: AdvertisingSets
    private let registry: LinkRegistry
    private let pairings: Pairings
    private let hostLinks: any HostLinks
    private let loop: EventLoop
    private let log: Logger
    /// Listens while there is something to offer; the program's own listener, which is the newer one, comes before it.
    private var listener: (any HostChannelListener)?
    /// What the program accepts; nil when it does not.
    private(set) var accepted: AcceptedLinks? {
        didSet { pairings.acceptsLinks = accepted != nil }
    }
    /// The links that nobody has taken, oldest first.
    private(set) var unclaimed: [Connection] = []
    private var isClosed = false

    init(
        making maker: LinkMaker, _ server: LocalServer, _ advertising: AdvertisingSets,
        _ registry: LinkRegistry, _ pairings: Pairings, _ hostLinks: any HostLinks,
        on loop: EventLoop, log: Logger
    ) {
        mark = loop.components.mark("IncomingLinks")
        self.maker = maker
        self.server = server
        self.advertising = advertising
        self.registry = registry
        self.pairings = pairings
        self.hostLinks = hostLinks
        self.loop = loop
        self.log = log
    }

    /// Whether links are listened for, whether or not the program accepts them.
    var isServing: Bool { listener != nil }

    // MARK: Accepting

    /// Begins to accept links for the program, beginning with those that nobody has taken.
    func accept(
        _ options: IncomingConnectionOptions, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> AcceptedLinks {
        if let last = accepted, !last.listener.isListening { stopAccepting(last) }
        guard accepted == nil else {
            throw BluetoothError(
                .busy, operation, "This program accepts the connections of this adapter already.",
                remedy: "Use one loop, or end the other first.")
        }
        let links = AcceptedLinks(options, operation, on: loop)
        // Before links come in, so that the first can have them.
        if options.enhancedBearers > 0 {
            do {
                try listenForEnhancedBearers(links.listener, options)
            } catch {
                throw maker.channels.error(error, .listeningForBearers(operation))
            }
        }
        do {
            try links.listener.listen(.attribute, by: maker.channels, options.socket) {
                [weak self, weak links] channel in
                guard let self, let links else { return refuse(channel) }
                return take(channel, for: links, options)
            }
        } catch {
            throw maker.channels.error(error, .listening(operation))
        }
        let bound = LoopBound((WeakReference(to: self), WeakReference(to: links)), on: loop)
        links.listener.whenEnded {
            let (incoming, links) = bound.value
            if let links = links.object { incoming.object?.stopAccepting(links) }
        }
        server.tellFeatures(options.enhancedBearers > 0 ? .enhancedBearers : [])
        // What the controller tells of links is heard from before they come.
        hostLinks.beginFollowing()
        accepted = links
        claim(for: links)
        return links
    }

    private func stopAccepting(_ links: AcceptedLinks) {
        guard let accepted, accepted === links else { return }
        self.accepted = nil
        server.tellFeatures([])
        hostLinks.endFollowing()
        offersChanged()
    }

    private func take(
        _ channel: any HostChannel, for links: AcceptedLinks, _ options: IncomingConnectionOptions
    ) -> ChannelHandler {
        let (connection, handler) = make(channel, options) { [weak links] in links?.remove($0) }
        // One that has ended by now was told of before it was kept.
        if connection.isConnectedNow { links.add(connection) }
        return handler
    }

    /// Hands over the links that nobody has taken so far.
    private func claim(for links: AcceptedLinks) {
        for connection in takeUnclaimed() {
            connection.core.value.keep { [weak links] in links?.remove($0) }
            links.add(connection)
        }
    }

    private func takeUnclaimed() -> [Connection] {
        defer { unclaimed = [] }
        return unclaimed
    }

    // MARK: Serving

    /// Listens while services are published or advertising is connectable, unless the program does so itself.
    func offersChanged() {
        guard !isClosed, server.isPublishing || advertising.takesConnections else { return stopServing() }
        guard listener == nil, accepted == nil else { return }
        let options = IncomingConnectionOptions()
        do {
            listener = try maker.channels.listen(.attribute, options.socket) { [weak self] channel in
                guard let self else { return refuse(channel) }
                return serve(channel, options)
            }
            hostLinks.beginFollowing()
        } catch {
            // Publishing and advertising are good for links made from here as well.
            let operation = maker.operation("serve connections")
            let reason = maker.channels.error(error, .listening(operation))
            log.warning("links that come in are not served: \(reason)")
        }
    }

    /// Stops listening; links stay up.
    private func stopServing() {
        guard let listener else { return }
        self.listener = nil
        listener.close()
        hostLinks.endFollowing()
    }

    /// Ends the links that nobody else holds as well.
    func endServing() {
        stopServing()
        for connection in takeUnclaimed() { connection.disconnectNow() }
    }

    /// The adapter is closed.
    func close(_ reason: BluetoothError) {
        isClosed = true
        endServing()
        accepted?.listener.end(reason)
    }

    private func serve(_ channel: any HostChannel, _ options: IncomingConnectionOptions) -> ChannelHandler {
        // It was on its way when the program began to take links.
        if let accepted { return take(channel, for: accepted, options) }
        guard unclaimed.count < Self.limit else {
            log.warning("closed a link: \(Self.limit) are up that nobody takes", metadata: ["peer": "\(channel.peer)"])
            return refuse(channel)
        }
        let (connection, handler) = make(channel, options) { [weak self] connection in
            self?.unclaimed.removeAll { $0 === connection }
        }
        // One that has ended by now was told of before it was kept.
        if connection.isConnectedNow { unclaimed.append(connection) }
        return handler
    }

    // MARK: Channels

    /// Makes a connection of a link that has come in; `onEnd` is called on the loop when it has ended.
    private func make(
        _ channel: any HostChannel, _ options: IncomingConnectionOptions, onEnd: @escaping (Connection) -> Void
    ) -> (connection: Connection, handler: ChannelHandler) {
        let connection = maker.makeConnection(
            to: channel.peer, as: .peripheral, receiveMTU: options.maximumTransmissionUnit, options.securityPolicy)
        return (connection, connection.core.value.accept(channel, onEnd: onEnd))
    }

    /// Takes further bearers of any link that there is, whoever has made it.
    private func listenForEnhancedBearers(
        _ listener: Listener<Connection>, _ options: IncomingConnectionOptions
    ) throws(ChannelFailure) {
        let socketOptions = L2CAPOptions(
            security: .medium, receiveMTU: min(max(64, options.maximumTransmissionUnit), 517), receiveBuffer: 1 << 20,
            flowControl: .enhancedCreditBased)
        try listener.listen(
            .dynamic(psm: AttributeProtocol.enhancedProtocolServiceMultiplexer), by: maker.channels, socketOptions
        ) { [registry] channel in
            // The newest is the one that is up; see ``LinkRegistry``.
            let link = registry.all.last {
                $0.enhancedBearers.takes(channel, $0, atMost: options.enhancedBearers)
            }
            return link.map { $0.enhancedBearers.accept(channel, $0) } ?? refuse(channel)
        }
    }
}

/// Closes a channel that nobody wants.
func refuse(_ channel: any HostChannel) -> ChannelHandler {
    channel.close()
    return { _ in }
}
