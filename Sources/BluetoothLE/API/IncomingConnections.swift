import BluetoothSockets

/// Incoming connections: the links that centrals make to this machine; see ``Adapter/incomingConnections(_:)``.
///
/// The sequence accepts connections from the moment that call returns until the loop over it is left, its last
/// reference is released, ``close()`` is called, or the adapter is closed, for which the loop throws. It pauses while
/// the adapter is switched off or unplugged.
///
/// It begins with the connections that are up and not yet accepted. Every connection is served at once, whether or not
/// the program reads this sequence, and stays up while this sequence exists or the program holds its ``Connection``: a
/// loop over this is all that a server needs. A slow loop misses the oldest of the waiting connections, which are
/// served all the same; ``connections`` has them all.
public struct IncomingConnections: AsyncSequence, Sendable {
    /// The error that the sequence throws.
    public typealias Failure = BluetoothError

    private let stream: BoundedStream<Connection>
    private let links: AcceptedLinks

    init(_ links: AcceptedLinks, of adapter: AdapterSession) {
        self.links = links
        stream = BoundedStream(channel: links.listener.channel) {
            withExtendedLifetime(adapter) { links.listener.end(nil) }
        }
    }

    /// The incoming connections that are up.
    public var connections: [Connection] { links.connections }

    /// The number of connections that the loop has missed because it was slow.
    public var missedCount: Int { stream.missedCount }

    /// Stops accepting connections. The loop still receives those that wait, then ends; links stay up.
    public func close() { links.listener.end(nil) }

    /// The iterator of the one consumer; a second loop ends at once.
    public func makeAsyncIterator() -> BoundedStream<Connection>.Iterator { stream.makeAsyncIterator() }
}
