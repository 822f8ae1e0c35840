/// An actor whose executor is an event loop, so that it handles socket events without a thread switch.
public protocol LoopActor: Actor {
    /// The actor's event loop.
    nonisolated var loop: EventLoop { get }
}

extension LoopActor {
    /// Enqueues a call of `body` with the actor on the loop, without waiting for it. Thread-safe.
    public nonisolated func soon(_ body: @escaping @Sendable (isolated Self) -> Void) {
        loop.execute { self.assumeIsolated { body($0) } }
    }

    /// The event loop as executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
}
