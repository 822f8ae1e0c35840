import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Synchronization

/// A listener on channels of an adapter, which delivers incoming channels as a sequence.
///
/// It ends when the sequence's loop is left, the sequence is closed, or the adapter is closed, whichever comes first.
final class Listener<Element: Sendable>: Sendable {
    private struct State {
        /// In the order of their creation.
        var listeners: [any HostChannelListener] = []
        var onEnd: (@Sendable () -> Void)?
        var refusedCount = 0
    }

    let channel: StreamChannel<Element>
    private let loop: EventLoop
    private let state = Mutex(State())

    init(capacity: Int, policy: OverflowPolicy, _ operation: BluetoothError.Operation, on loop: EventLoop) {
        channel = StreamChannel(capacity: capacity, policy: policy, operation: operation, from: loop)
        self.loop = loop
    }

    /// Whether it listens.
    var isListening: Bool { state.withLock { !$0.listeners.isEmpty } }

    /// The channel of the first listener; nil after the end.
    var first: L2CAPChannel? { state.withLock { $0.listeners.first?.channel } }

    /// The number of channels that were refused for lack of room.
    var refusedCount: Int { state.withLock { $0.refusedCount } }

    /// Adds a channel to listen on, and returns it with the number that the host has chosen; a failure ends all
    /// listening. Called on the loop.
    @discardableResult
    func listen(
        _ channel: L2CAPChannel, by host: any HostChannels, _ options: L2CAPOptions,
        _ operation: BluetoothError.Operation, accept: @escaping (any HostChannel) -> (any ChannelReceiver)?
    ) throws(BluetoothError) -> L2CAPChannel {
        do throws(BluetoothError) {
            let listener = try host.listen(channel, options, operation, accept)
            state.withLock { $0.listeners.append(listener) }
            return listener.channel
        } catch {
            end(nil)
            throw error
        }
    }

    /// Counts a channel for which there is no room.
    func countRefusal() { state.withLock { $0.refusedCount += 1 } }

    /// Sets `onEnd` to be called on the loop when listening has ended.
    func whenEnded(_ onEnd: @escaping @Sendable () -> Void) {
        let former = state.withLock { state in
            defer { state.onEnd = onEnd }
            return state.onEnd
        }
        // Released outside the lock.
        withExtendedLifetime(former) {}
    }

    /// Ends listening, and the sequence after its buffered channels. Called on any thread.
    func end(_ reason: BluetoothError?) {
        let (listeners, onEnd) = state.withLock { state in
            defer { (state.listeners, state.onEnd) = ([], nil) }
            return (state.listeners, state.onEnd)
        }
        channel.finish(reason)
        guard !listeners.isEmpty else { return }
        loop.execute {
            // A new listener begins before these close, so that no link arrives in between.
            onEnd?()
            for listener in listeners { listener.close() }
        }
    }
}
