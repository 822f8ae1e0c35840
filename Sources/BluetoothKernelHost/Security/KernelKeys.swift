import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging
import BluetoothManagement

/// The keys of one adapter's devices in the kernel, and the events of those that pairing makes.
//
// Lives on the loop, with the bonds.
package final class KernelKeys: HostKeys {
    private let mark: ComponentCount.Mark
    private let kernel: any BluetoothKernel
    private let management: LoopBound<ManagementClient>
    private let log: Logger
    private var wanted: () -> [PeerKeys] = { [] }
    private var onEvent: (KeyEvent) -> Void = { _ in }
    private var index: UInt16 = 0
    private var follower: UInt64?
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
        status = .loaded
        if follower == nil { follower = try? management.value.follow { [weak self] notice in self?.receive(notice) } }
    }

    package func close() {
        if let follower { management.value.unfollow(follower) }
        follower = nil
    }

    // MARK: Loading

    package nonisolated(nonsending) func load() async {
        let call = Promise<Void, BluetoothError>()
        load { call.succeed() }
        try? await call.value(.init("load keys", adapter: "hci\(index)"), timeout: nil, on: loop)
    }

    package func reload(_ index: UInt16) {
        self.index = index
        load {}
    }

    package func reload() { load {} }

    private func load(then completion: @escaping () -> Void) {
        guard !kernel.environment().isBluetoothDaemonRunning else {
            if status != .others { log.debug("BlueZ's daemon is running and manages the keys") }
            status = .others
            return completion()
        }
        if status == .others { status = .loaded }
        let peers = wanted().filter(\.identity.isIdentity)
        let identities = peers.compactMap { peer in
            peer.identityResolvingKey.map { IdentityResolvingKey(address: peer.identity, value: $0) }
        }
        let keys = peers.flatMap(\.longTermKeys)
        // The list of identities is sent even if empty: with it the kernel begins to exchange identities.
        let commands: [ManagementCommand] = [
            .loadIdentityResolvingKeys(Array(identities.prefix(Self.identityLimit))),
            .loadLongTermKeys(Array(keys.prefix(Self.keyLimit))),
        ]
        var outstanding = commands.count
        for command in commands {
            post(command) { [weak self] error in
                if let error { self?.loadingFailed(error) }
                outstanding -= 1
                if outstanding == 0 { completion() }
            }
        }
    }

    private func loadingFailed(_ error: BluetoothError) {
        if error.code == .notPermitted {
            guard status != .notPermitted else { return }
            status = .notPermitted
            let count = wanted().count
            log.log(level: count == 0 ? .debug : .notice, "the keys of \(count) bonds are not loaded: \(error)")
        } else {
            status = .failed(error)
            log.warning("\(error)")
        }
    }

    // MARK: Forgetting

    package func forget(_ identity: BluetoothAddress) -> Promise<Void, BluetoothError>? {
        announced[identity] = nil
        switch status {
        case .others, .notPermitted: return nil
        case .loaded, .failed: break
        }
        let call = Promise<Void, BluetoothError>()
        unpair(identity) { error in call.resolve(error.map { .failure($0) } ?? .success(())) }
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
        _ identity: BluetoothAddress, disconnect: Bool = true, then completion: @escaping (BluetoothError?) -> Void
    ) {
        post(.unpairDevice(ManagementAddress(identity), disconnect: disconnect)) { [weak self] error in
            switch (error?.code, error?.cause) {
            case (nil, _), (_, .management(.notPaired)?), (.noAdapter?, _): completion(nil)
            // The kernel cannot forget a device while the adapter is off, but accepts another list.
            case (.adapterOff?, _), (.adapterBlocked?, _):
                if let self { load { completion(nil) } } else { completion(nil) }
            default: completion(error)
            }
        }
    }

    private func post(_ command: ManagementCommand, then completion: @escaping (BluetoothError?) -> Void) {
        management.value.post(command, to: index) { answer in
            if case .failure(let error) = answer { completion(error) } else { completion(nil) }
        }
    }

    // MARK: Keys from pairing

    private func receive(_ notice: AdapterNotice) {
        switch notice {
        case .identityResolvingKey(index, let key, let address):
            announce(key.address) { ($0.identityResolvingKey, $0.privateAddress) = (key.value, address) }
        case .signatureResolvingKey(index, let key): announce(key.address) { $0.signatureKeys.append(key) }
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
        case .disconnected(index):
            // Keys without an encryption key do not wait for a later pairing, nor does one claim a bonded device's identity.
            let wanted = Set(wanted().map(\.identity))
            let isReplaced = announced.values.contains { $0.longTermKeys.isEmpty && wanted.contains($0.identity) }
            announced = [:]
            if isReplaced { load {} }
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
