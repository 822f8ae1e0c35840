@_exported import BluetoothLoop
@_exported import struct BluetoothPrimitives.ErrorNumber
@_exported import struct BluetoothPrimitives.KernelError
@_exported import struct BluetoothPrimitives.LinkSecurity
@_exported import enum BluetoothPrimitives.L2CAPFlowControl
@_exported import enum BluetoothPrimitives.SecurityLevel
@_exported import enum BluetoothPrimitives.L2CAPChannel
@_exported import struct BluetoothPrimitives.L2CAPOptions
