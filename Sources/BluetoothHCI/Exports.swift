// The types that commands and events consist of, their decoder and their encoder.
@_exported import struct BluetoothPrimitives.BluetoothAddress
@_exported import struct BluetoothPrimitives.BufferFull
@_exported import struct BluetoothPrimitives.ByteReader
@_exported import struct BluetoothPrimitives.ByteWriter
@_exported import protocol BluetoothPrimitives.DefinedPacket
@_exported import protocol BluetoothPrimitives.EmptyPacket
@_exported import struct BluetoothPrimitives.LEPHY
@_exported import struct BluetoothPrimitives.LEPHYSet
@_exported import protocol BluetoothPrimitives.PacketCode
@_exported import struct BluetoothPrimitives.PacketDefinition
@_exported import protocol BluetoothPrimitives.PacketField
@_exported import protocol BluetoothPrimitives.SingleValuePacket
@_exported import struct BluetoothPrimitives.TruncatedBytes
