import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// What several adapters as one ask of each.
extension AdapterSession {
    /// The adapter's room for links.
    package var slotsOnLoop: LoopBound<LinkSlots> { LoopBound(slots, on: loop) }

    /// Whether there is a bond with a device, and a link to it, and the number of this program's links.
    package func relation(to peer: BluetoothAddress) -> (hasBond: Bool, hasLink: Bool, linkCount: Int) {
        let peer = identities.identity(of: peer) ?? peer
        return (bondManager.bond(with: peer) != nil, links.connection(to: peer) != nil, links.count)
    }

    /// Has the host report the ends of other programs' links, which it does only for those who follow.
    package func beginFollowingLinks() { host.links.beginFollowing() }

    package func endFollowingLinks() { host.links.endFollowing() }

    /// Waits for room for another link.
    package func waitForRoom(
        _ place: UInt64, until patience: KernelInstant, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        host.links.beginFollowing()
        defer { host.links.endFollowing() }
        try await slots.waitForTurn(place, until: patience, operation)
    }
}
