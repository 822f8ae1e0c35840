import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives

/// The addresses of a link's peer.
struct LinkAddresses: Hashable, Sendable {
    /// The one that the link was made with.
    var connected: BluetoothAddress
    /// The one that the host knows the peer by now: after pairing its identity.
    var known: BluetoothAddress

    /// Both, if they differ.
    var all: [BluetoothAddress] { connected == known ? [known] : [connected, known] }
}

/// The links of an adapter, as its pairings see them.
//
// A link is found by any of the addresses that the host knows its peer by.
protocol PairingLinks: AnyObject {
    /// The address with which the link to a device was made; nil where there is no link.
    func connectedAddress(of peer: BluetoothAddress) -> BluetoothAddress?

    /// Tells the link to a device, if there is one, that pairing asks; says whether this side has raised it.
    func pairingAsked(_ peer: BluetoothAddress) -> Bool

    /// Tells the link to a device, if there is one, how its pairing goes.
    func tell(_ peer: BluetoothAddress, _ progress: PairingProgress)

    /// There was no room for the bond that a pairing has made.
    func bondWasRefused(_ identity: BluetoothAddress)
}

/// How a pairing goes.
enum PairingProgress {
    /// A question was answered.
    case answered
    case failed
    case keyMade(MadeKey)
}

/// The keys from earlier pairings, as the next ones see them.
struct PairingKeys {
    let bonds: BondKeeper
    /// With whom there has been a pairing that made a key to be kept: what is known where the bonds are not.
    private var holders: Set<BluetoothAddress> = []

    init(bonds: BondKeeper) {
        self.bonds = bonds
    }

    /// A pairing has made a key that is to be kept.
    mutating func note(_ peer: BluetoothAddress) {
        if holders.count < 1024 { holders.insert(peer) }
    }

    /// A device's key is gone from this machine.
    mutating func forget(_ peer: BluetoothAddress) { holders.remove(peer) }

    /// Whether there is one with a link's peer.
    func exist(_ addresses: LinkAddresses) -> Bool {
        let isLoaded = bonds.standing == .loaded
        return addresses.all.contains { isLoaded ? bonds.bond(with: $0) != nil : holders.contains($0) }
    }

    /// Whether the one with a link's peer has made sure of the device.
    func areAuthenticated(_ addresses: LinkAddresses) -> Bool {
        bonds.standing == .loaded
            && addresses.all.contains { bonds.bond(with: $0)?.isAuthenticated == true }
    }

    /// Whether the bond that a pairing makes finds room.
    func haveRoom(_ addresses: LinkAddresses, forAuthenticated isAuthenticated: Bool) -> Bool {
        addresses.all.contains { bonds.bond(with: $0) != nil }
            || bonds.hasRoom(forAuthenticated: isAuthenticated)
    }
}
