import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Synchronization

/// An actor that runs a test's code on a loop.
package actor LoopRunner: LoopActor {
    /// The event loop.
    package nonisolated let loop: EventLoop

    /// Creates an actor on `loop`.
    package init(_ loop: EventLoop) {
        self.loop = loop
    }

    /// Runs `body` on the loop and returns its result.
    @discardableResult
    package func run<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result {
        try body()
    }
}

extension EventLoop {
    /// Runs `body` on the loop and returns its result.
    @discardableResult
    package func run<Result: Sendable>(_ body: @Sendable () throws -> Result) async rethrows -> Result {
        try await LoopRunner(self).run(body)
    }
}

extension BluetoothKernel {
    /// Runs `body` on the kernel's loop and returns its result.
    @discardableResult
    package func onLoop<Result: Sendable>(_ body: @Sendable () throws -> Result) async rethrows -> Result {
        try await loop.run(body)
    }
}

/// A journal of events, with a way to wait until they meet a condition.
package final class Journal<Entry: Sendable>: Sendable {
    private struct Waiter {
        var number: Int
        var condition: @Sendable ([Entry]) -> Bool
        var continuation: CheckedContinuation<[Entry]?, Never>
    }

    private struct State {
        var entries: [Entry] = []
        var waiters: [Waiter] = []
        var nextNumber = 0
    }

    private let state = Mutex(State())

    /// Creates an empty journal.
    package init() {}

    /// All entries.
    package var entries: [Entry] { state.withLock { $0.entries } }

    /// Adds an entry.
    package func add(_ entry: Entry) {
        let (entries, ready) = state.withLock { state in
            state.entries.append(entry)
            let entries = state.entries
            let ready = state.waiters.filter { $0.condition(entries) }
            state.waiters.removeAll { waiter in ready.contains { $0.number == waiter.number } }
            return (entries, ready)
        }
        for waiter in ready { waiter.continuation.resume(returning: entries) }
    }

    /// The entries once they meet `condition`, or nil when `limit` has passed on `loop`'s clock first.
    @discardableResult
    package func wait(
        on loop: EventLoop, limit: Duration = .seconds(30), until condition: @escaping @Sendable ([Entry]) -> Bool
    ) async -> [Entry]? {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        let timer = loop.makeTimer { [weak self] in self?.giveUp(number) }
        timer.set(after: limit)
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let entries = state.withLock { state -> [Entry]? in
                if condition(state.entries) { return state.entries }
                state.waiters.append(Waiter(number: number, condition: condition, continuation: continuation))
                return nil
            }
            if let entries { continuation.resume(returning: entries) }
        }
    }

    private func giveUp(_ number: Int) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.waiters.firstIndex(where: { $0.number == number }) else { return nil }
            return state.waiters.remove(at: index)
        }
        waiter?.continuation.resume(returning: nil)
    }
}

/// A socket's user that receives every packet and records all events.
package final class SocketRecorder: Sendable {
    /// An event of a socket.
    package enum Entry: Equatable, Sendable {
        /// A packet was received.
        case packet([UInt8])
        /// The socket can be written to.
        case writable
        /// The socket has ended.
        case closed(KernelError)
    }

    /// The recorded events.
    package let journal = Journal<Entry>()
    private let socket = Mutex<(any PacketSocket)?>(nil)

    /// Creates a recorder without a socket.
    package init() {}

    /// Records the events of `socket` from now on.
    package func attach(_ socket: any PacketSocket) {
        self.socket.withLock { $0 = socket }
    }

    /// Releases the socket.
    package func detach() {
        let socket = socket.withLock { socket in
            defer { socket = nil }
            return socket
        }
        _ = socket
    }

    /// The packets received so far.
    package var packets: [[UInt8]] {
        journal.entries.compactMap { if case .packet(let bytes) = $0 { bytes } else { nil } }
    }

    /// Handles the socket's events.
    package func handle(_ event: SocketEvent) {
        switch event {
        case .readable: _ = receive()
        case .writable: journal.add(.writable)
        case .closed(let error):
            while receive() {}
            journal.add(.closed(error))
        }
    }

    private func receive() -> Bool {
        guard let socket = socket.withLock({ $0 }) else { return false }
        let outcome = socket.receive { span in journal.add(.packet(span.withUnsafeBytes { Array($0) })) }
        return outcome == .packet
    }
}

extension PacketSocket {
    /// Sends `packet` without waiting.
    package func send(_ packet: [UInt8]) -> SendOutcome {
        send(packet.span.bytes)
    }
}

/// A gate that holds up a task on a loop while it is closed, for a slow consumer.
package final class Gate: TaskExecutor {
    private struct State {
        var isOpen = true
        var jobs: [UnownedJob] = []
    }

    private let loop: EventLoop
    private let state = Mutex(State())

    /// An open gate before a loop.
    package init(before loop: EventLoop) {
        self.loop = loop
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isOpen = state.withLock { state in
            if !state.isOpen { state.jobs.append(job) }
            return state.isOpen
        }
        if isOpen { run(job) }
    }

    /// Holds up what follows.
    package func close() { state.withLock { $0.isOpen = false } }

    /// Lets pass what was held up, and what follows.
    package func open() {
        let jobs = state.withLock { state in
            state.isOpen = true
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { run(job) }
    }

    private func run(_ job: UnownedJob) {
        loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
