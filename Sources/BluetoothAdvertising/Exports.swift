// What the values of advertisements are made of.
@_exported import struct BluetoothPrimitives.Appearance
@_exported import struct BluetoothPrimitives.BluetoothAddress
@_exported import struct BluetoothPrimitives.BluetoothUUID
@_exported import struct BluetoothPrimitives.CompanyIdentifier
