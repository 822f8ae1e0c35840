// The types that commands and events consist of, and their encoder.
@_exported import struct BluetoothPrimitives.BluetoothAddress
@_exported import struct BluetoothPrimitives.BufferFull
@_exported import struct BluetoothPrimitives.ByteWriter
@_exported import struct BluetoothPrimitives.LEPHY
@_exported import struct BluetoothPrimitives.LEPHYSet
@_exported import struct BluetoothPrimitives.TruncatedBytes
