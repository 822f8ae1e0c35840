// The types that commands and events consist of, their decoder and their encoder.
@_exported import struct BluetoothPrimitives.BluetoothAddress
@_exported import struct BluetoothPrimitives.BluetoothUUID
@_exported import struct BluetoothPrimitives.BufferFull
@_exported import struct BluetoothPrimitives.ByteReader
@_exported import struct BluetoothPrimitives.ByteWriter
@_exported import protocol BluetoothPackets.DefinedPacket
@_exported import protocol BluetoothPackets.EmptyPacket
@_exported import struct BluetoothPrimitives.LEPHY
@_exported import struct BluetoothPrimitives.LEPHYSet
@_exported import protocol BluetoothPackets.PacketCode
@_exported import struct BluetoothPackets.PacketDefinition
@_exported import protocol BluetoothPackets.PacketField
@_exported import protocol BluetoothPackets.SingleValuePacket
@_exported import struct BluetoothPrimitives.TruncatedBytes
