import BluetoothAdvertising
import BluetoothPrimitives

/// The identities behind resolvable private addresses, and the names that devices have advertised.
///
/// Each address is compared with the keys once. The result, a match or none, is cached for the last 1024 addresses.
//
// Lives on the loop, with the session.
final class DeviceIdentities {
    private var known: [IdentityResolvingKey] = []
    private var keys = ResolvingKeys([])
    private var results = RecentlyUsed<BluetoothAddress?>(limit: capacity)
    /// The number of addresses that were compared with the keys.
    private(set) var lookUpCount = 0
    private var names = RecentlyUsed<String>(limit: capacity)

    static let capacity = 1024

    /// Replaces the identity resolving keys and clears the cached results.
    func setKeys(_ known: [IdentityResolvingKey]) {
        self.known = known
        keys = ResolvingKeys(known.map(\.value))
        results = RecentlyUsed(limit: Self.capacity)
    }

    /// The identity behind a resolvable private address; nil for other addresses and if no key matches.
    func identity(of address: BluetoothAddress) -> BluetoothAddress? {
        guard keys.count > 0, address.randomKind == .resolvablePrivate else { return nil }
        let (index, _) = results.use(address.value, orInsert: lookUp(address))
        return results[index]
    }

    private func lookUp(_ address: BluetoothAddress) -> BluetoothAddress? {
        lookUpCount += 1
        return keys.index(behind: address).map { known[$0].address }
    }

    /// Records the name advertised under an address on the air, for a bond made later. Nil and an empty name have no
    /// effect.
    func recordName(_ name: String?, of address: BluetoothAddress) {
        guard let name, !name.isEmpty else { return }
        let (index, _) = names.use(AdvertisementJoiner.key(address, nil), orInsert: name)
        names[index] = name
    }

    /// The name that a device has advertised; nil if none was received.
    func name(of address: BluetoothAddress) -> String? {
        names.index(of: AdvertisementJoiner.key(address, nil)).map { names[$0] }
    }
}
