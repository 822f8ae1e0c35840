import BluetoothSockets
import BluetoothLE
import BluetoothPrimitives
import Dispatch
import Synchronization

/// Calls a program back on its queue: one callback after the other, in the order they were posted, never from within
/// the program's own call.
///
/// There is one block on the queue at a time, so a queue that runs several blocks at once does no harm. Who posts keeps
/// the number of callbacks that wait within bounds: requests are counted until they are answered, values until they are
/// taken, and a scan waits.
final class CallbackQueue: Sendable {
    typealias Callback = @Sendable () -> Void

    private struct State {
        var callbacks = RingBuffer<Callback>()
        var isScheduled = false
    }

    /// How many callbacks go in one block, so that others have their turn on a queue that is the program's main one.
    private static let callbacksPerBlock = 64

    private let queue: DispatchQueue
    private let hold: (any SimulationHold)?
    private let state = Mutex(State())

    /// Calls back on `queue`; simulated time, where there is any, stands still meanwhile.
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

    /// Waits until the program has been told everything so far.
    func isTold() async {
        let isTold = Promise<Void, Never>()
        post { isTold.succeed() }
        await isTold.value(ifCancelled: ())
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
