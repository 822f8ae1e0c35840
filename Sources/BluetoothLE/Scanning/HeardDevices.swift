import BluetoothPrimitives

/// Who is behind the addresses that are heard, and what devices called themselves.
//
// Lives on the loop, with the session.
final class HeardDevices {
    var resolution = AddressResolution()
    var names = HeardNames()

    /// Whose address it is; nil for one that is not private, or nobody's.
    func identity(of address: BluetoothAddress) -> BluetoothAddress? { resolution.identity(of: address) }
}
