// What programs that import BluetoothLE name: identifiers and addresses, what devices advertise, attribute errors and
// properties, and the seam for those who choose the kernel themselves.
@_exported import BluetoothATT
@_exported import BluetoothAdvertising
@_exported import BluetoothHost
@_exported import BluetoothSockets
@_exported import BluetoothPrimitives
@_exported import BluetoothGATT
@_exported import struct BluetoothHCI.HCIStatus
@_exported import struct BluetoothHCI.LEPHY
@_exported import struct BluetoothHCI.LEPHYSet
