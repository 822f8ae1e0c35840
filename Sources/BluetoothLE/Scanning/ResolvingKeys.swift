import BluetoothAdvertising
import BluetoothCryptography
import BluetoothPrimitives

/// The identities behind resolvable private addresses.
///
/// Each address is compared with the keys once. The result, a match or none, is cached for the last 1024 addresses.
struct AddressResolution {
    private var keys = ResolvingKeys([])
    private var results = RecentlyUsed<BluetoothAddress?>(limit: Self.capacity)
    /// The number of addresses that were compared with the keys.
    private(set) var lookUpCount = 0

    static let capacity = 1024

    /// Replaces the keys and clears the cached results.
    mutating func setKeys(_ keys: [IdentityResolvingKey]) {
        self.keys = ResolvingKeys(keys)
        results = RecentlyUsed(limit: Self.capacity)
    }

    /// The identity behind an address; nil if the address is not resolvable or no key matches.
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

/// Identity resolving keys, expanded once and tried four at a time: 100 keys take less than 100 µs per address.
package struct ResolvingKeys: Sendable {
    private let identities: [BluetoothAddress]
    private let keys: ResolvingKeyList

    /// Creates the set from keys in order of preference: the first match is returned.
    package init(_ keys: [IdentityResolvingKey]) {
        identities = keys.map(\.address)
        self.keys = ResolvingKeyList(keys.map(\.value))
    }

    /// Whether there are no keys.
    package var isEmpty: Bool { keys.count == 0 }

    /// The identity whose key generated a resolvable private address; nil if no key matches.
    package func identity(behind address: BluetoothAddress) -> BluetoothAddress? {
        keys.index(behind: address).map { identities[$0] }
    }
}

/// Expanded keys, without the identities they belong to.
struct ResolvingKeyList: Sendable {
    let count: Int
    private let groups: [FourResolvingKeys]

    init(_ keys: [SecurityKey]) {
        count = keys.count
        groups = stride(from: 0, to: keys.count, by: 4).map { start in
            // The last group is padded with zero keys, whose matches are ignored.
            func key(_ index: Int) -> UInt128 { start + index < keys.count ? keys[start + index].number : 0 }
            return FourResolvingKeys(FourBlocks(first: key(0), second: key(1), third: key(2), fourth: key(3)))
        }
    }

    /// The index of the first key that generated a resolvable private address; nil if none did.
    func index(behind address: BluetoothAddress) -> Int? {
        for (number, group) in groups.enumerated() {
            let matches = group.matches(address.value)
            guard matches != 0 else { continue }
            let index = 4 * number + matches.trailingZeroBitCount
            return index < count ? index : nil
        }
        return nil
    }
}
