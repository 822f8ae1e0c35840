import BluetoothHost
import BluetoothSockets

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

/// A link's hold on what the host tells of it, and who follows that.
final class LinkAttachment {
    let host: any HostLink
    private var followers = Broadcaster<LinkChange>()

    init(_ host: any HostLink) { self.host = host }

    /// What happens to the link from now on; `owner` is kept until the stream ends.
    func changes(
        _ operation: BluetoothError.Operation, capacity: Int, from loop: EventLoop,
        keeping owner: (any AnyObject & Sendable)?
    ) throws(BluetoothError) -> BoundedStream<LinkChange> {
        try host.follow(operation) { [weak self] in self?.take($0) }
        return followers.stream(capacity: capacity, policy: .dropOldest, operation, from: loop, keeping: owner)
    }

    private func take(_ change: Result<LinkChange, BluetoothError>) {
        switch change {
        case .success(let change): followers.send(change)
        case .failure(let reason): followers.finish(reason)
        }
    }
}
