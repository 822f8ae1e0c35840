import BluetoothKernelHost
import BluetoothLoop
import BluetoothManagement

@testable import BluetoothLE

extension Adapter {
    /// Has the kernel do something by the adapter's management client.
    @discardableResult
    func sendToManagement(
        _ command: ManagementCommand, to index: UInt16
    ) async throws(BluetoothError) -> ManagementReply {
        try await session.sendToManagement(command, to: index)
    }
}

extension AdapterSession {
    /// How many links are known, those that the program has just dropped included.
    var linkCount: Int { links.count }
    /// Where the databases of devices are remembered.
    var attributeCache: (any AttributeCache)? { linkMaker.attributeCache }
    /// The links that the program accepts.
    var acceptedLinks: AcceptedLinks? { incoming.accepted }

    /// What the kernel does for the adapter.
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

    /// Has the kernel do something by the adapter's management client.
    fileprivate func sendToManagement(
        _ command: ManagementCommand, to index: UInt16
    ) async throws(BluetoothError) -> ManagementReply {
        try await kernelAdapter.management.send(command, to: index)
    }

    /// How many wait for the adapter to be ready.
    var readyWaiterCount: Int { life.value.waiterCount }
    /// Whether it is being brought back.
    var isRestoring: Bool { life.value.isRestoring }

    /// Whether the controller's socket is open.
    var hasControllerSocket: Bool { (try? kernelAdapter.controller.hasSocket) ?? false }
    /// How many connects are under way or wait for their turn.
    var connectCount: Int { connects.count }
    /// How many links wait for why they have ended.
    var unexplainedEndCount: Int { (host.channels as? KernelChannels)?.unexplainedCount ?? 0 }
    /// How often an address was looked up among keys.
    var lookUpCount: Int { heard.resolution.lookUpCount }

    /// What pairings ask.
    var pairingQuestions: PairingQuestions { pairings.value.questions }
    /// What the kernel is told of this side of pairings.
    var pairingSettings: KernelPairingSettings? { (pairings.value.host as? KernelPairing)?.progress }

    /// Forgets that there is a key, where the bonds are not known.
    func forgetKey(of peer: BluetoothAddress) { pairings.value.forgetKey(of: peer) }

    /// When the queue of connects has something to do next.
    func nextConnectMoment(after now: KernelInstant) -> KernelInstant? {
        connects.nextMoment(after: now)
    }
}

/// Tells whether anything of a session is left.
struct SessionLife: Sendable {
    weak let session: AdapterSession?

    var isOver: Bool { session == nil }
}
