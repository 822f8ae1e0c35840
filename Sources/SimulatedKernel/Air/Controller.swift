import BluetoothKernel
import BluetoothPrimitives
import HCI

/// What a controller's host is told beside the events themselves.
protocol ControllerHost: AnyObject {
    /// An event packet with its leading 0x04.
    func received(event: [UInt8])
    /// An advertisement was reported.
    func heard(_ address: BluetoothAddress, _ advertiser: Advertiser, isResponse: Bool, rssi: Int8)
    /// A connection was made.
    func connected(_ end: LinkEnd)
    /// A peer told its features.
    func receivedRemoteFeatures(_ end: LinkEnd)
    /// A connection ended.
    func disconnected(_ end: LinkEnd, reason: HCIStatus)
    /// A packet came in over a connection.
    func received(_ packet: [UInt8], channel: ChannelKey, on end: LinkEnd)
    /// A connection has room for packets to send.
    func hasRoom(_ end: LinkEnd)
    /// A connection's protection has changed.
    func securityChanged(_ end: LinkEnd)
    /// A peer asks for a connection-oriented channel.
    func openChannel(
        _ psm: UInt16, key: ChannelKey, _ terms: ChannelTerms, on end: LinkEnd,
        _ completion: @escaping (ChannelAnswer) -> Void)
    /// A peripheral asks for other connection parameters.
    func parametersRequested(_ parameters: LEConnectionParameters, on end: LinkEnd)
    /// A frame of a connection-oriented channel that is not the last of its SDU.
    func frameArrived(_ key: ChannelKey, on end: LinkEnd)
    /// The peer takes more frames on a connection-oriented channel.
    func creditsGranted(_ count: Int, _ key: ChannelKey, on end: LinkEnd)
    /// A peer has closed a connection-oriented channel.
    func channelClosed(_ key: ChannelKey, on end: LinkEnd)
}

/// An adapter's radio and link layer: commands in, events out, as a chip does it (Core Vol 4 Part E).
final class Controller: RadioNode {
    struct Scan {
        var isEnabled = false
        var isExtended = false
        /// How it listens on LE 1M; nil does not.
        var timing: LEScanTiming? = LEScanTiming(type: .passive, interval: 0x10, window: 0x10)
        /// How it listens on LE Coded; nil does not.
        var coded: LEScanTiming?
        var filterPolicy = LEScanFilterPolicy.all
        var duplicates = LEDuplicateFilter.disabled
        /// What was reported, while duplicates are filtered.
        var reported: Set<ReportKey> = []
        var end: ScheduledEvent?
    }

    struct ReportKey: Hashable {
        var address: BluetoothAddress
        var isResponse: Bool
        var set: UInt8
    }

    struct Initiation {
        /// With whom; nil for whoever is on the accept list.
        var peer: BluetoothAddress?
        var ownAddress: BluetoothAddress
        var parameters: LEConnectionParameters
        var isExtended: Bool
    }

    let configuration: SimulatedController
    let publicAddress: BluetoothAddress
    weak var host: (any ControllerHost)?
    /// Whether the host has it running.
    var isRunning = false {
        didSet {
            guard isRunning != oldValue else { return }
            if !isRunning { reset() }
            world.reachabilityChanged()
        }
    }
    /// A chip that hangs: it answers no command and tells nothing.
    var isSilent = false
    var randomAddress = BluetoothAddress(0, kind: .random)
    var scan = Scan()
    var initiation: Initiation?
    var acceptList: [LEFilterAcceptListEntry] = []
    var legacy = LegacyAdvertising()
    var advertisingSets: [UInt8: AdvertisingSet] = [:]
    /// Which generation of commands was used since the last reset.
    var usedFamily: HCICommandFamily?
    private var lastHandle: UInt16 = 0

    /// What legacy advertising consists of; the advertiser exists once there were parameters.
    struct LegacyAdvertising {
        var advertiser: Advertiser?
        var data: [UInt8] = []
        var scanResponse: [UInt8] = []
    }

    struct AdvertisingSet {
        var advertiser: Advertiser
        var parameters: LEExtendedAdvertisingParameters
        var randomAddress: BluetoothAddress?
        var end: ScheduledEvent?
    }

    init(world: World, configuration: SimulatedController, address: BluetoothAddress) {
        self.configuration = configuration
        publicAddress = address
        super.init(world: world)
        signalStrength = configuration.signalStrength
    }

    override var user: AnyObject? { host }
    override var isOnAir: Bool { isRunning }
    override var isListening: Bool { isRunning && (scan.isEnabled || initiation != nil) }

    override func uses(_ address: BluetoothAddress) -> Bool {
        (address == publicAddress && !address.isZero) || (address == randomAddress && !address.isZero)
            || super.uses(address)
    }

    override func makeHandle() -> ConnectionHandle {
        lastHandle = lastHandle % 0x0EFF + 1
        return ConnectionHandle(rawValue: lastHandle)
    }

    func address(_ type: LEOwnAddressType) -> BluetoothAddress {
        switch type {
        case .random, .resolvablePrivateOrRandom: return randomAddress
        default: return publicAddress
        }
    }

    func end(of handle: ConnectionHandle) -> LinkEnd? {
        world.links(of: self).first { $0.handle == handle }
    }

    /// Everything as after power-on; links end as if this side had gone.
    func reset() {
        scan.end?.cancel()
        scan = Scan()
        initiation = nil
        acceptList = []
        for advertiser in advertisers { advertiser.isEnabled = false }
        for set in advertisingSets.values { set.end?.cancel() }
        advertisers = []
        legacy = LegacyAdvertising()
        advertisingSets = [:]
        usedFamily = nil
        for end in world.links(of: self) { end.link.abandon(by: end) }
        world.updateAdvertising()
    }

    // MARK: Telling the host

    func emit(_ packet: [UInt8]) {
        guard !isSilent else { return }
        host?.received(event: packet)
    }

    func emit(_ event: borrowing HCIEvent) {
        // Every event made here fits.
        guard let packet = try? event.packet() else { return }
        emit(packet)
    }

    /// Tells the host later, after what is going on now.
    func emitSoon(after delay: Duration = .zero, _ action: @escaping (Controller) -> Void) {
        world.schedule(after: delay) { [weak self] in
            guard let self, isRunning else { return }
            action(self)
        }
    }

    override func hear(_ advertiser: Advertiser) {
        listen(to: advertiser)
    }

    // MARK: Links

    override func linkEstablished(_ end: LinkEnd, through advertiser: Advertiser?) {
        emitConnectionComplete(end)
        if let advertiser {
            advertiser.isEnabled = false
            if let set = advertisingSets.first(where: { $0.value.advertiser === advertiser }) {
                set.value.end?.cancel()
                emit(
                    .leMeta(
                        .advertisingSetTerminated(
                            LEAdvertisingSetTerminated(
                                status: .success, advertisingHandle: set.key, connectionHandle: end.handle))))
            }
        }
        host?.connected(end)
    }

    private func emitConnectionComplete(_ end: LinkEnd) {
        emit(
            .leMeta(
                .enhancedConnectionComplete(
                    LEConnectionComplete(
                        handle: end.handle, role: end.isCentral ? .central : .peripheral,
                        peer: LEPeerAddress(end.peerAddress), parameters: end.link.parameters))))
    }

    override func linkEnded(_ end: LinkEnd, reason: HCIStatus) {
        emit(.disconnectionComplete(HCIDisconnectionComplete(handle: end.handle, reason: reason)))
        host?.disconnected(end, reason: reason)
    }

    override func accepts(_ address: BluetoothAddress, by advertiser: Advertiser) -> Bool {
        advertiser.isConnectable && (advertiser.target == nil || advertiser.target == address)
            && !world.links(of: self).contains { $0.peerAddress == address }
    }

    override func receive(_ packet: [UInt8], channel: ChannelKey, on end: LinkEnd) {
        host?.received(packet, channel: channel, on: end)
    }

    override func hasRoom(_ end: LinkEnd) {
        host?.hasRoom(end)
    }

    override func openChannel(
        _ psm: UInt16, key: ChannelKey, _ terms: ChannelTerms, on end: LinkEnd,
        _ completion: @escaping (ChannelAnswer) -> Void
    ) {
        guard let host else { return completion(.refused) }
        host.openChannel(psm, key: key, terms, on: end, completion)
    }

    override func parametersRequested(_ parameters: LEConnectionParameters, on end: LinkEnd) {
        host?.parametersRequested(parameters, on: end)
    }

    override func frameArrived(_ key: ChannelKey, on end: LinkEnd) {
        host?.frameArrived(key, on: end)
    }

    override func creditsGranted(_ count: Int, _ key: ChannelKey, on end: LinkEnd) {
        host?.creditsGranted(count, key, on: end)
    }

    override func channelClosed(_ key: ChannelKey, on end: LinkEnd) {
        host?.channelClosed(key, on: end)
    }

    override func linkChanged(_ end: LinkEnd, _ change: LinkChange) {
        switch change {
        case .parameters:
            emit(
                .leMeta(
                    .connectionUpdateComplete(
                        LEConnectionUpdateComplete(handle: end.handle, parameters: end.link.parameters))))
        case .dataLength:
            let octets = end.link.dataLength
            let time = octets * 8 + 112
            emit(
                .leMeta(
                    .dataLengthChange(
                        LEDataLengthChange(
                            handle: end.handle, transmitOctets: octets, transmitTime: time, receiveOctets: octets,
                            receiveTime: time))))
        case .phy:
            emit(
                .leMeta(
                    .phyUpdateComplete(
                        LEPHYUpdate(handle: end.handle, transmit: end.link.phy, receive: end.link.phy))))
        case .security:
            emit(
                .encryptionChange(
                    HCIEncryptionChange(handle: end.handle, isEncrypted: end.link.security.keySize > 0)))
            host?.securityChanged(end)
        }
    }

    /// A connection that was being made is there.
    func connectionMade(_ end: LinkEnd) {
        initiation = nil
        world.updateAdvertising()
        linkEstablished(end, through: nil)
    }
}
