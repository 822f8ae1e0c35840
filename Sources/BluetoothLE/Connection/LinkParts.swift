import BluetoothKernel

/// The components of a link that most links do without, made when they are first needed.
struct LinkParts {
    /// The bearers beside the fixed channel's.
    fileprivate(set) var enhancedBearers: EnhancedBearers?
    /// The peer's database.
    fileprivate(set) var database: PeerDatabase?
    /// What the peer's bond means for it.
    fileprivate(set) var bondedPeer: BondedPeer?
    /// How well it is protected.
    fileprivate(set) var protection: LinkProtection?
    /// What the peer asks of the program. See Link+LocalServer.
    fileprivate(set) var peerRequests: PeerRequests?
    /// Who is told what happens on it.
    fileprivate(set) var events: LinkEvents?

    /// A component, made where there is none.
    fileprivate static func made<Part>(_ part: inout Part?, _ make: () -> Part) -> Part {
        if let part { return part }
        let new = make()
        part = new
        return new
    }
}

extension Link {
    var enhancedBearersIfAny: EnhancedBearers? { parts.enhancedBearers }
    var databaseIfAny: PeerDatabase? { parts.database }
    var bondedPeerIfAny: BondedPeer? { parts.bondedPeer }
    var protectionIfAny: LinkProtection? { parts.protection }
    var peerRequestsIfAny: PeerRequests? { parts.peerRequests }

    var enhancedBearers: EnhancedBearers { LinkParts.made(&parts.enhancedBearers) { EnhancedBearers(on: loop) } }
    var bondedPeer: BondedPeer { LinkParts.made(&parts.bondedPeer) { BondedPeer(on: loop) } }
    var protection: LinkProtection { LinkParts.made(&parts.protection) { LinkProtection(on: loop) } }
    var peerRequests: PeerRequests { LinkParts.made(&parts.peerRequests) { PeerRequests(on: loop) } }
    var events: LinkEvents { LinkParts.made(&parts.events) { LinkEvents() } }
    var database: PeerDatabase {
        LinkParts.made(&parts.database) { PeerDatabase(rememberedIn: configuration.cache, on: loop) }
    }

    /// Knows no more of the peer's database than a link just made.
    func forgetDatabase() { parts.database = nil }
}
