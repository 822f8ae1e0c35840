import BluetoothLE
import BluetoothLoop

/// The links of a UART that outlives them: opens one after the other, and moves the bytes.
//
// Holds more than ten variables: one UART through all its links, with its device and its followers.
actor KeptDriver: LoopActor, KeptLinks {
    static func isFinal(_ reason: BluetoothError) -> Bool {
        reason.code == .attributeProtocol || reason.isLossOfBytes
    }

    typealias Choice = @Sendable () async throws(BluetoothError) -> UARTDevice

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
    private var choice: Choice?
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
        _ device: UARTDevice, _ options: KeptUARTOptions, on loop: EventLoop, choosing choice: Choice?,
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

    private func publish(_ event: KeptUART.Event) {
        latest = event
        eventStreams.send(event)
    }

    func report(_ event: KeptConnection.Event) {
        switch event.kind {
        case .connecting(let attempt): publish(.init(.connecting(attempt: attempt)))
        case .failed(let reason, let delay): publish(.init(.failed(reason, retryAfter: delay)))
        case .waitingForAdapter(let reason): publish(.init(.waitingForAdapter(reason)))
        case .connected, .disconnected: break
        }
    }

    /// Ends the link, and everything with it.
    func disconnect(cancelling task: Task<Void, Never>, timeout: Duration?) async {
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

    /// Opens links until the task is cancelled, the policy gives up, or the central is closed.
    func run(on central: some Central) async {
        let number: UInt64 = if case .address(let address) = device { address.value } else { 0 }
        let reason = await withTaskGroup(of: BluetoothError?.self) { group in
            group.addTask(executorPreference: loop) { [options] in
                await self.keep(on: central, options.policy, number: number)
            }
            group.addTask(executorPreference: loop) { await central.closed() }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        let end = isEnding && reason?.code == .cancelled || Task.isCancelled ? nil : reason
        phase = .ended(end)
        await sender.finish(end ?? .cancelled)
        buffer.finish(end)
        eventStreams.finish(end)
    }

    private var isEnding: Bool { if case .ending = phase { true } else { Task.isCancelled } }

    // MARK: A link

    /// Opens the UART, and moves bytes in both directions until the link ends.
    func useLink(
        of central: some Central, attempt: Int, waitsForSlot: Bool
    ) async throws(BluetoothError) -> (reason: BluetoothError, duration: Duration) {
        if let choice {
            device = try await choice()
            self.choice = nil
        }
        let uart = try await UARTConnection.open(
            device, on: central, options: options.uart, attempt: attempt, isPatient: true, waitsForSlot: waitsForSlot,
            progress: progress)
        let start = loop.now
        let reason = await serve(uart)
        // The program has ended it, unless it has lost bytes.
        let isOver = isEnding && !reason.isLossOfBytes
        return (isOver ? .cancelled(Self.operation) : reason, start.duration(to: loop.now))
    }

    private func serve(_ uart: UARTConnection) async -> BluetoothError {
        guard !isEnding else {
            await uart.connection.leave(timeout: .zero)
            return .cancelled(Self.operation)
        }
        phase = .online(uart)
        linkCount += 1
        publish(.init(.online(uart)))
        buffer.setDraining(false)
        let reason = await withTaskGroup(of: BluetoothError.self) { group in
            group.addTask(executorPreference: loop) { await self.receive(from: uart) }
            group.addTask(executorPreference: loop) { await self.send(to: uart) }
            var reason = await group.next() ?? .cancelled(Self.operation)
            // Ends the other direction: receiving after what the link has received, so nothing is cancelled here. A
            // program that does not read does not delay the next link.
            buffer.setDraining(true)
            if Task.isCancelled {
                await uart.connection.leave(timeout: .zero)
            } else {
                await uart.connection.disconnect()
            }
            if let other = await group.next(), other.isLossOfBytes { reason = other }
            return reason
        }
        if case .online = phase { phase = .offline }
        let unconfirmed = await sender.linkEnded()
        publish(.init(.offline(reason, unconfirmedByteCount: unconfirmed)))
        return reason
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
    private func receive(from uart: UARTConnection) async -> BluetoothError {
        do throws(BluetoothError) {
            while let bytes = try await uart.read() {
                guard await buffer.append(bytes) else { return .cancelled(Self.operation) }
                let limit = options.uart.receiveCapacity + Self.drainCapacity
                guard buffer.count <= limit else { return .overflow(.init("receive"), capacity: limit) }
            }
            return await uart.connection.disconnected()
        } catch {
            return error
        }
    }
}

extension BluetoothError {
    /// Whether received bytes were lost, rather than that too many calls were waiting.
    fileprivate var isLossOfBytes: Bool { code == .overflow && !isRetryable }

    /// The error of calls on a UART that its program has disconnected.
    fileprivate static var cancelled: BluetoothError {
        BluetoothError(.cancelled, .init("use the UART"), "This program has disconnected it.")
    }
}
