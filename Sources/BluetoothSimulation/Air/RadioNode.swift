import BluetoothHCI
import BluetoothManagement

/// A device with a radio.
class RadioNode {
    unowned let world: World
    /// Whether it is out of range of all others.
    var isHidden = false {
        didSet { world.reachabilityChanged() }
    }
    /// The RSSI at which others receive it, in dBm.
    var signalStrength: Int8 = -50
    var advertisers: [Advertiser] = []
    /// The PHYs that its radio supports.
    var supportedPHYs: LEPHYSet = [.le1M, .le2M]
    /// The PHYs that its host prefers for links; nil without a preference.
    var preferredPHYs: LEPHYSet?
    /// The PHYs to which it agrees when the other side of a link requests a change.
    var acceptedPHYs: LEPHYSet { preferredPHYs.map { supportedPHYs.intersection($0) } ?? supportedPHYs }
    /// The largest packets that it sends and receives; longer ones than those on LE 1M only with LE Coded.
    var supportedDataLength: DataLengthLimits {
        DataLengthLimits(octets: 251, time: supportedPHYs.contains(.leCoded) ? 17040 : 2120)
    }
    /// The status with which it refuses other connection parameters; nil accepts them.
    var parameterRefusal: HCIStatus?
    /// Its identity address and the key that resolves its private addresses; nil if it does not use any.
    var identityResolvingKey: IdentityResolvingKey?

    private var lastHandle: UInt16 = 0

    init(world: World) {
        self.world = world
    }

    /// Removes it from the air.
    func remove() {
        world.remove(self)
    }

    /// Whether the radio is on.
    var isOnAir: Bool { true }
    /// Whether it receives advertisements.
    var isListening: Bool { false }

    /// The party that acts for it on a link: the device itself, or the host of a controller.
    func user(of end: LinkEnd) -> AnyObject? { self }

    /// Whether this device uses an address on the air.
    func uses(_ address: BluetoothAddress) -> Bool {
        advertisers.contains { $0.address == address }
    }

    /// Receives an advertisement.
    func hear(_ advertiser: Advertiser) {}

    /// Whether there is room for another link.
    var hasRoom: Bool { true }

    /// Whether a central at `address` may connect to one of this device's advertisers.
    func accepts(_ address: BluetoothAddress, by advertiser: Advertiser) -> Bool {
        advertiser.isFor(address) && hasRoom && !world.links(of: self).contains { $0.peerAddress == address }
    }

    /// A link was established; `advertiser` is the peripheral's advertiser that the central connected to.
    func linkEstablished(_ end: LinkEnd, through advertiser: Advertiser?) {}

    /// A link is down.
    func linkEnded(_ end: LinkEnd, reason: HCIStatus) {}

    /// A handle for a new link.
    func makeHandle() -> ConnectionHandle {
        lastHandle = lastHandle % 0x0EFF + 1
        return ConnectionHandle(rawValue: lastHandle)
    }

    /// The link reports something to this device.
    func receive(_ notice: LinkNotice, on end: LinkEnd) {}
}
