import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives

/// The established links of an adapter, oldest first.
final class LinkRegistry {
    private var links: [Link] = []
    /// The number of links and channels that are being made.
    var attempts = 0
    private let health: RadioHealth

    init(_ health: RadioHealth) { self.health = health }

    /// The links that the program holds.
    var all: [Link] { links.filter { $0.connection != nil } }

    /// The number of links, including those that the program has just released.
    var count: Int { links.count }

    /// The program's connection to a device that has proven to have this identity or address, unless its channel has
    /// ended: such a link remains until the reason of its end is known.
    func connection(to peer: BluetoothAddress) -> Connection? {
        links.last { ($0.peer == peer || $0.identity == peer) && !$0.hasChannelEnded }?.connection
    }

    /// Whether there is no link, nor an attempt to make one.
    var isEmpty: Bool { links.isEmpty && attempts == 0 }

    func add(_ link: Link) {
        links.append(link)
        health.ownLinkCount = links.count
    }

    /// Removes a link that has ended.
    func remove(_ link: Link) {
        links.removeAll { $0 === link }
        health.ownLinkCount = links.count
        if link.endReason?.disconnectReason == .attributeTimeout { linkStalled(link.peer) }
    }

    /// A device has not responded in time, or its link accepts no data: the controller may be the reason.
    func linkStalled(_ peer: BluetoothAddress) { health.linkStalled(peer) }
}

/// The services of the adapter that links use.
final class LinkEnvironment {
    private let adapterRecord: AdapterRecord
    let registry: LinkRegistry
    /// The names of devices and the identities behind their addresses.
    let identities: DeviceIdentities
    let bonds: BondManager
    let pairings: Pairings
    /// Opens connection-oriented channels.
    let channels: ChannelMaker

    init(
        of adapterRecord: AdapterRecord, _ registry: LinkRegistry, _ identities: DeviceIdentities,
        _ bonds: BondManager, _ pairings: Pairings, _ channels: ChannelMaker
    ) {
        self.adapterRecord = adapterRecord
        self.registry = registry
        self.identities = identities
        self.bonds = bonds
        self.pairings = pairings
        self.channels = channels
    }

    /// Corrects the reason of a link's end if not the peer has lost the key, but the adapter is a stranger to it.
    func explaining(_ reason: BluetoothError) -> BluetoothError {
        guard reason.pairingFailure == .keyMissing, adapterRecord.isStranger.load(ordering: .relaxed) else {
            return reason
        }
        var reason = reason
        reason.message =
            "The peer does not recognise this adapter: another program has switched its private addresses on or off."
        reason.remedy =
            "Use the same privacy in all programs: --privacy of ble and linble.\nIn code: AdapterConfiguration.privacy."
        return reason
    }

    /// The adapter's name.
    var adapterName: String { adapterRecord.information.name }

    /// The host's address of the adapter.
    var address: BluetoothAddress { adapterRecord.information.address }
}
