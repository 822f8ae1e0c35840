import BluetoothLE
import BluetoothLoop

/// The sending side of a UART that outlives links: the program's bytes wait in it for a link.
//
// Holds more than ten variables: the unsent bytes of one UART, and the callers that wait for them.
actor KeptSender: LoopActor {
    private let mark: ComponentCount.Mark
    nonisolated let loop: EventLoop
    private let whileOffline: KeptUARTOptions.OfflineBehavior
    private var bytes: OutgoingBytes
    /// Admits the program's calls one after the other.
    private let turns = TurnQueue()
    /// The call that waits for room in the buffer.
    private var room: Promise<Void, BluetoothError>?
    /// The task that waits for a chunk.
    private var chunk: Promise<Bool, Never>?
    /// The task that waits until a confirmation is needed.
    private var confirmation: Promise<Bool, Never>?
    private var flushes: [(end: Int, promise: Promise<Void, BluetoothError>)] = []
    /// The number of bytes left unconfirmed that no call of ``flush(timeout:)`` has reported.
    private var unreported = 0
    private var end: BluetoothError?

    init(_ options: KeptUARTOptions, on loop: EventLoop) {
        mark = loop.components.mark("KeptSender")
        self.loop = loop
        whileOffline = options.whileOffline
        bytes = OutgoingBytes(capacity: options.sendCapacity)
    }

    // MARK: The program

    /// The counts, apart from those of links and of received bytes.
    var statistics: KeptUART.Statistics {
        var statistics = KeptUART.Statistics()
        statistics.sentByteCount = bytes.sent
        statistics.confirmedByteCount = bytes.confirmed
        statistics.unconfirmedByteCount = bytes.unconfirmed
        statistics.bufferedByteCount = bytes.buffered
        statistics.droppedByteCount = bytes.dropped
        return statistics
    }

    func send(_ all: [UInt8]) async throws(BluetoothError) {
        let operation = BluetoothError.Operation("send")
        guard await turns.enter() else { throw .cancelled(operation) }
        defer { turns.leave() }
        var rest = all[...]
        while true {
            if let end { throw end }
            if whileOffline == .drop, !bytes.isOnline {
                bytes.drop(rest.count)
                return
            }
            rest = rest.dropFirst(bytes.append(rest))
            resumeWaiters()
            if rest.isEmpty { return }
            let promise = Promise<Void, BluetoothError>()
            room = promise
            try await promise.value(operation, timeout: nil, on: loop)
        }
    }

    func flush(timeout: Duration?) async throws(BluetoothError) {
        if let end { throw end }
        if unreported > 0 { throw reportLoss() }
        guard bytes.settled < bytes.end else { return }
        let promise = Promise<Void, BluetoothError>()
        flushes.removeAll { $0.promise.isResolved }
        flushes.append((bytes.end, promise))
        try await promise.value(.init("flush"), timeout: timeout, on: loop)
    }

    private func reportLoss() -> BluetoothError {
        defer { unreported = 0 }
        return BluetoothError(
            .disconnected, .init("flush"),
            "The link ended before the device had confirmed \(unreported) bytes; they may be lost.")
    }

    // MARK: The link

    /// Sends bytes over a link until one cannot be sent, and returns why.
    func run(on uart: UARTConnection) async -> BluetoothError {
        bytes.linkOpened(uart.isWrittenByRequest ? .byResponse : .byLaterRequest)
        return await withTaskGroup(of: BluetoothError.self) { group in
            group.addTask(executorPreference: loop) { await self.handOver(to: uart) }
            group.addTask(executorPreference: loop) { await self.confirm(on: uart) }
            defer { group.cancelAll() }
            return await group.next() ?? .cancelled(.init("send"))
        }
    }

    /// Records that the link has ended; returns the number of bytes that it leaves unconfirmed.
    func linkEnded() -> Int {
        let lost = bytes.linkEnded()
        unreported += lost
        // A call that has ended, by its time limit or by cancellation, reports nothing.
        flushes.removeAll { $0.promise.isResolved }
        if lost > 0, !flushes.isEmpty {
            let reason = reportLoss()
            for flush in flushes { flush.promise.fail(reason) }
            flushes = []
        }
        if whileOffline == .drop { room?.succeed() }
        return lost
    }

    private func handOver(to uart: UARTConnection) async -> BluetoothError {
        while true {
            let limit = await uart.maximumChunkLength
            guard let next = bytes.offerChunk(limit: limit) else {
                let promise = Promise<Bool, Never>()
                chunk = promise
                guard await promise.value(ifCancelled: false) else { return .cancelled(.init("send")) }
                continue
            }
            switch await uart.handOver(next) {
            case .accepted: bytes.chunkAccepted()
            case .confirmed: bytes.chunkConfirmed()
            case .notSent(let error):
                bytes.chunkNotSent()
                return error
            case .uncertain(let error):
                bytes.chunkAccepted()
                return error
            }
            resumeWaiters()
        }
    }

    private func confirm(on uart: UARTConnection) async -> BluetoothError {
        while true {
            guard bytes.needsConfirmation else {
                let promise = Promise<Bool, Never>()
                confirmation = promise
                guard await promise.value(ifCancelled: false) else { return .cancelled(.init("send")) }
                continue
            }
            bytes.confirmationRequested()
            do throws(BluetoothError) { try await uart.confirm() } catch { return error }
            bytes.confirmationReceived()
            resumeWaiters()
        }
    }

    /// Resumes what can go on after a change.
    private func resumeWaiters() {
        if bytes.hasRoom { room?.succeed() }
        if bytes.hasChunk { chunk?.succeed(true) }
        if bytes.needsConfirmation { confirmation?.succeed(true) }
        while let first = flushes.first, first.end <= bytes.settled {
            first.promise.succeed()
            flushes.removeFirst()
        }
    }

    // MARK: The end

    /// Ends all calls.
    func finish(_ reason: BluetoothError) {
        end = reason
        room?.fail(reason)
        for flush in flushes { flush.promise.fail(reason) }
        flushes = []
    }
}
