import BluetoothKernel
import BluetoothPrimitives

/// The incoming connections that the program does not accept itself.
struct UnclaimedLinks {
    /// The maximum; further ones are closed at once.
    static let limit = 32

    /// Nil while nothing is offered, or the program accepts incoming connections itself.
    var listener: (any L2CAPListener)?
    /// Oldest first.
    private(set) var connections: [Connection] = []

    var isFull: Bool { connections.count >= Self.limit }

    mutating func add(_ connection: Connection) { connections.append(connection) }

    mutating func remove(_ connection: Connection) { connections.removeAll { $0 === connection } }

    mutating func takeAll() -> [Connection] {
        defer { connections = [] }
        return connections
    }
}

// Published services are served on every incoming connection, whether or not the program accepts it.
extension AdapterSession {
    /// Listens while services are published or advertising is connectable, unless the program does so itself.
    func offersChanged() {
        guard end == nil, localServer.isPublishing || advertising.takesConnections else { return stopServing() }
        guard unclaimed.listener == nil, acceptance == nil else { return }
        let options = IncomingConnectionOptions()
        do {
            unclaimed.listener = try kernel.listenL2CAP(
                channel: .attribute, on: information.address, options: options.socket
            ) { [weak self] socket in
                guard let self else {
                    socket.close()
                    return { _ in }
                }
                return assumeIsolated { LoopBound($0.serve(socket, options), on: loop) }.value
            }
            controller.value.connectingBegins()
        } catch {
            // Publishing and advertising are good for links made from here as well.
            let reason = BluetoothError.listening(operation("serve connections"), error, kernel.environment())
            log.warning("links that come in are not served: \(reason)")
        }
    }

    /// Stops listening; links stay up.
    private func stopServing() {
        guard let listener = unclaimed.listener else { return }
        unclaimed.listener = nil
        listener.close()
        controller.value.connectingEnded()
    }

    /// Ends the links that nobody else holds as well.
    func endServing() {
        stopServing()
        for connection in unclaimed.takeAll() { connection.disconnectNow() }
    }

    private func serve(_ socket: any L2CAPSocket, _ options: IncomingConnectionOptions) -> SocketHandler {
        // It was on its way when the program began to take links.
        if let acceptance { return take(socket, for: acceptance.links, options) }
        guard !closeIfGivenUp(socket) else { return { _ in } }
        guard !unclaimed.isFull else {
            log.warning(
                "closed a link: \(UnclaimedLinks.limit) are up that nobody takes", metadata: ["peer": "\(socket.peer)"])
            socket.close()
            return { _ in }
        }
        let (connection, handler) = accept(socket, options) { [weak self] connection in
            self?.assumeIsolated { $0.unclaimed.remove(connection) }
        }
        // One that has ended by now was told of before it was kept.
        if connection.isConnectedNow { unclaimed.add(connection) }
        return handler
    }

    /// Hands over the links that nobody has taken so far.
    func claimLinks(for links: AcceptedLinks) {
        for connection in unclaimed.takeAll() {
            connection.core.value.keep { [weak links] in links?.remove($0) }
            links.add(connection)
        }
    }
}
