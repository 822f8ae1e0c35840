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
}

// A link whose pairing makes keys.
extension Link {
    var minimumNewKeySize: Int { configuration.minimumKeySize ?? NewBondKey.defaultMinimumSize }

    /// Whether there was a pairing on the link, or an attempt.
    var hasPaired: Bool { protectionIfAny?.pairing.hasPaired == true }

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
