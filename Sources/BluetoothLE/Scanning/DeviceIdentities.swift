import BluetoothAdvertising
import BluetoothPrimitives

/// The identities behind private addresses, and the names that devices have advertised.
//
// Lives on the loop, with the session.
final class DeviceIdentities {
    private(set) var resolution = AddressResolution()
    private var names = AdvertisedNames()

    /// Replaces the identity resolving keys.
    func setKeys(_ keys: [IdentityResolvingKey]) { resolution.setKeys(keys) }

    /// The identity behind a resolvable private address; nil for other addresses and if no key matches.
    func identity(of address: BluetoothAddress) -> BluetoothAddress? { resolution.identity(of: address) }

    /// Records the name advertised under an address on the air. Nil and an empty name have no effect.
    func recordName(_ name: String?, of address: BluetoothAddress) { names.record(name, of: address) }

    /// The name that a device has advertised; nil if none was received.
    func name(of address: BluetoothAddress) -> String? { names.name(of: address) }
}

/// The names that the last 1024 devices have advertised, for bonds made later.
struct AdvertisedNames {
    private var names = RecentlyUsed<String>(limit: 1024)

    /// Records the name advertised under an address on the air. Nil and an empty name have no effect.
    mutating func record(_ name: String?, of address: BluetoothAddress) {
        guard let name, !name.isEmpty else { return }
        let (index, _) = names.use(Self.key(address), orInsert: name)
        names[index] = name
    }

    /// The name that a device has advertised; nil if none was received.
    func name(of address: BluetoothAddress) -> String? {
        names.index(of: Self.key(address)).map { names[$0] }
    }

    private static func key(_ address: BluetoothAddress) -> UInt64 {
        address.value << 1 | (address.kind == .public ? 0 : 1)
    }
}
