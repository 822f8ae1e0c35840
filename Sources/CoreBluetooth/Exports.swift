// Programs that import CoreBluetooth use these modules without importing them.
@_exported public import Dispatch
@_exported public import Foundation

// What `CBLinux` takes: an agent that answers pairing requests, and a source of adapters.
@_exported public import struct BluetoothATT.ATTErrorCode
@_exported public import struct BluetoothATT.AttributeHandle
@_exported public import struct BluetoothHCI.HCIStatus
@_exported public import struct BluetoothHost.BluetoothError
@_exported public import struct BluetoothHost.DisconnectReason
@_exported public import struct BluetoothHost.PairingFailure
@_exported public import struct BluetoothHost.Passkey
@_exported public import struct BluetoothLE.Bond
@_exported public import protocol BluetoothLE.PairingAgent
@_exported public import struct BluetoothLE.PairingRequest
@_exported public import protocol BluetoothLoop.AdapterSource
@_exported public import class BluetoothLoop.EventLoop
@_exported public import struct BluetoothLoop.HostSource
@_exported public import struct BluetoothLoop.KernelInstant
@_exported public import struct BluetoothPrimitives.BluetoothAddress
@_exported public import struct BluetoothPrimitives.ErrorNumber
@_exported public import struct BluetoothPrimitives.IOCapability
@_exported public import struct BluetoothPrimitives.KernelError
@_exported public import enum BluetoothPrimitives.SecurityLevel

/// A dispatch queue, by its name in C.
public typealias dispatch_queue_t = DispatchQueue

/// A time in seconds since the beginning of 2001, as `Date.timeIntervalSinceReferenceDate`.
public typealias CFAbsoluteTime = CFTimeInterval

/// A duration in seconds, as in Core Foundation.
public typealias CFTimeInterval = Double

/// The time in seconds since the beginning of 2001. Foundation's own has precedence, where there is one.
@_disfavoredOverload
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date().timeIntervalSinceReferenceDate }
