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

    /// Has the host report the ends of other programs' links as long as the result is retained.
    package func followLinks() -> any AnyObject & Sendable { host.channels.followLinks() }

    /// Waits for room for another link.
    package func waitForRoom(
        _ place: UInt64, until patience: KernelInstant, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        let following = host.channels.followLinks()
        defer { withExtendedLifetime(following) {} }
        try await slots.waitForTurn(place, until: patience, operation)
    }
}
