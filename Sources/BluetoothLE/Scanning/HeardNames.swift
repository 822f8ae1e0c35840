import Advertising
import BluetoothPrimitives

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
