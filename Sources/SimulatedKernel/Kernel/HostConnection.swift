import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

/// The kernel's view of one link, from the first wish for it to its end (`hci_conn` with its `l2cap_conn`).
final class HostConnection {
    enum State {
        /// Waiting for an advertisement of the peer.
        case searching
        /// The controller is connecting.
        case initiating
        /// Linked; the peer's features are being asked for.
        case establishing
        /// In use.
        case connected
        case ended
    }

    unowned let adapter: Adapter
    /// The address the kernel knows the peer by: the one on the air, or after bonding its identity.
    var peer: BluetoothAddress
    let isCentral: Bool
    var state = State.searching
    var end: LinkEnd?
    /// The sockets, oldest first.
    var channels: [L2CAPSocketState] = []
    var initiationTimer: ScheduledEvent?
    /// Whether Device Connected was sent for it.
    var isReported = false
    /// The address on the air, where the peer hides its own behind it.
    var airAddress: BluetoothAddress
    /// What the peer advertised when it was connected to.
    var advertisingData: [UInt8] = []
    /// The pairing, or the encryption with a key, that is going on.
    var pairing: Pairing?
    /// Whether the link ends because of it.
    var hasFailedAuthentication = false
    /// Somebody has asked for the link to be ended, and waits.
    var isDisconnecting = false
    var onEnd: (() -> Void)?
    /// Somebody waits for a pairing to end.
    var onPaired: ((ManagementStatus) -> Void)?
    /// What to pair with as soon as the link is up.
    var wantedLevel: SecurityLevel?
    private var dropTimer: ScheduledEvent?
    /// What sockets left behind when they were closed.
    private var unsent: [LinkMessage] = []
    /// Whose turn it is to send.
    private var turn = 0

    /// How long a link, or an attempt at one, outlives the last that used it.
    private static let dropDelay = Duration.seconds(2)

    init(adapter: Adapter, peer: BluetoothAddress, isCentral: Bool) {
        self.adapter = adapter
        self.peer = peer
        airAddress = peer
        self.isCentral = isCentral
    }

    /// Moves packets from sockets to the controller as long as it takes them, each socket in turn.
    func pump() {
        guard let end, state == .connected else { return }
        while end.hasRoom, !unsent.isEmpty {
            let message = unsent.removeFirst()
            if case .data(let key, let packet) = message {
                adapter.monitor(packet, channel: key, on: end, isSent: true)
            }
            end.send(message)
        }
        var silent = 0
        while end.hasRoom, silent < channels.count {
            turn = (turn + 1) % channels.count
            if channels[turn].sendNext(over: end) { silent = 0 } else { silent += 1 }
        }
        for socket in channels { socket.writabilityChanged() }
    }

    /// A socket was closed by its program.
    func close(_ socket: L2CAPSocketState) {
        guard channels.contains(where: { $0 === socket }) else { return }
        channels.removeAll { $0 === socket }
        if let end, state == .connected {
            let key = socket.key
            while let message = socket.takeLast() { unsent.append(message) }
            if case .dynamic = key {
                unsent.append(.procedure { end.other.side.node.channelClosed(key, on: end.other) })
            }
            pump()
        }
        channelsChanged()
    }

    func channelsChanged() {
        guard channels.isEmpty else { return }
        startDropTimer()
    }

    func startDropTimer() {
        dropTimer?.cancel()
        dropTimer = adapter.world.schedule(after: Self.dropDelay) { [weak self] in
            guard let self, channels.isEmpty, !adapter.autoConnected.contains(peer) else { return }
            switch state {
            case .searching: adapter.remove(self, error: .connectionAborted)
            case .initiating:
                adapter.cancelInitiation(of: self)
                adapter.remove(self, error: .connectionAborted)
            case .establishing, .connected:
                end.map { _ = self.adapter.perform(.disconnect($0.handle, reason: .remoteUserTerminatedConnection)) }
            case .ended: break
            }
        }
    }

    func join(_ socket: L2CAPSocketState) {
        dropTimer?.cancel()
        channels.append(socket)
    }

    // MARK: Ending

    /// The link is down, or the attempt was given up.
    func ended(with error: ErrorNumber) {
        state = .ended
        dropTimer?.cancel()
        initiationTimer?.cancel()
        adapter.world.statistics.packetsLostWithLink += unsent.count
        unsent = []
        pairing?.linkEnded()
        pairing = nil
        paired(.disconnected)
        defer {
            onEnd?()
            onEnd = nil
        }
        let sockets = channels
        channels = []
        for socket in sockets { socket.linkEnded(error) }
    }

    /// The adapter goes down or away, and takes the link with it, which the controller tells after `delay`.
    func adapterGone(_ error: ErrorNumber, after delay: Duration = .zero) {
        guard state != .ended else { return }
        let end = end
        self.end = nil
        ended(with: error)
        if isReported { adapter.deviceDisconnected(self, reason: .connectionTerminatedByLocalHost) }
        // Switched off, the kernel says good-bye; pulled out, it cannot.
        guard let end, !adapter.power.isLeaving else { return }
        let disconnect = {
            end.link.end(
                centralReason: end.isCentral ? .connectionTerminatedByLocalHost : .remoteDevicePoweringOff,
                peripheralReason: end.isCentral ? .remoteDevicePoweringOff : .connectionTerminatedByLocalHost)
        }
        if delay == .zero { disconnect() } else { adapter.world.schedule(after: delay, disconnect) }
    }
}
