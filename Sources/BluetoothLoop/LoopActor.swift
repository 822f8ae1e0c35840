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

    /// Calls `body` with the actor and `argument` at once, on the loop: `assumeIsolated` without its two allocations, for
    /// what comes by the packet. A caller that is not on the loop stops the program.
    @inlinable @inline(__always)
    public nonisolated func assumeIsolated<Argument>(
        with argument: Argument, _ body: @escaping (isolated Self, Argument) -> Void
    ) {
        loop.preconditionIsolated()
        // A function that is isolated to its first argument is called like any other. As a member of a structure it is
        // cast as it is, and not wrapped.
        unsafeBitCast(IsolatedBody(call: body), to: PlainBody<Self, Argument>.self).call(self, argument)
    }
}

@usableFromInline
struct IsolatedBody<Isolation: Actor, Argument> {
    @usableFromInline let call: (isolated Isolation, Argument) -> Void

    @inlinable
    init(call: @escaping (isolated Isolation, Argument) -> Void) {
        self.call = call
    }
}

@usableFromInline
struct PlainBody<Isolation: Actor, Argument> {
    @usableFromInline let call: (Isolation, Argument) -> Void
}
