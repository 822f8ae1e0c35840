import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging
import BluetoothManagement

/// The keys of one adapter's devices in the kernel, and the events of those that pairing makes.
//
// Lives on the loop, with the bonds.
// Holds more than ten variables: the keys of one adapter are loaded, announced and reported together.
package final class KernelKeys: HostKeys, AdapterNoticeReceiver {
    private let mark: ComponentCount.Mark
    private let kernel: any BluetoothKernel
    private let management: LoopBound<ManagementClient>
    private let log: Logger
    private var wanted: () -> [PeerKeys] = { [] }
    private var onEvent: (KeyEvent) -> Void = { _ in }
    private var index: UInt16 = 0
    private var isFollowing = false
    private var isServing = false
    /// Whether the kernel has received a list of identities, with which it begins to exchange them.
    private var exchangesIdentities = false
    /// The keys that pairing has reported before the encryption key, by the device's identity.
    private var announced: [BluetoothAddress: PeerKeys] = [:]
    package private(set) var status = KeyStatus.loaded

    /// The maximum number of devices in the middle of a pairing.
    private static let announcementLimit = 16
    /// The number of keys that fit into a packet of 65535 bytes.
    private static let keyLimit = 1800
    private static let identityLimit = 2800

    package init(of kernel: any BluetoothKernel, by management: LoopBound<ManagementClient>, log: Logger) {
        mark = kernel.loop.components.mark("KernelKeys")
        self.kernel = kernel
        self.management = management
        self.log = log
    }

    package var loop: EventLoop { kernel.loop }

    package func follow(wanted: @escaping () -> [PeerKeys], _ onEvent: @escaping (KeyEvent) -> Void) {
        (self.wanted, self.onEvent) = (wanted, onEvent)
    }

    package func begin(_ index: UInt16) {
        self.index = index
        if !isFollowing { isFollowing = (try? management.value.follow(self)) != nil }
        exchangesIdentities = false
        if !checkAuthority(), status == .notPermitted { loadingFailed(nil) }
        if isServing { load {} }
    }

    package func setServing(_ isServing: Bool) {
        guard isServing != self.isServing else { return }
        self.isServing = isServing
        if isServing { load {} }
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

    package func close() {
        management.value.unfollow(self)
        isFollowing = false
    }

    // MARK: Loading

    package nonisolated(nonsending) func load() async {
        let call = Promise<Void, BluetoothError>()
        load { call.succeed() }
        try? await call.value(.init("load keys", adapter: "hci\(index)"), timeout: nil, on: loop)
    }

    package func reload() { load(evenIfEmpty: true) {} }

    /// - Parameter evenIfEmpty: whether an empty list is sent, which removes the keys of other programs.
    private func load(evenIfEmpty: Bool = false, then completion: @escaping () -> Void) {
        guard checkAuthority() else { return completion() }
        let peers = wanted().filter(\.identity.isIdentity)
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
        if outstanding == 0 { completion() }
        for command in commands {
            management.value.perform(command, on: index) { [weak self] error in
                if let error { self?.loadingFailed(error) }
                outstanding -= 1
                if outstanding == 0 { completion() }
            }
        }
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
        let count = wanted().count
        log.log(
            level: count == 0 ? .debug : .notice, "the keys of \(count) bonds are not loaded: that needs CAP_NET_ADMIN")
    }

    // MARK: Forgetting

    package func forget(_ identity: BluetoothAddress, disconnect: Bool) -> Promise<Void, BluetoothError>? {
        announced[identity] = nil
        switch status {
        case .others, .notPermitted: return nil
        case .loaded, .failed: break
        }
        let call = Promise<Void, BluetoothError>()
        unpair(identity, disconnect: disconnect) { error in call.resolve(error.map { .failure($0) } ?? .success(())) }
        return call
    }

    package func remove(
        _ peer: BluetoothAddress, onAdapter adapter: UInt16?, disconnect: Bool, then completion: @escaping () -> Void
    ) {
        // Without a store this has followed no adapter.
        index = adapter ?? index
        unpair(peer, disconnect: disconnect) { [log] error in
            if let error { log.debug("\(error)") }
            completion()
        }
    }

    private func unpair(
        _ identity: BluetoothAddress, disconnect: Bool, then completion: @escaping (BluetoothError?) -> Void
    ) {
        let command = ManagementUnpairDevice(ManagementAddress(identity), disconnect: disconnect)
        management.value.perform(command, on: index) { [weak self] error in
            switch (error?.code, error?.cause) {
            case (nil, _), (_, .management(.notPaired)?), (.noAdapter?, _): completion(nil)
            // The kernel cannot forget a device while the adapter is off, but accepts another list.
            case (.adapterOff?, _), (.adapterBlocked?, _):
                if let self { load(evenIfEmpty: true) { completion(nil) } } else { completion(nil) }
            default: completion(error)
            }
        }
    }

    // MARK: Keys from pairing

    package func receive(_ notice: AdapterNotice) {
        switch notice {
        case .identityResolvingKey(index, let key, let address):
            announce(key.address) { ($0.identityResolvingKey, $0.privateAddress) = (key.value, address) }
        case .longTermKey(index, let key):
            guard status != .others, key.address.isIdentity else { return }
            // Legacy pairing makes a key for each role.
            var keys = announced[key.address] ?? PeerKeys(identity: key.address)
            keys.longTermKeys = [key]
            if announced[key.address] != nil { announced[key.address] = keys }
            onEvent(.made(keys))
        case .unpaired(index, let address):
            announced[address] = nil
            onEvent(.forgotten(address))
        case .connected(index, _): if isServing { load {} }
        case .disconnected(index):
            // Keys without an encryption key do not wait for a later pairing, nor does one claim a bonded device's identity.
            let alone = announced.values.filter(\.longTermKeys.isEmpty).map(\.identity)
            let isReplaced = !alone.isEmpty && wanted().contains { alone.contains($0.identity) }
            announced = [:]
            if isReplaced || isServing { load(evenIfEmpty: isReplaced) {} }
            onEvent(.linkEnded)
        default: break
        }
    }

    /// Identity and signature keys are reported before the encryption key.
    private func announce(_ identity: BluetoothAddress, _ body: (inout PeerKeys) -> Void) {
        guard status != .others else { return }
        if announced.count >= Self.announcementLimit, announced[identity] == nil { announced = [:] }
        body(&announced[identity, default: PeerKeys(identity: identity)])
    }
}
