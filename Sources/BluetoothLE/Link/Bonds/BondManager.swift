import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// The bonds of one adapter: reads them from the store, loads their keys into the host, and writes every change, one after
/// the other. Of several pending changes of one bond, only the last is written.
// Holds more than ten variables: the bonds, their state in the store and in the host, and their followers change together.
//
// Confined to the event loop, with the adapter.
final class BondManager: AdapterStore {
    /// A pending write of the present bond with a device, or of its removal.
    private struct Write {
        /// Whether the bond is written only if the store has an earlier version of it.
        var isUpdate = true
        var waiters = WaiterList<Void, BluetoothError>()
    }

    private let mark: ComponentCount.Mark
    let log: Logger
    let limit: BondLimit
    let host: any HostPairing
    let loop: EventLoop
    private let identities: LocalIdentities
    /// Nil where bonds are not stored.
    private let store: (any BondStore)?
    /// The adapter whose bonds are stored.
    private var adapter = BluetoothAddress.zero
    private var known: [BluetoothAddress: Bond] = [:]
    /// The bonded devices whose keys the host has lost, until the next connect.
    private var lostKeys: Set<BluetoothAddress> = []
    /// The devices whose keys in the host are of pairings with other programs, until the bonds are read again.
    private var foreign: Set<BluetoothAddress> = []
    private var writes: [BluetoothAddress: Write] = [:]
    /// The devices whose present bond could not be written.
    private var unsaved: Set<BluetoothAddress> = []
    /// The task that writes and reads, until nothing is due.
    private var task: Task<Void, Never>?
    /// Whether the bonds are to be read again, after the writes that are due; the callers that wait for that, and the error
    /// of the last attempt.
    private var reading = (isDue: false, waiters: WaiterList<Void, BluetoothError>(), failure: BluetoothError?.none)
    /// The number of readings under way, the devices whose bonds have changed here meanwhile, and the one whose bond is
    /// being written.
    private var readings = (count: 0, changed: Set<BluetoothAddress>(), writing: BluetoothAddress?.none)
    private var changes = Broadcaster<BondChange>()
    /// The adapter's links and the devices in range, while the session lasts.
    private var session: (links: LinkRegistry, devices: DeviceIdentities)?
    /// Whether another program may have replaced a bond in the store.
    private var mayBeOutdated: Bool { !foreign.isEmpty }

    init(
        _ store: (any BondStore)?, limit: BondLimit = BondLimit(), _ host: any HostPairing, on loop: EventLoop,
        log: Logger
    ) {
        mark = loop.components.mark("BondManager")
        self.limit = limit
        (self.host, self.loop) = (host, loop)
        self.log = log
        identities = LocalIdentities(store, log: log)
        self.store = store
    }

    /// Begins with the session's links and devices, and hands the present resolving keys to the latter.
    func begin(_ links: LinkRegistry, _ devices: DeviceIdentities) {
        session = (links, devices)
        keysChanged()
    }

    nonisolated(nonsending) func localIdentity(ofAdapterAt place: String, orMake makes: Bool) async -> LocalIdentity? {
        await identities.localIdentity(ofAdapterAt: place, orMake: makes)
    }

    // MARK: Loading

    /// Whether bonds are stored.
    var isStoring: Bool { store != nil }

    /// The state of the keys in the host.
    var status: BondStatus {
        guard isStoring else { return .disabled }
        return switch host.keyStatus {
        case .others: .daemon
        case .notPermitted: .notPermitted
        case .failed(let error): .failed(error)
        case .loaded: reading.failure.map { .failed($0) } ?? .loaded
        }
    }

    /// Reads the bonds of an adapter.
    ///
    /// The adapter remains usable if that fails; ``status`` reports the reason.
    nonisolated(nonsending) func prepare(_ information: AdapterInformation) async {
        adapter = information.address
        await read()
    }

    private nonisolated(nonsending) func read() async {
        guard let store else { return }
        let (former, doubtful, adapter) = (known, foreign, adapter)
        readings.count += 1
        readings.changed.formUnion(writes.keys)
        if let writing = readings.writing { readings.changed.insert(writing) }
        defer {
            readings.count -= 1
            if readings.count == 0 { readings.changed = [] }
        }
        do throws(BluetoothError) {
            let bonds = try await store.bonds(of: adapter)
            // The adapter may have been replaced meanwhile.
            guard self.adapter == adapter else { return }
            // The store may not have these as they are here yet.
            let own = readings.changed.union(unsaved)
            let read = bonds.filter { !own.contains($0.identity) } + own.compactMap { known[$0] }
            known = Dictionary(read.map { ($0.identity, $0) }) { $1 }
            reading.failure = nil
            foreign.subtract(doubtful)
            for identity in former.keys where known[identity] == nil { changes.send(.init(.removed(identity))) }
            // What the host was given meanwhile is older.
            let isChanged = known.mapValues(\.longTermKeys) != former.mapValues(\.longTermKeys)
            if isChanged, !former.isEmpty { host.loadKeys(evenIfEmpty: true) }
        } catch {
            log.warning("\(error)")
            reading.failure = error
            return
        }
        keysChanged()
    }

    /// Reads the bonds again without waiting: another program may have changed one.
    private func readAgain(about identity: BluetoothAddress? = nil) {
        guard isStoring else { return }
        if let identity, known[identity] != nil { foreign.insert(identity) }
        reading.isDue = true
        beginWriting()
    }

    /// Handles the report that another program made the host forget a device. The bond is the store's: it was removed
    /// there, or just its own.
    func isForgotten(_ identity: BluetoothAddress) { readAgain(about: identity) }

    /// Handles the end of a link of any program, which has stored its bond.
    func linkHasEnded() { if mayBeOutdated { readAgain() } }

    /// Loads the keys into the host, in place of those that it has.
    nonisolated(nonsending) func load() async {
        if isStoring {
            try? await host.loadKeys(evenIfEmpty: false).value(.init("load keys"), timeout: nil, on: loop)
        }
    }

    /// Reads the bonds and loads their keys, if the device is bonded or may be, as a link to it is about to be made.
    nonisolated(nonsending) func prepareLink(
        to identity: BluetoothAddress, _ operation: BluetoothError.Operation, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        if isStoring, known[identity] != nil || mayBeOutdated || reading.failure != nil {
            let call = reading.waiters.makePromise()
            readAgain()
            try await call.value(operation, timeout: deadline.map { loop.now.duration(to: $0) }, on: loop)
        }
        if known[identity] != nil { await load() }
    }

    /// The keys of all bonds: the bonds in use first, then the newest, since their devices are the likeliest to
    /// connect.
    var keys: [PeerKeys]? {
        if !isStoring { return nil }
        return known.values.sorted { ($0.isInUse ? 1 : 0, $0.time) > ($1.isInUse ? 1 : 0, $1.time) }
            .map {
                PeerKeys(
                    identity: $0.identity, longTermKeys: $0.longTermKeys, identityResolvingKey: $0.identityResolvingKey)
            }
    }

    /// Reports the identity resolving keys.
    private func keysChanged() {
        session?.devices.setKeys(known.values.sorted { $0.identity < $1.identity }.compactMap(\.irk))
    }

    // MARK: Keys in the host

    /// Records that the host has lost the key of a bond, or has another one, and gives it the stored keys again.
    func hostLacksKey(of identity: BluetoothAddress) {
        lostKeys.insert(identity)
        host.loadKeys(evenIfEmpty: true)
    }

    /// Records that another program's pairing has made a key for a device, which may be in the store by now.
    func isMadeElsewhere(_ identity: BluetoothAddress) { foreign.insert(identity) }

    /// Whether the host may have another program's key for a bonded device, until the bonds are read again.
    func isDoubtful(_ identity: BluetoothAddress) -> Bool { foreign.contains(identity) }

    /// Whether the host had lost the key of a bond since the last call.
    func takeLostKey(of identity: BluetoothAddress) -> Bool { lostKeys.remove(identity) != nil }

    // MARK: Asking and changing

    /// All bonds, by address.
    var bonds: [Bond] { known.values.sorted { $0.identity < $1.identity } }

    /// The bond with a device.
    func bond(with identity: BluetoothAddress) -> Bond? { known[identity] }

    /// The bond with the device behind an address: its identity, or a private address made with its stored key.
    func bond(behind address: BluetoothAddress) -> Bond? {
        if let bond = known[address] { return bond }
        guard address.randomKind == .resolvablePrivate else { return nil }
        let keys = known.values.compactMap(\.irk)
        return ResolvingKeys(keys.map(\.value)).index(behind: address).flatMap { known[keys[$0].address] }
    }

    /// The bond whose key must protect links to a device; nil if none has an encryption key.
    /// - Throws: `.notPermitted` if the host cannot get the key; what prevented it.
    func bondInForce(
        with identity: BluetoothAddress, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> Bond? {
        let bond = known[identity].flatMap { $0.longTermKeys.isEmpty ? nil : $0 }
        var error: BluetoothError
        switch host.keyStatus {
        // Others may have changed the store: whether there is a bond is not known.
        case _ where bond == nil:
            guard let failure = reading.failure, !failure.isOfAnotherUsersFile else { return nil }
            error = failure
        case _ where !isStoring, .loaded: return bond
        case .failed(let failure): error = failure
        case .notPermitted:
            error = BluetoothError(
                .notPermitted, operation,
                "The device is bonded, but the kernel lacks the bond's key, and loading it needs CAP_NET_ADMIN.",
                remedy: "Grant the program CAP_NET_ADMIN and CAP_NET_RAW, or run it with sudo.")
        case .others:
            error = BluetoothError(
                .notPermitted, operation,
                "The device is bonded with this program, but BlueZ's daemon manages the kernel's keys while it runs.",
                remedy: "Stop the daemon: sudo systemctl stop bluetooth")
        }
        let optOut = "In code, to use the device without encryption, set leavesBondedLinksUnencrypted in the options."
        error.remedy = error.remedy.map { $0 + "\n" + optOut } ?? optOut
        throw error.about(operation)
    }

    /// Stores the bond that a pairing has made or changed.
    func add(_ bond: Bond) {
        let former = known.updateValue(bond, forKey: bond.identity)
        foreign.remove(bond.identity)
        log.debug("bonded: \(bond)")
        write(bond.identity, isUpdate: false)
        if bond.identityResolvingKey != former?.identityResolvingKey { keysChanged() }
    }

    /// Removes a bond in favour of the one with another device.
    func displace(_ bond: Bond, by identity: BluetoothAddress) {
        log.notice("a bond is replaced", metadata: ["peer": "\(bond.identity)", "for": "\(identity)"])
        drop(bond.identity, .displaced(bond.identity, by: identity))
        removeKeys(of: bond.identity)
        write(bond.identity, isUpdate: false)
    }

    /// The bond that a new one would replace, at the limit; nil if none can be.
    func displaced(forAuthenticated isAuthenticated: Bool) -> Bond? {
        limit.displaced(from: known.values, forAuthenticated: isAuthenticated, isConnected: isConnected)
    }

    /// Whether a further bond would exceed the limit.
    var isFull: Bool { isStoring && known.count >= limit.count }

    /// Stores a device's state as a client; does nothing without a bond.
    func setClient(_ client: GATTClientRecord, of identity: BluetoothAddress) {
        guard known[identity] != nil, known[identity]?.client != client else { return }
        known[identity]?.client = client
        write(identity, isUpdate: true)
    }

    /// Stores a device's name; does nothing without a bond.
    func setName(_ name: String, of identity: BluetoothAddress) {
        guard known[identity] != nil, known[identity]?.name != name else { return }
        known[identity]?.name = name
        write(identity, isUpdate: true)
    }

    /// Stores a bond in place of the one with the same device, and loads its keys into the host.
    nonisolated(nonsending) func set(_ bond: Bond) async throws(BluetoothError) {
        let former = known[bond.identity]
        known[bond.identity] = bond
        if former?.identityResolvingKey != bond.identityResolvingKey { keysChanged() }
        if former?.longTermKeys != bond.longTermKeys || former?.identityResolvingKey != bond.identityResolvingKey {
            await load()
        }
        let call = Promise<Void, BluetoothError>()
        write(bond.identity, isUpdate: false, call)
        try await call.value(.init("store the bond", peer: bond.identity), timeout: nil, on: loop)
    }

    /// Removes the bond with a device here, in the store and in the host, which ends this program's link.
    ///
    /// The host deletes the keys even if the file cannot be removed or the task is cancelled: after the file, which other
    /// programs read as the host tells them.
    nonisolated(nonsending) func remove(_ identity: BluetoothAddress) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("remove the bond", peer: identity)
        let call = Promise<Void, BluetoothError>()
        drop(identity)
        write(identity, isUpdate: false, call)
        var failure: BluetoothError?
        do throws(BluetoothError) {
            try await call.value(operation, timeout: nil, on: loop)
        } catch {
            failure = error
        }
        let forgotten = removeKeys(of: identity)
        if let failure { throw failure }
        try await forgotten?.value(operation, timeout: nil, on: loop)
    }

    /// Removes a device's keys from the host, if it has those of this program, and ends its link.
    @discardableResult
    private func removeKeys(of identity: BluetoothAddress) -> Promise<Void, BluetoothError>? {
        guard isStoring, ![.others, .notPermitted].contains(host.keyStatus) else { return nil }
        return host.removeKeys(of: identity, disconnect: isConnected(identity))
    }

    private func isConnected(_ identity: BluetoothAddress) -> Bool {
        session?.links.all.contains { $0.identity == identity } == true
    }

    private func drop(_ identity: BluetoothAddress, _ change: BondChange.Kind? = nil) {
        unsaved.remove(identity)
        guard known.removeValue(forKey: identity) != nil else { return }
        keysChanged()
        changes.send(.init(change ?? .removed(identity)))
    }

    /// Schedules a write of the present bond with a device, or of its removal, in place of one that is pending.
    private func write(
        _ identity: BluetoothAddress, isUpdate: Bool, _ waiter: Promise<Void, BluetoothError>? = nil
    ) {
        guard isStoring else {
            waiter?.succeed()
            return
        }
        var write = writes[identity] ?? Write()
        // A bond whose last write failed is not in the store, so an update would not find it.
        write.isUpdate = write.isUpdate && isUpdate && !unsaved.contains(identity)
        if let waiter { write.waiters.append(waiter) }
        writes[identity] = write
        if readings.count > 0 { readings.changed.insert(identity) }
        beginWriting()
    }

    /// Begins the task that writes the changes and reads again, which retains the bonds until nothing is due.
    private func beginWriting() {
        guard let store, task == nil else { return }
        let own = LoopBound(self, on: loop)
        task = Task(executorPreference: loop) { await own.value.writeAll(to: store) }
    }

    private nonisolated(nonsending) func writeAll(to store: any BondStore) async {
        while true {
            if let (identity, write) = writes.popFirst() {
                readings.writing = identity
                let result = await self.store(known[identity], of: identity, isUpdate: write.isUpdate, in: store)
                readings.writing = nil
                var waiters = write.waiters
                waiters.resolveAll(result)
            } else if reading.isDue {
                reading.isDue = false
                await read()
                reading.waiters.succeedAll()
            } else {
                task = nil
                return
            }
        }
    }

    /// Writes a bond, or its removal.
    private nonisolated(nonsending) func store(
        _ bond: Bond?, of identity: BluetoothAddress, isUpdate: Bool, in store: any BondStore
    ) async -> Result<Void, BluetoothError> {
        do throws(BluetoothError) {
            guard let bond else {
                try await store.removeBond(with: identity, of: adapter)
                return .success(())
            }
            if !isUpdate {
                try await store.save(bond, of: adapter)
            } else if try await !store.update(bond, of: adapter) {
                log.debug("another program has removed the bond with \(identity.digits)")
                if writes[identity]?.isUpdate != false { drop(identity) }
                return .success(())
            }
            unsaved.remove(identity)
            changes.send(.init(.stored(bond)))
            return .success(())
        } catch {
            guard let bond else {
                log.warning("\(error)")
                return .failure(error)
            }
            log.warning("the bond with \(identity.digits) could not be stored and ends with this program: \(error)")
            unsaved.insert(identity)
            changes.send(.init(.notStored(bond, error)))
            return .failure(error)
        }
    }

    /// Waits until all changes are written.
    nonisolated(nonsending) func flush() async { await task?.value }

    // MARK: Changes

    /// The changes from now on.
    func bondChanges(_ operation: BluetoothError.Operation, keeping owner: any AnyObject & Sendable) -> BoundedStream<
        BondChange
    > {
        changes.stream(capacity: 256, policy: .fail, operation, from: loop, keeping: owner)
    }

    /// The room that a listener must have left to receive a refusal, which any device in range can cause.
    private static let roomForRefusals = 128

    /// Reports a refused pairing.
    func reportRefusal(_ change: BondChange.Kind) { changes.send(.init(change), reserving: Self.roomForRefusals) }

    /// Ends everything but the writing.
    func close(_ reason: BluetoothError) {
        session = nil
        changes.finish(reason.code == .cancelled ? nil : reason)
    }

    /// Records, once a day, that a device has reconnected on a link encrypted with its keys; does nothing without a
    /// bond.
    func recordUse(of identity: BluetoothAddress) {
        let today = Self.today
        guard let bond = known[identity], !bond.wasUsedAgain || bond.lastUse != today else { return }
        known[identity]?.wasUsedAgain = true
        known[identity]?.lastUse = today
        write(identity, isUpdate: true)
    }

    /// Whether a use of a bond would be recorded.
    func recordsUse(of bond: Bond) -> Bool { !bond.wasUsedAgain || bond.lastUse != Self.today }

    /// The beginning of the day in seconds since 1970 (UTC).
    private static var today: UInt64 {
        let seconds = UInt64(clamping: SystemClock.microsecondsSince1970 / 1_000_000)
        return seconds - seconds % 86_400
    }
}

extension BluetoothError {
    /// Whether this user has no access to the files, and so no bonds in them.
    fileprivate var isOfAnotherUsersFile: Bool {
        guard code == .storageFailed, let error = cause?.kernelError else { return false }
        return [.accessDenied, .notPermitted].contains(error.number)
    }
}

extension Bond {
    /// The identity resolving key with its identity address.
    fileprivate var irk: IdentityResolvingKey? {
        identityResolvingKey.map { IdentityResolvingKey(address: identity, value: $0) }
    }
}
