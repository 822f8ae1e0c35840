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
    /// The services that connection-oriented channels may be opened to, with the largest packet taken.
    var services: [UInt16: UInt16] = [:]
    /// The connection-oriented channels there are, with their service.
    var channels: [ChannelKey: UInt16] = [:]
    private var lastHandle: UInt16 = 0

    init(
        world: World, address: BluetoothAddress, makeHandler: (@Sendable (SimulatedLink) -> any SimulatedLinkHandler)?
    ) {
        self.address = address
        self.makeHandler = makeHandler
        super.init(world: world)
    }

    override var pairingParty: (any PairingParty)? { self }

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
        updateAdvertisers()
    }

    override func receive(_ packet: [UInt8], channel: ChannelKey, on end: LinkEnd) {
        guard !isMute else { return }
        switch channel {
        case .fixed(let identifier): tell(.received(.fixed(identifier), packet), at: end)
        case .dynamic:
            guard let psm = channels[channel] else { return }
            tell(.received(.dynamic(psm: psm), packet), at: end)
        }
    }

    override func hasRoom(_ end: LinkEnd) {
        guard end.side.wantsRoom else { return }
        end.side.wantsRoom = false
        tell(.writable, at: end)
    }

    override func openChannel(
        _ psm: UInt16, key: ChannelKey, mtu: UInt16, on end: LinkEnd, _ completion: @escaping (UInt16?) -> Void
    ) {
        guard !isMute else { return }
        if services[psm] != nil { channels[key] = psm }
        completion(services[psm])
    }

    override func channelClosed(_ key: ChannelKey, on end: LinkEnd) {
        channels[key] = nil
    }

    override func linkChanged(_ end: LinkEnd, _ change: LinkChange) {
        if case .security = change { tell(.securityChanged(end.link.security), at: end) }
    }
}
