import BluetoothKernel
import BluetoothPrimitives
import HCI
import Management

/// A simulated peripheral's place in the world.
final class PeripheralNode: RadioNode {
    let address: BluetoothAddress
    let makeHandler: (@Sendable (SimulatedLink) -> any SimulatedLinkHandler)?
    var isAdvertising = true
    var connectionLimit = 1
    var refusal: HCIStatus?
    var isMute = false
    var security = SimulatedSecurity()
    var bonds: [BluetoothAddress: LongTermKey] = [:]
    /// The services that connection-oriented channels may be opened to.
    var services: [UInt16: PeripheralService] = [:]
    /// The connection-oriented channels there are.
    var channels: [ChannelKey: PeripheralChannel] = [:]
    /// Whether what has come in on connection-oriented channels is made room for at once.
    var isGrantingCredits = true
    private var lastHandle: UInt16 = 0

    init(
        world: World, address: BluetoothAddress, makeHandler: (@Sendable (SimulatedLink) -> any SimulatedLinkHandler)?
    ) {
        self.address = address
        self.makeHandler = makeHandler
        super.init(world: world)
    }

    func setAdvertisements(_ advertisements: [SimulatedAdvertisement]) {
        for advertiser in advertisers { advertiser.isEnabled = false }
        advertisers = advertisements.map { advertisement in
            let advertiser = Advertiser(node: self, address: advertisement.address ?? address)
            advertisement.apply(to: advertiser)
            return advertiser
        }
        updateAdvertisers()
    }

    /// Nothing connectable is advertised while there are as many links as there may be.
    func updateAdvertisers() {
        let isFull = world.links(of: self).count >= connectionLimit
        for advertiser in advertisers { advertiser.isEnabled = isAdvertising && !(advertiser.isConnectable && isFull) }
    }

    override func makeHandle() -> ConnectionHandle {
        lastHandle = lastHandle % 0x0EFF + 1
        return ConnectionHandle(rawValue: lastHandle)
    }

    override func accepts(_ address: BluetoothAddress, by advertiser: Advertiser) -> Bool {
        let links = world.links(of: self)
        return advertiser.isConnectable && links.count < connectionLimit
            && (advertiser.target == nil || advertiser.target == address)
            && !links.contains { $0.peerAddress == address }
    }

    private func tell(_ event: PeripheralEvent, at end: LinkEnd) {
        world.outputs.append(.peripheral(end: end.side.identifier, event))
    }

    override func linkEstablished(_ end: LinkEnd, through advertiser: Advertiser?) {
        updateAdvertisers()
        if let refusal {
            world.schedule(after: .milliseconds(1)) { end.link.end(reason: refusal) }
            return
        }
        world.peripheralEnds[end.side.identifier] = end
        tell(.connected, at: end)
    }

    override func linkEnded(_ end: LinkEnd, reason: HCIStatus) {
        tell(.disconnected(reason), at: end)
        channels = channels.filter { $0.value.link !== end.link }
        updateAdvertisers()
    }

    override func receive(_ packet: [UInt8], channel: ChannelKey, on end: LinkEnd) {
        guard !isMute else { return }
        switch channel {
        case .fixed(let identifier): tell(.received(.fixed(identifier), packet), at: end)
        case .dynamic:
            guard let psm = takeFrame(channel, on: end) else { return }
            tell(.received(.dynamic(psm: psm), packet), at: end)
        }
    }

    override func hasRoom(_ end: LinkEnd) {
        guard end.side.wantsRoom, !end.side.awaitsCredits else { return }
        end.side.wantsRoom = false
        tell(.writable, at: end)
    }

    override func openChannel(
        _ psm: UInt16, key: ChannelKey, _ terms: ChannelTerms, on end: LinkEnd,
        _ completion: @escaping (ChannelAnswer) -> Void
    ) {
        guard !isMute else { return }
        guard let service = services[psm] else { return completion(.refused) }
        guard service.security <= end.link.security.level else { return completion(.needsSecurity) }
        var channel = PeripheralChannel(link: end.link, psm: psm, mtu: service.receiveMTU)
        channel.credits.open(with: terms)
        completion(.accepted(channel.credits.terms(room: PeripheralChannel.room)))
        channels[key] = channel
    }

    override func frameArrived(_ key: ChannelKey, on end: LinkEnd) {
        _ = takeFrame(key, on: end)
    }

    /// Takes note of a frame; says which service's it is.
    private func takeFrame(_ key: ChannelKey, on end: LinkEnd) -> UInt16? {
        guard channels[key]?.credits.frameArrived() == true else { return nil }
        grantCredits(key, on: end)
        return channels[key]?.psm
    }

    private func grantCredits(_ key: ChannelKey, on end: LinkEnd) {
        guard isGrantingCredits, let count = channels[key]?.credits.grant(room: PeripheralChannel.room), count > 0
        else { return }
        end.send(.procedure { end.other.side.node.creditsGranted(count, key, on: end.other) })
    }

    /// Makes room again for what has come in meanwhile.
    func grantAllCredits() {
        for end in world.links(of: self) {
            for (key, channel) in channels.sorted(by: { $0.key.number < $1.key.number })
            where channel.link === end.link { grantCredits(key, on: end) }
        }
    }

    override func creditsGranted(_ count: Int, _ key: ChannelKey, on end: LinkEnd) {
        channels[key]?.credits.received(count)
        end.side.awaitsCredits = false
        if end.hasRoom { hasRoom(end) }
    }

    override func channelClosed(_ key: ChannelKey, on end: LinkEnd) {
        channels[key] = nil
    }

    override func linkChanged(_ end: LinkEnd, _ change: LinkChange) {
        if case .security = change { tell(.securityChanged(end.link.security), at: end) }
    }
}

/// What a peripheral offers connection-oriented channels for.
struct PeripheralService {
    /// The largest SDU taken.
    var receiveMTU: UInt16
    /// How the link has to be protected.
    var security: SecurityLevel
}

/// A connection-oriented channel of a peripheral.
struct PeripheralChannel {
    let link: Link
    let psm: UInt16
    var credits: ChannelCredits

    /// How much a peripheral takes before its program has to have seen to it; its program takes everything at once.
    static let room = 4096

    init(link: Link, psm: UInt16, mtu: UInt16) {
        self.link = link
        self.psm = psm
        credits = ChannelCredits(mtu: mtu, mps: min(mtu, 247))
    }
}
