import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// Where a connection's databases are remembered.
struct ConnectionCache: Sendable {
    var store: any AttributeCache
    var key: AttributeCacheKey
}

/// The peer's database: what a link knows of it, follows of it and has remembered of it.
///
/// Owned by its link, which it is given with each call.
final class PeerDatabase {
    private let mark: ComponentCount.Mark
    private var known = KnownDatabase()
    private let cache: ConnectionCache?
    /// The last change of what is remembered, which the next waits for.
    private var remembering: Task<Void, Never>?
    /// Whether that was to forget it, which need not be done twice.
    private var isForgotten = false

    init(rememberedIn cache: ConnectionCache?, on loop: EventLoop) {
        mark = loop.components.mark("PeerDatabase")
        self.cache = cache
    }

    /// The default time limit of a discovery; a peer may take 30 s for each response.
    private static let discoveryTimeLimit = Duration.seconds(300)

    /// The whole database: as it is known or remembered where the peer confirms that, otherwise discovered.
    nonisolated(nonsending) func discover(
        _ link: Link, cached: Bool, timeout: Duration?
    ) async throws(BluetoothError) -> RemoteDatabase {
        let operation = BluetoothError.Operation("discover all attributes", peer: link.peer)
        // What is remembered needs no link, but handing it out without one, or to a task that is cancelled, helps nobody.
        _ = try link.bearer(for: operation)
        if Task.isCancelled { throw .cancelled(operation) }
        if cached, let database = known.database { return database }
        let timeout = timeout ?? Self.discoveryTimeLimit
        var hash: DatabaseHash?
        if cached, let cache, let remembered = await cache.store.database(for: key(of: cache, link)) {
            if remembered.isFollowed, link.bondedPeer.isBonded(link), known.changeCount == 0,
                try !link.bearer(for: operation).peerServer.serviceChanged.mayHaveMissed(
                    KnownDatabase.genericAttribute(.serviceChanged, in: remembered.services)?.valueHandle)
            {
                return adopt(remembered.database, hash: remembered.hash, link)
            }
            // Read before the discovery, so that a database that changes under it is not kept under its new hash.
            hash = try await link.perform(DatabaseHashRead(), "read the database hash", timeout: timeout)
            if let hash, hash == remembered.hash { return adopt(remembered.database, hash: hash, link) }
        }
        let changes = known.changeCount
        let database = try await link.perform(DatabaseDiscovery(), "discover all attributes", timeout: timeout)
        guard changes == known.changeCount else { return database }
        adopt(database, hash: hash, link)
        if hash != nil {
            remember(CachedDatabase(database, hash: hash), link)
            follow(database.services, link)
        } else {
            learnHash(of: database, link)
        }
        return database
    }

    /// The changes from now on.
    func changes(_ link: Link) -> BoundedStream<AttributeHandleRange> {
        let operation = BluetoothError.Operation("follow changes of services", peer: link.peer)
        let stream = known.changes.stream(
            capacity: 256, policy: .fail, operation, from: link.loop, keeping: link.connection)
        if let reason = link.endReason {
            stream.finish(reason)
        } else if let services = known.services {
            follow(services, link)
        }
        return stream
    }

    /// Whether the attribute may not be any more what the caller takes it for.
    func isStale(_ handle: AttributeHandle, _ type: BluetoothUUID?) -> Bool { known.isStale(handle, type) }

    /// The link has ended.
    func finish(_ reason: BluetoothError) { known.finish(reason) }

    // MARK: What is known

    /// Takes note of the database as it is now, and ends the subscriptions to what is gone.
    @discardableResult
    func adopt(_ database: RemoteDatabase, hash: DatabaseHash?, _ link: Link) -> RemoteDatabase {
        let former = known.formerServices
        known.discovered(database.services, problems: database.problems, hash: hash)
        guard let bearer = try? link.bearer(for: .init("take values", peer: link.peer)) else { return database }
        bearer.peerServer.serviceChanged.handle = known.serviceChanged
        for handle in known.gone(among: bearer.peerServer.subscribers.handles, from: former) {
            link.endSubscriptions(to: handle)
        }
        return database
    }

    /// Takes in that the peer's attributes in `range` are not what they were.
    func servicesChanged(in range: AttributeHandleRange, _ link: Link) {
        link.log.debug("services changed in \(range)", metadata: ["peer": "\(link.peer)"])
        known.changed(in: range)
        remember(nil, link)
    }

    private func remember(_ database: CachedDatabase?, _ link: Link) {
        // A peer may tell of changes as fast as it can send.
        guard let cache, database != nil || !isForgotten else { return }
        isForgotten = database == nil
        let key = key(of: cache, link)
        // The caller does not wait for a file, but the next change of it does.
        remembering = Task(executorPreference: link.loop) { [before = remembering] in
            await before?.value
            await cache.store.setDatabase(database, for: key)
        }
    }

    /// Where the database is remembered: under who the peer is, whatever its address is today.
    private func key(of cache: ConnectionCache, _ link: Link) -> AttributeCacheKey {
        AttributeCacheKey(adapter: cache.key.adapter, peer: link.identity)
    }

    // MARK: Following

    /// Reads the hash of a database just discovered and remembers both where they belong together.
    ///
    /// The hash may be that of a later database. It is not if what was discovered has just this hash; where that cannot
    /// be said, it is only remembered that there is one, and the next discovery reads it first.
    private func learnHash(of database: RemoteDatabase, _ link: Link) {
        let services = database.services
        guard KnownDatabase.genericAttribute(.databaseHash, in: services) != nil else { return follow(services, link) }
        submit(DatabaseHashRead(), link) { [weak self] answer, link in
            guard let self else { return }
            if case .success(let hash?) = answer {
                let isTheirs = hash.isHash(of: services)
                if isTheirs, known.services == services { known.hash = hash }
                remember(
                    isTheirs ? CachedDatabase(database, hash: hash) : CachedDatabase(services: [], hash: nil), link)
            }
            follow(services, link)
        }
    }

    /// Asks the peer to refuse what relies on an old database, and to tell of changes, as far as it can
    /// (Core Vol 3 Part G §7.1, §7.2).
    private func follow(_ services: [RemoteService], _ link: Link) {
        guard !known.isFollowed else { return }
        known.isFollowed = true
        let configuration = KnownDatabase.genericAttribute(.serviceChanged, in: services)?
            .descriptor(.clientCharacteristicConfiguration)?.handle
        guard let features = KnownDatabase.genericAttribute(.clientSupportedFeatures, in: services) else {
            return subscribeToChanges(configuration, link)
        }
        submit(ValueWrite([GATTClientFeatures.ours.rawValue], to: features.valueHandle), link) {
            [weak self] _, link in self?.subscribeToChanges(configuration, link)
        }
    }

    /// Asks the peer to tell of changes; a bonded one does so after this link as well.
    private func subscribeToChanges(_ configuration: AttributeHandle?, _ link: Link) {
        guard let configuration else { return }
        submit(ValueWrite([2, 0], to: configuration), link) { [weak self] answer, link in
            switch answer {
            case .failure(let failure): link.log.debug("changes are not told of: \(failure)")
            case .success: self?.changesAreTold(configuration, link)
            }
        }
    }

    /// The peer has agreed to tell of changes.
    private func changesAreTold(_ configuration: AttributeHandle, _ link: Link) {
        known.followedConfiguration = configuration
        guard link.bondedPeer.isBonded(link), let services = known.services else { return }
        remember(
            CachedDatabase(services: services, problems: known.problems, hash: known.hash, isFollowed: true), link)
    }

    /// A pairing on this link has made a bond, perhaps in place of one before.
    func bonded(isAgain: Bool, _ link: Link) {
        if let configuration = known.followedConfiguration {
            // What was asked for before does not count for a bond that was not there.
            subscribeToChanges(configuration, link)
        } else if isAgain {
            // The peer has forgotten that it has to tell of changes.
            remember(nil, link)
        }
    }

    /// Has a procedure done that nobody waits for.
    private func submit<Procedure: ClientProcedure>(
        _ procedure: Procedure, _ link: Link,
        _ completion: @escaping (Result<Procedure.Output, TransactionFailure>, Link) -> Void
    ) {
        guard let bearer = try? link.bearer(for: .init("follow the database", peer: link.peer)) else { return }
        // Later, since the transaction engine that tells is still at it.
        let transaction = BackgroundProcedure(procedure) { [weak link, loop = link.loop] answer in
            loop.executeLocally { if let link { completion(answer, link) } }
        }
        bearer.submit(transaction)
    }

    // MARK: Out of sync

    /// Makes the peer take us for aware of its database again, after it has refused a request because of that
    /// (Core Vol 3 Part G §2.5.2.1).
    ///
    /// What was refused has not been done, so it may be asked again, provided that the database is the one we know.
    /// - Throws: `.attributesChanged` when it is not.
    nonisolated(nonsending) func resynchronize(
        _ link: Link, _ operation: BluetoothError.Operation, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        let remaining = deadline.map { link.loop.now.duration(to: $0) }
        let hash = try await link.perform(DatabaseHashRead(), "read the database hash", timeout: remaining)
        if let hash, hash == known.hash { return }
        servicesChanged(in: .all, link)
        throw .attributesChanged(operation)
    }
}

extension GATTClientFeatures {
    /// What we can do as a client.
    static let ours: GATTClientFeatures = [.robustCaching, .multipleNotifications]
}

extension CachedDatabase {
    fileprivate init(_ database: RemoteDatabase, hash: DatabaseHash?) {
        self.init(services: database.services, problems: database.problems, hash: hash)
    }

    fileprivate var database: RemoteDatabase { RemoteDatabase(services: services, problems: problems) }
}
