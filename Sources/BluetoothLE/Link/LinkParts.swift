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

/// A link's registration with the host, and the followers of its changes.
final class LinkAttachment {
    let host: any HostLink
    private var followers = Broadcaster<LinkChange>()

    init(_ host: any HostLink) { self.host = host }

    /// A stream of the link's changes from now on; `owner` is retained until the stream ends.
    func changes(
        _ operation: BluetoothError.Operation, capacity: Int, from loop: EventLoop,
        keeping owner: (any AnyObject & Sendable)?
    ) throws(BluetoothError) -> BoundedStream<LinkChange> {
        try host.follow(operation) { [weak self] in self?.handle($0) }
        return followers.stream(capacity: capacity, policy: .dropOldest, operation, from: loop, keeping: owner)
    }

    private func handle(_ change: Result<LinkChange, BluetoothError>) {
        switch change {
        case .success(let change): followers.send(change)
        case .failure(let reason): followers.finish(reason)
        }
    }
}
