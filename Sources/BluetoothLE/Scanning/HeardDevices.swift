import BluetoothAdvertising
import BluetoothPrimitives

/// Who is behind the addresses that are heard, and what devices called themselves.
//
// Lives on the loop, with the session.
final class HeardDevices {
    private(set) var resolution = AddressResolution()
    private var names = HeardNames()

    /// Takes other keys in place of those there are.
    func setKeys(_ keys: [IdentityResolvingKey]) { resolution.setKeys(keys) }

    /// Whose address it is; nil for one that is not private, or nobody's.
    func identity(of address: BluetoothAddress) -> BluetoothAddress? { resolution.identity(of: address) }

    /// Takes note of a name under an address on the air; nil and an empty one say nothing.
    func note(_ name: String?, of address: BluetoothAddress) { names.note(name, of: address) }

    /// What a device called itself; nil where it has not been heard.
    func name(of address: BluetoothAddress) -> String? { names.name(of: address) }
}

/// What devices called themselves when they were heard last, for whoever is paired with later.
struct HeardNames {
    private var names = RecentlyUsed<String>(limit: 1024)

    /// Takes note of a name under an address on the air; nil and an empty one say nothing.
    mutating func note(_ name: String?, of address: BluetoothAddress) {
        guard let name, !name.isEmpty else { return }
        let (index, _) = names.use(Self.key(address), orInsert: name)
        names[index] = name
    }

    /// What a device called itself; nil where it has not been heard.
    func name(of address: BluetoothAddress) -> String? {
        names.index(of: Self.key(address)).map { names[$0] }
    }

    private static func key(_ address: BluetoothAddress) -> UInt64 {
        address.value << 1 | (address.kind == .public ? 0 : 1)
    }
}
