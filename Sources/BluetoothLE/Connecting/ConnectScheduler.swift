import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// The scheduler of connection attempts.
//
// Lives on the loop, with the session.
final class ConnectScheduler {
    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private var queue = ConnectQueue()
    private var timer: LoopTimer?
    /// The devices that connects are under way to, with those that wait for their ends.
    private var devices: [BluetoothAddress: WaiterList<Void, BluetoothError>] = [:]
    /// The reason why no attempt can begin now.
    private var end: BluetoothError?

    init(on loop: EventLoop) {
        mark = loop.components.mark("ConnectScheduler")
        self.loop = loop
    }

    /// The number of attempts, waiting and under way.
    var count: Int { queue.count }

    /// The end of the next time slice; nil while no attempt waits.
    func nextDeadline(after now: KernelInstant) -> KernelInstant? { queue.nextDeadline(after: now) }

    // MARK: The adapter

    /// Handles an adapter that has become unusable, permanently if `isForGood`.
    func adapterEnds(_ reason: BluetoothError, isForGood: Bool) {
        end = reason
        queue.fail(reason)
        // For an adapter that is off or absent, the host reports each attempt's end itself.
        if isForGood { for connection in queue.connections { connection.giveUp(reason) } }
        timer = nil
    }

    func adapterBecameAvailable() { end = nil }

    // MARK: Devices

    /// Waits until no other connect to a device is under way, and begins one, which ``end(_:)`` must follow.
    nonisolated(nonsending) func begin(_ peer: BluetoothAddress, timeout: Duration?) async throws(BluetoothError) {
        let deadline = timeout.map { loop.now.advanced(by: $0) }
        while let call = devices[peer]?.makePromise() {
            do throws(BluetoothError) {
                let remaining = deadline.map { loop.now.duration(to: $0) }
                try await call.value(.init("connect", peer: peer), timeout: remaining, on: loop)
            } catch {
                var error = error
                if error.code == .timedOut { error.remedy = BluetoothError.outOfReachRemedy }
                throw error
            }
        }
        devices[peer] = WaiterList()
    }

    func end(_ peer: BluetoothAddress) {
        var waiters = devices.removeValue(forKey: peer)
        waiters?.succeedAll()
    }

    // MARK: Turns

    /// Waits for the turn of an attempt; ``endTurn(_:)`` must follow.
    nonisolated(nonsending) func waitForTurn(
        for peer: BluetoothAddress, timeout: Duration?
    ) async throws(BluetoothError) -> UInt64 {
        let operation = BluetoothError.Operation("connect", peer: peer)
        if let end { throw end.about(operation) }
        let call = Promise<Void, BluetoothError>()
        let id = queue.append(call)
        advance()
        do {
            try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            endTurn(id)
            throw error
        }
        return id
    }

    /// Sets the link of an attempt.
    func begin(_ turn: UInt64, _ connection: any ConnectAttempt) {
        queue.begin(turn, connection)
        advance()
    }

    /// Ends an attempt, waiting or under way.
    func endTurn(_ turn: UInt64) {
        queue.remove(turn)
        advance()
    }

    private func advance() {
        let now = loop.now
        queue.admit(at: now)
        for connection in queue.overdue(at: now) { connection.preempt() }
        guard let deadline = queue.nextDeadline(after: now) else {
            timer?.cancel()
            return
        }
        if timer == nil {
            timer = loop.makeLocalTimer { [weak self] in self?.advance() }
        }
        timer?.set(at: deadline)
    }
}
