import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT

extension AdapterSession {
    func incomingConnections(
        _ options: IncomingConnectionOptions = IncomingConnectionOptions()
    ) throws(BluetoothError) -> IncomingConnections {
        try checkUsable()
        let operation = operation("accept connections")
        if let last = acceptance, !last.links.listener.isListening { stopsAccepting(last.links) }
        guard acceptance == nil else {
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
                throw .listeningForEnhancedBearers(operation, error, kernel.environment())
            }
        }
        do {
            try links.listener.listen(.attribute, on: information.address, of: kernel, options.socket) {
                [weak self, weak links] socket in
                guard let self, let links else {
                    socket.close()
                    return { _ in }
                }
                return assumeIsolated { LoopBound($0.take(socket, for: links, options), on: loop) }.value
            }
        } catch {
            throw .listening(operation, error, kernel.environment())
        }
        links.listener.whenEnded { [weak self, weak links] in
            guard let self, let links else { return }
            assumeIsolated { $0.stopsAccepting(links) }
        }
        localServer.tellFeatures(options.enhancedBearers > 0 ? .enhancedBearers : [])
        // What the controller tells of links is heard from before they come.
        controller.value.connectingBegins()
        acceptance = (links, ends.add { [weak links] reason in links?.listener.end(reason) })
        claimLinks(for: links)
        return IncomingConnections(links, of: self)
    }

    private func stopsAccepting(_ links: AcceptedLinks) {
        guard let acceptance, acceptance.links === links else { return }
        ends.remove(acceptance.end)
        self.acceptance = nil
        localServer.tellFeatures([])
        controller.value.connectingEnded()
        offersChanged()
    }

    func take(
        _ socket: any L2CAPSocket, for links: AcceptedLinks, _ options: IncomingConnectionOptions
    ) -> SocketHandler {
        guard !closeIfGivenUp(socket) else { return { _ in } }
        let (connection, handler) = accept(socket, options) { [weak links] in links?.remove($0) }
        // One that has ended by now was told of before it was kept.
        if connection.isConnectedNow { links.add(connection) }
        return handler
    }

    /// Closes the channel of a link that nobody wants any more; says whether it was one.
    ///
    /// Whoever listens is given the channel of every link on which nobody has it, whichever side has made the link: so also
    /// of one that was being made from here and comes about just after it was given up.
    func closeIfGivenUp(_ socket: any L2CAPSocket) -> Bool {
        let peer = socket.peer
        guard controller.value.isGivenUp(peer) else { return false }
        socket.close()
        return true
    }

    /// Makes a connection of a link that has come in; `onEnd` is called on the loop when it has ended.
    func accept(
        _ socket: any L2CAPSocket, _ options: IncomingConnectionOptions, onEnd: @escaping (Connection) -> Void
    ) -> (connection: Connection, handler: SocketHandler) {
        let link = makeLink(
            to: socket.peer, as: .peripheral, receiveMTU: options.maximumTransmissionUnit, options.securityPolicy)
        let connection = Connection(link, in: loose)
        return (connection, link.accept(socket, onEnd: onEnd))
    }

    /// Takes further bearers of any link that there is, whoever has made it.
    private func listenForEnhancedBearers(
        _ listener: Listener<Connection>, _ options: IncomingConnectionOptions
    ) throws(KernelError) {
        let socketOptions = L2CAPOptions(
            security: .medium, receiveMTU: min(max(64, options.maximumTransmissionUnit), 517), receiveBuffer: 1 << 20,
            flowControl: .enhancedCreditBased)
        try listener.listen(
            .dynamic(psm: AttributeProtocol.enhancedPSM), on: information.address, of: kernel, socketOptions
        ) { [links] socket in
            let link = links.value.all.first { $0.enhancedBearers.takes(socket, $0, atMost: options.enhancedBearers) }
            guard let link else {
                socket.close()
                return { _ in }
            }
            return link.enhancedBearers.accept(socket, link)
        }
    }
}
