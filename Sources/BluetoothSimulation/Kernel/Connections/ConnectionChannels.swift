import BluetoothLoop

/// The L2CAP sockets of a link, which take turns at its controller, and the unsent packets of closed ones.
final class ConnectionChannels {
    private unowned let adapter: SimulatedAdapter
    /// Oldest first.
    var sockets: [L2CAPSocketState] = []
    private var unsent: [LinkMessage] = []
    /// The socket whose turn it is to send.
    private var turn = 0
    /// When the controller last took a packet.
    private var lastSent: KernelInstant?
    /// The number of buffers that the controller does not return: it has forgotten the link without an event.
    private var lostCount = 0

    /// The time without a buffer after which the kernel ends a link (`HCI_ACL_TX_TIMEOUT`).
    private static let transmitTimeout = Duration.seconds(45)

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

    private func hasRoom(_ end: LinkEnd) -> Bool {
        end.link.isEnded ? lostCount < LinkEnd.bufferCount : end.hasRoom
    }

    private func sent(over end: LinkEnd) {
        lastSent = adapter.world.now
        guard end.link.isEnded else { return }
        lostCount += 1
        adapter.world.statistics.packetsLostWithLink += 1
    }

    /// Whether the next packet makes the kernel end the link, which the controller has forgotten (`__check_timeout`).
    var isStalled: Bool {
        guard lostCount >= LinkEnd.bufferCount, let lastSent else { return false }
        return lastSent.duration(to: adapter.world.now) > Self.transmitTimeout
    }

    /// Passes packets from the sockets to the controller as long as it has room, each socket in turn.
    func pump(over end: LinkEnd) {
        while hasRoom(end), !unsent.isEmpty {
            let message = unsent.removeFirst()
            if case .data(let key, let packet) = message.content {
                adapter.monitor(packet, channel: key, on: end, isSent: true)
            }
            end.send(message)
            sent(over: end)
        }
        var silent = 0
        while hasRoom(end), silent < sockets.count {
            turn = (turn + 1) % sockets.count
            silent += 1
            guard sockets[turn].sendNext(over: end) else { continue }
            silent = 0
            sent(over: end)
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
