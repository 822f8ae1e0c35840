import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT

/// Where a connection's databases are remembered.
struct ConnectionCache: Sendable {
    var store: any AttributeCache
    var key: AttributeCacheKey
}

extension Connection {
    // MARK: Discovery

    /// The peer's whole database: as it is remembered where the peer confirms it, otherwise discovered.
    ///
    /// - What this connection has discovered, and the peer has not changed since, costs no PDU.
    /// - A known device that has a Database Hash costs one request, the reading of the hash (Core Vol 3 Part G §7.3).
    /// - A bonded one that tells of changes costs none, since it would have told (§2.5.2).
    /// - All others are discovered in the fewest PDUs: ten services of five characteristics with UUIDs of 128 bits take
    ///   122 at an ATT_MTU of 23, 14 at 247 and 10 at 517. Primary services are found, and secondary ones that are
    ///   included; what follows from something else is not asked for.
    ///
    /// After a discovery, and without delaying the caller, the peer is requested to indicate changes and to refuse what
    /// relies on an old database, as far as it supports either; see ``serviceChanges()``.
    /// ``Adapter/setAttributeCache(_:)`` sets where the database is stored.
    ///
    /// Invalid declarations of the peer are left out or corrected, and listed in ``RemoteDatabase/problems``; the log has
    /// them as warnings. A discovery ends after ``DatabaseDiscovery/requestLimit`` requests with what it has found, and
    /// with the problem ``DatabaseProblem/Reason/tooManyRequests``.
    /// - Parameters:
    ///   - cached: false discovers in any case.
    ///   - timeout: the time limit of each step; nil for 5 minutes.
    /// - Throws: ``BluetoothError``: `.attributeProtocol` when the peer refuses, `.protocolViolation` when a
    ///   response is malformed, `.timedOut`, `.cancelled`, `.disconnected`.
    public func discover(
        cached: Bool = true, timeout: Duration? = nil
    ) async throws(BluetoothError) -> RemoteDatabase {
        let operation = BluetoothError.Operation("discover all attributes", peer: peer)
        // What is remembered needs no link, but handing it out without one, or to a task that is cancelled, helps nobody.
        _ = try bearer(for: operation)
        if Task.isCancelled { throw .cancelled(operation) }
        if cached, let database = knownDatabase?.database { return database }
        let timeout = timeout ?? Self.discoveryTimeLimit
        var hash: DatabaseHash?
        if cached, let cache, let remembered = await cache.store.database(for: cacheKey(of: cache)) {
            if remembered.isFollowed, isPeerBonded, knownDatabase?.changeCount ?? 0 == 0,
                try !bearer(for: operation).remoteServiceChanged.mayHaveMissed(
                    KnownDatabase.genericAttribute(.serviceChanged, in: remembered.services)?.valueHandle)
            {
                return adopt(remembered.database, hash: remembered.hash)
            }
            // Read before the discovery, so that a database that changes under it is not kept under its new hash.
            hash = try await perform(DatabaseHashRead(), "read the database hash", timeout: timeout)
            if let hash, hash == remembered.hash {
                return adopt(remembered.database, hash: hash)
            }
        }
        let changes = knownDatabase?.changeCount ?? 0
        let database = try await perform(DatabaseDiscovery(), "discover all attributes", timeout: timeout)
        guard changes == knownDatabase?.changeCount ?? 0 else { return database }
        adopt(database, hash: hash)
        if hash != nil {
            remember(CachedDatabase(database, hash: hash))
            follow(database.services)
        } else {
            learnHash(of: database)
        }
        return database
    }

    /// The default time limit of a discovery; a peer may take 30 s for each response.
    private static let discoveryTimeLimit = Duration.seconds(300)

    /// Changes of the peer's database, each as the range of handles that it concerns (Core Vol 3 Part G §7.1).
    ///
    /// They are told from when the database has been discovered, if the peer has Service Changed. What was discovered
    /// before is of no use then: calls that use it throw ``BluetoothError/Code/attributesChanged`` until
    /// ``discover(cached:timeout:)`` is called again, which ends the subscriptions to what is not there any more and
    /// keeps the others. The stream ends with the link, throwing why; up to 256 changes wait for their consumer.
    public func serviceChanges() -> BoundedStream<AttributeHandleRange> {
        let operation = BluetoothError.Operation("follow changes of services", peer: peer)
        var known = knownDatabase ?? KnownDatabase()
        let stream = known.changes.stream(capacity: 256, policy: .fail, operation, from: loop, keeping: self)
        knownDatabase = known
        if let reason = endReason {
            stream.finish(reason)
        } else if let services = known.services, !known.isFollowed {
            follow(services)
        }
        return stream
    }

    // MARK: What is known

    /// Takes note of the database as it is now, and ends the subscriptions to what is gone.
    @discardableResult
    private func adopt(_ database: RemoteDatabase, hash: DatabaseHash?) -> RemoteDatabase {
        var known = knownDatabase ?? KnownDatabase()
        let former = known.formerServices
        known.discovered(database.services, problems: database.problems, hash: hash)
        knownDatabase = known
        guard let bearer = try? bearer(for: .init("take values", peer: peer)) else { return database }
        bearer.remoteServiceChanged.handle = known.serviceChanged
        for handle in known.gone(among: bearer.subscribers.handles, from: former) { endSubscriptions(to: handle) }
        return database
    }

    func remember(_ database: CachedDatabase?) {
        // A peer may tell of changes as fast as it can send.
        guard let cache, database != nil || !isForgotten else { return }
        isForgotten = database == nil
        let key = cacheKey(of: cache)
        // The caller does not wait for a file, but the next change of it does.
        remembering = Task(executorPreference: loop) { [before = remembering] in
            await before?.value
            await cache.store.setDatabase(database, for: key)
        }
    }

    /// Takes in that the peer's attributes in `range` are not what they were.
    func servicesChanged(in range: AttributeHandleRange) {
        log.debug("services changed in \(range)", metadata: ["peer": "\(peer)"])
        var known = knownDatabase ?? KnownDatabase()
        known.changed(in: range)
        knownDatabase = known
        remember(nil)
    }

    /// The handle of an attribute that is still what the caller takes it for.
    func current(_ attribute: some RemoteAttribute, _ name: String) throws(BluetoothError) -> AttributeHandle {
        let handle = attribute.attributeHandle
        if let knownDatabase, knownDatabase.isStale(handle, attribute.attributeType) {
            throw .attributesChanged(.init(name, peer: peer, attribute: handle))
        }
        return handle
    }

    // MARK: Following

    /// Reads the hash of a database just discovered and remembers both where they belong together.
    ///
    /// The hash may be that of a later database. It is not if what was discovered has just this hash; where that cannot
    /// be said, it is only remembered that there is one, and the next discovery reads it first.
    private func learnHash(of database: RemoteDatabase) {
        let services = database.services
        guard KnownDatabase.genericAttribute(.databaseHash, in: services) != nil else { return follow(services) }
        submit(DatabaseHashRead()) { [weak self] answer in
            self?.assumeIsolated { connection in
                if case .success(let hash?) = answer {
                    let isTheirs = hash.isHash(of: services)
                    if isTheirs, connection.knownDatabase?.services == services {
                        connection.knownDatabase?.hash = hash
                    }
                    connection.remember(
                        isTheirs
                            ? CachedDatabase(database, hash: hash) : CachedDatabase(services: [], hash: nil))
                }
                connection.follow(services)
            }
        }
    }

    /// Asks the peer to refuse what relies on an old database, and to tell of changes, as far as it can
    /// (Core Vol 3 Part G §7.1, §7.2).
    private func follow(_ services: [RemoteService]) {
        guard knownDatabase?.isFollowed == false else { return }
        knownDatabase?.isFollowed = true
        let features = KnownDatabase.genericAttribute(.clientSupportedFeatures, in: services)
        let configuration = KnownDatabase.genericAttribute(.serviceChanged, in: services)?
            .descriptor(.clientCharacteristicConfiguration)
        let subscribe: @Sendable (isolated Connection) -> Void = { connection in
            guard let configuration else { return }
            connection.subscribeToChanges(configuration.handle)
        }
        guard let features else { return subscribe(self) }
        submit(ValueWrite([GATTClientFeatures.ours.rawValue], to: features.valueHandle)) { [weak self] _ in
            self?.assumeIsolated { subscribe($0) }
        }
    }

    /// Asks the peer to tell of changes; a bonded one does so after this link as well.
    func subscribeToChanges(_ configuration: AttributeHandle) {
        submit(ValueWrite([2, 0], to: configuration)) { [weak self, log] answer in
            switch answer {
            case .failure(let failure): log.debug("changes are not told of: \(failure)")
            case .success: self?.assumeIsolated { $0.changesAreTold(configuration) }
            }
        }
    }

    /// Has a procedure done that nobody waits for.
    private func submit<Procedure: ClientProcedure>(
        _ procedure: Procedure,
        _ completion: @escaping @Sendable (Result<Procedure.Output, TransactionFailure>) -> Void
    ) {
        guard let bearer = try? bearer(for: .init("follow the database", peer: peer)) else { return }
        // Later, since the transaction engine that tells is still at it.
        bearer.submit(BackgroundProcedure(procedure) { [loop] answer in loop.execute { completion(answer) } })
    }

    // MARK: Out of sync

    /// Makes the peer take us for aware of its database again, after it has refused a request because of that
    /// (Core Vol 3 Part G §2.5.2.1).
    ///
    /// What was refused has not been done, so it may be asked again, provided that the database is the one we know.
    /// - Throws: `.attributesChanged` when it is not.
    func resynchronize(
        _ operation: BluetoothError.Operation, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        let hash = try await perform(
            DatabaseHashRead(), "read the database hash", timeout: deadline.map { loop.now.duration(to: $0) })
        if let hash, hash == knownDatabase?.hash { return }
        servicesChanged(in: .all)
        throw .attributesChanged(operation)
    }
}

extension GATTClientFeatures {
    /// What we can do as a client.
    static let ours: GATTClientFeatures = [.robustCaching, .multipleNotifications]
}

extension AdapterSession {
    func setAttributeCache(_ cache: (any AttributeCache)?) {
        attributeCache = cache
    }
}

extension CachedDatabase {
    fileprivate init(_ database: RemoteDatabase, hash: DatabaseHash?) {
        self.init(services: database.services, problems: database.problems, hash: hash)
    }

    fileprivate var database: RemoteDatabase { RemoteDatabase(services: services, problems: problems) }
}
