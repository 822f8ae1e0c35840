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
    /// The devices that connects are under way to.
    private var devices: [BluetoothAddress: Device] = [:]
    /// The reason why no attempt can begin now.
    private var end: BluetoothError?

    private struct Device {
        /// Whether the connect waits for room for another link.
        var waitsForRoom = false
        /// The connects that wait for its end, or for a change of that.
        var others = WaiterList<Void, BluetoothError>()
    }

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
        if isForGood { for link in queue.links { link.giveUp(reason) } }
        timer = nil
    }

    func adapterBecameAvailable() { end = nil }

    // MARK: Devices

    /// Waits until no other connect to a device is under way, and begins one, which ``end(_:)`` must follow. While the
    /// other waits for room for another link, this one does so as well, unless it was admitted to room.
    nonisolated(nonsending) func begin(
        _ peer: BluetoothAddress, within time: inout ConnectTime, isAdmitted: Bool
    ) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("connect", peer: peer)
        while let device = devices[peer] {
            let start = loop.now
            let waitsForRoom = device.waitsForRoom && !isAdmitted
            if waitsForRoom, time.room == nil { throw .linkLimitReached(operation, nil) }
            let call = Promise<Void, BluetoothError>()
            devices[peer]?.others.append(call)
            do throws(BluetoothError) {
                try await call.value(
                    operation, timeout: waitsForRoom ? time.room : time.remaining(at: start), on: loop)
            } catch {
                guard error.code == .timedOut else { throw error }
                if waitsForRoom { throw .noLinkHasEnded(operation) }
                var error = error
                error.remedy = BluetoothError.outOfReachRemedy
                throw error
            }
            if waitsForRoom { time.waitedForRoom(from: start, to: loop.now) }
        }
        devices[peer] = Device()
    }

    /// Records whether the connect to a device waits for room for another link.
    func connect(to peer: BluetoothAddress, waitsForRoom: Bool) {
        devices[peer]?.waitsForRoom = waitsForRoom
        devices[peer]?.others.succeedAll()
    }

    func end(_ peer: BluetoothAddress) {
        var device = devices.removeValue(forKey: peer)
        device?.others.succeedAll()
    }

    // MARK: Turns

    /// Throws the reason for which the adapter cannot connect.
    func checkUsable(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        if let end { throw end.about(operation) }
    }

    /// Waits for the turn of an attempt; ``endTurn(_:)`` must follow.
    nonisolated(nonsending) func waitForTurn(
        for peer: BluetoothAddress, timeout: Duration?
    ) async throws(BluetoothError) -> UInt64 {
        let operation = BluetoothError.Operation("connect", peer: peer)
        try checkUsable(operation)
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
    func begin(_ turn: UInt64, _ link: Link) {
        queue.begin(turn, link)
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
        for link in queue.overdue(at: now) { link.preempt() }
        loop.set(&timer, to: queue.nextDeadline(after: now), of: self) { $0.advance() }
    }
}
