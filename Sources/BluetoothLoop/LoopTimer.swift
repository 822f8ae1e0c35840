/// A timer of an event loop, set and cancelled without allocation.
///
/// Releasing the last reference cancels it.
public final class LoopTimer: Sendable {
    private let loop: EventLoop
    private let slot: Int

    init(loop: EventLoop, slot: Int) {
        self.loop = loop
        self.slot = slot
    }

    deinit {
        loop.removeSlot(slot)
    }

    /// Sets the timer to `deadline`, replacing any previous one.
    public func set(at deadline: KernelInstant) {
        loop.set(slot, at: deadline)
    }

    /// Sets the timer to expire after `duration`, replacing any previous deadline.
    public func set(after duration: Duration) {
        loop.set(slot, at: loop.now.advanced(by: duration))
    }

    /// Cancels the timer.
    ///
    /// If called on the loop, the handler will not run; otherwise it may be running already.
    public func cancel() {
        loop.set(slot, at: nil)
    }
}
