import BluetoothLE
import BluetoothLoop

/// The links of a UART that outlives them: opens one after the other, and moves the bytes.
actor KeptDriver: LoopActor {
    private enum Phase {
        /// There is no link.
        case offline
        case online(UARTConnection)
        /// The program has disconnected, or released it.
        case ending
        /// With an error, or regularly.
        case ended(BluetoothError?)
    }

    private let mark: ComponentCount.Mark
    nonisolated let loop: EventLoop
    nonisolated let sender: KeptSender
    nonisolated let buffer: ReceiveBuffer
    private var device: UARTDevice
    /// Finds the device to stay with; nil when it is found.
    private var choice: UARTChoice?
    private let options: KeptUARTOptions
    private let progress: (@Sendable (UARTProgress) -> Void)?
    private var phase = Phase.offline
    private var linkCount = 0
    private var latest: KeptUART.Event?
    private var eventStreams = Broadcaster<KeptUART.Event>()

    /// The number of bytes of ended links, beyond the capacity, that wait for a slow reader.
    private static let drainCapacity = 1 << 21

    private static let operation = BluetoothError.Operation("keep the UART connected")

    init(
        _ device: UARTDevice, _ options: KeptUARTOptions, on loop: EventLoop, choosing choice: UARTChoice?,
        progress: (@Sendable (UARTProgress) -> Void)?
    ) {
        mark = loop.components.mark("KeptDriver")
        self.loop = loop
        self.device = device
        self.choice = choice
        self.options = options
        self.progress = progress
        sender = KeptSender(options, on: loop)
        buffer = ReceiveBuffer(capacity: options.uart.receiveCapacity, operation: .init("receive"))
    }

    // MARK: The program

    var uart: UARTConnection? { if case .online(let uart) = phase { uart } else { nil } }

    var statistics: KeptUART.Statistics {
        get async {
            var statistics = await sender.statistics
            statistics.linkCount = linkCount
            statistics.receivedByteCount = buffer.total
            return statistics
        }
    }

    func events(_ bufferCapacity: Int) -> BoundedStream<KeptUART.Event> {
        var first = latest.map { [$0] } ?? []
        if case .ended = phase { first = [] }
        let stream = eventStreams.stream(
            capacity: bufferCapacity, policy: .dropOldest, Self.operation, from: loop, beginningWith: first)
        if case .ended(let reason) = phase { stream.finish(reason) }
        return stream
    }

    private func report(_ event: KeptUART.Event) {
        latest = event
        eventStreams.send(event)
    }

    /// Ends the link, and everything with it.
    func disconnect(cancelling task: Task<Void, Never>, timeout: Duration) async {
        switch phase {
        case .online(let uart):
            phase = .ending
            // Without cancellation, so that what the link has received is delivered.
            await uart.connection.disconnect(timeout: timeout)
        case .offline:
            phase = .ending
            task.cancel()
        case .ending, .ended: break
        }
        await task.value
    }

    // MARK: Running

    /// Opens links until the task is cancelled, the policy gives up, or the adapter is closed.
    func run(on radio: some CentralRadio) async {
        let reason = await withTaskGroup(of: BluetoothError?.self) { group in
            group.addTask(executorPreference: loop) { await self.keep(on: radio) }
            group.addTask(executorPreference: loop) { await radio.closed() }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        let end = Task.isCancelled ? nil : reason
        phase = .ended(end)
        await sender.finish(end ?? .cancelled)
        buffer.finish(end)
        eventStreams.finish(end)
    }

    private var isEnding: Bool { if case .ending = phase { true } else { Task.isCancelled } }

    /// Returns the reason of the end; nil when the program has ended it.
    private func keep(on radio: some CentralRadio) async -> BluetoothError? {
        var reconnection = ReconnectionProgress(options.policy)
        var waitsForSlot = false
        while true {
            let attempt = reconnection.beginAttempt()
            if !reconnection.isSilent { report(.connecting(attempt: attempt)) }
            let reason: BluetoothError
            do throws(BluetoothError) {
                if let choice {
                    device = try await choice()
                    self.choice = nil
                }
                let uart = try await UARTConnection.open(
                    device, on: radio, options: options.uart, attempt: attempt, isPatient: true,
                    waitsForSlot: waitsForSlot,
                    progress: progress)
                waitsForSlot = false
                let start = loop.now
                let end = await serve(uart)
                reconnection.linkEnded(after: start.duration(to: loop.now))
                if end.isFinal { return end.reason }
                reason = end.reason
            } catch {
                reason = error
                reconnection.attemptFailed(reason)
                waitsForSlot = error.code == .linkLimitReached
            }
            if isEnding { return nil }
            guard reason.code != .attributeProtocol, reconnection.isWorthRetrying(reason) else { return reason }
            if waitsForSlot {
                // The next attempt waits for the end of a link, so that no delay is needed.
                report(.waitingForAdapter(reason))
                continue
            }
            do throws(BluetoothError) {
                try await pause(reason, reconnection, on: radio)
            } catch {
                return isEnding ? nil : error
            }
        }
    }

    /// Waits for the adapter and for the policy's delay before the next attempt.
    private func pause(
        _ reason: BluetoothError, _ reconnection: ReconnectionProgress, on radio: some CentralRadio
    ) async throws(BluetoothError) {
        if reason.concernsAdapter {
            report(.waitingForAdapter(reason))
            try await radio.ready(timeout: nil)
        }
        let delay = reconnection.delay(at: loop.now, for: radio.seed)
        guard delay > .zero else { return }
        if !reason.concernsAdapter, !reconnection.isRepeated { report(.failed(reason, retryAfter: delay)) }
        guard await loop.sleep(for: delay) else { throw .cancelled(Self.operation) }
    }

    // MARK: A link

    /// Moves bytes in both directions until the link ends, and returns why, and whether no other link may follow.
    private func serve(_ uart: UARTConnection) async -> (reason: BluetoothError, isFinal: Bool) {
        guard !isEnding else {
            await uart.connection.leave(timeout: .zero)
            return (.cancelled(Self.operation), false)
        }
        phase = .online(uart)
        linkCount += 1
        report(.online(uart))
        buffer.setDraining(false)
        let end = await withTaskGroup(of: (reason: BluetoothError, isFinal: Bool).self) { group in
            group.addTask(executorPreference: loop) { await self.receive(from: uart) }
            group.addTask(executorPreference: loop) { (await self.send(to: uart), false) }
            var end = await group.next() ?? (.cancelled(Self.operation), false)
            // Ends the other direction: receiving after what the link has received, so nothing is cancelled here. A
            // program that does not read does not delay the next link.
            buffer.setDraining(true)
            if Task.isCancelled {
                await uart.connection.leave(timeout: .zero)
            } else {
                await uart.connection.disconnect()
            }
            if let other = await group.next(), other.isFinal { end = other }
            return end
        }
        if case .online = phase { phase = .offline }
        let unconfirmed = await sender.linkEnded()
        report(.offline(end.reason, unconfirmedByteCount: unconfirmed))
        return end
    }

    /// Sends the program's bytes until the link ends, and returns why.
    private func send(to uart: UARTConnection) async -> BluetoothError {
        await withTaskGroup(of: BluetoothError.self) { group in
            group.addTask(executorPreference: loop) { await self.sender.run(on: uart) }
            group.addTask(executorPreference: loop) { await uart.connection.disconnected() }
            defer { group.cancelAll() }
            return await group.next() ?? .cancelled(Self.operation)
        }
    }

    /// Moves received bytes to the program's buffer until the link ends.
    private func receive(from uart: UARTConnection) async -> (reason: BluetoothError, isFinal: Bool) {
        do throws(BluetoothError) {
            while let bytes = try await uart.read() {
                guard await buffer.append(bytes) else { return (.cancelled(Self.operation), false) }
                let limit = options.uart.receiveCapacity + Self.drainCapacity
                guard buffer.count <= limit else { return (.overflow(.init("receive"), capacity: limit), true) }
            }
            return (await uart.connection.disconnected(), false)
        } catch {
            return (error, error.code == .overflow)
        }
    }
}

extension BluetoothError {
    /// The error of calls on a UART that its program has disconnected.
    fileprivate static var cancelled: BluetoothError {
        BluetoothError(.cancelled, .init("use the UART"), "This program has disconnected it.")
    }
}
