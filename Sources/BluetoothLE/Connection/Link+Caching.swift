import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT

/// Where a connection's databases are remembered.
struct ConnectionCache: Sendable {
    var store: any AttributeCache
    var key: AttributeCacheKey
}

extension Link {
    // MARK: Discovery

    nonisolated(nonsending) func discover(
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

    func serviceChanges() -> BoundedStream<AttributeHandleRange> {
        let operation = BluetoothError.Operation("follow changes of services", peer: peer)
        var known = knownDatabase ?? KnownDatabase()
        let stream = known.changes.stream(capacity: 256, policy: .fail, operation, from: loop, keeping: connection)
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
            guard let self else { return }
            if case .success(let hash?) = answer {
                let isTheirs = hash.isHash(of: services)
                if isTheirs, knownDatabase?.services == services { knownDatabase?.hash = hash }
                remember(isTheirs ? CachedDatabase(database, hash: hash) : CachedDatabase(services: [], hash: nil))
            }
            follow(services)
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
        let subscribe: (Link) -> Void = { link in
            if let configuration { link.subscribeToChanges(configuration.handle) }
        }
        guard let features else { return subscribe(self) }
        submit(ValueWrite([GATTClientFeatures.ours.rawValue], to: features.valueHandle)) { [weak self] _ in
            if let self { subscribe(self) }
        }
    }

    /// Asks the peer to tell of changes; a bonded one does so after this link as well.
    func subscribeToChanges(_ configuration: AttributeHandle) {
        submit(ValueWrite([2, 0], to: configuration)) { [weak self, log] answer in
            switch answer {
            case .failure(let failure): log.debug("changes are not told of: \(failure)")
            case .success: self?.changesAreTold(configuration)
            }
        }
    }

    /// Has a procedure done that nobody waits for.
    private func submit<Procedure: ClientProcedure>(
        _ procedure: Procedure,
        _ completion: @escaping (Result<Procedure.Output, TransactionFailure>) -> Void
    ) {
        guard let bearer = try? bearer(for: .init("follow the database", peer: peer)) else { return }
        // Later, since the transaction engine that tells is still at it.
        bearer.submit(BackgroundProcedure(procedure) { [loop] answer in loop.executeLocally { completion(answer) } })
    }

    // MARK: Out of sync

    /// Makes the peer take us for aware of its database again, after it has refused a request because of that
    /// (Core Vol 3 Part G §2.5.2.1).
    ///
    /// What was refused has not been done, so it may be asked again, provided that the database is the one we know.
    /// - Throws: `.attributesChanged` when it is not.
    nonisolated(nonsending) func resynchronize(
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
