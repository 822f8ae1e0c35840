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
