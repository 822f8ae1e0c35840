// The results with --json, and the files that `ble serve` reads.
@_exported import struct BluetoothJSON.JSONProblem
@_exported import enum BluetoothJSON.JSONValue
