import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging

/// The connection-oriented channels of an adapter: opens channels and listens for those of peers.
final class ChannelMaker {
    private let mark: ComponentCount.Mark
    /// The adapter's session, which open channels retain.
    weak var session: (any AnyObject & Sendable)?
    /// Opens the channels of all kinds.
    let host: any HostChannels
    private let pairings: Pairings
    private let loop: EventLoop
    private let log: Logger
    /// The attempts and listeners to end when the adapter is closed; open channels are not among them.
    private var ends = HandlerList<BluetoothError>()
    private var end: BluetoothError?

    init(by host: any HostChannels, _ pairings: Pairings, on loop: EventLoop, log: Logger) {
        mark = loop.components.mark("ChannelMaker")
        self.host = host
        self.pairings = pairings
        self.log = log
        self.loop = loop
    }

    /// Ends all attempts and listeners.
    func close(_ reason: BluetoothError) {
        end = reason
        let ends = ends
        self.ends.removeAll()
        ends(reason)
    }

    /// Opens a channel on a link that the adapter has or establishes. A pairing that this causes is this program's own;
    /// closing the adapter ends the attempt.
    ///
    /// - Parameter user: the peer's address in pairing questions.
    nonisolated(nonsending) func open(
        psm: UInt16, to peer: BluetoothAddress, answeringFor user: BluetoothAddress, options: ChannelOptions
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        if let end { throw end }
        let channel = makeChannel(psm, to: peer)
        let id = ends.add { [weak channel] reason in channel?.endOpening(reason) }
        defer { ends.remove(id) }
        try await pairings.allowingPairing(with: user) { () async throws(BluetoothError) in
            try await channel.open(by: host, options: options)
        }
        return ConnectionOrientedChannel(channel)
    }

    /// Begins to listen; `session` is retained until listening ends.
    func listen(
        _ operation: BluetoothError.Operation, psm: UInt16, backlog: Int, options: ChannelOptions,
        keeping session: any AnyObject & Sendable
    ) throws(BluetoothError) -> (listener: Listener<ConnectionOrientedChannel>, psm: UInt16) {
        let listener = Listener<ConnectionOrientedChannel>(capacity: backlog, policy: .fail, operation, on: loop)
        let channel = try listener.listen(
            .dynamic(psm: psm), by: host, options.socketOptions, operation
        ) { [weak self, weak listener, session] socket in
            withExtendedLifetime(session) {
                guard let self, let listener else { return nil }
                return self.accept(socket, for: listener)
            }
        }
        let id = ends.add { [weak listener] reason in listener?.end(reason) }
        let maker = LoopBound(WeakReference(to: self), on: loop)
        listener.whenEnded { maker.value.object?.ends.remove(id) }
        return (listener, channel.psm ?? psm)
    }

    private func accept(
        _ socket: any HostChannel, for listener: Listener<ConnectionOrientedChannel>
    ) -> (any ChannelReceiver)? {
        guard let psm = listener.first?.psm, listener.channel.room > 0 else {
            log.debug("refused a channel: the listener's buffer is full", metadata: ["peer": "\(socket.peer)"])
            listener.countRefusal()
            return nil
        }
        let channel = makeChannel(psm, to: socket.peer)
        channel.adopt(socket)
        listener.channel.send(ConnectionOrientedChannel(channel))
        return channel
    }

    private func makeChannel(_ psm: UInt16, to peer: BluetoothAddress) -> CreditBasedChannel {
        CreditBasedChannel(to: peer, psm: psm, of: session, on: loop, log: log)
    }
}

extension L2CAPChannel {
    /// The Protocol/Service Multiplexer; nil for a fixed channel.
    fileprivate var psm: UInt16? {
        guard case .dynamic(let psm) = self else { return nil }
        return psm
    }
}
