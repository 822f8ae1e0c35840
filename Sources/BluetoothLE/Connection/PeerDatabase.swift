import BluetoothATT
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// A connection's place in the attribute cache.
struct ConnectionCache: Sendable {
    var store: any DatabaseCache
    var key: AttributeCacheKey
}

/// The peer's attribute database: its cached state, its discovery and the following of its changes.
///
/// Owned by its link, which is passed to each call.
final class PeerDatabase {
    private let mark: ComponentCount.Mark
    private var state = PeerDatabaseState()
    private let cache: ConnectionCache?
    /// The last write to the cache, which the next one waits for.
    private var cacheWrite: Task<Void, Never>?
    /// Whether that write removed the entry, which need not be repeated.
    private var isCacheCleared = false

    init(cachedIn cache: ConnectionCache?, on loop: EventLoop) {
        mark = loop.components.mark("PeerDatabase")
        self.cache = cache
    }

    /// The default time limit of a discovery; a peer may take 30 s for each response.
    static let discoveryTimeLimit = Duration.seconds(300)

    /// Returns the whole database: the cached one if the peer confirms it, otherwise by discovery.
    nonisolated(nonsending) func discover(
        _ link: Link, cached: Bool, timeout: Duration?
    ) async throws(BluetoothError) -> RemoteDatabase {
        let operation = BluetoothError.Operation("discover all attributes", peer: link.peer)
        // A cached database needs no link, but returning it without one, or to a cancelled task, serves no purpose.
        _ = try link.bearer(for: operation)
        if Task.isCancelled { throw .cancelled(operation) }
        if cached, let database = state.database { return database }
        let timeout = timeout ?? Self.discoveryTimeLimit
        var hash: DatabaseHash?
        if cached, let cache, let stored = await cache.store.database(for: key(of: cache, link)) {
            if stored.isFollowed, link.bondedPeer.isBonded(link), state.changeCount == 0,
                try !link.bearer(for: operation).peerServer.serviceChanged.mayHaveMissed(
                    PeerDatabaseState.genericAttribute(.serviceChanged, in: stored.services)?.valueHandle)
            {
                return adopt(stored.database, hash: stored.hash, link)
            }
            // Read before the discovery, so that a database that changes meanwhile is not stored under its new hash.
            hash = try await link.perform(DatabaseHashRead(), "read the database hash", timeout: timeout)
            if let hash, hash == stored.hash { return adopt(stored.database, hash: hash, link) }
        }
        let changes = state.changeCount
        let database = try await link.perform(DatabaseDiscovery(), "discover all attributes", timeout: timeout)
        guard changes == state.changeCount else { return database }
        adopt(database, hash: hash, link)
        if hash != nil {
            updateCache(CachedDatabase(database, hash: hash), link)
            follow(database.services, link)
        } else {
            fetchHash(of: database, link)
        }
        return database
    }

    /// The changes from now on.
    func changes(_ link: Link) -> BoundedStream<AttributeHandleRange> {
        let operation = BluetoothError.Operation("follow changes of services", peer: link.peer)
        let stream = state.changes.stream(
            capacity: 256, policy: .fail, operation, from: link.loop, keeping: link.connection)
        if let reason = link.endReason {
            stream.finish(reason)
        } else if let services = state.services {
            follow(services, link)
        }
        return stream
    }

    /// Returns whether an attribute may have changed since its discovery.
    func isStale(_ handle: AttributeHandle, _ type: BluetoothUUID?) -> Bool { state.isStale(handle, type) }

    /// Ends the streams of changes, as the link has ended.
    func finish(_ reason: BluetoothError) { state.finish(reason) }

    // MARK: State

    /// Stores the present database, and ends the subscriptions to attributes that are gone.
    @discardableResult
    func adopt(_ database: RemoteDatabase, hash: DatabaseHash?, _ link: Link) -> RemoteDatabase {
        let former = state.formerServices
        state.discovered(database.services, problems: database.problems, hash: hash)
        guard let bearer = try? link.bearer(for: .init("receive values", peer: link.peer)) else { return database }
        bearer.peerServer.serviceChanged.handle = state.serviceChanged
        for handle in state.gone(among: bearer.peerServer.subscribers.handles, from: former) {
            link.endSubscriptions(to: handle)
        }
        return database
    }

    /// Handles a change of the peer's attributes in `range`.
    func servicesChanged(in range: AttributeHandleRange, _ link: Link) {
        link.log.debug("services changed in \(range)", metadata: ["peer": "\(link.peer)"])
        state.changed(in: range)
        updateCache(nil, link)
    }

    private func updateCache(_ database: CachedDatabase?, _ link: Link) {
        // A peer may indicate changes as fast as it can send.
        guard let cache, database != nil || !isCacheCleared else { return }
        isCacheCleared = database == nil
        let key = key(of: cache, link)
        // The caller does not wait for the file, but the next write does.
        cacheWrite = Task(executorPreference: link.loop) { [before = cacheWrite] in
            await before?.value
            await cache.store.setDatabase(database, for: key)
        }
    }

    /// The cache key of the database: the peer's identity, whatever its present address.
    private func key(of cache: ConnectionCache, _ link: Link) -> AttributeCacheKey {
        AttributeCacheKey(adapter: cache.key.adapter, peer: link.identity)
    }

    // MARK: Following

    /// Reads the hash of a database just discovered, and stores both if they match.
    ///
    /// The hash may belong to a later database. It does not if the discovered services have this hash; if that cannot
    /// be determined, only the existence of a hash is stored, and the next discovery reads it first.
    private func fetchHash(of database: RemoteDatabase, _ link: Link) {
        let services = database.services
        guard PeerDatabaseState.genericAttribute(.databaseHash, in: services) != nil else {
            return follow(services, link)
        }
        submit(DatabaseHashRead(), link) { [weak self] answer, link in
            guard let self else { return }
            if case .success(let hash?) = answer {
                let isTheirs = hash.isHash(of: services)
                if isTheirs, state.services == services { state.hash = hash }
                updateCache(
                    isTheirs ? CachedDatabase(database, hash: hash) : CachedDatabase(services: [], hash: nil), link)
            }
            follow(services, link)
        }
    }

    /// Enables robust caching and change indications at the peer, as far as it supports them (Core Vol 3 Part G §7.1,
    /// §7.2).
    private func follow(_ services: [RemoteService], _ link: Link) {
        guard !state.isFollowed else { return }
        state.isFollowed = true
        let configuration = PeerDatabaseState.genericAttribute(.serviceChanged, in: services)?
            .descriptor(.clientCharacteristicConfiguration)?.handle
        guard let features = PeerDatabaseState.genericAttribute(.clientSupportedFeatures, in: services) else {
            return subscribeToChanges(configuration, link)
        }
        submit(ValueWrite([GATTClientFeatures.ours.rawValue], to: features.valueHandle), link) {
            [weak self] _, link in self?.subscribeToChanges(configuration, link)
        }
    }

    /// Subscribes to Service Changed; a bonded peer persists the subscription.
    private func subscribeToChanges(_ configuration: AttributeHandle?, _ link: Link) {
        guard let configuration else { return }
        submit(ValueWrite([2, 0], to: configuration), link) { [weak self] answer, link in
            switch answer {
            case .failure(let failure):
                link.log.debug("the peer refused the subscription to Service Changed: \(failure)")
            case .success: self?.serviceChangedSubscribed(configuration, link)
            }
        }
    }

    /// Handles the peer's confirmation of the subscription.
    private func serviceChangedSubscribed(_ configuration: AttributeHandle, _ link: Link) {
        state.followedConfiguration = configuration
        guard link.bondedPeer.isBonded(link), let services = state.services else { return }
        updateCache(
            CachedDatabase(services: services, problems: state.problems, hash: state.hash, isFollowed: true), link)
    }

    /// Handles a new bond from a pairing on this link, which may replace an earlier one.
    func bonded(isAgain: Bool, _ link: Link) {
        if let configuration = state.followedConfiguration {
            // A subscription made before the bond is not part of it.
            subscribeToChanges(configuration, link)
        } else if isAgain {
            // The peer has lost the subscription with the former bond.
            updateCache(nil, link)
        }
    }

    /// Submits a procedure without a waiting caller.
    private func submit<Procedure: ClientProcedure>(
        _ procedure: Procedure, _ link: Link,
        _ completion: @escaping (Result<Procedure.Output, TransactionFailure>, Link) -> Void
    ) {
        guard let bearer = try? link.bearer(for: .init("follow the database", peer: link.peer)) else { return }
        // Deferred, since the transaction engine is still in the call that reports the outcome.
        let transaction = BackgroundProcedure(procedure) { [weak link, loop = link.loop] answer in
            loop.executeLocally { if let link { completion(answer, link) } }
        }
        bearer.submit(transaction)
    }

    // MARK: Out of sync

    /// Makes this client change-aware again after the peer has refused a request because it was not (Core Vol 3 Part G
    /// §2.5.2.1).
    ///
    /// The peer has not performed the refused request, so it may be repeated, provided that the database has not
    /// changed.
    /// - Throws: `.attributesChanged` if it has.
    nonisolated(nonsending) func resynchronize(
        _ link: Link, _ operation: BluetoothError.Operation, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        let remaining = deadline.map { link.loop.now.duration(to: $0) }
        let hash = try await link.perform(DatabaseHashRead(), "read the database hash", timeout: remaining)
        if let hash, hash == state.hash { return }
        servicesChanged(in: .all, link)
        throw .attributesChanged(operation)
    }
}

extension GATTClientFeatures {
    /// The features of this client.
    static let ours: GATTClientFeatures = [.robustCaching, .multipleNotifications]
}

extension CachedDatabase {
    fileprivate init(_ database: RemoteDatabase, hash: DatabaseHash?) {
        self.init(services: database.services, problems: database.problems, hash: hash)
    }

    fileprivate var database: RemoteDatabase { RemoteDatabase(services: services, problems: problems) }
}
