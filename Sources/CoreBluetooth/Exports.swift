// Programs that import CoreBluetooth use these modules without importing them.
@_exported public import Dispatch
@_exported public import Foundation

/// A dispatch queue, by its name in C.
public typealias dispatch_queue_t = DispatchQueue

/// A time in seconds since the beginning of 2001, as `Date.timeIntervalSinceReferenceDate`.
public typealias CFAbsoluteTime = CFTimeInterval

/// A duration in seconds, as in Core Foundation.
public typealias CFTimeInterval = Double

/// The time in seconds since the beginning of 2001. Foundation's own has precedence, where there is one.
@_disfavoredOverload
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date().timeIntervalSinceReferenceDate }
