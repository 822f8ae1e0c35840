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

    /// Returns the whole database: the cached one if the peer confirms it, otherwise by discovery.
    nonisolated(nonsending) func discover(
        _ link: Link, cached: Bool, timeout: Duration?
    ) async throws(BluetoothError) -> RemoteDatabase {
        let operation = BluetoothError.Operation("discover all attributes", peer: link.peer)
        // A cached database needs no link, but returning it without one, or to a cancelled task, serves no purpose.
        _ = try link.bearer(for: operation)
        if Task.isCancelled { throw .cancelled(operation) }
        if cached, let database = state.database { return database }
        let deadline = timeout.map { link.loop.now.advanced(by: $0) }
        var hash: DatabaseHash?
        if cached {
            hash = try await adoptStored(link, operation, readsHash: true, timeout: timeout)
            if let database = state.database { return database }
        }
        let changes = state.changeCount
        let database = try await link.perform(
            DatabaseDiscovery(), "discover all attributes", timeout: link.remaining(until: deadline))
        guard changes == state.changeCount else { return database }
        adopt(database, hash: hash, link)
        if hash != nil {
            updateCache(CachedDatabase(database, hash: hash), link)
            follow(database, link)
        } else {
            fetchHash(of: database, link)
        }
        return database
    }

    /// Adopts the stored database if the peer's hash is its hash, or if there is a reason not to ask: a bonded peer
    /// would have indicated a change, and one without Service Changed has none (Core Vol 3 Part G §2.5.2). Without a
    /// hash it is checked as it is used.
    ///
    /// - Parameter readsHash: whether to read the hash although no database is stored for it.
    /// - Returns: the hash, if it was read.
    private nonisolated(nonsending) func adoptStored(
        _ link: Link, _ operation: BluetoothError.Operation, readsHash: Bool, timeout: Duration?
    ) async throws(BluetoothError) -> DatabaseHash? {
        // Another call may have discovered the database meanwhile.
        guard let cache, let stored = await cache.store.database(for: key(of: cache, link)), state.services == nil
        else { return nil }
        let serviceChanged = RemoteDatabase(services: stored.services)
            .characteristic(.serviceChanged, in: .genericAttribute)?.valueHandle
        let isFixed = stored.hash == nil && serviceChanged == nil && !stored.services.isEmpty
        let isFollowed = stored.isFollowed && link.bondedPeer.isBonded(link)
        let hasMissed = try link.bearer(for: operation).peerServer.serviceChanged.mayHaveMissed(serviceChanged)
        if state.changeCount == 0, isFixed || isFollowed && !hasMissed {
            adopt(stored.database, hash: stored.hash, isRemembered: true, link)
            return nil
        }
        guard readsHash || stored.hash != nil else { return nil }
        // Read before the discovery, so that a database that changes meanwhile is not stored under its new hash.
        let hash = try await link.perform(DatabaseHashRead(), "read the database hash", timeout: timeout)
        if let hash, hash == stored.hash { adopt(stored.database, hash: hash, link) }
        return hash
    }

    /// The first characteristic with a UUID in a service with another: a known one, which the peer confirms once if it
    /// is of an earlier link, or the result of a search. Nil only where the peer has been asked on this link.
    ///
    /// - Parameter isFresh: whether to search in any case, since the peer has refused the known one.
    nonisolated(nonsending) func characteristic(
        _ uuid: BluetoothUUID, in service: BluetoothUUID, _ link: Link, isFresh: Bool, until deadline: KernelInstant?
    ) async throws(BluetoothError) -> RemoteCharacteristic? {
        let operation = BluetoothError.Operation("find characteristic \(uuid)", peer: link.peer)
        if state.services == nil, !state.hasLookedInStore {
            state.hasLookedInStore = true
            _ = try await adoptStored(
                link, operation, readsHash: false, timeout: link.remaining(until: deadline))
        }
        let known = state.shown.characteristic(uuid, in: service, of: state.services)
        do throws(BluetoothError) {
            if let known, !isFresh {
                try await confirm(
                    known.valueHandle, known.uuid, link, operation.name, timeout: link.remaining(until: deadline))
                return known
            }
        } catch {
            guard error.code == .attributesChanged else { throw error }
        }
        if known == nil, !isFresh, state.services != nil, !state.isRemembered { return nil }
        let changes = state.changeCount
        let found = try await link.perform(
            CharacteristicSearch(uuid, in: service), operation.name, timeout: link.remaining(until: deadline))
        guard changes == state.changeCount else { return found }
        let former = state.shown.characteristic(uuid, in: service, of: state.services)
        if state.services != nil, found?.valueHandle != former?.valueHandle { servicesChanged(in: .all, link) }
        state.shown.found(found, uuid, in: service)
        return found
    }

    /// Whether ``discover(_:cached:timeout:)`` has returned a database that this link has not proven.
    var isRemembered: Bool { state.isRemembered }

    /// Asks the peer whether an attribute of a remembered database still has its type, once on each link; returns what
    /// remains of the time.
    ///
    /// - Throws: `.attributesChanged` if it has not.
    @discardableResult
    nonisolated(nonsending) func confirm(
        _ handle: AttributeHandle, _ type: BluetoothUUID?, _ link: Link, _ name: String, timeout: Duration?
    ) async throws(BluetoothError) -> Duration? {
        guard let type = state.unconfirmedType(of: handle, type) else { return timeout }
        let deadline = timeout.map { link.loop.now.advanced(by: $0) }
        let changes = state.changeCount
        let found = try await link.perform(
            DescriptorDiscovery(in: AttributeHandleRange(start: handle, end: handle)), "confirm a known attribute",
            of: handle, timeout: timeout)
        if changes == state.changeCount {
            if found.first?.uuid == type {
                state.shown.types[handle] = type
                return link.remaining(until: deadline)
            }
            servicesChanged(in: .all, link)
        }
        throw .attributesChanged(.init(name, peer: link.peer, attribute: handle))
    }

    /// The configuration descriptor of a characteristic without known descriptors, by one question on each link; nil
    /// if it has none.
    nonisolated(nonsending) func configuration(
        of characteristic: RemoteCharacteristic, _ link: Link, timeout: Duration?
    ) async throws(BluetoothError) -> AttributeHandle? {
        if let answer = state.shown.configurations[characteristic.valueHandle] { return answer }
        guard let range = characteristic.descriptorRange else { return nil }
        let changes = state.changeCount
        let found = try await link.perform(
            DescriptorDiscovery(in: range, until: .clientCharacteristicConfiguration), "find the configuration",
            of: characteristic.valueHandle, timeout: timeout)
        let descriptor = found.first { $0.uuid == .clientCharacteristicConfiguration }?.handle
        guard changes == state.changeCount else { return descriptor }
        state.shown.configurations.updateValue(descriptor, forKey: characteristic.valueHandle)
        if let descriptor { state.shown.types[descriptor] = .clientCharacteristicConfiguration }
        return descriptor
    }

    /// The changes from now on.
    func changes(_ link: Link) -> BoundedStream<AttributeHandleRange> {
        let operation = BluetoothError.Operation("follow changes of services", peer: link.peer)
        let stream = state.changes.stream(
            capacity: 256, policy: .fail, operation, from: link.loop, keeping: link.connection)
        if let reason = link.endReason {
            stream.finish(reason)
        } else if let database = state.database, !state.isRemembered {
            follow(database, link)
        }
        return stream
    }

    /// Returns whether an attribute may have changed since its discovery.
    func isStale(_ handle: AttributeHandle, _ type: BluetoothUUID?) -> Bool { state.isStale(handle, type) }

    /// Returns whether an attribute is used as it was discovered, without another look.
    func isCertain(of handle: AttributeHandle, _ type: BluetoothUUID?) -> Bool {
        !state.isStale(handle, type) && state.unconfirmedType(of: handle, type) == nil
    }

    /// Ends the streams of changes, as the link has ended.
    func finish(_ reason: BluetoothError) { state.changes.finish(reason) }

    // MARK: State

    /// Stores the present database, and ends the subscriptions to attributes that are gone.
    func adopt(_ database: RemoteDatabase, hash: DatabaseHash?, isRemembered: Bool = false, _ link: Link) {
        let former = state.former
        state.discovered(
            database.services, problems: database.problems, hash: hash, isRemembered: isRemembered)
        guard let bearer = link.mainBearer else { return }
        bearer.peerServer.serviceChanged.handle = state.serviceChanged
        for handle in state.gone(among: bearer.peerServer.subscribers.handles, from: former) {
            link.endSubscriptions(to: handle)
        }
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
        guard database.characteristic(.databaseHash, in: .genericAttribute) != nil else {
            if state.serviceChanged == nil, !database.problems.contains(where: { $0.reason == .tooManyRequests }) {
                updateCache(CachedDatabase(database, hash: nil), link)
            }
            return follow(database, link)
        }
        submit(DatabaseHashRead(), .readHash(of: database), link)
    }

    /// Enables robust caching and change indications at the peer, as far as it supports them (Core Vol 3 Part G §7.1,
    /// §7.2).
    private func follow(_ database: RemoteDatabase, _ link: Link) {
        guard !state.isFollowed else { return }
        state.isFollowed = true
        let configuration = database.characteristic(.serviceChanged, in: .genericAttribute)?
            .descriptor(.clientCharacteristicConfiguration)?.handle
        guard let features = database.characteristic(.clientSupportedFeatures, in: .genericAttribute) else {
            return subscribeToChanges(configuration, link)
        }
        submit(
            ValueWrite([GATTClientFeatures.ours.rawValue], to: features.valueHandle),
            .writeFeatures(before: configuration), link)
    }

    /// Subscribes to Service Changed; a bonded peer persists the subscription.
    private func subscribeToChanges(_ configuration: AttributeHandle?, _ link: Link) {
        guard let configuration else { return }
        submit(ValueWrite([2, 0], to: configuration), .subscribe(by: configuration), link)
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

    private func submit(_ procedure: some ClientProcedure, _ purpose: DatabasePurpose, _ link: Link) {
        link.mainBearer?.submit(DatabaseTransaction(procedure, purpose, of: self, link))
    }

    /// Handles the outcome of a transaction of the database's own.
    func ended(_ purpose: DatabasePurpose, _ failure: TransactionFailure?, hash: DatabaseHash?, _ link: Link) {
        switch purpose {
        case .readHash(let database):
            if let hash {
                let isTheirs = hash.isHash(of: database.services)
                if isTheirs, state.services == database.services { state.hash = hash }
                updateCache(
                    isTheirs ? CachedDatabase(database, hash: hash) : CachedDatabase(services: [], hash: nil), link)
            }
            follow(database, link)
        case .writeFeatures(let configuration): subscribeToChanges(configuration, link)
        case .subscribe(let configuration):
            if let failure {
                link.log.debug("the peer refused the subscription to Service Changed: \(failure)")
            } else {
                serviceChangedSubscribed(configuration, link)
            }
        }
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
        let hash = try await link.perform(
            DatabaseHashRead(), "read the database hash", timeout: link.remaining(until: deadline))
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
