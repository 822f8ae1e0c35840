// Types that describe simulated devices and faults, besides those of BluetoothLE.
@_exported import struct BluetoothAdvertising.ADField
@_exported import struct BluetoothGATT.AttributeDatabase
@_exported import struct BluetoothGATT.AttributeDatabaseError
@_exported import enum BluetoothGATT.AttributeValue
@_exported import enum BluetoothGATT.GATTBuilder
@_exported import struct BluetoothGATT.GATTCharacteristic
@_exported import struct BluetoothGATT.GATTDescriptor
@_exported import struct BluetoothGATT.GATTService
@_exported import enum BluetoothGATT.IncludedService
@_exported import struct BluetoothHCI.HCIStatus
@_exported import enum BluetoothHCI.HCICommandFamily
@_exported import struct BluetoothManagement.ManagementOpcode
@_exported import struct BluetoothManagement.ManagementStatus
@_exported import struct BluetoothPrimitives.ErrorNumber
@_exported import struct BluetoothPrimitives.KernelError
@_exported import enum BluetoothPrimitives.L2CAPChannel
@_exported import protocol BluetoothLoop.AdapterSource
