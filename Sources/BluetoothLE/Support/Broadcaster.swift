import BluetoothLoop
import BluetoothSockets

/// A source of values with any number of streams.
///
/// A stream that has ended, since its loop was left or its consumer was too slow, is removed with the next value or the
/// next stream.
package struct Broadcaster<Value: Sendable> {
    private var channels: [StreamChannel<Value>] = []

    package init() {}

    /// The number of open streams.
    var count: Int { channels.count { $0.isOpen } }

    /// Creates a stream of the values from now on.
    ///
    /// - Parameters:
    ///   - first: the first values of the stream.
    ///   - owner: retained until the stream ends.
    package mutating func stream(
        capacity: Int, policy: OverflowPolicy, _ operation: BluetoothError.Operation, from loop: EventLoop,
        beginningWith first: [Value] = [], keeping owner: (any AnyObject & Sendable)? = nil
    ) -> BoundedStream<Value> {
        channels.removeAll { !$0.isOpen }
        let channel = StreamChannel<Value>(capacity: capacity, policy: policy, operation: operation, from: loop)
        for value in first { channel.send(value) }
        channels.append(channel)
        return BoundedStream(channel: channel) { withExtendedLifetime(owner) { channel.abandon() } }
    }

    /// Sends a value to all streams; with `reserve`, only to those with room for more than so many elements.
    ///
    /// Returns the values dropped for it: a caller that holds a lock releases them outside.
    @discardableResult
    package mutating func send(_ value: Value, reserving reserve: Int? = nil) -> [Value] {
        var dropped: [Value] = []
        channels.removeAll { channel in
            if let reserve, channel.room <= reserve { return !channel.isOpen }
            var oldest: Value?
            let isOpen = channel.send(value, dropping: &oldest)
            if let oldest { dropped.append(oldest) }
            return !isOpen
        }
        return dropped
    }

    /// Ends all streams after their buffered elements: with an error, or regularly.
    package mutating func finish(_ error: BluetoothError? = nil) {
        for channel in channels { channel.finish(error) }
        channels = []
    }
}
