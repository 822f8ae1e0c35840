import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// What several adapters as one ask of each.
extension Adapter {
    /// The adapter's power state machine.
    package var powerState: LoopBound<PowerStateMachine> { session.powerState }

    /// The adapter's room for links.
    package var slots: LoopBound<LinkSlots> {
        get async { await session.slotsOnLoop }
    }

    /// Whether there is a bond with a device, and a link to it, and the number of this program's links.
    package nonisolated(nonsending) func relation(
        to peer: BluetoothAddress
    ) async -> (hasBond: Bool, hasLink: Bool, linkCount: Int) {
        await session.relation(to: peer)
    }

    /// Has the host report the ends of other programs' links, until `isFollowed` is false again, as often as it was true.
    package nonisolated(nonsending) func setLinks(isFollowed: Bool) async {
        await session.setLinks(isFollowed: isFollowed)
    }

    /// Waits for room for another link.
    package nonisolated(nonsending) func waitForRoom(
        _ place: UInt64, until patience: KernelInstant, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        try await session.waitForRoom(place, until: patience, operation)
    }
}

extension AdapterSession {
    fileprivate var slotsOnLoop: LoopBound<LinkSlots> { LoopBound(slots, on: loop) }

    fileprivate func relation(to peer: BluetoothAddress) -> (hasBond: Bool, hasLink: Bool, linkCount: Int) {
        let peer = identities.identity(of: peer) ?? peer
        return (bondManager.bond(with: peer) != nil, links.connection(to: peer) != nil, links.count)
    }

    fileprivate func setLinks(isFollowed: Bool) {
        if isFollowed { host.links.beginFollowing() } else { host.links.endFollowing() }
    }

    fileprivate func waitForRoom(
        _ place: UInt64, until patience: KernelInstant, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        host.links.beginFollowing()
        defer { host.links.endFollowing() }
        try await slots.waitForTurn(place, until: patience, operation)
    }
}
