import BluetoothHost
import BluetoothLoop
import BluetoothManagement
import BluetoothPrimitives
import BluetoothSockets
import Logging

/// The stream of the pairings on one adapter: joins what the kernel's management, the controller and the links' sockets
/// report into one order of events, with the reasons of failures.
//
// Owned by the adapter's pairing; its attribute channels use it.
final class PairingStream {
    private let loop: EventLoop
    let keys: KernelKeys
    private var courses = PairingCourses()
    /// This program's links, by their open attribute channels, oldest first.
    private var links: [WeakReference<ChannelLife>] = []
    /// The out-of-band data of devices.
    var outOfBandData: [BluetoothAddress: OutOfBandData] = [:]
    /// The events of stored keys that had no receiver yet.
    private var early: [PairingEvent] = []

    weak var receiver: (any PairingReceiver)? {
        didSet {
            let events = early
            early = []
            for event in events { receiver?.receive(event, of: []) }
        }
    }

    init(_ keys: KernelKeys, on loop: EventLoop) { (self.keys, self.loop) = (keys, loop) }

    /// Passes an event on.
    func report(_ event: PairingEvent, of links: [ChannelLife] = []) {
        if let receiver { return receiver.receive(event, of: links.compactMap(\.receiver)) }
        switch event {
        case .keys(_, isStored: true), .keysForgotten: if early.count < 64 { early.append(event) }
        default: break
        }
    }

    // MARK: Courses

    /// Follows the course of a pairing by an event of management, and passes it on.
    func handle(_ event: PairingEvent) {
        switch event {
        case .question(let question, let peer):
            courses.asked(question, peer, at: loop.now)
            let links = links(to: peer)
            for link in links { link.raise?.progresses() }
            links.first?.hasPaired = true
            report(event, of: links)
        case .keys(var made, let isStored):
            if isStored {
                made = keys.complete(made)
                keys.note(made.identity)
            }
            for peer in [made.identity, made.privateAddress].compactMap(\.self) { ends(peer) }
            let links = links(to: made.identity, made.privateAddress)
            links.first?.hasPaired = true
            report(.keys(made, isStored: isStored), of: links)
        case .failed(let peer, _):
            let links = links(to: peer)
            let failure = failure([peer], since: links.lazy.compactMap(\.raise).last?.lastProgress)
            ends(peer)
            report(.failed(peer, failure), of: links)
        case .keysForgotten(let peer):
            keys.forget(peer)
            report(event)
        case .security, .linkEnded: report(event)
        }
    }

    /// Handles an answer.
    func answered(_ peer: BluetoothAddress) {
        courses.answered(peer, at: loop.now)
        for link in links(to: peer) { link.raise?.progresses() }
    }

    /// Handles the beginning of a link, or the end of its pairing.
    func ends(_ peer: BluetoothAddress) { courses.ended(peer) }

    // MARK: Links

    /// Follows a link until ``unfollow(_:)``.
    func follow(_ link: ChannelLife) { links.append(WeakReference(to: link)) }

    /// Handles the end of a link, and with it of its pairing, of which nothing else tells.
    func unfollow(_ link: ChannelLife) {
        links.removeAll { $0.object == nil || $0.object === link }
        for address in link.addresses { ends(address) }
    }

    /// This program's links to a device, by any address that the kernel has, or had, for it: first the one that pairs. It is
    /// the newest, since an earlier one remains until the reason of its end is known; of a device that claims another's
    /// identity, the one that has paired.
    private func links(to peer: BluetoothAddress, _ privateAddress: BluetoothAddress? = nil) -> [ChannelLife] {
        var links = links.compactMap(\.object)
            .filter { $0.addresses.contains(peer) || $0.addresses.last == privateAddress }
        guard links.count > 1 else { return links }
        let first = links.lastIndex(where: \.hasPaired) ?? links.lastIndex { $0.addresses.first == peer }
        links.insert(links.remove(at: first ?? links.count - 1), at: 0)
        return links
    }

    /// The reason why pairing has not protected a link as required.
    ///
    /// - Parameters:
    ///   - addresses: the peer's, that of the link's beginning first.
    ///   - since: the time of the last progress of a raise.
    private func failure(_ addresses: [BluetoothAddress], since: KernelInstant?) -> PairingFailure {
        let failure = courses.failure(addresses, since: since, hasKey: keys.exist(addresses), at: loop.now)
        let hasData = addresses.contains { outOfBandData[$0] != nil }
        return failure == .rejected && hasData ? .outOfBandDataRejected : failure
    }

    /// The reason of a link's end, with the failure of pairing or encryption, if that explains it.
    func explained(_ reason: BluetoothError, of link: ChannelLife) -> BluetoothError {
        let failure = failure(link.addresses, since: link.raise?.lastProgress)
        let isRaised = link.raise?.isUnderWay == true
        // The kernel ends a stalled pairing, and a link whose peer has no key, without a specific reason; for the latter
        // most controllers report only that the local host ended it.
        return switch (reason.disconnectReason, failure) {
        case (.authentication?, _): reason.explained(by: failure)
        case (.adapterOff?, _), (.adapterRemoved?, _): reason
        case (_, .timedOut), (.localHost?, .keyMissing): isRaised ? reason.explained(by: failure) : reason
        default: reason
        }
    }
}

/// The courses of the pairings under way, by the peers' addresses. The kernel reports one status for all failures, so the
/// reason follows from the time, the questions and the keys.
struct PairingCourses: Equatable {
    private struct Course: Equatable {
        /// Whether the pairing uses numbers, so that a failure may be due to a wrong one.
        var isNumbered = false
        var lastProgress: KernelInstant
    }

    private var courses: [BluetoothAddress: Course] = [:]

    /// The lifetime of a course without progress, since nothing may report its end.
    private static let silenceLimit = Duration.seconds(35)
    private static let countLimit = 64

    /// Records a question.
    mutating func asked(_ question: PairingQuestion, _ peer: BluetoothAddress, at now: KernelInstant) {
        courses = courses.filter { $0.value.lastProgress.duration(to: now) < Self.silenceLimit }
        guard courses.count < Self.countLimit || courses[peer] != nil else { return }
        courses[peer, default: Course(lastProgress: now)].lastProgress = now
        if question.isAboutNumber { courses[peer]?.isNumbered = true }
    }

    /// Records an answer.
    mutating func answered(_ peer: BluetoothAddress, at now: KernelInstant) { courses[peer]?.lastProgress = now }

    /// Removes the course of a pairing that has ended.
    mutating func ended(_ peer: BluetoothAddress) { courses[peer] = nil }

    /// The reason why pairing has not protected a link as required.
    ///
    /// - Parameters:
    ///   - addresses: the peer's, that of the link's beginning first.
    ///   - since: the time of the last progress, for a pairing without questions.
    ///   - hasKey: whether there is a key from an earlier pairing.
    func failure(
        _ addresses: [BluetoothAddress], since: KernelInstant?, hasKey: Bool, at now: KernelInstant
    ) -> PairingFailure {
        let course = addresses.lazy.compactMap { courses[$0] }
            .first { $0.lastProgress.duration(to: now) < Self.silenceLimit }
        if let since = course?.lastProgress ?? since, since.duration(to: now) >= .seconds(29) { return .timedOut }
        if course?.isNumbered == true { return .authenticationFailed }
        return course == nil && hasKey ? .keyMissing : .rejected
    }
}

extension PairingEvent {
    /// The pairing event in an event of the management socket.
    package init?(_ packet: ManagementPacket) throws(TruncatedBytes) {
        if let event = try packet.as(ManagementNewLongTermKey.self) {
            let keys = PeerKeys(identity: event.key.address, longTermKeys: [event.key])
            self = .keys(keys, isStored: event.isStored)
        } else if let event = try packet.as(ManagementDeviceUnpaired.self) {
            self = .keysForgotten(event.value.address)
        } else if let request = try packet.as(ManagementUserConfirmationRequest.self) {
            let comparison = Passkey(request.value).map { PairingQuestion.compare($0) }
            self.init(request.isSimple ? .confirm : comparison, request.address)
        } else if let request = try packet.as(ManagementUserPasskeyRequest.self) {
            self.init(.enter, request.value)
        } else if let event = try packet.as(ManagementPasskeyNotify.self) {
            let count = Int(event.enteredCount)
            self.init(Passkey(event.passkey).map { .show($0, enteredCount: count) }, event.address)
        } else if let event = try packet.as(ManagementAuthenticationFailed.self), event.address.isLowEnergy {
            self = .failed(event.address.address, .rejected)
        } else {
            return nil
        }
    }

    private init?(_ question: PairingQuestion?, _ device: ManagementAddress) {
        guard let question, device.isLowEnergy else { return nil }
        self = .question(question, device.address)
    }
}

extension PairingQuestion {
    /// The kernel's command for an answer; nil if it expects none.
    package func command(_ answer: PairingAnswer, to peer: BluetoothAddress) -> (any ManagementCommand)? {
        let device = ManagementAddress(peer)
        return switch (self, answer) {
        case (.show, _): nil
        case (.enter, .passkey(let passkey)): ManagementUserPasskeyReply(device, passkey: passkey.value)
        case (.enter, _): ManagementUserPasskeyNegativeReply(device)
        case (_, .yes): ManagementUserConfirmationReply(device)
        case (_, _): ManagementUserConfirmationNegativeReply(device)
        }
    }
}

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
