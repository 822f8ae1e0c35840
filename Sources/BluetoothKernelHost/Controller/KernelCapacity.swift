import BluetoothHost
import BluetoothLoop
import BluetoothHCI
import BluetoothPrimitives
import BluetoothSockets

/// The room of a controller that the kernel drives.
//
// Lives on the loop, with the adapter.
final class KernelCapacity: HostCapacity {
    private let mark: ComponentCount.Mark
    private let adapter: AdapterRecord
    private let management: ManagementClient
    private let kernel: any BluetoothKernel
    private let ownInstances: () -> Set<UInt8>
    private var onLinkEnded: () -> Void = {}

    /// - Parameter ownInstances: the numbers of this program's advertising instances.
    init(
        of adapter: AdapterRecord, on kernel: any BluetoothKernel, by management: ManagementClient,
        ownInstances: @escaping () -> Set<UInt8>
    ) {
        mark = kernel.loop.components.mark("KernelCapacity")
        (self.adapter, self.kernel) = (adapter, kernel)
        (self.management, self.ownInstances) = (management, ownInstances)
    }

    func follow(onLinkEnded: @escaping () -> Void) { self.onLinkEnded = onLinkEnded }

    /// Records that the controller has ended a link.
    func linkEnded() { onLinkEnded() }

    func countLinks() -> Int? {
        // The kernel lists its attempts, too, with handles that no link has (Core Vol 4 Part E §5.4.2).
        (try? kernel.linkHandles(ofAdapter: adapter.information.index))?.count { $0 <= 0x0EFF }
    }

    nonisolated(nonsending) func advertisingSets() async -> (count: Int, inUse: Int)? {
        let instances = AdvertisingInstances(of: adapter, by: management)
        guard let features = try? await instances.features(.init("read the advertising sets")) else { return nil }
        // The kernel does not list an instance whose number exceeds their count.
        return (Int(features.maximumInstances), ownInstances().union(features.instances).count)
    }
}

/// The controller's refusals of connections that the kernel has requested.
///
/// The kernel translates a refusal into an error number that other failures have as well; the raw socket shows the
/// command with its status before the kernel acts on it.
struct ConnectRefusals {
    private var refusals: [(peer: LEPeerAddress, status: HCIStatus)] = []
    private static let limit = 16

    /// Records the status of a command of the kernel.
    mutating func receive(_ command: AnyHCICommand, _ status: HCIStatus) {
        let peer = command.as(LECreateConnection.self)?.peer ?? command.as(LEExtendedCreateConnection.self)?.peer
        if let peer { record(peer, status) }
    }

    /// Records the end of an attempt that the controller had begun.
    mutating func receive(_ event: LEConnectionComplete) { record(event.peer, event.status) }

    private mutating func record(_ peer: LEPeerAddress, _ status: HCIStatus) {
        refusals.removeAll { $0.peer == peer }
        guard status.isWantOfRoom else { return }
        if refusals.count == Self.limit { refusals.removeFirst() }
        refusals.append((peer, status))
    }

    /// Removes and returns the status of the last attempt to a peer, if it was refused because the link limit is
    /// reached.
    mutating func take(_ peer: LEPeerAddress) -> HCIStatus? {
        // A bonded device has another address on the air.
        let only = refusals.count == 1 ? 0 : nil
        guard let index = refusals.firstIndex(where: { $0.peer == peer }) ?? only else { return nil }
        return refusals.remove(at: index).status
    }

    /// Discards all: the controller is no longer followed.
    mutating func forget() { refusals = [] }
}

extension HCIStatus {
    /// Whether a controller refuses a link with it because the link limit is reached.
    var isWantOfRoom: Bool { self == .connectionLimitExceeded || self == .rejectedLimitedResources }
}
