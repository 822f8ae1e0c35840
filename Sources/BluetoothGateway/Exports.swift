// Several adapters consist of single ones.
@_exported import BluetoothLE
