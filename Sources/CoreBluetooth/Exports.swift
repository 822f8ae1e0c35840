// Programs that import CoreBluetooth use these without saying so.
@_exported public import Dispatch
@_exported public import Foundation

/// A dispatch queue by the name that C has for it.
public typealias dispatch_queue_t = DispatchQueue

/// Seconds since the beginning of 2001, as `Date.timeIntervalSinceReferenceDate` counts them.
public typealias CFAbsoluteTime = CFTimeInterval

/// Seconds from one moment to another, as Core Foundation has them.
public typealias CFTimeInterval = Double

/// The seconds since the beginning of 2001. Gives way to Foundation's own, where there is one.
@_disfavoredOverload
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date().timeIntervalSinceReferenceDate }
