// The types that advertising values consist of.
@_exported import struct BluetoothPrimitives.Appearance
@_exported import struct BluetoothPrimitives.BluetoothAddress
@_exported import struct BluetoothPrimitives.BluetoothUUID
@_exported import struct BluetoothPrimitives.CompanyIdentifier
