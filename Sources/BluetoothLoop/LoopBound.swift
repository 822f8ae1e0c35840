/// A value isolated to an event loop: any thread may carry it, but only the loop's thread accesses it.
///
/// Holds callbacks such as those of socket events and timers. They need not be `Sendable`: a closure formed in an actor
/// on the loop stays isolated to that actor.
public struct LoopBound<Value>: @unchecked Sendable {
    // Unchecked: `value` traps outside the loop's thread, and a creator on another thread has sent the value away.
    @usableFromInline let stored: Value
    @usableFromInline let loop: EventLoop

    /// A value for `loop`, created on it; traps unless called on the loop.
    public init(_ value: Value, on loop: EventLoop) {
        loop.checkIsolated()
        (stored, self.loop) = (value, loop)
    }

    /// A value sent to `loop` from any thread.
    public init(sending value: sending Value, to loop: EventLoop) {
        (stored, self.loop) = (value, loop)
    }

    /// The value for a caller on the loop; nil on any other thread.
    package var valueIfCurrent: Value? { loop.isCurrent ? stored : nil }

    /// The value; traps unless called on the loop.
    @inlinable public var value: Value {
        loop.checkIsolated()
        return stored
    }
}
