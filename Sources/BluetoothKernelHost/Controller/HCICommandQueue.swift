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
    func receive(_ event: HCIEvent)
    /// Receives the answer to a command of another program or of the kernel.
    func receiveOthers(_ command: HCICommand, _ status: HCIStatus)
    /// The controller has not answered a command.
    func wasUnanswered(_ command: HCICommand)
    /// The kernel has closed the socket.
    func socketClosed(_ error: KernelError)
    /// Whether the receiver needs the socket's events apart from command answers.
    var needsSocket: Bool { get }
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
    /// Called when a command cannot be sent: the adapter may be off or gone, before the directory reports that.
    package var whenUnreachable: (() -> Void)?

    private let kernel: any BluetoothKernel
    private let log: Logger
    private let trace: PacketSynthesis?
    private var state = State.idle
    private var current: Command?
    private var waiting = RingBuffer<Command>()
    private var answerTimer: LoopTimer?
    /// Another program's unanswered command. The kernel sends the controller one command at a time.
    private var foreignCommand: HCICommand?

    package typealias Answer = Result<HCIReturnParameters, BluetoothError>

    private struct Command {
        let command: HCICommand
        let completion: (Answer) -> Void
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
    package func send(_ command: HCICommand, completion: @escaping (Answer) -> Void) {
        let operation = BluetoothError.Operation("\(command.opcode)", adapter: name)
        do {
            try open(operation)
        } catch {
            return completion(.failure(error))
        }
        guard waiting.count < 64 else {
            return completion(
                .failure(BluetoothError(.busy, operation, "64 commands are already waiting.", isRetryable: true)))
        }
        waiting.append(Command(command: command, completion: completion))
        advance()
    }

    /// Sends a command at once and ignores its answer; false when it could not be sent.
    package func sendLast(_ command: HCICommand) -> Bool { transmit(command) == .sent }

    private func advance() {
        while current == nil, let next = waiting.popFirst() {
            let operation = BluetoothError.Operation("\(next.command.opcode)", adapter: name)
            switch transmit(next.command) {
            case .sent:
                current = next
                answerTimer?.set(after: .seconds(5))
            case .wouldBlock:
                next.completion(
                    .failure(
                        BluetoothError(.busy, operation, "The adapter's command queue is full.", isRetryable: true)))
            case .failed(let error):
                // If the adapter is down, its user ends everything with the reason.
                whenUnreachable?()
                next.completion(.failure(end ?? .controller(operation, error, kernel.environment())))
            }
        }
    }

    private func transmit(_ command: HCICommand) -> SendOutcome {
        guard let socket, let packet = try? command.packet() else {
            return .failed(KernelError("write", .invalidArgument))
        }
        let outcome = socket.send(packet.span.bytes)
        if outcome == .sent {
            trace?.hci(packet.span.bytes, adapter: index, isSent: true)
            log.trace("HCI → \(command)", metadata: ["adapter": "\(name)"])
        }
        return outcome
    }

    /// Completes the outstanding command and sends the next; after the last the socket may be closed, whether or not a
    /// caller still waits for the answer.
    private func complete(_ answer: Answer) {
        guard let done = current else { return }
        current = nil
        answerTimer?.cancel()
        done.completion(answer)
        advance()
        closeIfIdle()
    }

    private func receiveAnswer<Receiver: HCIReceiver>(
        _ opcode: HCIOpcode, _ answer: HCIReturnParameters, for receiver: Receiver
    ) {
        if let others = foreignCommand, others.opcode == opcode {
            foreignCommand = nil
            if case .status(let status) = answer { receiver.receiveOthers(others, status) }
            return
        }
        guard let current, current.command.opcode == opcode, answer.mayAnswer(current.command) else { return }
        if case .status(let status) = answer, !status.isSuccess {
            complete(.failure(.refused(.init("\(opcode)", adapter: name), status)))
        } else {
            complete(.success(answer))
        }
    }

    private func answerIsLate() {
        guard let current else { return }
        let operation = BluetoothError.Operation("\(current.command.opcode)", adapter: name)
        receiver?.wasUnanswered(current.command)
        complete(
            .failure(
                BluetoothError(
                    .timedOut, operation, "The controller did not answer within 5 s.",
                    remedy: BluetoothError.remedy(
                        "Unplug the adapter and plug it in again, or power it off and on: setPowered(false), setPowered(true).",
                        orRun: "power off -i \(name); sudo ble power on -i \(name)"),
                    isRetryable: true)))
    }

    // MARK: The socket

    /// Opens the socket, if it is not open, to receive events.
    package func open(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        if let end { throw end }
        guard !hasSocket else { return }
        do {
            let socket = try kernel.openHCI(adapter: index) { [weak receiver] event in receiver?.handle(event) }
            var filter = HCISocketFilter.events(
                HCIEventCode.commandComplete.rawValue, HCIEventCode.commandStatus.rawValue,
                HCIEventCode.disconnectionComplete.rawValue, HCIEventCode.encryptionChange.rawValue,
                HCIEventCode.hardwareError.rawValue, HCIEventCode.leMeta.rawValue)
            filter.packetTypes |= 1 << UInt32(HCIPacketType.command.rawValue)
            try socket.setFilter(filter)
            state = .open(socket)
            answerTimer = kernel.loop.makeLocalTimer { [weak self] in self?.answerIsLate() }
        } catch {
            throw .controller(operation, error, kernel.environment())
        }
    }

    /// Handles an event of the socket. Generic, to be specialised for its one receiver, since each report passes here.
    package func handle<Receiver: HCIReceiver>(_ event: SocketEvent, for receiver: Receiver) {
        switch event {
        case .readable: _ = socket?.receive { receive($0, for: receiver) }
        case .writable: break
        case .closed(let error): receiver.socketClosed(error)
        }
    }

    /// Receives the queued packets, at most as many as a socket can hold.
    package func receiveWaiting() {
        if let receiver { receiveWaiting(for: receiver) }
    }

    private func receiveWaiting(for receiver: some HCIReceiver) {
        for _ in 0..<1024 {
            guard socket?.receive({ receive($0, for: receiver) }) == .packet else { return }
        }
    }

    private func receive<Receiver: HCIReceiver>(_ packet: RawSpan, for receiver: Receiver) {
        let isCommand = packet.byteCount > 0 && packet.unsafeLoad(as: UInt8.self) == HCIPacketType.command.rawValue
        trace?.hci(packet, adapter: index, isSent: isCommand)
        log.trace("HCI ← \(HCIPacketType.description(of: packet))", metadata: ["adapter": "\(name)"])
        do {
            if isCommand {
                foreignCommand = try HCICommand(decoding: packet)
                return
            }
            let event = try HCIEvent(decoding: packet)
            switch event {
            case .leMeta(.advertisingReports(let reports)): receiver.receive(reports)
            case .commandComplete(let answer):
                receiveAnswer(answer.opcode, try HCIReturnParameters(decoding: answer), for: receiver)
            case .commandStatus(let answer): receiveAnswer(answer.opcode, .status(answer.status), for: receiver)
            default: receiver.receive(event)
            }
        } catch {
            log.debug("\(error)", metadata: ["adapter": "\(name)"])
        }
    }

    // MARK: Its end

    /// Refuses new commands for this reason; ``close()`` follows.
    package func refuse(_ reason: BluetoothError) {
        answerTimer?.cancel()
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
        (current, foreignCommand) = (nil, nil)
        socket?.close()
        state = .ended(reason)
        for command in unanswered { command.completion(.failure(reason)) }
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
            foreignCommand = nil
        }
        receiver?.socketDidClose()
    }
}

extension HCIReturnParameters {
    /// Whether this can be the answer to `command`: one about another link belongs to another program.
    package func mayAnswer(_ command: HCICommand) -> Bool {
        switch (command, self) {
        case (.readRSSI(let asked), .rssi(let told, _)): asked == told
        case (.readTransmitPowerLevel(let asked, _), .transmitPower(let told, _)): asked == told
        case (.leReadPHY(let asked), .phys(let told)): asked == told.handle
        case (.leSetDataLength(let asked, _, _), .dataLengthSet(let told)): asked == told
        default: true
        }
    }
}
