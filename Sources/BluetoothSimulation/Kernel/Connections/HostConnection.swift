import BluetoothHCI
import BluetoothManagement

/// A link in the kernel, from the first request for it to its end (`hci_conn` with its `l2cap_conn`).
//
// Holds more than ten variables: one `hci_conn` from the first request for it to its end.
final class HostConnection {
    enum State {
        /// Waiting for an advertisement of the peer.
        case searching
        /// The controller is connecting.
        case initiating
        /// The link is up; the peer's features are being read.
        case establishing
        /// In use.
        case connected
        case ended
    }

    unowned let adapter: SimulatedAdapter
    /// The kernel's address of the peer: the one on the air, or after bonding its identity.
    var peer: BluetoothAddress
    let isCentral: Bool
    private(set) var state = State.searching
    private(set) var end: LinkEnd?
    let channels: ConnectionChannels
    private(set) lazy var security = ConnectionSecurity(connection: self)
    /// The peer's advertisement that was connected to.
    private(set) var advertised: Advertised
    /// Whether Device Connected was sent for it.
    private(set) var isReported = false
    private var initiationTimer: ScheduledEvent?
    private var dropTimer: ScheduledEvent?
    /// Whether a program has requested the link's end.
    private var isEndRequested = false
    /// The completion of a program's request that waits for the end.
    var onEnd: (() -> Void)?

    struct Advertised {
        /// The address on the air, if the peer uses a private one.
        var address: BluetoothAddress
        var data: [UInt8] = []
        /// The PHYs of its packets.
        var phys = LEPHYSet.le1M
    }

    /// The time for which a link without sockets is kept.
    private static let dropDelay = Duration.seconds(2)
    /// The kernel's time limit of an attempt.
    private static let initiationTime = Duration.seconds(20)

    init(adapter: SimulatedAdapter, peer: BluetoothAddress, isCentral: Bool) {
        self.adapter = adapter
        self.peer = peer
        self.isCentral = isCentral
        channels = ConnectionChannels(adapter: adapter)
        advertised = Advertised(address: peer)
        // It keeps the adapter's present settings.
        _ = security
    }

    // MARK: Connecting

    /// Starts to connect: the peer has advertised.
    func beginInitiation(_ advertised: Advertised) {
        self.advertised = advertised
        state = .initiating
    }

    /// Schedules the kernel's time limit of the attempt.
    func limitInitiation() {
        initiationTimer = adapter.world.schedule(after: Self.initiationTime) { [weak self] in
            guard let self, state == .initiating else { return }
            // Unanswered directed advertising ends with another error than connecting.
            adapter.connections.cancel(self, error: adapter.advertising.isSettingOn ? .hostDown : .timedOut)
        }
    }

    /// Cancels an attempt; returns whether there was one.
    func cancelInitiation() -> Bool {
        initiationTimer?.cancel()
        guard state == .initiating else { return false }
        state = .ended
        return true
    }

    /// Records that the link is up; it is used once the peer's features are known.
    func linked(_ end: LinkEnd) {
        initiationTimer?.cancel()
        self.end = end
        state = .establishing
        isReported = true
        let data = advertised.data
        let event = ManagementDeviceConnected(
            address: ManagementAddress(peer), flags: isCentral ? .initiatedConnection : [], data: data.span.bytes)
        // Its data is that of an advertisement.
        if let packet = try? event.packet(for: adapter.index) { adapter.kernel.management.send(packet) }
    }

    /// Records that the link is in use.
    func established() {
        state = .connected
    }

    // MARK: Channels

    /// Passes packets from the sockets to the controller as long as it has room.
    func pump() {
        guard let end, state == .connected else { return }
        channels.pump(over: end)
        guard channels.isStalled else { return }
        // By the kernel's own thread, after the caller's.
        adapter.world.schedule(after: .zero) { [weak self] in
            if let self, let end = self.end { adapter.connections.disconnect(end) }
        }
    }

    /// Handles a socket that its program has closed.
    func close(_ socket: L2CAPSocketState) {
        guard channels.remove(socket) else { return }
        if let end, state == .connected {
            channels.finish(socket, over: end)
            pump()
        }
        dropIfUnused()
    }

    /// Handles a channel that the peer has closed.
    func closed(_ socket: L2CAPSocketState) {
        _ = channels.remove(socket)
        socket.fail(KernelError("recv", .connectionReset))
        dropIfUnused()
    }

    /// Ends the link after a delay without sockets, an attempt at once.
    func dropIfUnused() {
        guard channels.isEmpty else { return }
        dropTimer?.cancel()
        // Only a link that is in use is kept (`hci_conn_drop`).
        dropTimer = adapter.world.schedule(after: state == .connected ? Self.dropDelay : .zero) { [weak self] in
            guard let self, channels.isEmpty, !adapter.devices.autoConnected.contains(peer) else { return }
            switch state {
            case .searching, .initiating: adapter.connections.cancel(self, error: .connectionAborted)
            case .establishing, .connected:
                if let end { adapter.connections.disconnect(end) }
            case .ended: break
            }
        }
    }

    func join(_ socket: L2CAPSocketState) {
        dropTimer?.cancel()
        channels.sockets.append(socket)
    }

    // MARK: Ending

    /// Requests the link's end for a program; false when one has requested it already.
    func requestEnd(_ completion: @escaping () -> Void) -> Bool {
        guard !isEndRequested else { return false }
        (isEndRequested, onEnd) = (true, completion)
        return true
    }

    /// Handles the end of the link, or of the attempt.
    func ended(with error: ErrorNumber) {
        state = .ended
        end = nil
        dropTimer?.cancel()
        initiationTimer?.cancel()
        channels.dropUnsent()
        security.linkEnded()
        channels.end(with: error)
        onEnd.take()?()
    }

    /// Handles the adapter's power-off or removal, which the controller reports after `delay`.
    func adapterGone(_ error: ErrorNumber, after delay: Duration = .zero) {
        guard state != .ended else { return }
        let end = end
        ended(with: error)
        reportDisconnected(.connectionTerminatedByLocalHost)
        // Powered off, the kernel terminates the link; unplugged, it cannot.
        guard let end, !adapter.power.isLeaving else { return }
        let disconnect = {
            end.link.end(at: end, reason: .connectionTerminatedByLocalHost, other: .remoteDevicePoweringOff)
        }
        if delay == .zero { disconnect() } else { adapter.world.schedule(after: delay, disconnect) }
    }

    /// Reports the end of a link that was reported to programs.
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
        adapter.send(ManagementDeviceDisconnected(ManagementAddress(peer), told))
    }
}
