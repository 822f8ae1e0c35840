/// A moment at which a loop calls back; set and cancelled as often as one likes, without allocating.
///
/// Dropping the last reference cancels it.
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

    /// Calls the handler at `deadline`, once, in place of any moment set before.
    public func set(at deadline: KernelInstant) {
        loop.set(slot, at: deadline)
    }

    /// Calls the handler after `duration`, once, in place of any moment set before.
    public func set(after duration: Duration) {
        loop.set(slot, at: loop.now.advanced(by: duration))
    }

    /// Forgets the moment that was set.
    ///
    /// Called on the loop, the handler will not run any more; called elsewhere it may be running just then.
    public func cancel() {
        loop.set(slot, at: nil)
    }
}
