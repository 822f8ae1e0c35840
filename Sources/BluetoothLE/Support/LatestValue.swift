import BluetoothSockets
import Synchronization

/// A value that changes, and everybody who follows it.
///
/// Each follower has a stream of its own that begins with the value of the moment and holds the newest one until it is
/// taken: a slow follower misses what was in between, never where things stand.
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

    /// The value of the moment.
    var value: Value { state.withLock { $0.value } }

    /// How many streams are open.
    var followerCount: Int { state.withLock { $0.followers.count } }

    /// Changes the value and tells everybody, unless it is the same; says whether it is another.
    @discardableResult
    func set(_ value: Value) -> Bool {
        let former = state.withLock { state -> [Value] in
            guard value != state.value, !state.isFinished else { return [] }
            defer { state.value = value }
            // Sent under the lock, so that two that change it at once cannot end in the wrong order; a channel that is
            // sent to only asks the loop to wake its consumer.
            return [state.value] + state.followers.send(value)
        }
        // Released outside the lock.
        return withExtendedLifetime(former) { !former.isEmpty }
    }

    /// A stream of the values from now on; `owner` is kept as long as somebody reads it.
    func stream(keeping owner: some AnyObject & Sendable) -> BoundedStream<Value> {
        state.withLock { state in
            let stream = state.followers.stream(
                capacity: 1, policy: .dropOldest, operation, from: loop, beginningWith: [state.value], keeping: owner)
            if state.isFinished { stream.finish() }
            return stream
        }
    }

    /// Ends all streams after the value of the moment; with an error, or regularly.
    func finish(_ error: BluetoothError? = nil) {
        var followers = state.withLock { state in
            state.isFinished = true
            defer { state.followers = Broadcaster() }
            return state.followers
        }
        followers.finish(error)
    }
}
