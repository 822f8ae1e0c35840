import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging
import BluetoothManagement

/// The keys of one adapter's devices in the kernel, and those that a pairing is making.
//
// Owned by the pairing.
final class KernelKeys {
    private let mark: ComponentCount.Mark
    private let kernel: any BluetoothKernel
    private let management: LoopBound<ManagementClient>
    private let log: Logger
    /// The source of the keys to load.
    private weak var store: (any AdapterStore)?
    var index: UInt16 = 0
    /// Whether the kernel has received a list of identities, with which it begins to exchange them.
    private var exchangesIdentities = false
    /// The keys that pairing has reported before the encryption key, by the device's identity.
    private var announced: [BluetoothAddress: PeerKeys] = [:]
    /// The devices with a stored key according to pairings in this run, for when the stored keys are not known.
    private var holders: Set<BluetoothAddress> = []
    private(set) var status = KeyStatus.loaded

    /// The maximum number of devices in the middle of a pairing.
    private static let announcementLimit = 16
    /// The number of keys that fit into a packet of 65535 bytes.
    private static let keyLimit = 1800
    private static let identityLimit = 2800

    init(of kernel: any BluetoothKernel, by management: LoopBound<ManagementClient>, log: Logger) {
        mark = kernel.loop.components.mark("KernelKeys")
        self.kernel = kernel
        self.management = management
        self.log = log
    }

    /// Begins with an adapter, whose stored keys have been read.
    func begin(_ index: UInt16, _ store: any AdapterStore) {
        (self.index, self.store) = (index, store)
        adapterIsNew()
    }

    /// Handles an adapter that was plugged in, also again.
    func adapterIsNew() {
        exchangesIdentities = false
        if store?.keys != nil, !checkAuthority(), status == .notPermitted { loadingFailed(nil) }
    }

    /// Finds out who loads the keys, which may change; returns whether this program does.
    private func checkAuthority() -> Bool {
        let environment = kernel.environment()
        if environment.isBluetoothDaemonRunning {
            if status != .others { log.debug("BlueZ's daemon is running and manages the keys") }
            status = .others
        } else {
            status = environment.hasNetAdmin ? .loaded : .notPermitted
        }
        return status == .loaded
    }

    // MARK: Loading

    /// - Parameter evenIfEmpty: whether an empty list is sent, which removes the keys of other programs.
    @discardableResult
    func load(
        evenIfEmpty: Bool = false, _ call: Promise<Void, BluetoothError> = Promise()
    ) -> Promise<Void, BluetoothError> {
        guard let stored = store?.keys, checkAuthority() else {
            call.succeed()
            return call
        }
        let peers = stored.filter(\.identity.isIdentity)
        let identities = peers.compactMap { peer in
            peer.identityResolvingKey.map { IdentityResolvingKey(address: peer.identity, value: $0) }
        }
        let keys = peers.flatMap(\.longTermKeys)
        var commands: [any ManagementCommand] = []
        if evenIfEmpty || !exchangesIdentities || !identities.isEmpty {
            commands.append(ManagementLoadIdentityResolvingKeys(Array(identities.prefix(Self.identityLimit))))
            exchangesIdentities = true
        }
        if evenIfEmpty || !keys.isEmpty {
            commands.append(ManagementLoadLongTermKeys(Array(keys.prefix(Self.keyLimit))))
        }
        var outstanding = commands.count
        if outstanding == 0 { call.succeed() }
        for command in commands {
            management.value.perform(command, on: index) { [weak self] error in
                if let error { self?.loadingFailed(error) }
                outstanding -= 1
                if outstanding == 0 { call.succeed() }
            }
        }
        return call
    }

    /// - Parameter error: nil if the program may not load keys.
    private func loadingFailed(_ error: BluetoothError?) {
        // It was unplugged, and its keys are gone.
        if error?.code == .noAdapter { return }
        if let error, error.code != .notPermitted {
            status = .failed(error)
            return log.warning("\(error)")
        }
        status = .notPermitted
        let count = store?.keys?.count ?? 0
        log.log(
            level: count == 0 ? .debug : .notice, "the keys of \(count) bonds are not loaded: that needs CAP_NET_ADMIN")
    }

    // MARK: Forgetting

    /// Removes a device's keys from the kernel, and ends its link if `disconnect`.
    func remove(_ peer: BluetoothAddress, disconnect: Bool) -> Promise<Void, BluetoothError> {
        forget(peer)
        let call = Promise<Void, BluetoothError>()
        let command = ManagementUnpairDevice(ManagementAddress(peer), disconnect: disconnect)
        management.value.perform(command, on: index) { [weak self, log] error in
            switch (error?.code, error?.cause) {
            case (nil, _), (_, .management(.notPaired)?), (.noAdapter?, _): call.succeed()
            // The kernel cannot forget a device while the adapter is off, but accepts another list.
            case (.adapterOff?, _), (.adapterBlocked?, _):
                if let self { load(evenIfEmpty: true, call) } else { call.succeed() }
            default:
                if let error {
                    log.debug("\(error)")
                    call.fail(error)
                }
            }
        }
        return call
    }

    // MARK: Keys from pairing

    /// Completes the keys of a pairing that has made an encryption key. Legacy pairing makes one for each role.
    func complete(_ made: PeerKeys) -> PeerKeys {
        guard var keys = announced[made.identity] else { return made }
        keys.longTermKeys = made.longTermKeys
        announced[made.identity] = keys
        return keys
    }

    /// Records an identity resolving key, which is reported before the encryption key, with the private address of its
    /// device.
    func announce(_ key: IdentityResolvingKey, of address: BluetoothAddress?) {
        guard status != .others else { return }
        let identity = key.address
        if announced.count >= Self.announcementLimit, announced[identity] == nil { announced = [:] }
        announced[identity, default: PeerKeys(identity: identity)].identityResolvingKey = key.value
        announced[identity]?.privateAddress = address
    }

    /// Records a pairing that made a stored key.
    func note(_ identity: BluetoothAddress) {
        if holders.count < 1024 { holders.insert(identity) }
    }

    /// Whether there is a key for one of a link's addresses.
    func exist(_ addresses: [BluetoothAddress]) -> Bool {
        guard ![.others, .notPermitted].contains(status), let stored = store?.keys else {
            return !holders.isDisjoint(with: addresses)
        }
        return stored.contains { addresses.contains($0.identity) }
    }

    /// Forgets the keys of a device.
    func forget(_ peer: BluetoothAddress) {
        announced[peer] = nil
        holders.remove(peer)
    }

    /// Handles the end of a link of any program.
    func linkEnded(isServing: Bool) {
        // Keys without an encryption key do not wait for a later pairing, nor does one claim a bonded device's identity.
        let alone = announced.values.filter(\.longTermKeys.isEmpty).map(\.identity)
        let isReplaced = !alone.isEmpty && store?.keys?.contains { alone.contains($0.identity) } == true
        announced = [:]
        if isReplaced || isServing { load(evenIfEmpty: isReplaced) }
    }
}
