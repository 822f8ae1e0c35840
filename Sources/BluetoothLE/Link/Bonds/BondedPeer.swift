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
        // The controller reports encryption before the host does, which may know the key's size earlier than the level.
        guard let now = try? link.security(), now.isEncrypted, now.keySize > 0 else { return true }
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
            if result.security.keySize < NewBondKey.defaultMinimumSize {
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
        let sentence = key.map { LinkProtection.sentence(size: $0.encryptionSize, minimum: minimumNewKeySize) }
        protection.endLink(self, failure, isTooShort ? sentence : nil)
    }
}
