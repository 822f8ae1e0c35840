// Types of other modules that the packets contain.
@_exported import struct BluetoothPrimitives.IOCapability
@_exported import struct BluetoothPrimitives.IdentityResolvingKey
@_exported import struct BluetoothHCI.LEConnectionParameters
@_exported import struct BluetoothPrimitives.LongTermKey
@_exported import struct BluetoothPrimitives.PrivacyMode
@_exported import struct BluetoothPrimitives.SecureConnectionsMode
@_exported import struct BluetoothPrimitives.SecurityKey
@_exported import struct BluetoothPrimitives.SignatureResolvingKey
