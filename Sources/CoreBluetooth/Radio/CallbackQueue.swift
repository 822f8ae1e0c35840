import BluetoothLoop
import BluetoothPrimitives
import Dispatch
import Synchronization

/// The source of a callback. Sources take turns, so that a device that sends much delays no other.
enum CallbackSource: Hashable, Sendable {
    case device(BluetoothAddress)
    /// A manager's scan.
    case scan
}

/// The queue of a program's callbacks, never from within the program's own call: those of one source in the order they
/// were posted, and a callback without a source after all that were posted before it and before all others.
///
/// There is one block on the dispatch queue at a time, so a concurrent queue is harmless; what the loop receives
/// together is in one block. The number of queued callbacks is bounded by the callers: requests are counted until they are
/// answered, values until they are processed, and a scan waits.
final class CallbackQueue: Sendable {
    typealias Callback = @Sendable () -> Void

    private let queue: DispatchQueue
    private let loop: EventLoop?
    private let hold: (any SimulationHold)?
    private let state = Mutex(State())

    /// Calls back on `queue` what is posted, mostly on `loop`; simulated time, if any, is paused meanwhile.
    init(_ queue: DispatchQueue?, from loop: EventLoop? = nil, hold: (any SimulationHold)? = nil) {
        self.queue = queue ?? .main
        self.loop = loop
        self.hold = hold
    }

    func post(from source: CallbackSource? = nil, _ callback: @escaping Callback) {
        let isDue = state.withLock { state -> Bool in
            state.append(callback, from: source)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard isDue else { return }
        hold?.pauseTime()
        dispatch { self.run() }
    }

    /// Puts a block on the dispatch queue; on the loop, when the packets that are there have been received.
    private func dispatch(_ block: @escaping Callback) {
        guard let loop, loop.isCurrent else { return queue.async(execute: block) }
        loop.execute { [queue] in queue.async(execute: block) }
    }

    /// Waits until all callbacks posted so far, of one source or of all, have run, and then `callback`.
    func drain(_ source: CallbackSource? = nil, _ callback: @escaping Callback = {}) async {
        let isDrained = Promise<Void, Never>()
        post(from: source) {
            callback()
            isDrained.succeed()
        }
        await isDrained.value(ifCancelled: ())
    }

    /// Waits for a turn of the dispatch queue, which comes after all that is running on it and queued by now.
    func turn() async {
        let isOver = Promise<Void, Never>()
        hold?.pauseTime()
        dispatch { [hold] in
            isOver.succeed()
            hold?.resumeTime()
        }
        await isOver.value(ifCancelled: ())
    }

    private func run() {
        // What these cause is called back in a later block: after what they have queued themselves.
        var callbacks = state.withLock { $0.next() }
        while let callback = callbacks.popFirst() { callback() }
        let isDone = state.withLock { state in
            state.isScheduled = !state.isEmpty
            return state.isEmpty
        }
        if isDone { hold?.resumeTime() } else { queue.async { self.run() } }
    }
}

private struct State {
    typealias Callbacks = RingBuffer<CallbackQueue.Callback>

    /// The number of callbacks in one block, so that other work has its turn on a main queue.
    private static let callbacksPerBlock = 64
    /// The number of sources whose buffers stay allocated while they are empty.
    private static let idleSources = 16

    var isScheduled = false
    private var callbacks: [CallbackSource: Callbacks] = [:]
    /// The sources with callbacks, in the order of their turns.
    private var turns = RingBuffer<CallbackSource>()
    /// The first callback without a source, and all that were posted after it.
    private var later = RingBuffer<(source: CallbackSource?, callback: CallbackQueue.Callback)>()

    var isEmpty: Bool { turns.isEmpty && later.isEmpty }

    mutating func append(_ callback: @escaping CallbackQueue.Callback, from source: CallbackSource?) {
        guard let source, later.isEmpty else { return later.append((source, callback)) }
        append(callback, of: source)
    }

    private mutating func append(_ callback: @escaping CallbackQueue.Callback, of source: CallbackSource) {
        func add(to queued: inout Callbacks) -> Bool {
            queued.append(callback)
            return queued.count == 1
        }
        if add(to: &callbacks[source, default: Callbacks()]) { turns.append(source) }
    }

    /// Removes the callbacks of the next block.
    mutating func next() -> Callbacks {
        var block = Callbacks()
        while block.count < Self.callbacksPerBlock {
            if let source = turns.popFirst() {
                let isAlone = turns.isEmpty
                if Self.move(from: &callbacks[source, default: Callbacks()], to: &block, isAlone: isAlone) {
                    turns.append(source)
                } else if callbacks.count > Self.idleSources {
                    callbacks[source] = nil
                }
            } else if let (_, callback) = later.popFirst() {
                block.append(callback)
                while case .some((let source?, let callback)) = later.first {
                    _ = later.popFirst()
                    append(callback, of: source)
                }
            } else {
                break
            }
        }
        return block
    }

    /// Moves the next callback of a source to a block, or all that fit if no other source has any; returns whether there
    /// are more.
    private static func move(from queued: inout Callbacks, to block: inout Callbacks, isAlone: Bool) -> Bool {
        repeat {
            guard let callback = queued.popFirst() else { return false }
            block.append(callback)
        } while isAlone && block.count < callbacksPerBlock
        return !queued.isEmpty
    }
}
