import BluetoothHost
import BluetoothLoop
import BluetoothSockets

/// The components that most links do without, created on first use.
struct LinkParts {
    /// The enhanced bearers.
    var enhancedBearers: EnhancedBearers?
    /// The peer's database.
    var database: PeerDatabase?
    /// The effect of the peer's bond.
    var bondedPeer: BondedPeer?
    /// The link's security.
    var protection: LinkProtection?
    /// The requests for the program. See Link+LocalServer.
    var peerRequests: PeerRequests?
    /// The receiver of the link's events.
    var events: LinkEvents?
    /// The followers of the link's changes.
    var changes = Broadcaster<LinkChange>()
    /// The requests for the settings of the link's options, while any is under way.
    var settingsRequests: SettingsRequests?

    /// Returns the component, created if necessary.
    static func made<Part>(_ part: inout Part?, _ make: () -> Part) -> Part {
        if let part { return part }
        let new = make()
        part = new
        return new
    }
}
