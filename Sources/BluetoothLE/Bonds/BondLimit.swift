import BluetoothPrimitives

/// How many bonds an adapter keeps, and what becomes of a pairing that finds them all taken.
///
/// Where devices are paired with that nobody makes sure of (Just Works), whoever is near can make as many bonds as they
/// like. The limit counts all bonds of the adapter in its ``BondStore``; more that are there already are kept and used, and
/// what ``Adapter/setBond(_:)`` keeps is not limited. Programs that share a store share its limit.
public struct BondLimit: Hashable, Sendable {
    /// What happens when a device that is not bonded pairs, and there are as many bonds as may be.
    public enum WhenFull: Hashable, Sendable {
        /// The pairing is refused, whoever began it: with ``PairingFailure/bondStoreFull`` here, and before a key is made
        /// wherever this side is asked something first.
        case refuse
        /// A bond makes room that nobody made sure of and whose device is not connected: the oldest of those that were never
        /// used again, as those that strangers make. For a device that the pairing makes sure of (a passkey, a number that
        /// was compared), the oldest of those that were used again makes room where there is no such. Authenticated bonds
        /// stay; where no bond can make room, the pairing is refused.
        case replaceUnauthenticated
    }

    /// The most bonds; 0 bonds with nobody.
    public var count: Int
    /// What happens when there are as many.
    public var whenFull: WhenFull

    /// A limit.
    /// - Parameters:
    ///   - count: the most bonds.
    ///   - whenFull: what happens when there are as many.
    public init(_ count: Int = 128, whenFull: WhenFull = .refuse) {
        self.count = max(0, count)
        self.whenFull = whenFull
    }
}

extension Bond {
    /// Whether strangers cannot make such a bond in passing: it was made sure of the device, or this has come back.
    var isInUse: Bool { isAuthenticated || wasUsedAgain }

    /// How easily a bond makes room: whether one that was made sure of the device, or any, may take its place.
    fileprivate func makesRoom(forAuthenticated isAuthenticated: Bool) -> Bool {
        !self.isAuthenticated && (isAuthenticated || !wasUsedAgain)
    }
}

extension BondLimit {
    /// Which of these bonds makes room for another.
    func displaced(
        from bonds: some Collection<Bond>, forAuthenticated isAuthenticated: Bool,
        isConnected: (BluetoothAddress) -> Bool
    ) -> Bond? {
        guard whenFull == .replaceUnauthenticated else { return nil }
        return bonds.filter { $0.makesRoom(forAuthenticated: isAuthenticated) && !isConnected($0.identity) }
            .min { ($0.wasUsedAgain ? 1 : 0, $0.time, $0.identity) < ($1.wasUsedAgain ? 1 : 0, $1.time, $1.identity) }
    }
}
