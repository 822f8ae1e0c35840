import BluetoothAdvertising
import BluetoothCryptography
import BluetoothPrimitives

/// The identities behind the private addresses that are heard.
///
/// Each address is looked up among the keys once: what came of it, also that it is nobody's, is remembered for the last
/// thousand addresses.
struct AddressResolution {
    private var keys = ResolvingKeys([])
    private var results = RecentlyUsed<BluetoothAddress?>(limit: Self.capacity)
    /// How many addresses were looked up among the keys.
    private(set) var lookUpCount = 0

    static let capacity = 1024

    /// Takes other keys in place of those there are.
    mutating func setKeys(_ keys: [IdentityResolvingKey]) {
        self.keys = ResolvingKeys(keys)
        results = RecentlyUsed(limit: Self.capacity)
    }

    /// Whose address it is; nil for one that is not private, or nobody's.
    mutating func identity(of address: BluetoothAddress) -> BluetoothAddress? {
        guard !keys.isEmpty, address.randomKind == .resolvablePrivate else { return nil }
        let keys = keys
        var isNew = false
        func lookUp() -> BluetoothAddress? {
            isNew = true
            return keys.identity(behind: address)
        }
        let (index, _) = results.use(address.value, orInsert: lookUp())
        if isNew { lookUpCount += 1 }
        return results[index]
    }
}

/// Identity resolving keys, made ready once and tried four at a time: 100 keys take less than 100 µs an address.
package struct ResolvingKeys: Sendable {
    private let identities: [BluetoothAddress]
    private let groups: [FourResolvingKeys]

    /// The keys; where two would match, the first counts.
    package init(_ keys: [IdentityResolvingKey]) {
        identities = keys.map(\.address)
        groups = stride(from: 0, to: keys.count, by: 4).map { start in
            // Places without a key have the key zero, whose matches do not count.
            func key(_ index: Int) -> UInt128 { start + index < keys.count ? keys[start + index].value.number : 0 }
            return FourResolvingKeys(FourBlocks(first: key(0), second: key(1), third: key(2), fourth: key(3)))
        }
    }

    /// Whether there are none.
    package var isEmpty: Bool { identities.isEmpty }

    /// Whose key a resolvable private address was made with; nil for nobody's.
    package func identity(behind address: BluetoothAddress) -> BluetoothAddress? {
        for (number, group) in groups.enumerated() {
            let matches = group.matches(address.value)
            guard matches != 0 else { continue }
            let index = 4 * number + matches.trailingZeroBitCount
            return index < identities.count ? identities[index] : nil
        }
        return nil
    }
}
