// What this module had is in BluetoothLE; it remains for programs that import it.
@_exported import BluetoothLE

extension Adapter {
    /// Does nothing: the addresses of bonded devices are resolved automatically.
    @available(*, deprecated, message: "A scan names bonded devices by their identity without this.")
    public func setAddressResolver(_ resolver: PrivateAddressResolver) async {}
}
