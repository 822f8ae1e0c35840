import BluetoothKernel
import BluetoothPrimitives
import HCI
import Logging

/// One controller's HCI: commands one at a time, and what it hears while scanning.
///
/// A raw HCI socket sees the answers to everybody's commands, the kernel's included. So a command is only taken as
/// answered by a Command Complete or Command Status for its opcode that comes after it was sent, and the next is sent
/// only then.
actor Controller: LoopActor {
    nonisolated let loop: EventLoop
    nonisolated let index: UInt16
    let kernel: any BluetoothKernel
    let management: ManagementClient
    let log: Logger
    let ownAddressType: LEOwnAddressType

    private var socket: (any HCISocket)?
    private var current: Command?
    private var waiting = RingBuffer<Command>()
    private var answerTimer: LoopTimer?
    private var end: BluetoothError?

    /// Ends the wait for the kernel's answer to the end of a discovery.
    var discoveryTimer: LoopTimer?

    /// Who listens to what the controller hears; see Controller+Scanning.
    var scanning = Scanning()

    typealias Answer = Result<HCIReturnParameters, BluetoothError>

    private struct Command {
        let command: HCICommand
        let completion: (Answer) -> Void
    }

    init(
        _ index: UInt16, ownAddressType: LEOwnAddressType, management: ManagementClient,
        on kernel: any BluetoothKernel, log: Logger
    ) {
        self.index = index
        self.management = management
        self.ownAddressType = ownAddressType
        self.kernel = kernel
        self.log = log
        loop = kernel.loop
    }

    nonisolated var name: String { "hci\(index)" }

    // MARK: Commands

    /// Sends a command when those before it are answered, and hands its answer to `completion` on this actor.
    ///
    /// A refusal is a failure with the controller's status. A command the controller does not answer fails after 5 s.
    func send(_ command: HCICommand, completion: @escaping (Answer) -> Void) {
        let operation = BluetoothError.Operation("\(command.opcode)", adapter: name)
        if let end { return completion(.failure(end)) }
        do {
            try open(operation)
        } catch {
            return completion(.failure(error))
        }
        guard waiting.count < 64 else {
            return completion(
                .failure(BluetoothError(.busy, operation, "64 commands are waiting already.", isRetryable: true)))
        }
        waiting.append(Command(command: command, completion: completion))
        advance()
    }

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
            case .failed(let error): next.completion(.failure(.controller(operation, error, kernel.environment())))
            }
        }
    }

    private func transmit(_ command: HCICommand) -> SendOutcome {
        guard let socket, let packet = try? command.packet() else {
            return .failed(KernelError("write", .invalidArgument))
        }
        log.trace("HCI → \(packet.hexadecimal)", metadata: ["adapter": "\(name)"])
        return socket.send(packet.span.bytes)
    }

    /// Hands the command in flight its answer and sends the next.
    private func complete(_ answer: Answer) {
        guard let done = current else { return }
        current = nil
        answerTimer?.cancel()
        done.completion(answer)
        advance()
    }

    private func receiveAnswer(_ opcode: HCIOpcode, _ answer: HCIReturnParameters) {
        guard let current, current.command.opcode == opcode else { return }
        if case .status(let status) = answer, !status.isSuccess {
            complete(.failure(.refused(.init("\(opcode)", adapter: name), status)))
        } else {
            complete(.success(answer))
        }
    }

    private func answerIsLate() {
        guard let current else { return }
        let operation = BluetoothError.Operation("\(current.command.opcode)", adapter: name)
        complete(
            .failure(
                BluetoothError(
                    .timedOut, operation, "The controller did not answer within 5 s.",
                    remedy: "Unplug the adapter and plug it in again, or: sudo btmgmt power off; sudo btmgmt power on",
                    isRetryable: true)))
    }

    // MARK: The socket

    private func open(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        guard socket == nil else { return }
        do {
            let socket = try kernel.openHCI(adapter: index) { [weak self] event in
                self?.assumeIsolated(with: event) { $0.handle($1) }
            }
            try socket.setFilter(
                .events(
                    HCIEventCode.commandComplete.rawValue, HCIEventCode.commandStatus.rawValue,
                    HCIEventCode.leMeta.rawValue))
            self.socket = socket
            answerTimer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.answerIsLate() } }
        } catch {
            throw .controller(operation, error, kernel.environment())
        }
    }

    private func handle(_ event: SocketEvent) {
        switch event {
        case .readable:
            _ = socket?.receive { receive($0) }
        case .writable: break
        case .closed(let error):
            close(.controller(.init("use the adapter", adapter: name), error, kernel.environment()))
        }
    }

    private func receive(_ packet: RawSpan) {
        do {
            switch try HCIEvent(decoding: packet) {
            case .commandComplete(let event):
                receiveAnswer(event.opcode, try HCIReturnParameters(decoding: event))
            case .commandStatus(let event): receiveAnswer(event.opcode, .status(event.status))
            case .leMeta(.advertisingReports(let reports)): receive(reports)
            case .leMeta(.connectionComplete), .leMeta(.enhancedConnectionComplete): scannerWasUsed()
            default: break
            }
        } catch {
            log.debug("\(error)", metadata: ["adapter": "\(name)"])
        }
    }

    /// Ends everything: the adapter is gone, or nobody needs it any more.
    func close(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        answerTimer?.cancel()
        discoveryTimer = nil
        // Nobody else would end the scan, and a kernel that thinks of a discovery makes no connection.
        if let command = lastScanCommand, transmit(command) == .sent {
            management.assumeIsolated { $0.post(.stopDiscovery([]), to: index) { _ in } }
        }
        endScans(reason)
        complete(.failure(reason))
        while let next = waiting.popFirst() { next.completion(.failure(reason)) }
        socket?.close()
        socket = nil
    }

    /// Why nothing can be done here any more.
    var closeReason: BluetoothError? { end }

    /// Closes the socket as long as nobody needs it; the next command opens it again.
    func closeIfIdle() {
        guard current == nil, waiting.isEmpty else { return }
        socket?.close()
        socket = nil
    }
}
