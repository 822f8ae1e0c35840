// What commands and events are made of, and what they are encoded with.
@_exported import struct BluetoothPrimitives.BluetoothAddress
@_exported import struct BluetoothPrimitives.BufferFull
@_exported import struct BluetoothPrimitives.ByteWriter
@_exported import struct BluetoothPrimitives.TruncatedBytes
