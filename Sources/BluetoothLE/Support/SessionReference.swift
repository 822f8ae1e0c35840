import BluetoothLoop
import BluetoothSockets

/// A public handle's reference to the session's component behind it, which is confined to the loop.
package struct SessionReference<Component>: Sendable {
    /// The isolation domain of the component.
    let session: any LoopActor
    private let component: LoopBound<Component>

    /// Creates a reference to a component that was made on the loop.
    package init(_ component: Component, in session: any LoopActor) {
        self.session = session
        self.component = LoopBound(component, on: session.loop)
    }

    /// Creates a reference to a component that its maker transfers.
    package init(sending component: sending Component, in session: any LoopActor) {
        self.session = session
        self.component = LoopBound(sending: component, to: session.loop)
    }

    package var loop: EventLoop { session.loop }

    init(_ component: LoopBound<Component>, in session: any LoopActor) {
        self.session = session
        self.component = component
    }

    /// Calls `body` with the component on the loop.
    @inline(__always)
    package nonisolated(nonsending) func callAsFunction<Value: Sendable, Failure: Error>(
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

    /// Calls `body` with the component on the loop, without waiting.
    func later(_ body: @escaping @Sendable (Component) -> Void) {
        session.loop.execute { [component] in body(component.value) }
    }

    /// The component for a caller on the loop, who saves the change to the session and back; nil on any other thread.
    var valueIfCurrent: Component? { component.valueIfCurrent }

    /// The component; traps on any other thread than the loop's.
    var value: Component { component.value }
}

/// The isolation domain of work without an opened adapter: listing and following adapters, opening one, and links over
/// sockets that the program supplies.
///
/// The handles of links, channels and kept connections use one as well, so that a handle of something that has
/// ended does not retain the adapter.
package actor DetachedSession: LoopActor {
    package nonisolated let loop: EventLoop

    package init(on loop: EventLoop) {
        self.loop = loop
    }
}
