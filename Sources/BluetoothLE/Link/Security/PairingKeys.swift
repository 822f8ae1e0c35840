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

/// A step of a pairing.
enum PairingProgress {
    /// The agent has answered a question.
    case answered(agrees: Bool)
    case failed(PairingFailure)
    case keyMade(isStored: Bool)
}

/// The keys from earlier pairings.
struct PairingKeys {
    let bonds: BondManager
    /// The devices with a stored key according to pairings in this run, for when the bonds are not loaded.
    private var holders: Set<BluetoothAddress> = []

    init(bonds: BondManager) {
        self.bonds = bonds
    }

    /// Records a pairing that made a stored key.
    mutating func note(_ peer: BluetoothAddress) {
        if holders.count < 1024 { holders.insert(peer) }
    }

    /// Removes a device whose key was deleted.
    mutating func forget(_ peer: BluetoothAddress) { holders.remove(peer) }

    /// Whether the bonds of this program are those that count, perhaps without what the store has now.
    private var knowsBonds: Bool { ![.daemon, .notPermitted].contains(bonds.status) }

    /// Returns whether there is a key for a link's peer.
    func exist(_ addresses: LinkAddresses) -> Bool {
        let isKnown = bonds.writer != nil && knowsBonds
        return addresses.all.contains { isKnown ? bonds.bond(with: $0) != nil : holders.contains($0) }
    }

    /// The bond that a pairing with a link's peer would replace.
    func bond(_ addresses: LinkAddresses) -> Bond? {
        guard knowsBonds else { return nil }
        return addresses.all.lazy.compactMap { bonds.bond(behind: $0) }.first
    }

    /// Returns whether there is room for the bond that a pairing makes.
    func haveRoom(_ addresses: LinkAddresses, forAuthenticated isAuthenticated: Bool) -> Bool {
        addresses.all.contains { bonds.bond(with: $0) != nil }
            || bonds.hasRoom(forAuthenticated: isAuthenticated)
    }
}

/// The pairings that this program has agreed to: their keys may come after the end of the link.
struct AgreedPairings {
    /// By the device's address in the question: when, and whether no key has come yet.
    private var pairings: [BluetoothAddress: (time: KernelInstant, isOpen: Bool)] = [:]
    /// The maximum time from an answer to the keys (Core Vol 3 Part H §3.4).
    private static let lifetime = Duration.seconds(30)

    mutating func add(_ peer: BluetoothAddress, at now: KernelInstant) {
        pairings = pairings.filter { $0.value.time.duration(to: now) < Self.lifetime }
        if pairings.count < 64 { pairings[peer] = (now, true) }
    }

    /// Forgets a pairing that has failed.
    mutating func remove(_ peer: BluetoothAddress) { pairings[peer] = nil }

    /// Whether one of the pairings has made a key.
    ///
    /// A device that had an address of another kind than a private one is known by its identity alone: then the only
    /// pairing without keys so far counts.
    mutating func haveMadeKey(
        of identity: BluetoothAddress, _ privateAddress: BluetoothAddress?, at now: KernelInstant
    ) -> Bool {
        let recent = pairings.filter { $0.value.time.duration(to: now) < Self.lifetime }
        var peer = [privateAddress ?? identity, identity].first { recent[$0] != nil }
        let open = recent.filter(\.value.isOpen)
        if peer == nil, privateAddress == nil, open.count == 1 { peer = open.first?.key }
        guard let peer else { return false }
        pairings[peer]?.isOpen = false
        return true
    }
}
