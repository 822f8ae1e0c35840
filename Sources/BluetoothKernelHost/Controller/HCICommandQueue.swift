import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import Logging

/// The receiver of a controller's events, called while a packet is being received.
package protocol HCIReceiver: AnyObject {
    /// Receives an event of the socket, to be passed to ``HCICommandQueue/handle(_:for:)``.
    func handle(_ event: SocketEvent)
    /// Receives advertising reports, the most frequent event.
    func receive(_ reports: AdvertisingReports)
    /// Receives an event other than reports and command answers.
    func receive(_ event: HCIEventPacket) throws(TruncatedBytes)
    /// Receives the answer to a command of another program or of the kernel.
    func receiveOthers(_ command: AnyHCICommand, _ status: HCIStatus)
    /// The controller has not answered a command.
    func wasUnanswered(_ command: HCIOpcode)
    /// A command could not be sent.
    func couldNotSend()
    /// The kernel has closed the socket.
    func socketClosed(_ error: KernelError)
    /// Whether the receiver needs the socket's events apart from command answers.
    var needsSocket: Bool { get }
    /// The longest time for which packets may wait in the socket while no command is outstanding.
    var batching: Duration { get }
    /// The socket is closed until the next command.
    func socketDidClose()
}

/// The queue of commands to one controller, one outstanding at a time, on a raw HCI socket.
///
/// The socket receives the commands of all other programs, as the kernel passes them to the controller one at a time,
/// and all answers. So an answer belongs to another program's command when one was seen before it, and otherwise to
/// ours.
//
// Lives on the loop, with its one owner, which receives the events.
// Holds more than ten variables: one exchange of commands on one socket, with those of other programs.
package final class HCICommandQueue {
    private let mark: ComponentCount.Mark
    private enum State {
        /// No socket is needed; the next command opens one.
        case idle
        case open(any HCISocket)
        /// Refuses new commands; one last command can be sent.
        case ending(any HCISocket, BluetoothError)
        case ended(BluetoothError)
    }

    /// The N of hciN; an adapter that was plugged in again may have another.
    package private(set) var index: UInt16
    /// The receiver of the events.
    package weak var receiver: (any HCIReceiver)?

    private let kernel: any BluetoothKernel
    private let log: Logger
    private let trace: PacketSynthesis?
    private var state = State.idle
    private var current: Command?
    private var waiting = RingBuffer<Command>()
    private lazy var answerTimer = kernel.loop.makeTimer(of: self) { $0.answerIsLate() }
    /// While packets are left in the socket for the receiver's time of batching.
    private var batchTimer: LoopTimer?
    /// Another program's unanswered command. The kernel sends the controller one command at a time.
    private var foreignCommand: AnyHCICommand?

    private struct Command {
        let opcode: HCIOpcode
        /// Nil if the parameters do not fit.
        let packet: [UInt8]?
        /// Returns the call's completion with a failure, or with the return parameters, which it decodes; nil for those
        /// of another program's command.
        let answer: (BluetoothError?, RawSpan) throws(TruncatedBytes) -> (() -> Void)?

        func fail(_ error: BluetoothError) {
            // A failure has no parameters to decode.
            if let completion = try? answer(error, RawSpan()) { completion() }
        }
    }

    package init(adapter index: UInt16, on kernel: any BluetoothKernel, log: Logger, trace: PacketSynthesis?) {
        mark = kernel.loop.components.mark("HCICommandQueue")
        self.index = index
        self.kernel = kernel
        self.log = log
        self.trace = trace
    }

    package var name: String { "hci\(index)" }

    /// The reason why commands are refused now; nil while they are accepted.
    package var end: BluetoothError? {
        switch state {
        case .ending(_, let reason), .ended(let reason): reason
        case .idle, .open: nil
        }
    }

    private var socket: (any HCISocket)? {
        switch state {
        case .open(let socket), .ending(let socket, _): socket
        case .idle, .ended: nil
        }
    }

    /// Whether the socket is open.
    package var hasSocket: Bool { socket != nil }
    /// Whether no command is outstanding.
    private var isIdle: Bool { current == nil && waiting.isEmpty }

    // MARK: Commands

    /// Enqueues a command and passes its answer to `completion` on the loop.
    ///
    /// A refusal fails with the controller's status. A command without an answer fails after 5 s.
    package func send<Command: HCICommand>(
        _ command: Command, completion: @escaping (Result<Command.Return, BluetoothError>) -> Void
    ) {
        let operation = operation(Command.opcode)
        do {
            try open(operation)
        } catch {
            return completion(.failure(error))
        }
        guard waiting.count < 64 else {
            return completion(
                .failure(BluetoothError(.busy, operation, "64 commands are already waiting.", isRetryable: true)))
        }
        waiting.append(
            Self.Command(
                opcode: Command.opcode, packet: try? command.packet(),
                answer: { (failure, parameters) throws(TruncatedBytes) in
                    if let failure { return { completion(.failure(failure)) } }
                    var reader = ByteReader(parameters)
                    let answer: Command.Return = try reader.read()
                    return command.mayBeAnswered(by: answer) ? { completion(.success(answer)) } : nil
                }))
        advance()
    }

    /// Sends a command and returns its answer; a failure is that of `operation`.
    nonisolated(nonsending) func answer<Command: HCICommand>(
        to command: Command, _ operation: BluetoothError.Operation, timeout: Duration? = .seconds(10)
    ) async throws(BluetoothError) -> Command.Return {
        let call = Promise<Command.Return, BluetoothError>()
        send(command) { call.resolve($0.mapError { $0.about(operation) }) }
        return try await call.value(operation, timeout: timeout, on: kernel.loop)
    }

    private func operation(_ opcode: HCIOpcode) -> BluetoothError.Operation { .init("\(opcode)", adapter: name) }

    /// Sends a command at once and ignores its answer; false when it could not be sent.
    package func sendLast(_ command: some HCICommand) -> Bool { transmit(try? command.packet()) == .sent }

    private func advance() {
        while current == nil, let next = waiting.popFirst() {
            let operation = operation(next.opcode)
            switch transmit(next.packet) {
            case .sent:
                current = next
                answerTimer.set(after: .seconds(5))
            case .wouldBlock:
                next.fail(BluetoothError(.busy, operation, "The adapter's command queue is full.", isRetryable: true))
            case .failed(let error):
                // If the adapter is down, its user ends everything with the reason.
                receiver?.couldNotSend()
                next.fail(end ?? .controller(operation, error, kernel.environment()))
            }
        }
    }

    private func transmit(_ packet: [UInt8]?) -> SendOutcome {
        guard let socket, let packet else {
            return .failed(KernelError("write", .invalidArgument))
        }
        let outcome = socket.send(packet.span.bytes)
        if outcome == .sent {
            trace?.hci(packet.span.bytes, adapter: index, isSent: true)
            log.trace("HCI → \(HCIPacketType.description(of: packet.span.bytes))", metadata: ["adapter": "\(name)"])
        }
        return outcome
    }

    /// Completes the outstanding command and sends the next; after the last the socket may be closed, whether or not a
    /// caller still waits for the answer.
    private func complete(_ completion: () -> Void) {
        current = nil
        answerTimer.cancel()
        completion()
        advance()
        closeIfIdle()
    }

    private func receiveAnswer<Receiver: HCIReceiver>(
        _ opcode: HCIOpcode, _ status: HCIStatus, _ parameters: RawSpan, for receiver: Receiver
    ) {
        if let others = foreignCommand, others.opcode == opcode {
            foreignCommand = nil
            return receiver.receiveOthers(others, status)
        }
        guard let current, current.opcode == opcode else { return }
        guard status.isSuccess else { return complete { current.fail(.refused(operation(opcode), status)) } }
        do throws(TruncatedBytes) {
            if let completion = try current.answer(nil, parameters) { complete(completion) }
        } catch {
            complete { current.fail(.unreadable(operation(opcode))) }
        }
    }

    private func answerIsLate() {
        guard let current else { return }
        receiver?.wasUnanswered(current.opcode)
        let error = BluetoothError(
            .timedOut, operation(current.opcode), "The controller did not answer within 5 s.",
            remedy: BluetoothError.remedy(
                "Unplug the adapter and plug it in again, or power it off and on.",
                inCode: "setPowered(false), setPowered(true).",
                orRun: "power off -i \(name); sudo ble power on -i \(name)"),
            isRetryable: true)
        complete { current.fail(error) }
    }

    // MARK: The socket

    /// Opens the socket, if it is not open, to receive events.
    package func open(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        if let end { throw end }
        guard !hasSocket else { return endBatch() }
        do {
            let socket = try kernel.openHCI(adapter: index) { [weak receiver] event in receiver?.handle(event) }
            var filter = HCISocketFilter.events(
                HCIEventCode.commandComplete.code, HCICommandStatus.code.code, HCIDisconnectionComplete.code.code,
                HCIEncryptionChange.code.code, HCIHardwareError.code.code, HCIEventCode.leMeta.code)
            filter.packetTypes |= 1 << UInt32(HCIPacketType.command.rawValue)
            try socket.setFilter(filter)
            state = .open(socket)
        } catch {
            throw .controller(operation, error, kernel.environment())
        }
    }

    /// Handles an event of the socket. Generic, to be specialised for its one receiver, since each report passes here.
    package func handle<Receiver: HCIReceiver>(_ event: SocketEvent, for receiver: Receiver) {
        switch event {
        case .readable:
            let limit = batchTimer == nil ? 1 : 1024
            var count = 0
            while count < limit, socket?.receive({ receive($0, for: receiver) }) == .packet { count += 1 }
            if count > 0 { continueBatch(for: receiver.batching) } else { endBatch() }
        case .writable: break
        case .closed(let error): receiver.socketClosed(error)
        }
    }

    /// Leaves the packets of a time in the socket, unless they are needed at once.
    private func continueBatch(for time: Duration) {
        guard time > .zero, isIdle, case .open(let socket) = state else { return endBatch() }
        if let batchTimer { return batchTimer.set(after: time) }
        socket.setReading(false)
        batchTimer = kernel.loop.makeTimer(of: self, after: time) { $0.receiveBatch() }
    }

    /// Receives the packets that were left in the socket. As long as there are some, the next ones are left there, too.
    package func receiveBatch() {
        if batchTimer != nil { receiver?.handle(.readable) }
    }

    /// Receives packets as they come from now on.
    private func endBatch() {
        guard batchTimer != nil else { return }
        batchTimer = nil
        socket?.setReading(true)
    }

    /// Receives the queued packets, at most as many as a socket can hold.
    package func receiveWaiting() {
        for _ in 0..<1024 {
            guard let receiver, socket?.receive({ receive($0, for: receiver) }) == .packet else { return }
        }
    }

    private func receive<Receiver: HCIReceiver>(_ packet: RawSpan, for receiver: Receiver) {
        let isCommand = packet.byteCount > 0 && packet.unsafeLoad(as: UInt8.self) == HCIPacketType.command.rawValue
        trace?.hci(packet, adapter: index, isSent: isCommand)
        log.trace("HCI ← \(HCIPacketType.description(of: packet))", metadata: ["adapter": "\(name)"])
        do {
            if isCommand {
                foreignCommand = try AnyHCICommand(decoding: packet)
                return
            }
            let event = try HCIEventPacket(decoding: packet)
            if let reports = try event.advertisingReports() {
                receiver.receive(reports)
            } else if let answer = try event.commandComplete() {
                guard let status = answer.status else { return }
                receiveAnswer(answer.opcode, status, answer.answerParameters, for: receiver)
            } else if let answer = try event.as(HCICommandStatus.self) {
                receiveAnswer(answer.opcode, answer.status, RawSpan(), for: receiver)
            } else {
                try receiver.receive(event)
            }
        } catch {
            log.debug("\(error)", metadata: ["adapter": "\(name)"])
        }
    }

    // MARK: Its end

    /// Refuses new commands for this reason; ``close()`` follows.
    package func refuse(_ reason: BluetoothError) {
        answerTimer.cancel()
        switch state {
        case .idle: state = .ended(reason)
        case .open(let socket): state = .ending(socket, reason)
        case .ending, .ended: break
        }
    }

    /// Fails the outstanding commands with the reason of ``refuse(_:)``, and closes the socket.
    package func close() {
        guard let reason = end else { return }
        var unanswered = current.map { [$0] } ?? []
        while let next = waiting.popFirst() { unanswered.append(next) }
        (current, foreignCommand, batchTimer) = (nil, nil, nil)
        socket?.close()
        state = .ended(reason)
        for command in unanswered { command.fail(reason) }
    }

    /// Reopens an ended queue for an adapter that may have another index.
    package func reopen(_ index: UInt16) {
        guard case .ended = state else { return }
        state = .idle
        self.index = index
    }

    /// Closes the socket until the next command, unless it is needed.
    package func closeIfIdle() {
        guard isIdle, receiver?.needsSocket != true else { return }
        if case .open(let socket) = state {
            socket.close()
            state = .idle
            (foreignCommand, batchTimer) = (nil, nil)
        }
        receiver?.socketDidClose()
    }
}
