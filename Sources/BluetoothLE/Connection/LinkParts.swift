import BluetoothKernel

/// The components of a link that most links do without, made when they are first needed.
struct LinkParts {
    /// The bearers beside the fixed channel's.
    var enhancedBearers: EnhancedBearers?
    /// The peer's database.
    var database: PeerDatabase?
    /// What the peer's bond means for it.
    var bondedPeer: BondedPeer?
    /// How well it is protected.
    var protection: LinkProtection?
    /// What the peer asks of the program. See Link+LocalServer.
    var peerRequests: PeerRequests?
    /// Who is told what happens on it.
    var events: LinkEvents?

    /// A component, made where there is none.
    static func made<Part>(_ part: inout Part?, _ make: () -> Part) -> Part {
        if let part { return part }
        let new = make()
        part = new
        return new
    }
}
