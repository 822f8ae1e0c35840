import BluetoothKernel
import BluetoothPrimitives
import Logging
import Management

/// The kernel's management interface: commands with their replies, and what happens to adapters.
actor ManagementClient: LoopActor {
    nonisolated let loop: EventLoop
    private let kernel: any BluetoothKernel
    private let log: Logger
    private var onNotice: @Sendable (AdapterNotice) -> Void = { _ in }
    private var socket: (any PacketSocket)?
    private var requests: [Request] = []
    private var end: BluetoothError?

    typealias Answer = Result<ManagementReply, BluetoothError>

    private struct Request {
        let command: ManagementCommand
        let index: UInt16
        let isAbandoned: @Sendable () -> Bool
        let completion: @Sendable (Answer) -> Void
        var isSent = false

        func hasSameKey(as other: Request) -> Bool {
            index == other.index && command.opcode == other.command.opcode
        }
    }

    init(on kernel: any BluetoothKernel, log: Logger) {
        self.kernel = kernel
        self.log = log
        loop = kernel.loop
    }

    /// Has `onNotice` called, on the loop, with what happens to adapters.
    func follow(_ onNotice: @escaping @Sendable (AdapterNotice) -> Void) {
        self.onNotice = onNotice
    }

    /// Sends a command and returns the reply. Most commands need CAP_NET_ADMIN.
    ///
    /// The kernel takes each command once at a time for each adapter, so a second call waits for the first.
    /// - Throws: the kernel's status as a ``BluetoothError``: `.notPermitted`, `.busy`, `.noAdapter` and others.
    @discardableResult
    func send(
        _ command: ManagementCommand, to index: UInt16 = ManagementPacket.noController, timeout: Duration = .seconds(10)
    ) async throws(BluetoothError) -> ManagementReply {
        let call = PendingCall<ManagementReply>()
        post(command, to: index, isAbandoned: { call.isResolved }, completion: { call.resolve($0) })
        return try await call.value(Self.operation(command, index), timeout: timeout, on: loop)
    }

    /// Sends a command and hands the reply to `completion`, on the loop, unless nobody wants it any more.
    func post(
        _ command: ManagementCommand, to index: UInt16, isAbandoned: @escaping @Sendable () -> Bool = { false },
        completion: @escaping @Sendable (Answer) -> Void
    ) {
        if let end { return completion(.failure(end)) }
        let operation = Self.operation(command, index)
        do {
            try open(operation)
        } catch {
            return completion(.failure(error))
        }
        guard requests.count < 64 else {
            return completion(
                .failure(BluetoothError(.busy, operation, "64 commands are waiting already.", isRetryable: true)))
        }
        requests.append(Request(command: command, index: index, isAbandoned: isAbandoned, completion: completion))
        sendWaiting()
    }

    private static func operation(_ command: ManagementCommand, _ index: UInt16) -> BluetoothError.Operation {
        BluetoothError.Operation(
            "\(command.opcode)", adapter: index == ManagementPacket.noController ? nil : "hci\(index)")
    }

    /// Sends every request that has no earlier one with the same command for the same adapter before it.
    ///
    /// A request whose caller gave up keeps its place until the kernel replies, so that its reply is not taken for
    /// another's.
    private func sendWaiting() {
        requests.removeAll { !$0.isSent && $0.isAbandoned() }
        var failures: [(Request, BluetoothError)] = []
        for position in requests.indices where !requests[position].isSent {
            let request = requests[position]
            if requests[..<position].contains(where: { $0.hasSameKey(as: request) }) { continue }
            requests[position].isSent = true
            if let error = transmit(request) { failures.append((request, error)) }
        }
        for (request, error) in failures {
            requests.removeAll { $0.isSent && $0.hasSameKey(as: request) }
            request.completion(.failure(error))
        }
    }

    private func transmit(_ request: Request) -> BluetoothError? {
        let operation = Self.operation(request.command, request.index)
        guard let socket, let packet = try? request.command.packet(for: request.index) else {
            return .invalidArgument(operation, "The command does not fit into a packet.")
        }
        log.trace("mgmt → \(packet.hexadecimal)")
        switch socket.send(packet.span.bytes) {
        case .sent: return nil
        case .wouldBlock:
            return BluetoothError(.busy, operation, "The management socket is full.", isRetryable: true)
        case .failed(let error): return .controller(operation, error, kernel.environment())
        }
    }

    private func open(_ operation: BluetoothError.Operation) throws(BluetoothError) {
        guard socket == nil else { return }
        do {
            socket = try kernel.openManagement { [weak self] event in self?.assumeIsolated { $0.handle(event) } }
        } catch {
            throw .controller(operation, error, kernel.environment())
        }
    }

    private func handle(_ event: SocketEvent) {
        switch event {
        case .readable:
            var notice: AdapterNotice?
            _ = socket?.receive { notice = receive($0) }
            if let notice { onNotice(notice) }
        case .writable: break
        case .closed(let error):
            close(.controller(.init("use the management interface"), error, kernel.environment()))
        }
    }

    private func receive(_ packet: RawSpan) -> AdapterNotice? {
        log.trace("mgmt ← \([UInt8](packet).hexadecimal)")
        do {
            let packet = try ManagementPacket(decoding: packet)
            switch try ManagementEvent(decoding: packet) {
            case .commandComplete(let event):
                do {
                    let reply = event.status.isSuccess ? try ManagementReply(decoding: event) : .none
                    resolve(event.opcode, packet.index, event.status, reply)
                } catch {
                    log.debug("\(error)")
                    resolve(event.opcode, packet.index, event.status, nil)
                }
            case .commandStatus(let opcode, let status): resolve(opcode, packet.index, status, ManagementReply.none)
            case .indexAdded: return .added(packet.index)
            case .indexRemoved: return .removed(packet.index)
            case .newSettings(let settings): return .settings(packet.index, settings)
            default: break
            }
        } catch {
            log.debug("\(error)")
        }
        return nil
    }

    private func resolve(
        _ opcode: ManagementOpcode, _ index: UInt16, _ status: ManagementStatus, _ reply: ManagementReply?
    ) {
        guard
            let position = requests.firstIndex(where: {
                $0.isSent && $0.index == index && $0.command.opcode == opcode
            })
        else { return }
        let request = requests.remove(at: position)
        let operation = Self.operation(request.command, index)
        if !status.isSuccess {
            request.completion(.failure(.management(operation, status, kernel.environment())))
        } else {
            request.completion(reply.map { .success($0) } ?? .failure(.unreadable(operation)))
        }
        sendWaiting()
    }

    /// Ends everything that waits.
    func close(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        socket?.close()
        socket = nil
        let ended = requests
        requests = []
        for request in ended { request.completion(.failure(reason)) }
    }
}

/// Something that happened to an adapter.
enum AdapterNotice: Sendable {
    /// It was plugged in, or given back to the kernel.
    case added(UInt16)
    /// It was unplugged, or taken from the kernel.
    case removed(UInt16)
    /// Its settings changed.
    case settings(UInt16, ManagementSettings)
}
