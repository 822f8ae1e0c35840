import BluetoothPrimitives

/// The maximum number of an adapter's bonds, and the treatment of a device that pairs at that limit.
///
/// Without a limit, any device in range could create bonds with a program that accepts Just Works. The limit counts all
/// bonds of the adapter in its ``BondStore``. Bonds beyond it that are stored already remain in use, and
/// ``Adapter/setBond(_:)`` is not limited. Programs that share a store must set the same limit.
public struct BondLimit: Hashable, Sendable {
    /// The treatment of an unbonded device that pairs at the limit.
    public enum WhenFull: Hashable, Sendable {
        /// The pairing is refused, whichever side began it: this program's with `PairingFailure.bondStoreFull`, the
        /// peer's before a key is made if the kernel asks this side first, otherwise by deleting the key.
        case refuse
        /// The new bond replaces an unauthenticated one whose device is not connected: the oldest that was never used
        /// again. If there is none, an authenticated pairing (passkey or numeric comparison) replaces the oldest
        /// unauthenticated bond that was used again. Authenticated bonds are never replaced; if no bond can be, the
        /// pairing is refused.
        case replaceUnauthenticated
        /// The new bond replaces the one of a device that is not connected and was used longest ago, to the day; an
        /// authenticated one only if the pairing is authenticated as well.
        case replaceLongestUnused
    }

    /// The maximum number of bonds; with 0 no device can bond.
    public var count: Int
    /// The treatment of an unbonded device that pairs at the limit.
    public var whenFull: WhenFull

    /// Creates a limit.
    /// - Parameters:
    ///   - count: the maximum number of bonds.
    ///   - whenFull: the treatment of an unbonded device that pairs at the limit.
    public init(_ count: Int = 128, whenFull: WhenFull = .refuse) {
        self.count = max(0, count)
        self.whenFull = whenFull
    }
}

extension Bond {
    /// Whether a device that is only passing by cannot have made the bond: it is authenticated, or was used again.
    var isInUse: Bool { isAuthenticated || wasUsedAgain }

    /// Whether a new bond may replace this one.
    fileprivate func makesRoom(forAuthenticated isAuthenticated: Bool) -> Bool {
        !self.isAuthenticated && (isAuthenticated || !wasUsedAgain)
    }
}

extension BondLimit {
    /// The bond that a new one replaces; nil if none can be.
    func displaced(
        from bonds: some Collection<Bond>, forAuthenticated isAuthenticated: Bool,
        isConnected: (BluetoothAddress) -> Bool
    ) -> Bond? {
        let bonds = bonds.filter { !isConnected($0.identity) }
        switch whenFull {
        case .refuse: return nil
        case .replaceLongestUnused:
            return bonds.filter { isAuthenticated || !$0.isAuthenticated }
                .min { ($0.lastUse ?? $0.time, $0.identity) < ($1.lastUse ?? $1.time, $1.identity) }
        case .replaceUnauthenticated: break
        }
        return bonds.filter { $0.makesRoom(forAuthenticated: isAuthenticated) }
            .min { ($0.wasUsedAgain ? 1 : 0, $0.time, $0.identity) < ($1.wasUsedAgain ? 1 : 0, $1.time, $1.identity) }
    }
}
