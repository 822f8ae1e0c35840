// What programs that import BluetoothLE name: identifiers and addresses, what devices advertise, attribute errors and
// properties, and the seam for those who choose the kernel themselves.
@_exported import ATT
@_exported import Advertising
@_exported import BluetoothHost
@_exported import BluetoothKernel
@_exported import BluetoothPrimitives
@_exported import GATT
@_exported import struct HCI.HCIStatus
@_exported import struct HCI.LEPHY
@_exported import struct HCI.LEPHYSet
