import BluetoothKernel
import BluetoothPrimitives
import KernelHost

/// The links of an adapter that are up, in the order they came about.
final class LinkRegistry {
    private var links: [Link] = []

    /// Those that the program holds.
    var all: [Link] { links.filter { $0.connection != nil } }

    /// How many are known, those that the program has just dropped included.
    var count: Int { links.count }

    func add(_ link: Link) { links.append(link) }

    func remove(_ link: Link) { links.removeAll { $0 === link } }
}

/// Opens connection-oriented channels over links.
protocol LinkChannels: AnyObject {
    /// Opens a channel to a service of `peer`; pairing asks about the device by the address `user`.
    nonisolated(nonsending) func open(
        psm: UInt16, to peer: BluetoothAddress, answeringFor user: BluetoothAddress, options: ChannelOptions
    ) async throws(BluetoothError) -> ConnectionOrientedChannel
}

/// What links use of their adapter.
final class LinkSurroundings {
    let kernel: any BluetoothKernel
    private let facts: AdapterFacts
    let registry: LoopBound<LinkRegistry>
    /// Explains their ends.
    let linkEnds: LinkEnds
    let controller: LoopBound<Controller>
    let bonds: LoopBound<BondKeeper>
    let pairings: LoopBound<Pairings>
    /// Opens the channels beside the attributes.
    let channels: any LinkChannels

    init(
        of facts: AdapterFacts, on kernel: any BluetoothKernel, _ registry: LoopBound<LinkRegistry>,
        _ linkEnds: LinkEnds,
        _ controller: LoopBound<Controller>, _ bonds: LoopBound<BondKeeper>, _ pairings: LoopBound<Pairings>,
        _ channels: any LinkChannels
    ) {
        self.kernel = kernel
        self.facts = facts
        self.registry = registry
        self.linkEnds = linkEnds
        self.controller = controller
        self.bonds = bonds
        self.pairings = pairings
        self.channels = channels
    }

    /// The adapter's address, by which the kernel knows it.
    var address: BluetoothAddress { facts.information.address }
}
