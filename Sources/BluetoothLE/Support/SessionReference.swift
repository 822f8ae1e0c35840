import BluetoothSockets

/// A public handle's way to what it stands for: a component of a session, which lives on the loop.
struct SessionReference<Component>: Sendable {
    /// The domain in which the component lives.
    let session: any LoopActor
    private let component: LoopBound<Component>

    /// A reference to a component that was made on the loop.
    init(_ component: Component, in session: any LoopActor) {
        self.session = session
        self.component = LoopBound(component, on: session.loop)
    }

    /// A reference to a component that its maker gives away.
    init(sending component: sending Component, in session: any LoopActor) {
        self.session = session
        self.component = LoopBound(sending: component, to: session.loop)
    }

    var loop: EventLoop { session.loop }

    init(_ component: LoopBound<Component>, in session: any LoopActor) {
        self.session = session
        self.component = component
    }

    /// Calls `body` with the component on the loop.
    @inline(__always)
    nonisolated(nonsending) func callAsFunction<Value: Sendable, Failure: Error>(
        _ body: nonisolated(nonsending) @Sendable (Component) async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await Self.call(body, component, isolation: session)
    }

    private static func call<Value: Sendable, Failure: Error>(
        _ body: nonisolated(nonsending) @Sendable (Component) async throws(Failure) -> Value,
        _ component: LoopBound<Component>, isolation: isolated any LoopActor
    ) async throws(Failure) -> Value {
        try await body(component.value)
    }

    /// Calls `body` with the component on the loop, after what came before; nobody waits for it.
    func later(_ body: @escaping @Sendable (Component) -> Void) {
        session.loop.execute { [component] in body(component.value) }
    }

    /// The component; a caller that is not on the loop stops the program.
    var value: Component { component.value }
}

/// The domain of what concerns no opened adapter: listing and following adapters, opening one, and what lives over sockets
/// that the program has brought along.
///
/// The handles of links, channels and maintained connections reach them in one, so that one that has ended keeps no adapter.
actor LooseSession: LoopActor {
    nonisolated let loop: EventLoop

    init(on loop: EventLoop) {
        self.loop = loop
    }
}
