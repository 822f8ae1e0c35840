import BluetoothKernel
import BluetoothPrimitives
import Management

/// Whether the kernel knows the keys of the bonds.
public enum BondStanding: Hashable, Sendable {
    /// It does: bonded devices reconnect without pairing again.
    case loaded
    /// Bonds are not this program's business; see ``BondKeeping/notKept``.
    case notKept
    /// It does not, since loading keys needs CAP_NET_ADMIN. Bonds can be looked at and removed.
    case notPermitted
    /// BlueZ's daemon is running, which loads its own keys and is told of those that pairing makes.
    case daemon
    /// The store could not be read, or the kernel has refused the keys.
    case failed(BluetoothError)
}

/// Something that happened to the bonds of an adapter.
public enum BondChange: Hashable, Sendable {
    /// A device was paired with, or something of its bond has changed, and the store has it.
    case kept(Bond)
    /// The same, and the store could not be written: the bond lasts as long as the adapter is open.
    case notKept(Bond, BluetoothError)
    /// A bond was removed, by this program or by another.
    case removed(BluetoothAddress)
    /// A bond was replaced by that with another device, because of the ``BondLimit``.
    case displaced(BluetoothAddress, by: BluetoothAddress)
    /// A pairing was refused, or its bond discarded, because of the ``BondLimit``. The address is the one that the device
    /// used, which may be private and change. Left out while 128 changes wait, since any device in range can cause it.
    case refused(BluetoothAddress)
}

extension Adapter {
    /// The bonds of this adapter, by address.
    public func bonds() async -> [Bond] { await bondKeeper.bonds }

    /// The bond with a device; nil when there is none.
    /// - Parameter identity: its public or static random address.
    public func bond(with identity: BluetoothAddress) async -> Bond? { await bondKeeper.bond(with: identity) }

    /// Whether the kernel knows the keys of the bonds, and otherwise why not.
    public var bondStanding: BondStanding {
        get async { await bondKeeper.standing }
    }

    /// Forgets a device: its keys, here and in the kernel (management `Unpair Device`), which ends the link with it, its
    /// subscriptions, and what is remembered of its database.
    ///
    /// The device keeps its own keys until it is told otherwise by hand, and refuses to pair or fails to encrypt until
    /// then. One that is not bonded is no error. Needs CAP_NET_ADMIN where the kernel has the keys.
    /// - Throws: `.storageFailed` when the store cannot remove it, `.notPermitted`, `.timedOut`, `.cancelled`.
    public func removeBond(with identity: BluetoothAddress) async throws(BluetoothError) {
        let key = AttributeCacheKey(adapter: information.address, peer: identity)
        await attributeCache?.setDatabase(nil, for: key)
        try await bondKeeper.remove(identity)
    }

    /// Keeps a bond in place of the one with the same device, such as one with another name or sign counter, or one that
    /// was made elsewhere; the kernel is told its keys where they are others.
    /// - Throws: `.storageFailed` when the store cannot write it, which lasts as long as the adapter is open then,
    ///   `.invalidArgument` when its identity is an address that changes, or a key has not 7 to 16 bytes that count,
    ///   `.cancelled`.
    public func setBond(_ bond: Bond) async throws(BluetoothError) {
        guard bond.identity.isIdentity else {
            throw .invalidArgument(
                .init("keep the bond", peer: bond.identity), "\(bond.identity) is no public or static random address.")
        }
        guard bond.longTermKeys.allSatisfy({ LongTermKey.encryptionSizes.contains($0.encryptionSize) }) else {
            throw .invalidArgument(
                .init("keep the bond", peer: bond.identity), "A key has 7 to 16 bytes that count.")
        }
        try await bondKeeper.set(bond)
    }

    /// Changes of the bonds from now on.
    ///
    /// The stream lives until its loop is left or the adapter is closed; it throws `.overflow` when more than 256 changes
    /// wait.
    public func bondChanges() async -> BoundedStream<BondChange> {
        let channel = StreamChannel<BondChange>(
            capacity: 256, policy: .fail, operation: operation("follow the bonds"), from: loop)
        let number = await bondKeeper.add(channel)
        return BoundedStream(channel: channel) { [bondKeeper, loop] in
            loop.execute { bondKeeper.assumeIsolated { $0.removeListener(number) } }
        }
    }
}
