import Advertising
import BluetoothPrimitives
import Management

/// Tells whether a private address was made with a key.
///
/// The module `BluetoothSecurity` has one, which handles the cipher; this module handles none.
public protocol AddressResolver: Sendable {
    /// Whether a resolvable private address was made with an identity resolving key (Core Vol 3 Part H §2.2.2, Vol 6
    /// Part B §1.3.2.3).
    func matches(_ address: BluetoothAddress, _ key: SecurityKey) -> Bool
}

extension Controller {
    /// Whose address it is; nil for one that is not private, or nobody's.
    func identity(of address: BluetoothAddress) -> BluetoothAddress? { resolution.identity(of: address) }
}

/// Who is behind the private addresses that are heard.
///
/// An address costs one try per key, once: what came of it, also that it is nobody's, is remembered for the last
/// thousand addresses.
struct AddressResolution {
    private var resolver: (any AddressResolver)?
    private var keys: [IdentityResolvingKey] = []
    private var results = RecentlyUsed<BluetoothAddress?>(limit: Self.capacity)

    static let capacity = 1024

    /// Takes other keys in place of those there are.
    mutating func setKeys(_ keys: [IdentityResolvingKey]) {
        self.keys = keys
        results = RecentlyUsed(limit: Self.capacity)
    }

    /// Takes another resolver; nil for none.
    mutating func setResolver(_ resolver: (any AddressResolver)?) {
        self.resolver = resolver
        results = RecentlyUsed(limit: Self.capacity)
    }

    /// Whose address it is; nil for one that is not private, or nobody's.
    mutating func identity(of address: BluetoothAddress) -> BluetoothAddress? {
        guard let resolver, !keys.isEmpty, address.randomKind == .resolvablePrivate else { return nil }
        let (index, _) = results.use(
            address.value, orInsert: keys.first { resolver.matches(address, $0.value) }?.address)
        return results[index]
    }
}
