import BluetoothLE
import BluetoothLoop
import Synchronization

/// The received bytes that have not been read yet, with one writer and one reader.
///
/// It holds a bounded number of bytes: the writer waits while it is full, so that the subscription below fills up in
/// turn and ends in an error if nothing is read.
final class ReceiveBuffer: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var total = 0
        /// The end of the stream, if it has ended: its error, or nil inside for a regular end.
        var end: BluetoothError??
        var reader: Promise<Void, BluetoothError>?
        var filler: Promise<Bool, Never>?
        /// Whether the writer does not wait although the buffer is full.
        var isDraining = false
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let operation: BluetoothError.Operation

    init(capacity: Int, operation: BluetoothError.Operation) {
        self.capacity = max(1, capacity)
        self.operation = operation
    }

    /// The number of bytes received.
    var total: Int { state.withLock { $0.total } }
    /// The number of bytes that were not read.
    var count: Int { state.withLock { $0.bytes.count } }

    /// Adds bytes, then waits until there is room for more, unless it is draining the source; false when the task was
    /// cancelled.
    func append(_ bytes: [UInt8]) async -> Bool {
        let (reader, filler) = state.withLock { state -> (Promise<Void, BluetoothError>?, Promise<Bool, Never>?) in
            state.bytes += bytes
            state.total &+= bytes.count
            if state.bytes.count >= capacity, !state.isDraining { state.filler = Promise() }
            return (state.reader.take(), state.filler)
        }
        reader?.succeed()
        return await filler?.value(ifCancelled: false) ?? true
    }

    /// Takes all that the source still has, which adds no more, beyond the capacity; or waits for room again.
    func setDraining(_ isDraining: Bool) {
        let filler = state.withLock { state -> Promise<Bool, Never>? in
            state.isDraining = isDraining
            return isDraining ? state.filler.take() : nil
        }
        filler?.succeed(true)
    }

    /// Adds bytes if there is room for them; returns whether there was. After the end there is none.
    func tryAppend(_ bytes: [UInt8]) -> Bool {
        let (reader, isTaken) = state.withLock { state -> (Promise<Void, BluetoothError>?, Bool) in
            guard state.end == nil, bytes.count <= capacity - state.bytes.count else { return (nil, false) }
            state.bytes += bytes
            state.total &+= bytes.count
            return (state.reader.take(), true)
        }
        reader?.succeed()
        return isTaken
    }

    /// The end of the stream, if it has ended: its error, or nil inside for a regular end.
    var end: BluetoothError?? { state.withLock { $0.end } }

    /// Ends the stream, with `error` or regularly.
    func finish(_ error: BluetoothError?) {
        let reader = state.withLock { state -> Promise<Void, BluetoothError>? in
            guard state.end == nil else { return nil }
            state.end = .some(error)
            return state.reader.take()
        }
        reader?.succeed()
    }

    /// All buffered bytes, or the first to arrive; nil after the end.
    func read(
        until deadline: KernelInstant?, on loop: EventLoop, isolation: isolated (any Actor)? = #isolation
    ) async throws(BluetoothError) -> [UInt8]? {
        while true {
            let waiter = Promise<Void, BluetoothError>()
            if let ready = nextOrWait(waiter) { return try ready.get() }
            let timer = deadline.map { deadline in
                let timer = loop.makeTimer { [operation] in
                    waiter.fail(
                        BluetoothError(.timedOut, operation, "No bytes arrived in time.", isRetryable: true))
                }
                timer.set(at: deadline)
                return timer
            }
            defer { timer?.cancel() }
            do throws(BluetoothError) {
                try await waiter.value(
                    ifCancelled: .cancelled(self.operation))
            } catch {
                state.withLock { state in
                    if state.reader === waiter { state.reader = nil }
                }
                throw error
            }
        }
    }

    /// The result if there is one now; otherwise `waiter` is resolved when there is.
    private func nextOrWait(_ waiter: Promise<Void, BluetoothError>) -> Result<[UInt8]?, BluetoothError>? {
        let (result, filler) = state.withLock { state -> (Result<[UInt8]?, BluetoothError>?, Promise<Bool, Never>?) in
            guard state.bytes.isEmpty else {
                defer {
                    state.bytes = []
                    state.filler = nil
                }
                return (.success(state.bytes), state.filler)
            }
            if let end = state.end { return (end.map { .failure($0) } ?? .success(nil), nil) }
            guard state.reader == nil else {
                return (.failure(BluetoothError(.busy, operation, "Another task is reading.")), nil)
            }
            state.reader = waiter
            return (nil, nil)
        }
        filler?.succeed(true)
        return result
    }
}
