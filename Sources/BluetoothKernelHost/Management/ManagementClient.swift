import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging
import BluetoothManagement

/// A client of the kernel's management interface: commands with their replies, and the events of adapters.
//
// Lives on the loop, with its owner.
// Holds more than ten variables: requests, their sockets and their time limits are one exchange.
package final class ManagementClient {
    private let mark: ComponentCount.Mark
    package let loop: EventLoop
    private let kernel: any BluetoothKernel
    private let log: Logger
    private let trace: PacketSynthesis?
    private var followers: [Follower] = []
    private var sockets = Sockets()
    private var requests: [Request] = []
    private lazy var overdueTimer = loop.makeTimer(of: self) { $0.giveUpOverdue() }
    /// The calls for which the kernel was busy, and the ends of their pauses.
    private var pauses: [ObjectIdentifier: (call: any ManagementCall, timer: LoopTimer)] = [:]
    private var end: BluetoothError?

    private struct Follower {
        weak var receiver: (any AdapterNoticeReceiver)?
    }

    /// The socket in use, and those with an overdue reply as long as others are outstanding on them.
    private struct Sockets {
        var all: [UInt64: any PacketSocket] = [:]
        var current: UInt64?
        var next: UInt64 = 0
    }

    /// The time limit for the kernel's reply. Powering on a controller that hangs takes it the longest.
    package static let answerLimit = Duration.seconds(10)

    private struct Request {
        let call: any ManagementCall
        let index: UInt16
        /// The socket it was sent on, and the time limit; nil while it is queued.
        var sent: (socket: UInt64, deadline: KernelInstant)?

        func hasSameKey(as other: Request) -> Bool {
            index == other.index && call.command.opcode == other.call.command.opcode
        }
    }

    package init(on kernel: any BluetoothKernel, log: Logger, trace: PacketSynthesis? = nil) {
        mark = kernel.loop.components.mark("ManagementClient")
        self.kernel = kernel
        self.trace = trace
        self.log = log
        loop = kernel.loop
    }

    // MARK: Following

    /// Registers a receiver, which is not retained, of the events of adapters until ``unfollow(_:)`` or the end.
    package func follow(_ receiver: any AdapterNoticeReceiver) throws(BluetoothError) {
        if let end { throw end }
        _ = try openSocket(.init("follow the adapters"))
        followers.append(Follower(receiver: receiver))
    }

    /// Ends a registration of ``follow(_:)``.
    package func unfollow(_ receiver: any AdapterNoticeReceiver) {
        followers.removeAll { $0.receiver == nil || $0.receiver === receiver }
    }

    private func report(_ notice: AdapterNotice) {
        for follower in followers { follower.receiver?.receive(notice) }
    }

    // MARK: Commands

    /// Sends a command and returns the reply. Most commands need CAP_NET_ADMIN.
    ///
    /// The kernel accepts each command only once at a time for each adapter, so a second call waits for the first.
    @discardableResult
    package nonisolated(nonsending) func send<Command: ManagementCommand>(
        _ command: Command, to index: UInt16 = ManagementPacket.noController, timeout: Duration = .seconds(10)
    ) async throws(BluetoothError) -> Command.Reply {
        let promise = Promise<Command.Reply, BluetoothError>()
        enqueue(TypedManagementCall(command, .promise(promise)), to: index)
        return try await promise.value(Self.operation(command, index), timeout: timeout, on: loop)
    }

    /// Sends a command as ``send(_:to:timeout:)`` does, and repeats it for two seconds while the kernel answers that it
    /// is busy with an earlier change.
    @discardableResult
    package nonisolated(nonsending) func sendWhenIdle<Command: ManagementCommand>(
        _ command: Command, to index: UInt16
    ) async throws(BluetoothError) -> Command.Reply {
        let promise = Promise<Command.Reply, BluetoothError>()
        enqueue(TypedManagementCall(command, .promise(promise), whenIdle: true), to: index)
        return try await promise.value(Self.operation(command, index), timeout: .seconds(12), on: loop)
    }

    /// Sends a command and passes the reply to `completion`, on the loop.
    package func post<Command: ManagementCommand>(
        _ command: Command, to index: UInt16, completion: @escaping (Result<Command.Reply, BluetoothError>) -> Void
    ) {
        enqueue(TypedManagementCall(command, .completion(completion)), to: index)
    }

    /// Posts a command of any type, whose reply does not matter, and passes its failure to `completion`. With `whenIdle`
    /// it is repeated for two seconds while the kernel answers that it is busy with an earlier change.
    package func perform(
        _ command: some ManagementCommand, on index: UInt16, whenIdle: Bool = false,
        isAbandoned: @escaping () -> Bool = { false }, completion: @escaping (BluetoothError?) -> Void
    ) {
        let call = TypedManagementCall(command, .done(completion, isAbandoned: isAbandoned), whenIdle: whenIdle)
        enqueue(call, to: index)
    }

    private func enqueue(_ call: any ManagementCall, to index: UInt16) {
        if let end { return call.finish(end) }
        guard requests.count < 64 else {
            let operation = Self.operation(call.command, index)
            return call.finish(
                BluetoothError(.busy, operation, "64 commands are already waiting.", isRetryable: true))
        }
        requests.append(Request(call: call, index: index))
        sendWaiting()
    }

    /// Ends a request, or repeats its command after a pause if the kernel is busy.
    private func finish(_ request: Request, _ failure: BluetoothError?) {
        guard failure?.cause == .management(.busy), request.call.takeRepetition() else {
            return request.call.finish(failure)
        }
        let id = ObjectIdentifier(request.call)
        let timer = loop.makeTimer(of: self, after: .milliseconds(100)) { client in
            client.pauses[id] = nil
            client.enqueue(request.call, to: request.index)
        }
        pauses[id] = (request.call, timer)
    }

    /// Sends a command just before ``close(_:)``, ahead of those that wait; its reply is not received.
    package func sendLast(_ command: some ManagementCommand, to index: UInt16) {
        guard end == nil else { return }
        do {
            _ = try transmit(command, to: index)
        } catch {
            log.debug("\(error)")
        }
    }

    private static func operation(_ command: some ManagementCommand, _ index: UInt16) -> BluetoothError.Operation {
        BluetoothError.Operation(command.name, adapter: index == ManagementPacket.noController ? nil : "hci\(index)")
    }

    /// Sends every request that has no earlier one with the same command for the same adapter before it.
    ///
    /// An abandoned request keeps its place until the kernel replies, so that its reply is not taken for another's, or
    /// until the reply is overdue, when its socket is replaced.
    private func sendWaiting() {
        let queue = requests.filter { $0.sent != nil || !$0.call.isAbandoned }
        requests = []
        var failures: [(Request, BluetoothError)] = []
        for var request in queue {
            do {
                if request.sent == nil, !requests.contains(where: { $0.hasSameKey(as: request) }) {
                    let socket = try transmit(request.call.command, to: request.index)
                    request.sent = (socket, loop.now.advanced(by: Self.answerLimit))
                }
                requests.append(request)
            } catch {
                failures.append((request, error))
            }
        }
        let first = requests.lazy.compactMap { $0.sent?.deadline }.min()
        if let first { overdueTimer.set(at: first) } else { overdueTimer.cancel() }
        for (request, error) in failures { finish(request, error) }
    }

    /// Sends a command and returns the socket used.
    private func transmit(_ command: some ManagementCommand, to index: UInt16) throws(BluetoothError) -> UInt64 {
        let operation = Self.operation(command, index)
        let (id, socket) = try openSocket(operation)
        guard let packet = try? command.packet(for: index) else {
            throw .invalidArgument(operation, "The command does not fit in a packet.")
        }
        switch socket.send(packet.span.bytes) {
        case .sent:
            trace?.management(packet.span.bytes, isSent: true)
            log.trace("mgmt → \(ManagementPacket.description(of: packet.span.bytes, isSent: true))")
            return id
        case .wouldBlock:
            throw BluetoothError(.busy, operation, "The management socket is full.", isRetryable: true)
        case .failed(let error): throw .controller(operation, error, kernel.environment())
        }
    }

    /// Fails the requests with an overdue reply, so that those behind them are sent.
    ///
    /// A late reply must not be taken for theirs. The kernel replies on the socket of the request, so they are sent on
    /// another.
    private func giveUpOverdue() {
        let now = loop.now
        func isOverdue(_ request: Request) -> Bool { request.sent.map { $0.deadline <= now } ?? false }
        let overdue = requests.filter(isOverdue)
        requests.removeAll(where: isOverdue)
        var loss: BluetoothError?
        if let current = sockets.current, overdue.contains(where: { $0.sent?.socket == current }) {
            sockets.current = nil
            // Followers stay registered; a socket that cannot be opened would have to be reported then.
            if !followers.isEmpty {
                do {
                    _ = try openSocket(.init("follow the adapters"))
                } catch {
                    loss = error
                }
            }
        }
        closeUnusedSockets()
        for request in overdue {
            let operation = Self.operation(request.call.command, request.index)
            log.debug("never answered: \(operation)")
            report(.unanswered(request.index, request.call.command.opcode))
            finish(request, .timedOut(operation, after: Self.answerLimit))
        }
        if let loss { lose(loss) } else { sendWaiting() }
    }

    /// Closes the unused sockets without an outstanding reply.
    private func closeUnusedSockets() {
        for (id, socket) in sockets.all
        where id != sockets.current && !requests.contains(where: { $0.sent?.socket == id }) {
            // Events queued before the new socket was opened do not arrive on that one.
            while receiveOne(from: socket, id) {}
            sockets.all[id] = nil
            socket.close()
        }
    }

    // MARK: The sockets

    private func openSocket(_ operation: BluetoothError.Operation) throws(BluetoothError) -> (UInt64, any PacketSocket)
    {
        if let current = sockets.current, let socket = sockets.all[current] { return (current, socket) }
        let id = sockets.next
        do {
            let socket = try kernel.openManagement { [weak self] event in self?.handle(event, id) }
            sockets.next &+= 1
            sockets.all[id] = socket
            sockets.current = id
            return (id, socket)
        } catch {
            throw .controller(operation, error, kernel.environment())
        }
    }

    private func handle(_ event: SocketEvent, _ id: UInt64) {
        switch event {
        case .readable:
            guard let socket = sockets.all[id] else { return }
            _ = receiveOne(from: socket, id)
            if id != sockets.current { closeUnusedSockets() }
        case .writable: break
        case .closed(let error):
            lose(.controller(.init("use the management interface"), error, kernel.environment()))
        }
    }

    /// Receives a packet, if there is one, and dispatches it.
    private func receiveOne(from socket: any PacketSocket, _ id: UInt64) -> Bool {
        var received = Received()
        guard socket.receive({ received = receive($0, id) }) == .packet else { return false }
        if let notice = received.notice { report(notice) }
        if let (request, failure) = received.answered {
            finish(request, failure)
            sendWaiting()
        }
        return true
    }

    /// The effects of a packet: on the followers, and then on the caller that it answers.
    private struct Received {
        var notice: AdapterNotice?
        var answered: (Request, failure: BluetoothError?)?
    }

    private func receive(_ packet: RawSpan, _ id: UInt64) -> Received {
        trace?.management(packet, isSent: false)
        log.trace("mgmt ← \(ManagementPacket.description(of: packet, isSent: false))")
        do {
            let packet = try ManagementPacket(decoding: packet)
            if let event = try packet.commandComplete() {
                return resolve(event.opcode, packet.index, event.status, event.returnParameters, id)
            }
            if let event = try packet.as(ManagementCommandStatus.self) {
                return resolve(event.opcode, packet.index, event.status, RawSpan(), id)
            }
            return Received(notice: try AdapterNotice(packet))
        } catch {
            log.debug("\(error)")
        }
        return Received()
    }

    private func resolve(
        _ opcode: ManagementOpcode, _ index: UInt16, _ status: ManagementStatus, _ reply: RawSpan, _ id: UInt64
    ) -> Received {
        guard
            let position = requests.firstIndex(where: {
                $0.sent?.socket == id && $0.index == index && $0.call.command.opcode == opcode
            })
        else { return Received() }
        let request = requests.remove(at: position)
        let operation = Self.operation(request.call.command, index)
        func failed(_ status: ManagementStatus) -> (Request, BluetoothError?) {
            (request, .management(operation, status, kernel.environment()))
        }
        guard status.isSuccess else {
            // Linux says so of a controller that has not answered; no command here authenticates.
            let isUnanswered = status == .timeout || status == .authenticationFailed
            return Received(notice: isUnanswered ? .unanswered(index, opcode) : nil, answered: failed(status))
        }
        do {
            let settings = try request.call.receive(reply) as? ManagementSettings
            // Linux 6.12 answers Set Powered for one that has just ended as well, and does nothing.
            if let power = request.call.command as? ManagementSetPowered, settings?.contains(.powered) != power.value {
                return Received(answered: failed(.busy))
            }
            // The caller of a change receives the settings in the reply; the event is for the followers.
            return Received(notice: settings.map { .event(index, ManagementNewSettings($0)) }, answered: (request, nil))
        } catch {
            log.debug("\(error)")
            return Received(answered: (request, .unreadable(operation)))
        }
    }

    /// Reports the end to the followers, and ends.
    private func lose(_ reason: BluetoothError) {
        report(.lost(reason))
        close(reason)
    }

    /// Fails everything that waits.
    package func close(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        followers = []
        overdueTimer.cancel()
        for socket in sockets.all.values { socket.close() }
        sockets.all = [:]
        sockets.current = nil
        let ended = requests.map(\.call) + pauses.values.map(\.call)
        (requests, pauses) = ([], [:])
        for call in ended { call.finish(reason) }
    }
}

/// An event of an adapter.
package enum AdapterNotice: Sendable {
    /// An event of it, other than those below.
    case event(UInt16, any ManagementEvent)
    /// The kernel or the controller has not answered a command for it.
    case unanswered(UInt16, ManagementOpcode)
    /// A link of any program begins.
    case connected(UInt16, isByPeer: Bool)
    /// A pairing asks a question, has made keys or has failed, or another program has made the kernel forget a device.
    case pairing(UInt16, PairingEvent)
    /// The management interface itself has ended.
    case lost(BluetoothError)
}

/// A receiver of the events of adapters, on the loop.
package protocol AdapterNoticeReceiver: AnyObject {
    /// Receives an event; of changes by commands of the same client as well, before their callers resume.
    func receive(_ notice: AdapterNotice)
}

extension AdapterNotice {
    /// The notice of an event of the management socket; nil for one without a type.
    init?(_ packet: ManagementPacket) throws(TruncatedBytes) {
        if let event = try packet.deviceConnected() {
            self = .connected(packet.index, isByPeer: !event.flags.contains(.initiatedConnection))
        } else if let pairing = try PairingEvent(packet) {
            self = .pairing(packet.index, pairing)
        } else if let event = try packet.event() {
            self = .event(packet.index, event)
        } else {
            return nil
        }
    }
}
