// The names that programs importing BluetoothLE use; all others belong to the layers below, which are internal to this
// package. HCI is a separate product; of it errors have the status.

// Errors, states and parameters.
@_exported import BluetoothHost
@_exported import struct BluetoothHCI.HCIStatus
@_exported import struct BluetoothPrimitives.ErrorNumber
@_exported import struct BluetoothPrimitives.KernelError

// Identifiers, addresses and security settings.
@_exported import struct BluetoothPrimitives.Appearance
@_exported import struct BluetoothPrimitives.BluetoothAddress
@_exported import struct BluetoothPrimitives.BluetoothUUID
@_exported import struct BluetoothPrimitives.CompanyIdentifier
@_exported import struct BluetoothPrimitives.IOCapability
@_exported import enum BluetoothPrimitives.L2CAPFlowControl
@_exported import struct BluetoothPrimitives.LEPHY
@_exported import struct BluetoothPrimitives.LEPHYSet
@_exported import struct BluetoothPrimitives.LinkSecurity
@_exported import struct BluetoothPrimitives.PrivacyMode
@_exported import struct BluetoothPrimitives.SecureConnectionsMode
@_exported import struct BluetoothPrimitives.SecurityKey
@_exported import enum BluetoothPrimitives.SecurityLevel

// Advertising data. The types that a program begins with are named too, so that they are documented here as well.
@_exported import BluetoothAdvertising
@_exported import protocol BluetoothAdvertising.AdvertisedValue
@_exported import struct BluetoothAdvertising.AdvertisementContent
@_exported import struct BluetoothAdvertising.AltBeacon
@_exported import enum BluetoothAdvertising.Eddystone
@_exported import struct BluetoothAdvertising.IBeacon
@_exported import struct BluetoothAdvertising.ManufacturerData
@_exported import struct BluetoothAdvertising.ServiceData

// Attributes of devices, and those that a program publishes.
@_exported import struct BluetoothATT.ATTErrorCode
@_exported import struct BluetoothATT.AttributeHandle
@_exported import struct BluetoothATT.AttributeHandleRange
@_exported import enum BluetoothGATT.AttributeAccess
@_exported import struct BluetoothGATT.AttributePermissions
@_exported import enum BluetoothGATT.AttributeValue
@_exported import struct BluetoothGATT.AttributeWrite
@_exported import struct BluetoothGATT.CharacteristicExtendedProperties
@_exported import struct BluetoothGATT.CharacteristicProperties
@_exported import struct BluetoothGATT.ClientCharacteristicConfiguration
@_exported import struct BluetoothGATT.DatabaseProblem
@_exported import struct BluetoothGATT.DescriptorValue
@_exported import struct BluetoothGATT.EnvironmentalSensingConfiguration
@_exported import struct BluetoothGATT.EnvironmentalSensingMeasurement
@_exported import enum BluetoothGATT.EnvironmentalSensingTriggerSetting
@_exported import enum BluetoothGATT.GATTBuilder
@_exported import struct BluetoothGATT.GATTCharacteristic
@_exported import struct BluetoothGATT.GATTDescriptor
@_exported import struct BluetoothGATT.PresentationFormat
@_exported import struct BluetoothGATT.RemoteCharacteristic
@_exported import struct BluetoothGATT.RemoteDatabase
@_exported import struct BluetoothGATT.RemoteDescriptor
@_exported import struct BluetoothGATT.RemoteIncludedService
@_exported import struct BluetoothGATT.RemoteService
@_exported import struct BluetoothGATT.RemoteValue
@_exported import struct BluetoothGATT.ReportReference
@_exported import struct BluetoothGATT.ServerCharacteristicConfiguration
@_exported import enum BluetoothGATT.TimeTriggerSetting
@_exported import enum BluetoothGATT.ValueTriggerSetting

// The source of adapters, their event loop and its time.
@_exported import protocol BluetoothLoop.AdapterSource
@_exported import class BluetoothLoop.EventLoop
@_exported import struct BluetoothLoop.HostSource
@_exported import struct BluetoothLoop.KernelInstant
