// Profiles are used on connections.
@_exported import BluetoothLE
