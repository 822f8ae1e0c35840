import BluetoothHCI
import BluetoothManagement

/// A simulated peripheral's device on the radio.
final class PeripheralNode: RadioNode {
    let identifier: Int
    let address: BluetoothAddress
    let makeHandler: (@Sendable (SimulatedLink) -> any SimulatedLinkHandler)?
    var isAdvertising = true {
        didSet { updateAdvertisers() }
    }
    var connectionLimit = 1 {
        didSet { updateAdvertisers() }
    }
    /// The reason for which every link is dropped as soon as it is up; nil accepts links.
    var refusal: HCIStatus?
    /// Whether it ignores all packets on its links.
    var isMute = false
    private(set) lazy var security = PeripheralSecurity(node: self)
    private(set) lazy var channels = PeripheralChannels(node: self)
    init(
        world: World, address: BluetoothAddress, makeHandler: (@Sendable (SimulatedLink) -> any SimulatedLinkHandler)?
    ) {
        identifier = world.makeIdentifier()
        self.address = address
        self.makeHandler = makeHandler
        super.init(world: world)
    }

    override func user(of end: LinkEnd) -> AnyObject? { security }

    // MARK: On the air

    /// Removes it from the air, as if its battery were removed.
    override func remove() {
        guard world.peripherals.nodes.removeValue(forKey: identifier) != nil else { return }
        for end in world.links(of: self) {
            end.link.abandon(by: end)
            linkEnded(end, reason: .connectionTimeout)
        }
        isAdvertising = false
        if let makeHandler { world.release(makeHandler) }
        super.remove()
    }

    func setAdvertisements(_ advertisements: [SimulatedAdvertisement]) {
        for advertiser in advertisers { advertiser.isEnabled = false }
        advertisers = advertisements.map { Advertiser(node: self, address: $0.address ?? address, advertisement: $0) }
        updateAdvertisers()
    }

    /// Connectable advertising pauses while the maximum number of links is reached.
    private func updateAdvertisers() {
        let isFull = !hasRoom
        for advertiser in advertisers {
            advertiser.isEnabled = isAdvertising && !(advertiser.advertisement.isConnectable && isFull)
        }
    }

    // MARK: Links

    override var hasRoom: Bool { world.links(of: self).count < connectionLimit }

    private func notifyHandler(_ event: PeripheralEvent, at end: LinkEnd) {
        world.post(.peripheral(end: end.side.identifier, event))
    }

    override func linkEstablished(_ end: LinkEnd, through advertiser: Advertiser?) {
        updateAdvertisers()
        if let refusal {
            world.schedule(after: .milliseconds(1)) { end.link.end(reason: refusal) }
            return
        }
        world.peripherals.ends[end.side.identifier] = end
        notifyHandler(.connected, at: end)
    }

    override func linkEnded(_ end: LinkEnd, reason: HCIStatus) {
        notifyHandler(.disconnected(reason), at: end)
        channels.linkEnded(end)
        updateAdvertisers()
    }

    override func receive(_ notice: LinkNotice, on end: LinkEnd) {
        switch notice {
        case .packet(let packet, let channel): receive(packet, channel, on: end)
        case .room: hasRoom(end)
        case .frame(let key): _ = channels.frameArrived(key, on: end)
        case .credits(let count, let key):
            channels.creditsGranted(count, key)
            end.side.awaitsCredits = false
            if end.hasRoom { hasRoom(end) }
        case .channelClosed(let key): channels.closed(key)
        case .channelRequested(let psm, let key, let terms, let answer):
            if !isMute { answer(channels.open(psm, key: key, terms, on: end)) }
        case .changed(.security): notifyHandler(.securityChanged(end.link.security), at: end)
        case .parametersRequested, .featuresReceived, .changed: break
        }
    }

    private func receive(_ packet: [UInt8], _ channel: ChannelKey, on end: LinkEnd) {
        guard !isMute else { return }
        switch channel {
        case .fixed(let identifier): notifyHandler(.received(.fixed(identifier), packet), at: end)
        case .dynamic:
            guard let psm = channels.frameArrived(channel, on: end) else { return }
            notifyHandler(.received(.dynamic(psm: psm), packet), at: end)
        }
    }

    private func hasRoom(_ end: LinkEnd) {
        guard end.side.awaitsRoom, !end.side.awaitsCredits else { return }
        end.side.awaitsRoom = false
        notifyHandler(.writable, at: end)
    }
}
