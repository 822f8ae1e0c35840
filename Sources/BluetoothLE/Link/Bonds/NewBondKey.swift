import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

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
        longTermKey(isCentral: isCentral)?.encryptionSize
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
