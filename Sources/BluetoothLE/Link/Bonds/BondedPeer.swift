import BluetoothATT
import BluetoothGATT
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The relation of a link to the bond with its peer.
public enum BondProtection: Hashable, Sendable {
    /// There is no bond with the peer.
    case none
    /// There is a bond with a device of this address, and the link is not encrypted with its key: the peer may be
    /// another device.
    case unconfirmed
    /// The link is encrypted with the key of the bond, at its level.
    case confirmed
}

/// The effect of a bond on a link: subscriptions in both directions survive disconnection.
///
/// Owned by its link, which is passed to each call.
final class BondedPeer {
    private let mark: ComponentCount.Mark

    init(on loop: EventLoop) { mark = loop.components.mark("BondedPeer") }

    /// Whether the link has been encrypted.
    private var wasEncrypted = false
    /// The identity that a pairing on this link, or the stored key, has proven.
    private(set) var provenIdentity: BluetoothAddress?
    /// Whether a pairing on this link has made the bond.
    private var isBondedHere = false
    /// Runs until the link has been silent for a second, while a value waits for encryption.
    private var silence: LoopTimer?
    /// Whether the stored client state waits for encryption to be restored.
    private var awaitsRestoring = false
    /// Whether encrypting the link with the key of an earlier bond is recorded as a use of that bond.
    private var confirmsBondWhenEncrypted = false
    /// The restored subscriptions that the program has not been notified of.
    private var restored: Set<AttributeHandle> = []

    /// Returns whether the peer is known to be the bonded device: the link is encrypted with the key of its bond.
    func isBonded(_ link: Link) -> Bool {
        guard isEncrypted(link), let bond = link.bond else { return false }
        return isBondedHere || !link.isPairedAnew && hasKey(of: bond, link)
    }

    private func hasKey(of bond: Bond, _ link: Link) -> Bool {
        guard link.bonds?.isDoubtful(bond.identity) == false else { return false }
        // The controller reports encryption before the host does.
        guard let now = try? link.security(), now.keySize > 0 else { return true }
        return bond.mayHaveEncrypted(now, isCentral: link.role == .central)
    }

    /// Returns whether the peer of a link with another address has shown that it has this identity.
    func proves(_ identity: BluetoothAddress, _ link: Link) -> Bool {
        if provenIdentity == identity { return true }
        guard let key = link.bonds?.bond(with: identity)?.identityResolvingKey,
            PrivateAddressResolver().matches(link.peer, key)
        else { return false }
        provenIdentity = identity
        return true
    }

    private func isEncrypted(_ link: Link) -> Bool {
        // A channel whose link has ended reports the level that it was opened with, and no key.
        if !wasEncrypted, let security = try? link.security(), security.isEncrypted, security.keySize > 0 {
            wasEncrypted = true
        }
        return wasEncrypted
    }

    /// Handles a new bond from a pairing on this link.
    func bonded(as identity: BluetoothAddress, isAgain: Bool, _ link: Link) {
        (confirmsBondWhenEncrypted, isBondedHere, provenIdentity) = (false, true, identity)
        restore(link)
        persistClientState(link)
        storeName(link)
        link.database.bonded(isAgain: isAgain, link)
    }

    // MARK: Device name

    /// Stores the advertised name of the address the link was established with in a new bond.
    private func storeName(_ link: Link) {
        guard let bonds = link.bonds, let bond = link.bond, bond.name == nil else { return }
        let identities = link.adapter?.identities
        let name = identities?.name(of: link.peer) ?? identities?.name(of: bond.identity)
        if let name { bonds.setName(name, of: bond.identity) }
    }

    /// Stores the GAP Device Name read from the peer (Core Vol 3 Part C §12.1) in its bond.
    func store(deviceName: [UInt8], _ link: Link) {
        let name = String(decoding: deviceName.prefix { $0 != 0 }, as: UTF8.self)
        guard !name.isEmpty else { return }
        if isBonded(link), let bonds = link.bonds, let bond = link.bond {
            bonds.setName(name, of: bond.identity)
        } else {
            link.adapter?.identities.recordName(name, of: link.peer)
        }
    }

    // MARK: Client state

    /// Schedules the restoration of a bonded client's state for when the link is encrypted: before that, its identity
    /// is unconfirmed and it receives nothing.
    func awaitClient(_ link: Link) {
        guard let bearer = link.mainBearer else { return }
        guard let bond = link.bond else { return }
        (awaitsRestoring, confirmsBondWhenEncrypted) = (bond.client != nil, link.bonds?.recordsUse(of: bond) == true)
        guard awaitsRestoring || confirmsBondWhenEncrypted else { return }
        bearer.peerClient.isAwaited = true
        // Deferred until the new owner of the link has it.
        link.loop.executeLocally { [weak self, weak link] in if let self, let link { restore(link) } }
    }

    /// Restores a bonded client's subscriptions and change-awareness once encryption has confirmed its identity (Core
    /// Vol 3 Part G §2.5.2.1, §3.3.3.3, §7.2).
    func restore(_ link: Link) {
        guard let bearer = link.mainBearer else { return }
        guard isBonded(link) else {
            silence?.set(after: Self.silenceLimit)
            return
        }
        silence = nil
        if confirmsBondWhenEncrypted {
            confirmsBondWhenEncrypted = false
            link.bonds?.recordUse(of: link.identity)
        }
        if awaitsRestoring {
            awaitsRestoring = false
            guard let record = link.bond?.client else {
                if !confirmsBondWhenEncrypted { bearer.peerClient.isAwaited = false }
                return
            }
            let before = Set(bearer.client.configurations.keys)
            link.localServer.withDatabase { bearer.client.restore(record, database: $0) }
            if !bearer.client.isChangeAware { bearer.indicateMissedChanges() }
            restored = Set(bearer.client.configurations.keys).subtracting(before)
        }
        notifyRestored(link, bearer)
    }

    // MARK: Asking for encryption

    /// The time without a request before a central is asked to encrypt the link. Centrals begin by themselves, and one
    /// that is asked meanwhile may end the link.
    private static let silenceLimit = Duration.seconds(1)

    /// Handles a value for a subscription that waits for encryption: the central is asked for it once the link is silent
    /// (Core Vol 3 Part C §10.3.1.1).
    func valueIsDue(of characteristic: AttributeHandle, _ link: Link) {
        guard silence == nil, link.role == .peripheral, !isEncrypted(link),
            link.bond?.client?.subscriptions.contains(where: { $0.characteristic == characteristic }) == true
        else { return }
        silence = link.loop.makeLocalTimer { [weak self, weak link] in
            guard let self, let link, link.isConnected, !isEncrypted(link) else { return }
            link.protection.askPeer(link)
        }
        silence?.set(after: Self.silenceLimit)
    }

    /// Notifies the program of restored subscriptions as of new ones: of each once the link has the security that its
    /// value requires.
    private func notifyRestored(_ link: Link, _ bearer: ATTBearer) {
        guard link.isConnected else { return }
        bearer.updateSecurity()
        for handle in restored.sorted() where link.isConnected {
            let isProtected = link.localServer.withDatabase {
                bearer.core.server.isProtected(for: handle, database: $0)
            }
            guard isProtected else { continue }
            restored.remove(handle)
            guard let configuration = bearer.client.configurations[handle] else { continue }
            link.report(PeerSubscription(characteristic: handle, configuration: configuration))
        }
        if restored.isEmpty, !confirmsBondWhenEncrypted { bearer.peerClient.isAwaited = false }
    }

    /// Returns whether the program has not been notified of a subscription yet.
    func isRestored(_ handle: AttributeHandle) -> Bool { restored.contains(handle) }

    /// Discards the pending notification of a restored subscription; returns whether there was one.
    func discardRestored(_ handle: AttributeHandle) -> Bool { restored.remove(handle) != nil }

    /// Handles the host's report that the link is encrypted, perhaps before it knows the security.
    func linkIsEncrypted(_ link: Link) {
        wasEncrypted = true
        // A pairing on this link is not a use of an earlier bond.
        if link.isPairedAnew { confirmsBondWhenEncrypted = false }
        // Ends open pairing questions: without bonding, no other event marks the end of the pairing.
        link.pairings?.endDialogs(link.addresses)
        guard let bearer = link.mainBearer else { return }
        // Without a bond, the smallest key of an encrypted link.
        bearer.peerClient.reportedKeySize = link.bond?.encryptionKeySize ?? 7
        restore(link)
    }

    /// Stores the state of a bonded client.
    ///
    /// On an unencrypted link any device could claim to be that client.
    func persistClientState(_ link: Link) {
        guard let bonds = link.bonds, let bond = link.bond, isBonded(link),
            let bearer = link.mainBearer
        else { return }
        // The stored state has not been restored yet.
        guard !awaitsRestoring else { return }
        let record = link.localServer.withDatabase { bearer.client.record(of: $0, after: bond.client) }
        if bond.client == nil, record.subscriptions.isEmpty, record.supportedFeatures.isEmpty { return }
        bonds.setClient(record, of: bond.identity)
    }
}

// The bond with a link's peer: what it promises, and the proof that the peer is the bonded device.
extension Link {
    /// The bond with the peer.
    var bond: Bond? { bonds?.bond(with: identity) }

    var bondProtection: BondProtection {
        guard bond != nil else { return .none }
        return bondedPeer.isBonded(self) ? .confirmed : .unconfirmed
    }

    /// Whether a connect with these options may have this link: a central that has a bond is only known by its key.
    func canBeShared(_ options: ConnectionOptions) -> Bool {
        role == .central || options.bondLevel == nil || bondProtection == .confirmed
    }

    /// The minimum size of the link's key: a stored one is used although it is shorter than those of pairings must be.
    var minimumKeySize: Int {
        configuration.minimumKeySize ?? min(minimumNewKeySize, bond?.encryptionKeySize ?? minimumNewKeySize)
    }

    /// Whether the peer has shown that it has this identity: by its address from the beginning, by a private address
    /// made with the stored key, or by a pairing whose bond was stored.
    func proves(_ identity: BluetoothAddress) -> Bool {
        identity == peer || adapter == nil || bondedPeer.proves(identity, self)
    }

    /// Waits until the host has encrypted the link with the key of the peer's bond, which it began with the link.
    ///
    /// - Parameter level: the level that was asked for with the link.
    nonisolated(nonsending) func encryptWithBond(
        at level: SecurityLevel, until deadline: KernelInstant?
    ) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("encrypt the link with the bond's key", peer: peer)
        // A link that has ended has none.
        let adapter = adapter
        let result: SecurityRaiseResult
        do throws(BluetoothError) {
            result = try await protection.raise(
                self, to: level, operation, until: deadline, isBegunByHost: hostLink?.isFollowed == true)
        } catch {
            throw adapter?.explaining(error) ?? error
        }
        // A bond that was removed meanwhile confirms nothing.
        if !result.isPaired, bond?.mayHaveEncrypted(result.security, isCentral: role == .central) == true {
            if Int(result.security.keySize) < NewBondKey.defaultMinimumSize {
                log.notice(
                    "the key of the bond has \(result.security.keySize) bytes only", metadata: ["peer": "\(peer)"])
            }
            return
        }
        // The host has another key than this program's.
        bonds?.hostLacksKey(of: identity)
        protection.endLink(self, .keyMissing)
        throw .pairing(operation, .keyMissing)
    }

    /// Whether there is, or was, a pairing on this link.
    fileprivate var isPairedAnew: Bool { hasPaired || pairings?.questions.isPairing(addresses) == true }

    // MARK: Keys from pairing

    var minimumNewKeySize: Int { configuration.minimumKeySize ?? NewBondKey.defaultMinimumSize }

    /// Whether there was a pairing on the link, or an attempt.
    var hasPaired: Bool { protectionIfAny?.hasPaired == true }

    /// The state that decides about a key.
    var paired: PairedLink {
        let isEncrypted = (try? security().keySize).map { $0 > 0 } == true
        return PairedLink(
            peer: peer, minimumNewKeySize: minimumNewKeySize, refusesJustWorks: pairings?.refusesJustWorks == true,
            mayHavePaired: protectionIfAny?.isPairing == true || isEncrypted,
            mayReplaceBond: protectionIfAny?.mayReplaceBond == true)
    }

    /// Handles a bond from the link's pairing.
    func bonded(by key: LongTermKey, isAgain: Bool) {
        // The report of a key finds a link by its identity, which the host may not use for it yet.
        protection.keyWasMade(isStored: true)
        // Legacy pairing creates a key for each role, and some kernels ask no agent.
        protection.agrees()
        bondedPeer.bonded(as: key.address, isAgain: isAgain, self)
    }

    /// Ends the link, whatever address the host has for its peer.
    func endLink(_ failure: PairingFailure, refusing key: LongTermKey?) {
        let isTooShort = failure == .keyTooShort
        let sentence = key.map {
            LinkProtection.sentence(size: Int($0.encryptionSize), minimum: minimumNewKeySize)
        }
        protection.endLink(self, failure, isTooShort ? sentence : nil)
    }
}

/// A link whose pairing makes keys, as the bonds see it.
struct PairedLink {
    /// The peer's address at the beginning of the link. Pairing replaces the host's address by the one that the peer
    /// claims as its identity.
    var peer: BluetoothAddress
    /// The minimum size in bytes of a key from pairing.
    var minimumNewKeySize: Int
    /// Whether pairings must be authenticated.
    var refusesJustWorks: Bool
    /// Whether a pairing on the link may have made a key: it is encrypted, or being paired.
    var mayHavePaired: Bool
    /// Whether this side has agreed to the replacement of the peer's bond, or the link is encrypted with its key.
    var mayReplaceBond: Bool
}

/// A key from pairing that may become a bond, or a part of one, and the reasons against it.
struct NewBondKey {
    enum Objection: Equatable {
        /// The pairing is another program's: only its store has the bond.
        case isForeign
        case failure(PairingFailure)
    }

    let key: LongTermKey
    /// The device's present bond.
    let bond: Bond?
    /// The links to the device, under the address that the host has for it now.
    let links: [PairedLink]
    /// Whether a pairing of this program made the key, whose link may have ended.
    var isOwn = false
    /// Whether that pairing has just made the bond.
    var isSecond = false

    /// The minimum size in bytes of a key from pairing, unless a program chooses another.
    static let defaultMinimumSize = 16

    /// The reason against the key.
    var objection: Objection? {
        guard links.contains(where: \.mayHavePaired) else {
            // Legacy pairing makes a key for each role.
            let isNew = bond.map { isSecond && $0.longTermKey(isCentral: key.isCentral) == nil } ?? true
            return !isOwn || !isNew || key.encryptionSize < Self.defaultMinimumSize ? .isForeign : nil
        }
        if !isProven { return .failure(.identityClaimed) }
        if links.contains(where: { key.encryptionSize < $0.minimumNewKeySize }) { return .failure(.keyTooShort) }
        if !key.kind.isAuthenticated, links.contains(where: \.refusesJustWorks) { return .failure(.insufficientLevel) }
        guard let bond, !bond.contains(key) else { return nil }
        return isWeaker(than: bond) || !links.contains(where: \.mayReplaceBond) ? .failure(.keyMissing) : nil
    }

    /// Whether the device has shown that it has this identity, if that matters: a peer claims its identity address, and
    /// any peer may claim any. The first address of the link is the identity, or was made with its stored key.
    private var isProven: Bool {
        let hasIdentityLink = links.contains { $0.peer == key.address }
        return (bond == nil && !hasIdentityLink) || links.allSatisfy { proves($0.peer) }
    }

    /// Whether a link with this address at its beginning has shown that its peer has this identity.
    func proves(_ address: BluetoothAddress) -> Bool {
        address == key.address
            || bond?.identityResolvingKey.map { PrivateAddressResolver().matches(address, $0) } == true
    }

    /// Whether the key protects less than the bond.
    private func isWeaker(than bond: Bond) -> Bool {
        let hasAuthentication = key.kind.isAuthenticated || !bond.isAuthenticated
        let hasSecureConnections = key.kind.isSecureConnections || !bond.usesSecureConnections
        return !hasAuthentication || !hasSecureConnections
            || Int(key.encryptionSize) < bond.encryptionKeySize(inRole: key.isCentral) ?? 0
    }
}

extension Bond {
    /// Whether the bond has this very key, such as after the restart of a program that shares the store.
    fileprivate func contains(_ key: LongTermKey) -> Bool {
        longTermKeys.contains { $0.value == key.value && $0.isCentral == key.isCentral }
    }

    /// The level to ask for, so that the host uses the key: above that of the key it would pair, and below it, it reports
    /// the lower one. It may report `SecurityLevel.fips` as the level below.
    var linkLevel: SecurityLevel { min(level, .high) }

    /// The key that encrypts links in a role.
    func longTermKey(isCentral: Bool) -> LongTermKey? {
        longTermKeys.first { $0.kind.isSecureConnections || $0.isCentral == isCentral }
    }

    /// Whether the bond's key may have given a link its security; as the central, a host may report the level that was
    /// asked for.
    func mayHaveEncrypted(_ security: LinkSecurity, isCentral: Bool) -> Bool {
        guard let key = longTermKey(isCentral: isCentral) else { return false }
        return security.keySize >= key.encryptionSize && (isCentral || security.level >= linkLevel)
    }

    fileprivate func encryptionKeySize(inRole isCentral: Bool) -> Int? {
        longTermKey(isCentral: isCentral).map { Int($0.encryptionSize) }
    }
}

extension LongTermKey.Kind {
    /// Whether LE Secure Connections made the key, for both roles.
    var isSecureConnections: Bool { [.unauthenticated, .authenticated, .debug].contains(self) }
}

/// The refused pairings: those without room, and the limit of notices, since any device in range can cause them under
/// any number of addresses.
struct PairingRefusals {
    /// The devices refused because the limit of bonds is reached, with the removal of their keys from the host.
    var withoutRoom: [BluetoothAddress: Promise<Void, BluetoothError>] = [:]
    /// The bonded devices whose keys the host has lost, until the next connect.
    var lostKeys: Set<BluetoothAddress> = []
    /// The devices whose keys in the host are of pairings with other programs, until the bonds are read again.
    var foreign: Set<BluetoothAddress> = []
    /// The device whose key was refused last, and when.
    private var last: (identity: BluetoothAddress, time: KernelInstant)?

    /// The maximum number of notices in a minute.
    private static let count = 10
    private var begin: KernelInstant?
    private var written = 0
    private var omitted = 0

    /// Records that a key of a device was refused.
    mutating func refused(_ identity: BluetoothAddress, at now: KernelInstant) { last = (identity, now) }

    /// Whether a key of a device is of the pairing whose key was refused last.
    func isRecent(_ identity: BluetoothAddress, at now: KernelInstant) -> Bool {
        last.map { $0.identity == identity && $0.time.duration(to: now) < .seconds(1) } ?? false
    }

    /// Returns whether to write a notice now, and how many were omitted before it.
    mutating func nextNotice(at now: KernelInstant) -> (isWritten: Bool, omitted: Int) {
        if begin.map({ $0.duration(to: now) >= .seconds(60) }) ?? true { (begin, written) = (now, 0) }
        guard written < Self.count else {
            omitted += 1
            return (false, 0)
        }
        written += 1
        defer { omitted = 0 }
        return (true, omitted)
    }
}
