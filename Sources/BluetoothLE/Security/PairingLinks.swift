import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives

/// The addresses of a link's peer.
struct LinkAddresses: Hashable, Sendable {
    /// The address the link was established with.
    var connected: BluetoothAddress
    /// The host's present address for the peer: after pairing its identity.
    var known: BluetoothAddress

    /// Both addresses, if they differ.
    var all: [BluetoothAddress] { connected == known ? [known] : [connected, known] }
}

/// The links of an adapter, as its pairings see them.
//
// A link is found by any of the addresses that the host has for its peer.
protocol PairingLinks: AnyObject {
    /// The address with which the link to a device was established; nil without a link.
    func connectedAddress(of peer: BluetoothAddress) -> BluetoothAddress?

    /// Notifies the link to a device, if there is one, of a pairing question; returns whether this side is raising its
    /// security, and whether it is encrypted with the key of the device's bond.
    func pairingAsked(_ peer: BluetoothAddress) -> (isRaised: Bool, isConfirmed: Bool)

    /// Notifies the link to a device, if there is one, of its pairing's progress.
    func report(_ peer: BluetoothAddress, _ progress: PairingProgress)

    /// Notifies the link to a device that its bond was refused for lack of room.
    func bondWasRefused(_ identity: BluetoothAddress)
}

/// A step of a pairing.
enum PairingProgress {
    /// The agent has answered a question.
    case answered(agrees: Bool)
    case failed
    case keyMade(MadeKey)
}

/// The keys from earlier pairings.
struct PairingKeys {
    let bonds: BondManager
    /// The devices with a stored key according to pairings in this run, for when the bonds are not loaded.
    private var holders: Set<BluetoothAddress> = []

    /// The devices whose pairing with this program has asked a question: its key may come after the end of the link.
    private var asking: Set<BluetoothAddress> = []

    init(bonds: BondManager) {
        self.bonds = bonds
    }

    /// Records a question of the pairing with a device.
    mutating func noteQuestion(of peer: BluetoothAddress) {
        if asking.count < 64 { asking.insert(peer) }
    }

    /// Whether the pairing with a device has asked a question, and has not ended.
    mutating func takeQuestion(of peer: BluetoothAddress) -> Bool { asking.remove(peer) != nil }

    /// Records a pairing that made a stored key.
    mutating func note(_ peer: BluetoothAddress) {
        if holders.count < 1024 { holders.insert(peer) }
    }

    /// Removes a device whose key was deleted.
    mutating func forget(_ peer: BluetoothAddress) { holders.remove(peer) }

    /// Returns whether there is a key for a link's peer.
    func exist(_ addresses: LinkAddresses) -> Bool {
        let isLoaded = bonds.status == .loaded
        return addresses.all.contains { isLoaded ? bonds.bond(with: $0) != nil : holders.contains($0) }
    }

    /// The bond that a pairing with a link's peer would replace.
    func bond(_ addresses: LinkAddresses) -> Bond? {
        guard [.loaded, .disabled].contains(bonds.status) else { return nil }
        return addresses.all.lazy.compactMap { bonds.bond(behind: $0) }.first
    }

    /// Returns whether there is room for the bond that a pairing makes.
    func haveRoom(_ addresses: LinkAddresses, forAuthenticated isAuthenticated: Bool) -> Bool {
        addresses.all.contains { bonds.bond(with: $0) != nil }
            || bonds.hasRoom(forAuthenticated: isAuthenticated)
    }
}
