import BluetoothLoop
import BluetoothSockets
import BluetoothLE
import BluetoothPrimitives
import Dispatch
import Synchronization

/// The queue of a program's callbacks: one after the other, in the order they were posted, never from within the
/// program's own call.
///
/// There is one block on the dispatch queue at a time, so a concurrent queue is harmless. The number of queued
/// callbacks is bounded by the callers: requests are counted until they are answered, values until they are processed,
/// and a scan waits.
final class CallbackQueue: Sendable {
    typealias Callback = @Sendable () -> Void

    private struct State {
        var callbacks = RingBuffer<Callback>()
        var isScheduled = false
    }

    /// The number of callbacks in one block, so that other work has its turn on a main queue.
    private static let callbacksPerBlock = 64

    private let queue: DispatchQueue
    private let hold: (any SimulationHold)?
    private let state = Mutex(State())

    /// Calls back on `queue`; simulated time, if any, is paused meanwhile.
    init(_ queue: DispatchQueue?, hold: (any SimulationHold)? = nil) {
        self.queue = queue ?? .main
        self.hold = hold
    }

    func post(_ callback: @escaping Callback) {
        let isDue = state.withLock { state -> Bool in
            state.callbacks.append(callback)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard isDue else { return }
        hold?.begin()
        queue.async { self.run() }
    }

    /// Waits until all callbacks posted so far have run.
    func drain() async {
        let isDrained = Promise<Void, Never>()
        post { isDrained.succeed() }
        await isDrained.value(ifCancelled: ())
    }

    private func run() {
        for _ in 0..<Self.callbacksPerBlock {
            let next = state.withLock { state -> Callback? in
                let next = state.callbacks.popFirst()
                if next == nil { state.isScheduled = false }
                return next
            }
            guard let next else {
                hold?.end()
                return
            }
            next()
        }
        queue.async { self.run() }
    }
}
