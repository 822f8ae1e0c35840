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
    private var followers = HandlerList<AdapterNotice>()
    private var sockets = Sockets()
    private var requests: [Request] = []
    private var overdueTimer: LoopTimer?
    private var pauses = Pauses()
    private var end: BluetoothError?

    /// The socket in use, and those with an overdue reply as long as others are outstanding on them.
    private struct Sockets {
        var all: [UInt64: any PacketSocket] = [:]
        var current: UInt64?
        var next: UInt64 = 0
    }

    /// The pauses of commands for which the kernel was busy.
    private struct Pauses {
        var all: [UInt64: LoopTimer] = [:]
        var next: UInt64 = 0
    }

    package typealias Answer = Result<ManagementReply, BluetoothError>

    /// The time limit for the kernel's reply. Powering on a controller that hangs takes it the longest.
    package static let answerLimit = Duration.seconds(10)

    private struct Request {
        let command: ManagementCommand
        let index: UInt16
        let isAbandoned: () -> Bool
        let completion: (Answer) -> Void
        /// The socket it was sent on; nil while it is queued.
        var socket: UInt64?
        /// The time limit, once it has been sent.
        var deadline = KernelInstant.distantPast
        /// Whether sending failed.
        var hasFailed = false

        func hasSameKey(as other: Request) -> Bool {
            index == other.index && command.opcode == other.command.opcode
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

    /// Registers `onNotice`, called on the loop with the events of adapters, until ``unfollow(_:)`` or the end.
    ///
    /// Changes by commands sent here are reported as well, before their callers resume.
    @discardableResult
    package func follow(_ onNotice: @escaping (AdapterNotice) -> Void) throws(BluetoothError) -> UInt64 {
        let operation = BluetoothError.Operation("follow the adapters")
        if let end { throw end }
        _ = try openSocket(operation)
        return followers.add(onNotice)
    }

    /// Ends a registration of ``follow(_:)``.
    package func unfollow(_ follower: UInt64) {
        followers.remove(follower)
    }

    private func report(_ notice: AdapterNotice) {
        // On a copy, since a handler may register or unregister others.
        let followers = followers
        followers(notice)
    }

    // MARK: Commands

    /// Sends a command and returns the reply. Most commands need CAP_NET_ADMIN.
    ///
    /// The kernel accepts each command only once at a time for each adapter, so a second call waits for the first.
    @discardableResult
    package nonisolated(nonsending) func send(
        _ command: ManagementCommand, to index: UInt16 = ManagementPacket.noController, timeout: Duration = .seconds(10)
    ) async throws(BluetoothError) -> ManagementReply {
        let call = Promise<ManagementReply, BluetoothError>()
        post(command, to: index, isAbandoned: { call.isResolved }, completion: { call.resolve($0) })
        return try await call.value(Self.operation(command, index), timeout: timeout, on: loop)
    }

    /// Sends a command as ``send(_:to:timeout:)`` does, and repeats it for two seconds while the kernel answers that it
    /// is busy with an earlier change.
    @discardableResult
    package nonisolated(nonsending) func sendWhenIdle(
        _ command: ManagementCommand, to index: UInt16
    ) async throws(BluetoothError) -> ManagementReply {
        let call = Promise<ManagementReply, BluetoothError>()
        postWhenIdle(command, to: index, isAbandoned: { call.isResolved }, completion: { call.resolve($0) })
        return try await call.value(Self.operation(command, index), timeout: .seconds(12), on: loop)
    }

    /// Sends a command and passes the reply to `completion`, on the loop, unless the caller has abandoned it.
    package func post(
        _ command: ManagementCommand, to index: UInt16, isAbandoned: @escaping () -> Bool = { false },
        completion: @escaping (Answer) -> Void
    ) {
        if let end { return completion(.failure(end)) }
        let operation = Self.operation(command, index)
        guard requests.count < 64 else {
            return completion(
                .failure(BluetoothError(.busy, operation, "64 commands are already waiting.", isRetryable: true)))
        }
        requests.append(Request(command: command, index: index, isAbandoned: isAbandoned, completion: completion))
        sendWaiting()
    }

    /// Posts a command as ``post(_:to:isAbandoned:completion:)`` does, and repeats it for two seconds while the kernel
    /// answers that it is busy with an earlier change.
    package func postWhenIdle(
        _ command: ManagementCommand, to index: UInt16, attempts: Int = 21,
        isAbandoned: @escaping () -> Bool = { false }, completion: @escaping (Answer) -> Void
    ) {
        post(command, to: index, isAbandoned: isAbandoned) { [weak self] answer in
            guard attempts > 1, case .failure(let error) = answer, error.cause == .management(.busy), let self,
                !isAbandoned()
            else { return completion(answer) }
            let id = pauses.next
            pauses.next &+= 1
            pauses.all[id] = loop.makeLocalTimer { [weak self] in
                self?.pauses.all[id] = nil
                self?.postWhenIdle(
                    command, to: index, attempts: attempts - 1, isAbandoned: isAbandoned, completion: completion)
            }
            pauses.all[id]?.set(after: .milliseconds(100))
        }
    }

    /// Sends a command just before ``close(_:)``, ahead of those that wait; its reply is not received.
    package func sendLast(_ command: ManagementCommand, to index: UInt16) {
        guard end == nil else { return }
        do {
            _ = try transmit(Request(command: command, index: index, isAbandoned: { true }, completion: { _ in }))
        } catch {
            log.debug("\(error)")
        }
    }

    private static func operation(_ command: ManagementCommand, _ index: UInt16) -> BluetoothError.Operation {
        BluetoothError.Operation(
            "\(command.opcode)", adapter: index == ManagementPacket.noController ? nil : "hci\(index)")
    }

    /// Sends every request that has no earlier one with the same command for the same adapter before it.
    ///
    /// An abandoned request keeps its place until the kernel replies, so that its reply is not taken for another's, or
    /// until the reply is overdue, when its socket is replaced.
    private func sendWaiting() {
        requests.removeAll { $0.socket == nil && $0.isAbandoned() }
        var failures: [(Request, BluetoothError)] = []
        for position in requests.indices where requests[position].socket == nil {
            let request = requests[position]
            if requests[..<position].contains(where: { !$0.hasFailed && $0.hasSameKey(as: request) }) { continue }
            do {
                requests[position].socket = try transmit(request)
                requests[position].deadline = loop.now.advanced(by: Self.answerLimit)
            } catch {
                failures.append((request, error))
                requests[position].hasFailed = true
            }
        }
        if !failures.isEmpty { requests.removeAll { $0.hasFailed } }
        setOverdueTimer()
        for (request, error) in failures { request.completion(.failure(error)) }
    }

    /// Sends a request and returns the socket used.
    private func transmit(_ request: Request) throws(BluetoothError) -> UInt64 {
        let operation = Self.operation(request.command, request.index)
        let (id, socket) = try openSocket(operation)
        guard let packet = try? request.command.packet(for: request.index) else {
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

    private func setOverdueTimer() {
        guard let first = requests.lazy.filter({ $0.socket != nil }).map(\.deadline).min() else {
            overdueTimer?.cancel()
            return
        }
        if overdueTimer == nil {
            overdueTimer = loop.makeTimer(of: self) { $0.giveUpOverdue() }
        }
        overdueTimer?.set(at: first)
    }

    /// Fails the requests with an overdue reply, so that those behind them are sent.
    ///
    /// A late reply must not be taken for theirs. The kernel replies on the socket of the request, so they are sent on
    /// another.
    private func giveUpOverdue() {
        let now = loop.now
        let overdue = requests.filter { $0.socket != nil && $0.deadline <= now }
        requests.removeAll { $0.socket != nil && $0.deadline <= now }
        var loss: BluetoothError?
        if let current = sockets.current, overdue.contains(where: { $0.socket == current }) {
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
            let operation = Self.operation(request.command, request.index)
            log.debug("never answered: \(operation)")
            report(.unanswered(request.index, request.command.opcode))
            request.completion(.failure(.timedOut(operation, after: Self.answerLimit)))
        }
        if let loss { lose(loss) } else { sendWaiting() }
    }

    /// Closes the unused sockets without an outstanding reply.
    private func closeUnusedSockets() {
        for (id, socket) in sockets.all where id != sockets.current && !requests.contains(where: { $0.socket == id }) {
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
        if let (request, answer) = received.answered {
            request.completion(answer)
            sendWaiting()
        }
        return true
    }

    /// The effects of a packet: on the followers, and then on the caller that it answers.
    private struct Received {
        var notice: AdapterNotice?
        var answered: (Request, Answer)?
    }

    private func receive(_ packet: RawSpan, _ id: UInt64) -> Received {
        trace?.management(packet, isSent: false)
        log.trace("mgmt ← \(ManagementPacket.description(of: packet, isSent: false))")
        do {
            let packet = try ManagementPacket(decoding: packet)
            if let event = try packet.commandComplete() {
                do {
                    let reply = event.status.isSuccess ? try ManagementReply(decoding: event) : .none
                    return resolve(event.opcode, packet.index, event.status, reply, id)
                } catch {
                    log.debug("\(error)")
                    return resolve(event.opcode, packet.index, event.status, nil, id)
                }
            }
            if let event = try packet.as(ManagementCommandStatus.self) {
                return resolve(event.opcode, packet.index, event.status, ManagementReply.none, id)
            }
            return Received(notice: try AdapterNotice(packet))
        } catch {
            log.debug("\(error)")
        }
        return Received()
    }

    private func resolve(
        _ opcode: ManagementOpcode, _ index: UInt16, _ status: ManagementStatus, _ reply: ManagementReply?, _ id: UInt64
    ) -> Received {
        guard
            let position = requests.firstIndex(where: {
                $0.socket == id && $0.index == index && $0.command.opcode == opcode
            })
        else { return Received() }
        let request = requests.remove(at: position)
        let operation = Self.operation(request.command, index)
        // Linux 6.12 answers Set Powered for one that has just ended as well, and does nothing.
        let status = status.isSuccess && Self.isContradicted(request.command, by: reply) ? .busy : status
        guard status.isSuccess else {
            // Linux says so of a controller that has not answered; no command here authenticates.
            let isUnanswered = status == .timeout || status == .authenticationFailed
            return Received(
                notice: isUnanswered ? .unanswered(index, opcode) : nil,
                answered: (request, .failure(.management(operation, status, kernel.environment()))))
        }
        var received = Received(
            answered: (request, reply.map { .success($0) } ?? .failure(.unreadable(operation))))
        // The caller of a change receives the settings in the reply; the event is for the followers.
        if case .settings(let settings) = reply { received.notice = .settings(index, settings) }
        return received
    }

    private static func isContradicted(_ command: ManagementCommand, by reply: ManagementReply?) -> Bool {
        guard case .setPowered(let isOn) = command, case .settings(let settings) = reply else { return false }
        return settings.contains(.powered) != isOn
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
        followers.removeAll()
        overdueTimer = nil
        for socket in sockets.all.values { socket.close() }
        sockets.all = [:]
        sockets.current = nil
        let ended = requests
        requests = []
        for request in ended { request.completion(.failure(reason)) }
    }
}
