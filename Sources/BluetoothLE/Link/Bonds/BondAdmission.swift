import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Logging

/// The admission of the keys that pairings make on one adapter to its bonds: which become bonds, and what happens to the
/// others.
//
// Confined to the event loop, with the pairings.
final class BondAdmission {
    private let bonds: BondManager
    private var refusals = PairingRefusals()

    init(to bonds: BondManager) { self.bonds = bonds }

    private var host: any HostPairing { bonds.host }

    // MARK: Keys

    /// Creates or updates the bond for a key from pairing, with the other keys of that pairing.
    ///
    /// - Parameters:
    ///   - links: those to the device.
    ///   - isOwn: whether a pairing of this program made the key, whose link may have ended.
    func addKeys(_ made: PeerKeys, on links: [Link], isOwn: Bool) {
        guard bonds.isStoring, host.keyStatus != .others, let key = made.longTermKeys.first, key.address.isIdentity
        else { return }
        let identity = key.address
        guard !refusals.isRecent(identity, at: bonds.loop.now) else { return }
        let now = UInt64(clamping: SystemClock.microsecondsSince1970 / 1_000_000)
        let former = bonds.bond(with: identity)
        let isSecond = former.map { $0.time + 1 >= now } ?? false
        let new = NewBondKey(key: key, bond: former, links: links.map(\.paired), isOwn: isOwn, isSecond: isSecond)
        if let objection = new.objection { return refuse(new, objection, links) }
        guard makeRoom(for: key, of: links) else { return }
        var bond = former ?? Bond(identity: identity)
        let isAgain = bond.longTermKeys.contains { $0.isCentral == key.isCentral && $0.value != key.value }
        if isAgain { notice("the bond with the device is replaced", of: identity) }
        bond.add(key)
        bond.time = now
        bond.identityResolvingKey = made.identityResolvingKey ?? bond.identityResolvingKey
        bonds.add(bond)
        for link in links { link.bonded(by: key, isAgain: isAgain) }
    }

    /// Refuses a key: the host gets the stored keys back, and the link of the pairing ends.
    private func refuse(_ new: NewBondKey, _ objection: NewBondKey.Objection, _ links: [Link]) {
        let identity = new.key.address
        guard case .failure(let failure) = objection else {
            bonds.isMadeElsewhere(identity)
            return bonds.log.debug(
                "a key from another program's pairing is not stored", metadata: ["peer": "\(identity)"])
        }
        // Legacy pairing reports a second key, which the host deletes as well.
        refusals.refused(identity, at: bonds.loop.now)
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

    /// Handles a key that is not to be stored: it is removed from the host, and protects its link alone. It has replaced
    /// the stored key of a bonded device in the host, which is no way to replace a bond.
    func keyIsNotBonded(of peer: BluetoothAddress, on links: [Link]) {
        guard bonds.bond(with: peer) != nil else {
            host.removeKeys(of: peer, disconnect: false)
            return
        }
        host.loadKeys(evenIfEmpty: true)
        reportRefusal(of: peer, .keyMissing)
        for link in links where link.hasPaired { link.endLink(.keyMissing, refusing: nil) }
    }

    // MARK: The limit

    /// Whether a pairing with a device that is not bonded would find room.
    func hasRoom(forAuthenticated isAuthenticated: Bool) -> Bool {
        !bonds.isFull || bonds.status == .daemon || bonds.displaced(forAuthenticated: isAuthenticated) != nil
    }

    /// Makes room for the bond of a new key. Without room, the host deletes the key and the link ends.
    private func makeRoom(for key: LongTermKey, of links: [Link]) -> Bool {
        let identity = key.address
        guard bonds.isFull, bonds.bond(with: identity) == nil else { return true }
        if let bond = bonds.displaced(forAuthenticated: key.kind.isAuthenticated) {
            bonds.displace(bond, by: identity)
            return true
        }
        // Legacy pairing makes a key for each role.
        refusals.withoutRoom = refusals.withoutRoom.filter { !$0.value.isResolved }
        guard refusals.withoutRoom[identity] == nil else { return false }
        reportRefusal(of: identity)
        for link in links { link.endLink(.bondStoreFull, refusing: nil) }
        refusals.withoutRoom[identity] = host.removeKeys(of: identity, disconnect: true)
        return false
    }

    // MARK: Reporting

    /// Reports that a pairing was refused which would have replaced the bond with a device.
    func reportRefusal(of identity: BluetoothAddress, _ failure: PairingFailure) {
        var error = BluetoothError.pairing(.init("replace the bond", peer: identity), failure)
        error.remedy =
            "If the device was reset, first remove its bond, then pair again: ble bonds remove \(identity.digits)"
        notice(
            "a pairing that would replace a bond is refused: \(failure.sentence) \(error.remedy ?? "")", of: identity)
        bonds.reportRefusal(.notReplaced(identity, error))
    }

    /// Reports that the limit left no room for the bond with a device.
    func reportRefusal(of peer: BluetoothAddress) {
        notice("a pairing is refused: the limit of \(bonds.limit.count) bonds is reached", of: peer)
        bonds.reportRefusal(.refused(peer))
    }

    /// Writes a notice about a device, as far as the limit of notices permits.
    func notice(_ text: String, of peer: BluetoothAddress) {
        let (isWritten, omitted) = refusals.nextNotice(at: bonds.loop.now)
        guard isWritten else { return }
        bonds.log.notice(
            "\(text)\(omitted > 0 ? " (\(omitted) notices about other pairings are omitted)" : "")",
            metadata: ["peer": "\(peer)"])
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
            || key.encryptionSize < bond.encryptionKeySize(inRole: key.isCentral) ?? 0
    }
}

/// The refused pairings: those without room, and the limit of notices, since any device in range can cause them under
/// any number of addresses.
struct PairingRefusals {
    /// The devices refused because the limit of bonds is reached, with the removal of their keys from the host.
    var withoutRoom: [BluetoothAddress: Promise<Void, BluetoothError>] = [:]
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
