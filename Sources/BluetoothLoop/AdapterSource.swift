/// A source of adapters: this machine's kernel, or another that a program chooses, such as a simulated one.
///
/// Only types of this package are sources of their own, since only they can create a `HostSource`.
public protocol AdapterSource: AnyObject, Sendable {
    /// The event loop of the adapters, with its clock.
    var loop: EventLoop { get }

    /// The content of the source.
    var hostSource: HostSource { get }
}

/// The content of an ``AdapterSource``, which programs cannot see.
public struct HostSource: Sendable {
    /// A kernel, or a provider of hosts.
    package let content: any Sendable

    package init(_ content: any Sendable) { self.content = content }
}
