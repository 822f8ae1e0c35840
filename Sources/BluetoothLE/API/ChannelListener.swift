/// A listener for the connection-oriented channels that peers open to a service.
///
/// It listens from the return of ``Adapter/listen(psm:backlog:options:)`` until the loop over it is left, its last
/// reference is released, ``close()`` is called, or the adapter is closed, for which the loop throws. It pauses while
/// the adapter is powered off or unplugged. Accepted channels outlive it.
public struct ChannelListener: AsyncSequence, Sendable {
    /// The error that the sequence throws.
    public typealias Failure = BluetoothError

    /// The service's PSM: the requested one, or for 0 the one that the kernel has assigned.
    public let psm: UInt16
    let stream: BoundedStream<ConnectionOrientedChannel>
    private let listener: Listener<ConnectionOrientedChannel>

    init(_ listener: Listener<ConnectionOrientedChannel>, psm: UInt16) {
        self.psm = psm
        self.listener = listener
        stream = BoundedStream(channel: listener.channel) { listener.end(nil) }
    }

    /// The number of channels that were closed at once because the backlog was full.
    public var refusedCount: Int { listener.refusedCount }

    /// Stops listening. Channels that wait are still delivered; then the loop ends.
    public func close() { listener.end(nil) }

    /// The iterator of the one consumer; a second loop ends at once.
    public func makeAsyncIterator() -> BoundedStream<ConnectionOrientedChannel>.Iterator { stream.makeAsyncIterator() }
}
