@_exported import BluetoothLoop
@_exported import struct BluetoothPrimitives.ErrorNumber
@_exported import struct BluetoothPrimitives.KernelError
