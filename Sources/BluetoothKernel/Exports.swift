@_exported import BluetoothLoop
