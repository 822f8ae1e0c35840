import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// The factory of an adapter's links in both roles.
final class LinkMaker {
    private let mark: ComponentCount.Mark
    /// The adapter's session, which established links retain.
    weak var session: (any AnyObject & Sendable)?
    /// The cache of devices' databases.
    var attributeCache: (any DatabaseCache)? = MemoryAttributeCache()
    let environment: LinkEnvironment
    private let server: LocalServer
    /// The isolation domain of link handles, separate so that the handle of an ended link does not retain the adapter.
    private let domain: DetachedSession
    private let log: Logger

    init(in environment: LinkEnvironment, server: LocalServer, domain: DetachedSession, log: Logger) {
        mark = domain.loop.components.mark("LinkMaker")
        self.environment = environment
        self.server = server
        self.domain = domain
        self.log = log
    }

    /// Creates the handle of a link that is not established yet.
    func makeConnection(
        to peer: BluetoothAddress, as role: ConnectionRole, receiveMTU: UInt16, _ security: SecurityOptions
    ) -> Connection {
        let cache = attributeCache.map {
            ConnectionCache(store: $0, key: AttributeCacheKey(adapter: environment.address, peer: peer))
        }
        let configuration = LinkConfiguration(
            server: server, cache: cache, receiveMTU: receiveMTU, security: security, log: log)
        let link = Link(
            to: peer, as: role, in: session.map { ($0, environment) }, configuration, on: domain.loop)
        return Connection(link, in: domain)
    }
}

/// The configuration of a link.
struct LinkConfiguration {
    /// The attributes served to the peer's client.
    var server: LocalServer
    /// The cache of the peer's database.
    var cache: ConnectionCache?
    /// The largest ATT_MTU to agree to, 23 to 517 bytes.
    var receiveMTU: UInt16
    /// The policy for requests that the peer refuses because the link's security is insufficient.
    var securityPolicy: SecurityPolicy
    /// The minimum size of the encryption key in bytes that the program has chosen.
    var minimumKeySize: Int?
    var log: Logger

    init(
        server: LocalServer, cache: ConnectionCache? = nil, receiveMTU: UInt16,
        security: SecurityOptions = SecurityOptions(), log: Logger
    ) {
        self.server = server
        self.cache = cache
        self.receiveMTU = min(max(receiveMTU, 23), 517)
        securityPolicy = security.policy
        minimumKeySize = security.minimumKeySize
        self.log = log
    }
}
