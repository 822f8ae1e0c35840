/// Offers a service by connection-oriented channels; the sequence of those that peers open.
///
/// It listens from the moment ``Adapter/listen(psm:backlog:options:)`` returns until the loop over it is left, its last
/// reference goes, ``close()`` is called, or the adapter is closed, for which the loop throws. While the adapter is
/// switched off or unplugged nothing comes in; it goes on when it is back. Channels that were handed out outlive it.
public struct ChannelListener: AsyncSequence, Sendable {
    /// What the sequence throws.
    public typealias Failure = BluetoothError

    /// The service's number: the one asked for, or the one the kernel picked where 0 was.
    public let psm: UInt16
    let stream: BoundedStream<ConnectionOrientedChannel>
    private let listener: Listener<ConnectionOrientedChannel>

    init(_ listener: Listener<ConnectionOrientedChannel>, psm: UInt16) {
        self.psm = psm
        self.listener = listener
        stream = BoundedStream(channel: listener.channel) { listener.end(nil) }
    }

    /// How many channels were closed again at once because as many as the backlog holds were waiting.
    public var refusedCount: Int { listener.refusedCount }

    /// Stops listening. Channels that wait are still handed out, then the loop ends.
    public func close() { listener.end(nil) }

    /// Begins to take channels. A listener has one consumer: a second loop ends at once.
    public func makeAsyncIterator() -> BoundedStream<ConnectionOrientedChannel>.Iterator { stream.makeAsyncIterator() }
}
