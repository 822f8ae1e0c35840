import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// A device with an antenna.
class RadioNode {
    unowned let world: World
    /// Out of everybody's range.
    var isHidden = false
    /// How strong the others receive it, in dBm.
    var signalStrength: Int8 = -50
    var advertisers: [Advertiser] = []
    /// The PHYs its radio has.
    var supportedPHYs: LEPHYSet = [.le1M, .le2M]
    /// How it refuses other connection parameters; nil takes them.
    var parameterRefusal: HCIStatus?
    /// Who it really is, where it advertises with private addresses, and the key that tells.
    var identityResolvingKey: IdentityResolvingKey?

    init(world: World) {
        self.world = world
    }

    /// Goes off the air for good.
    func remove() {
        world.remove(self)
    }

    /// Whether the radio is switched on.
    var isOnAir: Bool { true }
    /// Whether advertisements are of any use to it.
    var isListening: Bool { false }

    /// Who acts for it: the device itself, or the host of a controller.
    var user: AnyObject? { self }

    /// Whether this device uses an address on the air.
    func uses(_ address: BluetoothAddress) -> Bool {
        advertisers.contains { $0.address == address }
    }

    /// An advertisement came in.
    func hear(_ advertiser: Advertiser) {}

    /// Whether a central at `address` may connect to what this device advertises.
    func accepts(_ address: BluetoothAddress, by advertiser: Advertiser) -> Bool {
        advertiser.isFor(address)
    }

    /// A link has come up; `advertiser` is what the central answered to, for the peripheral.
    func linkEstablished(_ end: LinkEnd, through advertiser: Advertiser?) {}

    /// A link is down.
    func linkEnded(_ end: LinkEnd, reason: HCIStatus) {}

    /// A number for a new link.
    func makeHandle() -> ConnectionHandle { 0 }

    /// The other side of a link asks for a channel to a service; the answer goes to `completion`.
    func openChannel(
        _ psm: UInt16, key: ChannelKey, _ terms: ChannelTerms, on end: LinkEnd,
        _ completion: @escaping (ChannelAnswer) -> Void
    ) {
        completion(.refused)
    }

    /// The other side, a peripheral, asks for other connection parameters.
    func parametersRequested(_ parameters: LEConnectionParameters, on end: LinkEnd) {}

    /// A frame of a connection-oriented channel came in that was not the last of its SDU.
    func frameArrived(_ key: ChannelKey, on end: LinkEnd) {}

    /// The other side takes so many frames more on a connection-oriented channel.
    func creditsGranted(_ count: Int, _ key: ChannelKey, on end: LinkEnd) {}

    /// The other side has closed a connection-oriented channel.
    func channelClosed(_ key: ChannelKey, on end: LinkEnd) {}

    /// A packet came in.
    func receive(_ packet: [UInt8], channel: ChannelKey, on end: LinkEnd) {}

    /// The controller of `end` has room for packets again.
    func hasRoom(_ end: LinkEnd) {}

    /// The link's parameters, data length or PHYs have changed.
    func linkChanged(_ end: LinkEnd, _ change: LinkChange) {}
}
