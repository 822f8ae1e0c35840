import BluetoothKernel
import Synchronization

/// A value that changes, and everybody who follows it.
///
/// Each follower has a stream of its own that begins with the value of the moment and holds the newest one until it is
/// taken: a slow follower misses what was in between, never where things stand.
final class LatestValue<Value: Sendable & Equatable>: Sendable {
    private struct State {
        var value: Value
        var channels: [UInt64: StreamChannel<Value>] = [:]
        var nextID: UInt64 = 0
        var isFinished = false
    }

    private let state: Mutex<State>
    private let operation: BluetoothError.Operation
    private let loop: EventLoop

    init(_ value: Value, _ operation: BluetoothError.Operation, on loop: EventLoop) {
        state = Mutex(State(value: value))
        self.operation = operation
        self.loop = loop
    }

    /// The value of the moment.
    var value: Value { state.withLock { $0.value } }

    /// How many streams are open.
    var followerCount: Int { state.withLock { $0.channels.count } }

    /// Changes the value and tells everybody, unless it is the same; says whether it is another.
    @discardableResult
    func set(_ value: Value) -> Bool {
        let former = state.withLock { state -> [Value] in
            guard value != state.value, !state.isFinished else { return [] }
            var former = [state.value]
            state.value = value
            // Sent under the lock, so that two that change it at once cannot end in the wrong order; a channel that is
            // sent to only asks the loop to wake its consumer.
            for channel in state.channels.values {
                var dropped: Value?
                _ = channel.send(value, dropping: &dropped)
                if let dropped { former.append(dropped) }
            }
            return former
        }
        // Released outside the lock.
        return withExtendedLifetime(former) { !former.isEmpty }
    }

    /// A stream of the values from now on; `owner` is kept as long as somebody reads it.
    func stream(keeping owner: some AnyObject & Sendable) -> BoundedStream<Value> {
        let channel = StreamChannel<Value>(capacity: 1, policy: .dropOldest, operation: operation, from: loop)
        let id = state.withLock { state -> UInt64 in
            let id = state.nextID
            state.nextID &+= 1
            channel.send(state.value)
            if state.isFinished { channel.finish() } else { state.channels[id] = channel }
            return id
        }
        return BoundedStream(channel: channel) { [self, owner] in
            let removed = state.withLock { $0.channels.removeValue(forKey: id) }
            // Released outside the lock.
            withExtendedLifetime((owner, removed)) {}
        }
    }

    /// Ends all streams after the value of the moment; with an error, or regularly.
    func finish(_ error: BluetoothError? = nil) {
        let channels = state.withLock { state -> [StreamChannel<Value>] in
            guard !state.isFinished else { return [] }
            state.isFinished = true
            defer { state.channels = [:] }
            return Array(state.channels.values)
        }
        for channel in channels { channel.finish(error) }
    }
}
