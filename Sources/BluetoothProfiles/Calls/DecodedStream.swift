import BluetoothHost
import BluetoothLE

/// A stream of decoded values; like that of the bytes, for one consumer.
///
/// Elements without a meaning are left out. Leaving the `for await` loop, or dropping the stream unread, ends the subscription.
public struct DecodedStream<Source: Sendable, Element: Sendable>: AsyncSequence, Sendable {
    /// The error type of the stream.
    public typealias Failure = BluetoothError

    private let source: BoundedStream<Source>
    private let decode: @Sendable (Source) -> Element?

    init(_ source: BoundedStream<Source>, decode: @escaping @Sendable (Source) -> Element?) {
        self.source = source
        self.decode = decode
    }

    /// Creates the stream's iterator. A stream has one consumer: a second iterator ends at once.
    public func makeAsyncIterator() -> Iterator { Iterator(source: source.makeAsyncIterator(), decode: decode) }

    /// An iterator over the elements of a stream.
    public struct Iterator: AsyncIteratorProtocol {
        var source: BoundedStream<Source>.Iterator
        let decode: @Sendable (Source) -> Element?

        /// Returns the next element, or nil when the stream has ended.
        public nonisolated(nonsending) mutating func next() async throws(BluetoothError) -> Element? {
            try await next(isolation: #isolation)
        }

        /// Returns the next element, or nil when the stream has ended.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BluetoothError) -> Element? {
            while let next = try await source.next(isolation: actor) {
                if let element = decode(next) { return element }
            }
            return nil
        }
    }
}
