import BluetoothKernelHost
import BluetoothLoop
import BluetoothManagement

@testable import BluetoothLE

extension Adapter {
    /// Sends a command by the adapter's management client.
    @discardableResult
    func sendToManagement<Command: ManagementCommand>(
        _ command: Command, to index: UInt16
    ) async throws(BluetoothError) -> Command.Reply {
        try await session.sendToManagement(command, to: index)
    }
}

extension AdapterSession {
    /// The number of registered links, including those that the program has just released.
    var linkCount: Int { links.count }
    /// The cache of devices' databases.
    var attributeCache: (any DatabaseCache)? { linkMaker.attributeCache }
    /// The program's acceptance of links.
    var acceptedLinks: AcceptedLinks? { incoming.accepted }
    /// Whether it listens for links that the program does not accept.
    var isServing: Bool { incoming.isServing }

    /// The kernel host of the adapter.
    private var kernelAdapter: AdapterHost {
        get throws(BluetoothError) {
            guard let host = host as? AdapterHost else { throw .noAdapter(operation("look inside")) }
            return host
        }
    }

    /// The adapter's management client.
    var management: LoopBound<ManagementClient> {
        get throws(BluetoothError) { LoopBound(try kernelAdapter.management, on: loop) }
    }

    /// Sends a command by the adapter's management client.
    fileprivate func sendToManagement<Command: ManagementCommand>(
        _ command: Command, to index: UInt16
    ) async throws(BluetoothError) -> Command.Reply {
        try await kernelAdapter.management.send(command, to: index)
    }

    /// The number of callers that wait for the adapter to be ready.
    var readyWaiterCount: Int { powerState.value.waiterCount }
    /// Whether a restoration is under way.
    var isRestoring: Bool { powerState.value.isRestoring }

    /// Whether the controller's socket is open.
    var hasControllerSocket: Bool { (try? kernelAdapter.controller.hasSocket) ?? false }
    /// The number of connection attempts, under way and waiting.
    var connectCount: Int { scheduler.count }
    /// The number of connects that wait for room.
    var slotWaiterCount: Int { slots.waitingCount }
    /// The number of links whose end is not explained yet.
    var unexplainedEndCount: Int { (host.channels as? KernelChannels)?.unexplainedCount ?? 0 }
    /// The number of address look-ups among keys.
    var lookUpCount: Int { identities.lookUpCount }

    /// The pairing questions.
    var pairingQuestions: PairingQuestions { pairings.value.questions }
    /// The pairing settings that the kernel has.
    var pairingSettings: KernelPairingSettings? { (pairings.value.host as? KernelPairing)?.progress }

    /// Removes the record of a key, for when the bonds are not loaded.
    func forgetKey(of peer: BluetoothAddress) {
        pairings.value.host.removeKeys(of: peer, disconnect: false)
    }

    /// Makes the host lack the key of a bond.
    func hostLacksKey(of peer: BluetoothAddress) { bondManager.hostLacksKey(of: peer) }

    /// The next time at which the queue of attempts has something to do.
    func nextConnectDeadline(after now: KernelInstant) -> KernelInstant? {
        scheduler.nextDeadline(after: now)
    }
}

/// Shows whether any part of a session is alive.
struct SessionLife: Sendable {
    weak let session: AdapterSession?

    var isOver: Bool { session == nil }
}
