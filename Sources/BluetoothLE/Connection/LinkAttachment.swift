import BluetoothHost
import BluetoothKernel

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
