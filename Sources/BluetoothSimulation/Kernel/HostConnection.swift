import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

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
    private(set) var state = State.searching
    private(set) var end: LinkEnd?
    let channels: ConnectionChannels
    private(set) lazy var security = ConnectionSecurity(connection: self)
    /// What the peer was advertising when it was connected to.
    private(set) var advertised: Advertised
    /// Whether Device Connected was sent for it.
    private(set) var isReported = false
    private var initiationTimer: ScheduledEvent?
    private var dropTimer: ScheduledEvent?
    private var ending = Ending()

    struct Advertised {
        /// The address on the air, where the peer hides its own behind it.
        var address: BluetoothAddress
        var data: [UInt8] = []
    }

    private struct Ending {
        /// Whether a program has asked for the link to be ended.
        var isRequested = false
        /// A program waits for the end.
        var onEnd: (() -> Void)?
    }

    /// How long a link, or an attempt at one, outlives the last that used it.
    private static let dropDelay = Duration.seconds(2)
    /// How long the kernel tries to connect.
    private static let initiationTime = Duration.seconds(20)

    init(adapter: Adapter, peer: BluetoothAddress, isCentral: Bool) {
        self.adapter = adapter
        self.peer = peer
        self.isCentral = isCentral
        channels = ConnectionChannels(adapter: adapter)
        advertised = Advertised(address: peer)
    }

    // MARK: Connecting

    /// The peer was heard: it is being connected to from now on.
    func beginInitiation(_ advertised: Advertised) {
        self.advertised = advertised
        state = .initiating
    }

    /// Gives the attempt up after so long as the kernel does.
    func limitInitiation() {
        initiationTimer = adapter.world.schedule(after: Self.initiationTime) { [weak self] in
            guard let self, state == .initiating else { return }
            // Directed advertising that nobody answered ends with another reason than connecting.
            adapter.connections.cancel(self, error: adapter.advertising.isSettingOn ? .hostDown : .timedOut)
        }
    }

    /// Gives up an attempt; says whether there was one.
    func cancelInitiation() -> Bool {
        initiationTimer?.cancel()
        guard state == .initiating else { return false }
        state = .ended
        return true
    }

    /// The link is there; it is used once the peer's features are known.
    func linked(_ end: LinkEnd) {
        initiationTimer?.cancel()
        self.end = end
        state = .establishing
        isReported = true
        let data = advertised.data
        adapter.send(
            .deviceConnected(
                ManagementDeviceConnected(
                    address: ManagementAddress(peer), flags: isCentral ? .initiatedConnection : [],
                    data: data.span.bytes)))
    }

    /// The link is in use from now on.
    func established() {
        state = .connected
    }

    // MARK: Channels

    /// Moves packets from sockets to the controller as long as it takes them.
    func pump() {
        guard let end, state == .connected else { return }
        channels.pump(over: end)
    }

    /// A socket was closed by its program.
    func close(_ socket: L2CAPSocketState) {
        guard channels.remove(socket) else { return }
        if let end, state == .connected {
            channels.finish(socket, over: end)
            pump()
        }
        dropIfUnused()
    }

    /// The peer has closed the channel of a socket.
    func closed(_ socket: L2CAPSocketState) {
        _ = channels.remove(socket)
        socket.fail(KernelError("recv", .connectionReset))
        dropIfUnused()
    }

    /// Ends the link, or the attempt, after a while without sockets.
    func dropIfUnused() {
        guard channels.isEmpty else { return }
        dropTimer?.cancel()
        dropTimer = adapter.world.schedule(after: Self.dropDelay) { [weak self] in
            guard let self, channels.isEmpty, !adapter.devices.autoConnected.contains(peer) else { return }
            switch state {
            case .searching, .initiating: adapter.connections.cancel(self, error: .connectionAborted)
            case .establishing, .connected:
                end.map { _ = self.adapter.perform(.disconnect($0.handle, reason: .remoteUserTerminatedConnection)) }
            case .ended: break
            }
        }
    }

    func join(_ socket: L2CAPSocketState) {
        dropTimer?.cancel()
        channels.add(socket)
    }

    // MARK: Ending

    /// A program asks for the link to be ended, and waits; false when one has asked already.
    func requestEnd(_ completion: @escaping () -> Void) -> Bool {
        guard !ending.isRequested else { return false }
        ending = Ending(isRequested: true, onEnd: completion)
        return true
    }

    /// Calls `completion` when it has ended.
    func whenEnded(_ completion: @escaping () -> Void) {
        ending.onEnd = completion
    }

    /// The controller says that the link is down.
    func linkLost() {
        end = nil
    }

    /// The link is down, or the attempt was given up.
    func ended(with error: ErrorNumber) {
        state = .ended
        dropTimer?.cancel()
        initiationTimer?.cancel()
        channels.dropUnsent()
        security.linkEnded()
        channels.end(with: error)
        ending.onEnd.take()?()
    }

    /// The adapter goes down or away, and takes the link with it, which the controller tells after `delay`.
    func adapterGone(_ error: ErrorNumber, after delay: Duration = .zero) {
        guard state != .ended else { return }
        let end = end
        self.end = nil
        ended(with: error)
        reportDisconnected(.connectionTerminatedByLocalHost)
        // Switched off, the kernel says good-bye; pulled out, it cannot.
        guard let end, !adapter.power.isLeaving else { return }
        let disconnect = {
            end.link.end(
                centralReason: end.isCentral ? .connectionTerminatedByLocalHost : .remoteDevicePoweringOff,
                peripheralReason: end.isCentral ? .remoteDevicePoweringOff : .connectionTerminatedByLocalHost)
        }
        if delay == .zero { disconnect() } else { adapter.world.schedule(after: delay, disconnect) }
    }

    /// Tells programs of the end of a link that they were told of.
    func reportDisconnected(_ reason: HCIStatus) {
        guard isReported else { return }
        let told: ManagementDisconnectReason
        switch reason {
        case _ where security.hasFailed: told = .authenticationFailure
        case .connectionTimeout: told = .timeout
        case .remoteUserTerminatedConnection, .remoteDeviceLowResources, .remoteDevicePoweringOff: told = .remoteHost
        case .connectionTerminatedByLocalHost: told = .localHost
        default: told = .unspecified
        }
        adapter.send(.deviceDisconnected(ManagementAddress(peer), told))
    }
}
