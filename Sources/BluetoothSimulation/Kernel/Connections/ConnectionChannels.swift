/// The L2CAP sockets of a link, which take turns at its controller, and the unsent packets of closed ones.
final class ConnectionChannels {
    private unowned let adapter: SimulatedAdapter
    /// Oldest first.
    var sockets: [L2CAPSocketState] = []
    private var unsent: [LinkMessage] = []
    /// The socket whose turn it is to send.
    private var turn = 0

    init(adapter: SimulatedAdapter) {
        self.adapter = adapter
    }

    var isEmpty: Bool { sockets.isEmpty }

    func has(_ channel: L2CAPChannel) -> Bool { sockets.contains { $0.channel == channel } }
    func socket(_ key: ChannelKey) -> L2CAPSocketState? { sockets.first { $0.key == key } }

    /// Removes a socket; false when it is not one of them.
    func remove(_ socket: L2CAPSocketState) -> Bool {
        guard let index = sockets.firstIndex(where: { $0 === socket }) else { return false }
        sockets.remove(at: index)
        return true
    }

    /// Takes over the unsent packets of a closed socket, and informs the other side of its end.
    func finish(_ socket: L2CAPSocketState, over end: LinkEnd) {
        let key = socket.key
        while let message = socket.takeLast() { unsent.append(message) }
        if case .dynamic = key {
            unsent.append(.procedure { end.other.receive(.channelClosed(key)) })
        }
    }

    /// Passes packets from the sockets to the controller as long as it has room, each socket in turn.
    func pump(over end: LinkEnd) {
        while end.hasRoom, !unsent.isEmpty {
            let message = unsent.removeFirst()
            if case .data(let key, let packet) = message.content {
                adapter.monitor(packet, channel: key, on: end, isSent: true)
            }
            end.send(message)
        }
        var silent = 0
        while end.hasRoom, silent < sockets.count {
            turn = (turn + 1) % sockets.count
            if sockets[turn].sendNext(over: end) { silent = 0 } else { silent += 1 }
        }
        for socket in sockets { socket.writabilityChanged() }
    }

    /// Drops the unsent packets of closed sockets: the link is down.
    func dropUnsent() {
        adapter.world.statistics.packetsLostWithLink += unsent.count
        unsent = []
    }

    /// Ends all sockets with the link.
    func end(with error: ErrorNumber) {
        let ended = sockets
        sockets = []
        for socket in ended { socket.linkEnded(error) }
    }
}
