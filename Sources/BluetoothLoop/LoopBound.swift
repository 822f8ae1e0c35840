/// A value that belongs to an event loop: any thread may carry it, the loop's alone reaches it.
///
/// What is called on the loop, such as a socket's events or a timer's moment, is kept in one of these. So it need not be
/// safe on other threads: a closure formed in an actor that lives on the loop stays isolated to that actor.
public struct LoopBound<Value>: @unchecked Sendable {
    // Unchecked: `value` stops the program unless it is reached on the loop's thread, and who makes one elsewhere has
    // given the value away.
    private let stored: Value
    private let loop: EventLoop

    /// A value for `loop`, made on it; a caller on another thread stops the program.
    public init(_ value: Value, on loop: EventLoop) {
        loop.checkIsolated()
        (stored, self.loop) = (value, loop)
    }

    /// A value that its maker, on whichever thread, gives away to `loop`.
    public init(sending value: sending Value, to loop: EventLoop) {
        (stored, self.loop) = (value, loop)
    }

    /// The value. A caller that is not on the loop stops the program.
    public var value: Value {
        loop.checkIsolated()
        return stored
    }
}
