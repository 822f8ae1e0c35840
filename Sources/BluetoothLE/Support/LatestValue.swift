import BluetoothLoop
import BluetoothSockets
import Synchronization

/// A value that changes, with any number of followers.
///
/// Each follower has its own stream, which begins with the present value and buffers only the newest: a slow follower
/// misses intermediate values, never the latest.
final class LatestValue<Value: Sendable & Equatable>: Sendable {
    private struct State {
        var value: Value
        var followers = Broadcaster<Value>()
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

    /// The present value.
    var value: Value { state.withLock { $0.value } }

    /// The number of open streams.
    var followerCount: Int { state.withLock { $0.followers.count } }

    /// Changes the value and notifies the followers, unless it is the same; returns whether it changed.
    @discardableResult
    func set(_ value: Value) -> Bool {
        let former = state.withLock { state -> [Value] in
            guard value != state.value, !state.isFinished else { return [] }
            defer { state.value = value }
            // Sent under the lock, so that concurrent changes reach followers in their order; sending only schedules
            // the consumer on the loop.
            return [state.value] + state.followers.send(value)
        }
        // Released outside the lock.
        return withExtendedLifetime(former) { !former.isEmpty }
    }

    /// A stream of the values from now on; `owner` is retained until the stream ends.
    func stream(keeping owner: some AnyObject & Sendable) -> BoundedStream<Value> {
        state.withLock { state in
            let stream = state.followers.stream(
                capacity: 1, policy: .dropOldest, operation, from: loop, beginningWith: [state.value], keeping: owner)
            if state.isFinished { stream.finish() }
            return stream
        }
    }

    /// Ends all streams after the present value: with an error, or regularly.
    func finish(_ error: BluetoothError? = nil) {
        var followers = state.withLock { state in
            state.isFinished = true
            defer { state.followers = Broadcaster() }
            return state.followers
        }
        followers.finish(error)
    }
}
