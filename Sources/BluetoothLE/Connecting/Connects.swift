import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// Whose turn it is to be connected to.
//
// Lives on the loop, with the session.
final class Connects {
    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private var queue = ConnectQueue()
    private var timer: LoopTimer?
    /// Why nobody can be connected to now.
    private var end: BluetoothError?

    init(on loop: EventLoop) {
        mark = loop.components.mark("Connects")
        self.loop = loop
    }

    /// How many attempts there are.
    var count: Int { queue.count }

    /// When something changes by the passing of time alone.
    func nextMoment(after now: KernelInstant) -> KernelInstant? { queue.nextMoment(after: now) }

    // MARK: The adapter

    /// Nothing can be done with the adapter for now, or for good.
    func adapterEnds(_ reason: BluetoothError, isForGood: Bool) {
        end = reason
        queue.end(reason)
        // Of an adapter that is off or gone the host tells them itself.
        if isForGood { for connection in queue.connections { connection.giveUp(reason) } }
        timer = nil
    }

    func adapterBecameAvailable() { end = nil }

    // MARK: Turns

    /// Waits until it is this attempt's turn; ``endTurn(_:)`` follows in any case.
    nonisolated(nonsending) func takeTurn(
        for peer: BluetoothAddress, timeout: Duration?
    ) async throws(BluetoothError) -> UInt64 {
        let operation = BluetoothError.Operation("connect", peer: peer)
        if let end { throw end.about(operation) }
        let call = Promise<Void, BluetoothError>()
        let id = queue.enter(call)
        advance()
        do {
            try await call.value(operation, timeout: timeout, on: loop)
        } catch {
            endTurn(id)
            throw error
        }
        return id
    }

    /// Says which connection has the turn.
    func begin(_ turn: UInt64, _ connection: any ConnectAttempt) {
        queue.begin(turn, connection)
        advance()
    }

    /// The attempt is over, or waits no more.
    func endTurn(_ turn: UInt64) {
        queue.leave(turn)
        advance()
    }

    private func advance() {
        let now = loop.now
        queue.admit(at: now)
        for connection in queue.overdue(at: now) { connection.preempt() }
        guard let moment = queue.nextMoment(after: now) else {
            timer?.cancel()
            return
        }
        if timer == nil {
            timer = loop.makeLocalTimer { [weak self] in self?.advance() }
        }
        timer?.set(at: moment)
    }
}
