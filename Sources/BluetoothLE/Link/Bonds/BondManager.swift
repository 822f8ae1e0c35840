import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// The bonds of one adapter: loads their keys into the host, adds the keys from pairing and persists every change.
// Holds more than ten variables: the bonds, their state in the host and their followers change together.
//
// Confined to the event loop, with the adapter.
final class BondManager: AdapterStore {
    private let mark: ComponentCount.Mark
    let log: Logger
    let limit: BondLimit
    let host: any HostPairing
    let loop: EventLoop
    private let identities: LocalIdentities
    /// Nil where bonds are not stored.
    let writer: BondWriter?
    private var known: [BluetoothAddress: Bond] = [:]
    private var refusals = PairingRefusals()
    /// The callers that wait until the bonds are read, and the error of the last attempt.
    private var reading = (waiters: WaiterList<Void, BluetoothError>(), failure: BluetoothError?.none)
    private var changes = Broadcaster<BondChange>()
    /// The adapter's links and the devices in range, while the session lasts.
    private var session: (links: LinkRegistry, devices: DeviceIdentities)?
    /// Whether another program may have replaced a bond in the store.
    private var mayBeOutdated: Bool { !refusals.foreign.isEmpty }

    init(
        _ store: (any BondStore)?, limit: BondLimit = BondLimit(), _ host: any HostPairing, on loop: EventLoop,
        log: Logger
    ) {
        mark = loop.components.mark("BondManager")
        self.limit = limit
        (self.host, self.loop) = (host, loop)
        self.log = log
        identities = LocalIdentities(store, log: log)
        writer = store.map { BondWriter($0, on: loop, log: log) }
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

    /// The state of the keys in the host.
    var status: BondStatus {
        guard writer != nil else { return .disabled }
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
        guard let writer else { return }
        writer.adapter = information.address
        await read()
    }

    private nonisolated(nonsending) func read() async {
        guard let writer else { return }
        let (former, doubtful) = (known, refusals.foreign)
        do throws(BluetoothError) {
            guard let (bonds, own) = try await writer.read() else { return }
            known = Dictionary((bonds + own.compactMap { known[$0] }).map { ($0.identity, $0) }) { $1 }
            reading.failure = nil
            refusals.foreign.subtract(doubtful)
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
        guard let writer else { return }
        if let identity, known[identity] != nil { refusals.foreign.insert(identity) }
        writer.readAgain()
        beginWriting()
    }

    /// Handles the report that another program made the host forget a device. The bond is the store's: it was removed
    /// there, or just its own.
    func isForgotten(_ identity: BluetoothAddress) { readAgain(about: identity) }

    /// Handles the end of a link of any program, which has stored its bond.
    func linkHasEnded() { if mayBeOutdated { readAgain() } }

    /// Loads the keys into the host, in place of those that it has.
    nonisolated(nonsending) func load() async {
        if writer != nil {
            try? await host.loadKeys(evenIfEmpty: false).value(.init("load keys"), timeout: nil, on: loop)
        }
    }

    /// Reads the bonds and loads their keys, if the device is bonded or may be, as a link to it is about to be made.
    nonisolated(nonsending) func prepareLink(
        to identity: BluetoothAddress, _ operation: BluetoothError.Operation, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        if writer != nil, known[identity] != nil || mayBeOutdated || reading.failure != nil {
            let call = reading.waiters.makePromise()
            readAgain()
            try await call.value(operation, timeout: deadline.map { loop.now.duration(to: $0) }, on: loop)
        }
        if known[identity] != nil { await load() }
    }

    /// The keys of all bonds: the bonds in use first, then the newest, since their devices are the likeliest to
    /// connect.
    var keys: [PeerKeys]? {
        if writer == nil { return nil }
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

    // MARK: Keys from pairing

    /// Creates or updates the bond for a key from pairing, with the other keys of that pairing.
    ///
    /// - Parameter isOwn: whether a pairing of this program made the key, whose link may have ended.
    func addKeys(_ made: PeerKeys, isOwn: Bool) {
        guard writer != nil, host.keyStatus != .others, let key = made.longTermKeys.first, key.address.isIdentity else {
            return
        }
        let identity = key.address
        let links = session?.links.links(to: identity, made.privateAddress) ?? []
        guard !refusals.isRecent(identity, at: loop.now) else { return }
        let now = UInt64(clamping: SystemClock.microsecondsSince1970 / 1_000_000)
        let isSecond = known[identity].map { $0.time + 1 >= now } ?? false
        let new = NewBondKey(
            key: key, bond: known[identity], links: links.map(\.paired), isOwn: isOwn, isSecond: isSecond)
        if let objection = new.objection { return refuse(new, objection, links) }
        guard makeRoom(for: key) else { return }
        var bond = known[identity] ?? Bond(identity: identity)
        let isAgain = bond.longTermKeys.contains { $0.isCentral == key.isCentral && $0.value != key.value }
        if isAgain { notice("the bond with the device is replaced", of: identity) }
        bond.add(key)
        bond.time = now
        bond.identityResolvingKey = made.identityResolvingKey ?? bond.identityResolvingKey
        let resolvesOthers = bond.identityResolvingKey != known[identity]?.identityResolvingKey
        known[identity] = bond
        refusals.foreign.remove(identity)
        log.debug("bonded: \(bond)")
        write(identity, isUpdate: false)
        if resolvesOthers { keysChanged() }
        for link in links { link.bonded(by: key, isAgain: isAgain) }
    }

    /// Refuses a key: the host gets the stored keys back, and the link of the pairing ends.
    private func refuse(_ new: NewBondKey, _ objection: NewBondKey.Objection, _ links: [Link]) {
        let identity = new.key.address
        guard case .failure(let failure) = objection else {
            refusals.foreign.insert(identity)
            return log.debug("a key from another program's pairing is not stored", metadata: ["peer": "\(identity)"])
        }
        // Legacy pairing reports a second key, which the host deletes as well.
        refusals.refused(identity, at: loop.now)
        host.loadKeys(evenIfEmpty: true)
        if new.bond == nil {
            notice("a key from pairing is not stored: \(failure.sentence)", of: identity)
        } else {
            reportRefusal(of: identity, failure)
        }
        for link in links where failure != .identityClaimed || !new.proves(link.peer) {
            link.endLink(failure, refusing: new.key)
        }
    }

    /// Reports that a pairing was refused which would have replaced the bond with a device.
    func reportRefusal(of identity: BluetoothAddress, _ failure: PairingFailure) {
        var error = BluetoothError.pairing(.init("replace the bond", peer: identity), failure)
        error.remedy =
            "If the device was reset, first remove its bond, then pair again: ble bonds remove \(identity.digits)"
        notice(
            "a pairing that would replace a bond is refused: \(failure.sentence) \(error.remedy ?? "")", of: identity)
        changes.send(.init(.notReplaced(identity, error)), reserving: Self.roomForRefusals)
    }

    /// Writes a notice about a device, as far as the limit of notices permits.
    func notice(_ text: String, of peer: BluetoothAddress) {
        let (isWritten, omitted) = refusals.nextNotice(at: loop.now)
        guard isWritten else { return }
        log.notice(
            "\(text)\(omitted > 0 ? " (\(omitted) notices about other pairings are omitted)" : "")",
            metadata: ["peer": "\(peer)"])
    }

    /// Handles a key that is not to be stored: it is removed from the host, and protects its link alone. It has replaced
    /// the stored key of a bonded device in the host, which is no way to replace a bond.
    func keyIsNotBonded(of peer: BluetoothAddress) {
        guard known[peer] != nil else {
            host.removeKeys(of: peer, disconnect: false)
            return
        }
        host.loadKeys(evenIfEmpty: true)
        reportRefusal(of: peer, .keyMissing)
        for link in session?.links.links(to: peer) ?? [] where link.hasPaired {
            link.endLink(.keyMissing, refusing: nil)
        }
    }

    /// Records that the host has lost the key of a bond, or has another one, and gives it the stored keys again.
    func hostLacksKey(of identity: BluetoothAddress) {
        refusals.lostKeys.insert(identity)
        host.loadKeys(evenIfEmpty: true)
    }

    /// Whether the host may have another program's key for a bonded device, until the bonds are read again.
    func isDoubtful(_ identity: BluetoothAddress) -> Bool { refusals.foreign.contains(identity) }

    /// Whether the host had lost the key of a bond since the last call.
    func takeLostKey(of identity: BluetoothAddress) -> Bool { refusals.lostKeys.remove(identity) != nil }

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
        case _ where writer == nil, .loaded: return bond
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
        guard writer != nil, ![.others, .notPermitted].contains(host.keyStatus) else { return nil }
        return host.removeKeys(of: identity, disconnect: isConnected(identity))
    }

    private func isConnected(_ identity: BluetoothAddress) -> Bool {
        session?.links.all.contains { $0.identity == identity } == true
    }

    private func drop(_ identity: BluetoothAddress, _ change: BondChange.Kind? = nil) {
        writer?.drop(identity)
        guard known.removeValue(forKey: identity) != nil else { return }
        keysChanged()
        changes.send(.init(change ?? .removed(identity)))
    }

    private func write(
        _ identity: BluetoothAddress, isUpdate: Bool, _ waiter: Promise<Void, BluetoothError>? = nil
    ) {
        if let writer {
            writer.write(known[identity], of: identity, isUpdate: isUpdate, waiter)
            beginWriting()
        } else {
            waiter?.succeed()
        }
    }

    /// Begins the task that writes the changes, which retains the bonds until the last.
    private func beginWriting() {
        guard let writer, writer.task == nil else { return }
        let own = LoopBound((manager: self, writer: writer), on: loop)
        writer.task = Task(executorPreference: loop) { await own.value.manager.writeAll(own.value.writer) }
    }

    private nonisolated(nonsending) func writeAll(_ writer: BondWriter) async {
        while let step = await writer.next() {
            switch step {
            case .stored(let bond): changes.send(.init(.stored(bond)))
            case .notStored(let bond, let error): changes.send(.init(.notStored(bond, error)))
            case .isGone(let identity): drop(identity)
            case .read:
                await read()
                reading.waiters.succeedAll()
            case .done: break
            }
        }
    }

    /// Waits until all changes are written.
    nonisolated(nonsending) func flush() async { await writer?.flush() }

    // MARK: Changes

    /// The changes from now on.
    func bondChanges(_ operation: BluetoothError.Operation, keeping owner: any AnyObject & Sendable) -> BoundedStream<
        BondChange
    > {
        changes.stream(capacity: 256, policy: .fail, operation, from: loop, keeping: owner)
    }

    /// Ends everything but the writing.
    func close(_ reason: BluetoothError) {
        session = nil
        changes.finish(reason.code == .cancelled ? nil : reason)
    }

    // MARK: The limit

    /// The room that a listener must have left to receive a refusal, which any device in range can cause.
    private static let roomForRefusals = 128

    /// Whether a pairing with a device that is not bonded would find room.
    func hasRoom(forAuthenticated isAuthenticated: Bool) -> Bool {
        guard writer != nil, status != .daemon, known.count >= limit.count else { return true }
        return displaced(forAuthenticated: isAuthenticated) != nil
    }

    private func displaced(forAuthenticated isAuthenticated: Bool) -> Bond? {
        limit.displaced(from: known.values, forAuthenticated: isAuthenticated, isConnected: isConnected)
    }

    /// Makes room for the bond of a new key. Without room, the host deletes the key and the link ends.
    func makeRoom(for key: LongTermKey) -> Bool {
        let identity = key.address
        guard writer != nil, known[identity] == nil, known.count >= limit.count else { return true }
        if let bond = displaced(forAuthenticated: key.kind.isAuthenticated) {
            log.notice("a bond is replaced", metadata: ["peer": "\(bond.identity)", "for": "\(identity)"])
            drop(bond.identity, .displaced(bond.identity, by: identity))
            removeKeys(of: bond.identity)
            write(bond.identity, isUpdate: false)
            return true
        }
        // Legacy pairing makes a key for each role.
        refusals.withoutRoom = refusals.withoutRoom.filter { !$0.value.isResolved }
        guard refusals.withoutRoom[identity] == nil else { return false }
        reportRefusal(of: identity)
        for link in session?.links.all ?? [] where link.identity == identity || link.peer == identity {
            link.endLink(.bondStoreFull, refusing: nil)
        }
        refusals.withoutRoom[identity] = host.removeKeys(of: identity, disconnect: true)
        return false
    }

    /// Reports that the limit left no room for the bond with a device.
    func reportRefusal(of peer: BluetoothAddress) {
        notice("a pairing is refused: the limit of \(limit.count) bonds is reached", of: peer)
        changes.send(.init(.refused(peer)), reserving: Self.roomForRefusals)
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
