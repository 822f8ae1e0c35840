import BluetoothKernel
import BluetoothPrimitives
import BluetoothSystem
import GATT
import KernelHost
import Logging
import Management

/// The bonds of one adapter: loads their keys into the kernel, takes in what pairing makes, and has it kept.
///
/// Changes are written one after the other by one task, which ends when there are none; of several changes of one bond
/// that wait for it, the last is written.
//
// Lives on the loop, with the adapter.
final class BondKeeper: AdapterKnowledge {
    let loop: EventLoop
    private let kernel: any BluetoothKernel
    let management: LoopBound<ManagementClient>
    let log: Logger
    let store: (any BondStore)?
    let limit: BondLimit

    /// Whose bonds they are.
    private var adapter = BluetoothAddress.zero
    var index: UInt16 = 0
    private var follower: UInt64?
    var known: [BluetoothAddress: Bond] = [:]
    /// Those of whom the store has not the last word, since it could not be written.
    private var unsaved: Set<BluetoothAddress> = []
    /// What pairing has told of a device before the key that makes the bond.
    var announced: [BluetoothAddress: Announcement] = [:]
    /// Those for whom there was no room, until the kernel has forgotten them.
    var refused: Set<BluetoothAddress> = []
    /// Whether the kernel has the keys.
    private(set) var standing = BondStanding.notKept

    /// What adapters call themselves, by their places.
    private var localIdentities: [String: LocalIdentity] = [:]

    private var writes: [BluetoothAddress: Write] = [:]
    private var writer: Task<Void, Never>?

    var changes = Broadcaster<BondChange>()
    /// Called when a device has been paired with; again, where there was a bond before.
    var onBonded: ((_ identity: BluetoothAddress, _ isAgain: Bool) -> Void)?
    /// Called when there was no room for the bond with a device.
    var onRefused: ((_ identity: BluetoothAddress) -> Void)?
    /// Tells whether there is a link with a device.
    var isConnected: ((BluetoothAddress) -> Bool)?
    /// Called when other keys tell which addresses are whose.
    var onKeysChanged: (([IdentityResolvingKey]) -> Void)?

    struct Announcement {
        var identityResolvingKey: SecurityKey?
        var signatureKeys: [SignatureResolvingKey] = []
    }

    /// A change that is to be written.
    private struct Write {
        /// Whether it is written only where it replaces another.
        var isUpdate: Bool
        var waiters = WaiterList<Void, BluetoothError>()
    }

    /// How many devices may be in the middle of a pairing.
    private static let announcementLimit = 16

    init(
        _ keeping: BondKeeping, limit: BondLimit = BondLimit(), management: LoopBound<ManagementClient>,
        on kernel: any BluetoothKernel, log: Logger
    ) {
        self.limit = limit
        self.management = management
        self.kernel = kernel
        self.log = log
        loop = kernel.loop
        switch keeping {
        case .notKept: store = nil
        case .store(let store): self.store = store
        case .standard:
            guard kernel.isDefault else {
                store = MemoryBondStore()
                return
            }
            do throws(BluetoothError) {
                store = try FileBondStore(log: log)
            } catch {
                log.notice("bonds are not kept: \(error)")
                store = MemoryBondStore()
            }
        }
    }

    // MARK: The adapter's own identity

    nonisolated(nonsending) func localIdentity(ofAdapterAt place: String, orMake makes: Bool) async -> LocalIdentity? {
        if let known = localIdentities[place] { return known }
        var identity = makes ? LocalIdentity.random() : nil
        do throws(BluetoothError) {
            if let store { identity = try await store.localIdentity(ofAdapterAt: place, orKeep: identity) }
        } catch {
            log.warning("the adapter's identity is not kept, and paired devices will not know it again: \(error)")
        }
        localIdentities[place] = identity
        return identity
    }

    // MARK: Loading

    /// Reads the bonds of an adapter and has the kernel know their keys.
    ///
    /// Whatever is in the way, the adapter can be used without; ``standing`` tells.
    nonisolated(nonsending) func prepare(_ information: AdapterInformation) async {
        guard let store else { return }
        follow()
        (adapter, index) = (information.address, information.index)
        standing = .loaded
        do throws(BluetoothError) {
            let bonds = try await store.bonds(of: information.address)
            guard adapter == information.address else { return }
            var now = known.filter { unsaved.contains($0.key) }
            for bond in bonds where !unsaved.contains(bond.identity) { now[bond.identity] = bond }
            known = now
        } catch {
            log.warning("\(error)")
            standing = .failed(error)
            // What the kernel knows from before is better than nothing.
            if known.isEmpty { return }
        }
        keysChanged()
        await loaded(load())
    }

    /// Has the kernel know the keys again, of an adapter that was plugged in again. The commands are on their way when
    /// this returns.
    func reload(_ index: UInt16) {
        self.index = index
        let calls = load()
        guard !calls.isEmpty else { return }
        let keeper = LoopBound(self, on: loop)
        Task(executorPreference: loop) { await keeper.value.loaded(calls) }
    }

    /// Waits until the kernel has taken the keys, and takes note of what is in the way.
    private nonisolated(nonsending) func loaded(_ calls: [Promise<ManagementReply, BluetoothError>]) async {
        for call in calls {
            do throws(BluetoothError) {
                _ = try await call.value(.init("load keys", adapter: "hci\(index)"), timeout: nil, on: loop)
            } catch {
                loadingFailed(error)
            }
        }
    }

    private func loadingFailed(_ error: BluetoothError) {
        if error.code == .notPermitted {
            guard standing != .notPermitted else { return }
            standing = .notPermitted
            let level: Logger.Level = known.isEmpty ? .debug : .notice
            log.log(level: level, "the keys of \(known.count) bonds are not loaded: \(error)")
        } else {
            standing = .failed(error)
            log.warning("\(error)")
        }
    }

    /// Sends the kernel all keys, in place of those it had.
    func load() -> [Promise<ManagementReply, BluetoothError>] {
        guard store != nil else { return [] }
        guard !kernel.environment().isBluetoothDaemonRunning else {
            if standing != .daemon { log.debug("BlueZ's daemon is running; the keys are its business") }
            standing = .daemon
            return []
        }
        if standing == .daemon { standing = .loaded }
        // The kernel takes what fits a packet: those that are used, and of them the newest, are the likeliest to be met.
        let bonds = known.values.filter(\.identity.isIdentity)
            .sorted { ($0.isInUse ? 1 : 0, $0.time) > ($1.isInUse ? 1 : 0, $1.time) }
        let identities = bonds.compactMap(\.irk)
        let keys = bonds.flatMap(\.longTermKeys)
        // The list of identities is sent without any as well: with it the kernel begins to exchange identities.
        let commands: [ManagementCommand] = [
            .loadIdentityResolvingKeys(Array(identities.prefix(Self.identityLimit))),
            .loadLongTermKeys(Array(keys.prefix(Self.keyLimit))),
        ]
        return commands.map { command in
            let call = Promise<ManagementReply, BluetoothError>()
            management.value.post(
                command, to: index, isAbandoned: { call.isResolved }, completion: { call.resolve($0) })
            return call
        }
    }

    /// What fits into a packet of 65535 bytes.
    private static let keyLimit = 1800
    private static let identityLimit = 2800

    /// Tells which keys there are that resolve addresses.
    func keysChanged() {
        onKeysChanged?(known.values.sorted { $0.identity < $1.identity }.compactMap(\.irk))
    }

    // MARK: What pairing makes

    private func follow() {
        guard follower == nil else { return }
        follower = try? management.value.follow { [weak self] notice in self?.take(notice) }
    }

    private func take(_ notice: AdapterNotice) {
        switch notice {
        case .identityResolvingKey(index, let key):
            announce(key.address) { $0.identityResolvingKey = key.value }
        case .signatureResolvingKey(index, let key):
            announce(key.address) { $0.signatureKeys.append(key) }
        case .longTermKey(index, let key): take(key)
        case .unpaired(index, let address): forget(address)
        default: break
        }
    }

    private func announce(_ identity: BluetoothAddress, _ body: (inout Announcement) -> Void) {
        guard standing != .daemon else { return }
        if announced.count >= Self.announcementLimit, announced[identity] == nil { announced = [:] }
        body(&announced[identity, default: Announcement()])
    }

    /// A key makes the bond, with what was announced before it.
    private func take(_ key: LongTermKey) {
        guard standing != .daemon, key.address.isIdentity else { return }
        let identity = key.address
        if known[identity]?.isAuthenticated == true, !key.kind.isAuthenticated { return refuse(key) }
        guard makeRoom(for: key) else { return }
        var bond = known[identity] ?? Bond(identity: identity)
        let isAgain = bond.longTermKeys.contains { $0.isCentral == key.isCentral && $0.value != key.value }
        bond.take(key)
        bond.time = UInt64(clamping: SystemClock.microsecondsSince1970 / 1_000_000)
        if let news = announced.removeValue(forKey: identity) {
            bond.identityResolvingKey = news.identityResolvingKey ?? bond.identityResolvingKey
            for key in news.signatureKeys { bond.take(key) }
        }
        let resolvesOthers = bond.identityResolvingKey != known[identity]?.identityResolvingKey
        known[identity] = bond
        log.debug("bonded: \(bond)")
        write(identity, isUpdate: false)
        if resolvesOthers { keysChanged() }
        onBonded?(identity, isAgain)
    }

    /// A key that does not make sure of the device stands in for one that does: somebody may have taken its place. The
    /// kernel gets its keys back, and the link ends.
    private func refuse(_ key: LongTermKey) {
        announced[key.address] = nil
        log.notice("a key that is worse than the bond's is not kept", metadata: ["peer": "\(key.address)"])
        reload(index)
        guard standing == .loaded else { return }
        management.value.post(.disconnect(ManagementAddress(key.address)), to: index) { [log] answer in
            if case .failure(let error) = answer { log.debug("\(error)") }
        }
    }

    // MARK: Asking and changing

    /// All bonds, by address.
    var bonds: [Bond] { known.values.sorted { $0.identity < $1.identity } }

    /// The bond with a device.
    func bond(with identity: BluetoothAddress) -> Bond? { known[identity] }

    /// Takes note of what is to be kept of a device as a client; nothing when there is no bond with it.
    func setClient(_ client: GATTClientRecord, of identity: BluetoothAddress) {
        guard known[identity] != nil, known[identity]?.client != client else { return }
        known[identity]?.client = client
        write(identity, isUpdate: true)
    }

    /// Takes note of what a device is called; nothing when there is no bond with it.
    func setName(_ name: String, of identity: BluetoothAddress) {
        guard known[identity] != nil, known[identity]?.name != name else { return }
        known[identity]?.name = name
        write(identity, isUpdate: true)
    }

    /// Keeps a bond, in place of the one with the same device, and has the kernel know its keys.
    nonisolated(nonsending) func set(_ bond: Bond) async throws(BluetoothError) {
        let former = known[bond.identity]
        known[bond.identity] = bond
        if former?.identityResolvingKey != bond.identityResolvingKey { keysChanged() }
        if former?.longTermKeys != bond.longTermKeys || former?.identityResolvingKey != bond.identityResolvingKey {
            await loaded(load())
        }
        let call = Promise<Void, BluetoothError>()
        write(bond.identity, isUpdate: false, call)
        try await call.value(.init("keep the bond", peer: bond.identity), timeout: nil, on: loop)
    }

    /// Forgets a device here, in the store and in the kernel, which ends the link with it.
    ///
    /// The kernel forgets it whatever becomes of the file and of the task.
    nonisolated(nonsending) func remove(_ identity: BluetoothAddress) async throws(BluetoothError) {
        let call = Promise<Void, BluetoothError>()
        drop(identity)
        let unpaired = unpair(identity)
        write(identity, isUpdate: false, call)
        try await call.value(.init("remove the bond", peer: identity), timeout: nil, on: loop)
        guard let unpaired else { return }
        await loaded(try await unpaired.value(.init("remove the bond", peer: identity), timeout: nil, on: loop))
    }

    /// Has the kernel forget a device, where it knows this program's keys or may know older ones; tells what is still to be
    /// waited for.
    func unpair(_ identity: BluetoothAddress) -> Promise<[Promise<ManagementReply, BluetoothError>], BluetoothError>? {
        switch standing {
        case .daemon, .notKept, .notPermitted: return nil
        case .loaded, .failed: break
        }
        let call = Promise<[Promise<ManagementReply, BluetoothError>], BluetoothError>()
        let command = ManagementCommand.unpairDevice(ManagementAddress(identity), disconnect: true)
        management.value.post(command, to: index) { [weak self] answer in
            guard case .failure(let error) = answer else {
                call.succeed([])
                return
            }
            switch (error.code, error.cause) {
            case (_, .management(.notPaired)?), (.noAdapter, _): call.succeed([])
            // It forgets nothing while it is off, but takes another list.
            case (.adapterOff, _), (.adapterBlocked, _):
                call.succeed(self?.load() ?? [])
            default: call.fail(error)
            }
        }
        return call
    }

    /// Another program has made the kernel forget a device.
    private func forget(_ identity: BluetoothAddress) {
        guard known[identity] != nil else { return }
        drop(identity)
        write(identity, isUpdate: false)
    }

    func drop(_ identity: BluetoothAddress, _ change: BondChange? = nil) {
        announced[identity] = nil
        unsaved.remove(identity)
        guard known.removeValue(forKey: identity) != nil else { return }
        keysChanged()
        tell(change ?? .removed(identity))
    }

    // MARK: Writing

    func write(_ identity: BluetoothAddress, isUpdate: Bool, _ waiter: Promise<Void, BluetoothError>? = nil) {
        var write = writes[identity] ?? Write(isUpdate: true)
        // One that could not be written the last time is not there to be replaced.
        write.isUpdate = write.isUpdate && isUpdate && !unsaved.contains(identity)
        if let waiter { write.waiters.append(waiter) }
        writes[identity] = write
        guard writer == nil else { return }
        let keeper = LoopBound(self, on: loop)
        writer = Task(executorPreference: loop) { await keeper.value.writeAll() }
    }

    nonisolated(nonsending) func writeAll() async {
        while let (identity, first) = writes.popFirst() {
            var write = first
            let failure = await store(identity, isUpdate: write.isUpdate)
            write.waiters.resolveAll(failure.map { .failure($0) } ?? .success(()))
        }
        writer = nil
    }

    /// Brings the store to where the bond with a device is; says what is in the way.
    private nonisolated(nonsending) func store(_ identity: BluetoothAddress, isUpdate: Bool) async -> BluetoothError? {
        guard let store else { return nil }
        let bond = known[identity]
        do throws(BluetoothError) {
            if let bond {
                if isUpdate {
                    guard try await store.update(bond, of: adapter) else {
                        log.debug("another program has removed the bond with \(identity)")
                        if writes[identity]?.isUpdate != false { drop(identity) }
                        return nil
                    }
                } else {
                    try await store.save(bond, of: adapter)
                }
                unsaved.remove(identity)
                tell(.kept(bond))
            } else {
                try await store.removeBond(with: identity, of: adapter)
            }
            return nil
        } catch {
            if let bond {
                log.warning("the bond with \(identity) lasts as long as this program: \(error)")
                unsaved.insert(identity)
                tell(.notKept(bond, error))
            } else {
                log.warning("\(error)")
            }
            return error
        }
    }

    /// Waits until what has changed is written.
    nonisolated(nonsending) func flush() async {
        await writer?.value
    }

    // MARK: Telling

    private func tell(_ change: BondChange) { changes.send(change) }

    /// Changes from now on.
    func bondChanges(_ operation: BluetoothError.Operation, keeping owner: AdapterSession) -> BoundedStream<BondChange>
    {
        changes.stream(capacity: 256, policy: .fail, operation, from: loop, keeping: owner)
    }

    /// Ends everything but the writing.
    func close(_ reason: BluetoothError) {
        if let follower { management.value.unfollow(follower) }
        follower = nil
        (onBonded, onRefused, onKeysChanged, isConnected) = (nil, nil, nil, nil)
        changes.finish(reason.code == .cancelled ? nil : reason)
    }
}

extension Bond {
    /// The key with the identity it stands for.
    fileprivate var irk: IdentityResolvingKey? {
        identityResolvingKey.map { IdentityResolvingKey(address: identity, value: $0) }
    }
}
