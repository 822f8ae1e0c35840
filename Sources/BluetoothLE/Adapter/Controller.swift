import BluetoothKernel
import BluetoothPrimitives
import HCI
import KernelHost
import Logging

/// One controller's HCI: commands one at a time, and what it hears while it scans.
///
/// A raw HCI socket sees everybody else's commands as the kernel passes them to the controller, one at a time, and the
/// answers to all. So an answer is that to another's command when one was seen before it, and otherwise to our own.
//
// Lives on the loop, with the adapter.
final class Controller {
    let loop: EventLoop
    /// N of hciN; an adapter that was plugged in again may have another.
    private(set) var index: UInt16
    let kernel: any BluetoothKernel
    let management: LoopBound<ManagementClient>
    let log: Logger
    private(set) var ownAddress: OwnAddress
    private let trace: PacketSynthesis?

    private var socket: (any HCISocket)?
    private var current: Command?
    private var waiting = RingBuffer<Command>()
    private var answerTimer: LoopTimer?
    /// Why nothing can be done for now, or, once closed, for good.
    private var end: BluetoothError?
    private var isClosed = false

    /// Called when a command cannot be sent: the adapter may be off, or gone, before that is told.
    var whenUnreachable: (() -> Void)?

    /// Ends the wait for the kernel's answer to the end of a discovery.
    var discoveryTimer: LoopTimer?

    /// What the scanner does, and who listens; see Controller+Scanning.
    var scanner = ScannerStateMachine()
    var audience = ScanAudience()
    /// Who waits for the controller to do as it is told.
    var scanWaiters = WaiterList<Void, BluetoothError>()
    private var nextStreamID: UInt64 = 0
    /// Ends the wait for others that use the scanner.
    var holdTimer: LoopTimer?
    /// Ends the wait of first reports for their scan responses.
    var scanResponseTimer: (timer: LoopTimer, deadline: KernelInstant)?
    /// Has a scan shown another address.
    var privateAddressTimer: LoopTimer?
    /// What another sent and was not yet answered. The kernel sends the controller one command at a time.
    private var othersCommand: HCICommand?

    /// Who is behind the addresses that are heard.
    var resolution = AddressResolution()
    /// What they call themselves.
    var heardNames = HeardNames()

    /// The links of the controller; see Controller+Links.
    var links = LinkTable()

    /// Whose turn it is to be connected to; see ConnectQueue.
    var connects = ConnectQueue()
    var connectTimer: LoopTimer?

    /// What keeps links that have lost their connection; see LinkHolds.
    var holds = LinkHolds()

    typealias Answer = Result<HCIReturnParameters, BluetoothError>

    private struct Command {
        let command: HCICommand
        let completion: (Answer) -> Void
    }

    init(
        _ index: UInt16, ownAddress: OwnAddress, management: LoopBound<ManagementClient>,
        on kernel: any BluetoothKernel, log: Logger, trace: PacketSynthesis? = nil
    ) {
        self.index = index
        self.management = management
        self.ownAddress = ownAddress
        self.kernel = kernel
        self.log = log
        self.trace = trace
        loop = kernel.loop
    }

    var name: String { "hci\(index)" }

    /// Numbers the streams of scans.
    func makeStreamID() -> UInt64 {
        nextStreamID += 1
        return nextStreamID
    }

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
            case .failed(let error):
                // Where the adapter has gone down, its user ends everything with what has happened to it.
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

    /// Hands the command in flight its answer and sends the next.
    private func complete(_ answer: Answer) {
        guard let done = current else { return }
        current = nil
        answerTimer?.cancel()
        done.completion(answer)
        advance()
    }

    private func receiveAnswer(_ opcode: HCIOpcode, _ answer: HCIReturnParameters) {
        if let others = othersCommand, others.opcode == opcode {
            othersCommand = nil
            if case .status(let status) = answer { receiveOthers(others, status) }
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
        complete(
            .failure(
                BluetoothError(
                    .timedOut, operation, "The controller did not answer within 5 s.",
                    remedy: BluetoothError.remedy(
                        "Unplug the adapter and plug it in again, or switch it off and on: setPowered(false), setPowered(true).",
                        orRun: "power off; sudo ble power on"),
                    isRetryable: true)))
    }

    // MARK: The socket

    func open(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        if let end { throw end }
        guard socket == nil else { return }
        do {
            let socket = try kernel.openHCI(adapter: index) { [weak self] event in self?.handle(event) }
            var filter = HCISocketFilter.events(
                HCIEventCode.commandComplete.rawValue, HCIEventCode.commandStatus.rawValue,
                HCIEventCode.disconnectionComplete.rawValue, HCIEventCode.encryptionChange.rawValue,
                HCIEventCode.leMeta.rawValue)
            filter.packetTypes |= 1 << UInt32(HCIPacketType.command.rawValue)
            try socket.setFilter(filter)
            self.socket = socket
            answerTimer = loop.makeLocalTimer { [weak self] in self?.answerIsLate() }
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
            close(.controller(.init("use the adapter", adapter: name), error, kernel.environment()), isForGood: false)
        }
    }

    private func receive(_ packet: RawSpan) {
        let isCommand = packet.byteCount > 0 && packet.unsafeLoad(as: UInt8.self) == HCIPacketType.command.rawValue
        trace?.hci(packet, adapter: index, isSent: isCommand)
        log.trace("HCI ← \(HCIPacketType.description(of: packet))", metadata: ["adapter": "\(name)"])
        do {
            if isCommand {
                othersCommand = try HCICommand(decoding: packet)
                return
            }
            switch try HCIEvent(decoding: packet) {
            case .commandComplete(let event):
                receiveAnswer(event.opcode, try HCIReturnParameters(decoding: event))
            case .commandStatus(let event): receiveAnswer(event.opcode, .status(event.status))
            case .leMeta(.advertisingReports(let reports)): receive(reports)
            case .leMeta(.connectionComplete(let event)), .leMeta(.enhancedConnectionComplete(let event)):
                links.began(event)
                connectionAttemptEnded()
            case .disconnectionComplete(let event) where event.status.isSuccess:
                links.ended(event)
                // Later, since the packet is still being received.
                let bound = LoopBound(self, on: loop)
                loop.execute { bound.value.linkEnded(event.handle.rawValue) }
            case .encryptionChange(let event) where event.status.isSuccess && event.isEncrypted:
                // Later, since the packet is still being received.
                if let handler = links.encryptionHandler(of: event.handle) { loop.executeLocally(handler) }
            case .leMeta(.connectionUpdateComplete(let event)): receive(event)
            case .leMeta(.phyUpdateComplete(let event)): receive(event)
            case .leMeta(.dataLengthChange(let event)): receive(event)
            case .leMeta(.scanTimeout): scanTimedOut()
            default: break
            }
        } catch {
            log.debug("\(error)", metadata: ["adapter": "\(name)"])
        }
    }

    /// Receives what the kernel has for us already. As much as one socket can hold, and no more than that.
    func receiveWaiting() {
        for _ in 0..<1024 {
            guard socket?.receive({ receive($0) }) == .packet else { return }
        }
    }

    /// Ends everything: nobody needs it any more, or the adapter is gone, but then not `isForGood`.
    func close(_ reason: BluetoothError, isForGood: Bool = true) {
        isClosed = isClosed || isForGood
        guard end == nil else {
            if isForGood { endScans(reason) }
            return
        }
        // Why links have ended comes before the adapter's own end.
        receiveWaiting()
        end = reason
        answerTimer?.cancel()
        links.end(reason)
        connects.end(reason)
        // Of an adapter that is off or gone the kernel tells them itself.
        if isForGood { for connection in connects.connections { connection.giveUp(reason) } }
        connectTimer = nil
        (discoveryTimer, holdTimer, privateAddressTimer) = (nil, nil, nil)
        // Nobody else would end the scan, and a kernel that thinks of a discovery makes no connection.
        let isSwitchedOff = lastScanCommand.map { transmit($0) == .sent } ?? false
        if isSwitchedOff || (isForGood && scanner.leavesDiscovery) {
            let types = scanner.typesToEnd
            management.value.post(.stopDiscovery(types), to: index) { _ in }
        }
        endScans(reason, isForGood: isForGood)
        complete(.failure(reason))
        while let next = waiting.popFirst() { next.completion(.failure(reason)) }
        socket?.close()
        socket = nil
    }

    /// Why nothing can be done here now.
    var closeReason: BluetoothError? { end }

    /// Whether the socket is open.
    var hasSocket: Bool { socket != nil }

    /// Begins anew with an adapter that is back; false when there is no need to, or no use.
    func reopen(_ index: UInt16, ownAddress: OwnAddress) -> Bool {
        guard end != nil, !isClosed else { return false }
        end = nil
        (self.index, self.ownAddress) = (index, ownAddress)
        return true
    }

    /// Closes the socket as long as nobody needs it; the next command opens it again.
    func closeIfIdle() {
        guard current == nil, waiting.isEmpty, links.isIdle, holds.drains.isEmpty, audience.isEmpty, !scanner.isBusy
        else { return }
        socket?.close()
        socket = nil
        othersCommand = nil
        scanner.stoppedWatching()
    }
}
