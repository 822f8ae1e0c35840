/// An actor that lives on an event loop, so that socket events reach it without a hop.
public protocol LoopActor: Actor {
    /// The loop it lives on.
    nonisolated var loop: EventLoop { get }
}

extension LoopActor {
    /// Calls `body` with the actor on the loop, after what came before it: a call from any thread that nobody waits for.
    public nonisolated func soon(_ body: @escaping @Sendable (isolated Self) -> Void) {
        loop.execute { self.assumeIsolated { body($0) } }
    }

    /// The loop.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
}
