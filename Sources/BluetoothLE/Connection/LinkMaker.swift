import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// Makes the links of an adapter, whoever begins them, with what they share.
final class LinkMaker {
    private let mark: ComponentCount.Mark
    /// The adapter, which its links keep while they are up.
    weak var session: (any AnyObject & Sendable)?
    /// Where the databases of devices are remembered.
    var attributeCache: (any AttributeCache)? = MemoryAttributeCache()
    private let facts: AdapterFacts
    private let surroundings: LinkSurroundings
    private let server: LocalServer
    /// Where handles find links: a domain of its own, so that one that has ended does not keep the adapter.
    private let domain: LooseSession
    private let log: Logger

    init(
        of facts: AdapterFacts, in surroundings: LinkSurroundings, server: LocalServer, domain: LooseSession,
        log: Logger
    ) {
        mark = domain.loop.components.mark("LinkMaker")
        self.facts = facts
        self.surroundings = surroundings
        self.server = server
        self.domain = domain
        self.log = log
    }

    /// The channels of its links.
    var channels: any HostChannels { surroundings.hostChannels }

    /// The adapter's address, by which the host knows it.
    var address: BluetoothAddress { surroundings.address }

    func operation(_ name: String) -> BluetoothError.Operation {
        BluetoothError.Operation(name, adapter: facts.information.name)
    }

    /// The handle of a link that is to be.
    func makeConnection(
        to peer: BluetoothAddress, as role: ConnectionRole, receiveMTU: UInt16, _ securityPolicy: SecurityPolicy
    ) -> Connection {
        let cache = attributeCache.map {
            ConnectionCache(store: $0, key: AttributeCacheKey(adapter: address, peer: peer))
        }
        let configuration = LinkConfiguration(
            server: server, cache: cache, receiveMTU: receiveMTU, securityPolicy: securityPolicy, log: log)
        let link = Link(
            to: peer, as: role, in: session.map { ($0, surroundings) }, configuration, on: domain.loop)
        return Connection(link, in: domain)
    }
}
