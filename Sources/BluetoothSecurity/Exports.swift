// For programs that import this name; the types are in BluetoothLE.
@_exported import BluetoothLE

extension Adapter {
    /// Does nothing: the addresses of bonded devices are resolved automatically.
    @available(*, deprecated, message: "A scan names bonded devices by their identity without this.")
    public func setAddressResolver(_ resolver: PrivateAddressResolver) async {}
}
