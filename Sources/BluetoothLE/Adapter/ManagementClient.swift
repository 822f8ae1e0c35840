import BluetoothKernel
import BluetoothPrimitives
import Logging
import Management

/// The kernel's management interface: commands with their replies, and what happens to adapters.
actor ManagementClient: LoopActor {
    nonisolated let loop: EventLoop
    private let kernel: any BluetoothKernel
    private let log: Logger
    private let onNotice: @Sendable (AdapterNotice) -> Void
    private var socket: (any PacketSocket)?
    private var requests: [Request] = []
    private var end: BluetoothError?

    private struct Reply: Sendable {
        let status: ManagementStatus
        let parameters: [UInt8]
    }

    private struct Request {
        let command: ManagementCommand
        let index: UInt16
        let call = PendingCall<Reply>()
        var isSent = false

        func hasSameKey(as other: Request) -> Bool {
            index == other.index && command.opcode == other.command.opcode
        }
    }

    /// A client that tells `onNotice`, on the loop, what happens to adapters.
    init(
        on kernel: any BluetoothKernel, log: Logger, onNotice: @escaping @Sendable (AdapterNotice) -> Void = { _ in }
    ) {
        self.kernel = kernel
        self.log = log
        self.onNotice = onNotice
        loop = kernel.loop
    }

    /// Sends a command and returns the reply's parameters. Most commands need CAP_NET_ADMIN.
    ///
    /// The kernel takes each command once at a time for each adapter, so a second call waits for the first.
    /// - Throws: the kernel's status as a ``BluetoothError``: `.notPermitted`, `.busy`, `.noAdapter` and others.
    @discardableResult
    func send(
        _ command: ManagementCommand, to index: UInt16 = ManagementPacket.noIndex, timeout: Duration = .seconds(10)
    ) async throws(BluetoothError) -> [UInt8] {
        let operation = Self.operation(command, index)
        if let end { throw end }
        try open(operation)
        let request = Request(command: command, index: index)
        requests.append(request)
        sendWaiting()
        let reply = try await request.call.value(operation, timeout: timeout, on: loop)
        guard reply.status == .success else { throw .management(operation, reply.status, kernel.environment()) }
        return reply.parameters
    }

    private static func operation(_ command: ManagementCommand, _ index: UInt16) -> BluetoothError.Operation {
        BluetoothError.Operation(
            "\(command.opcode)", adapter: index == ManagementPacket.noIndex ? nil : "hci\(index)")
    }

    /// Sends every request that has no earlier one with the same command for the same adapter before it.
    ///
    /// A request whose caller gave up keeps its place until the kernel replies, so that its reply is not taken for
    /// another's.
    private func sendWaiting() {
        requests.removeAll { !$0.isSent && $0.call.isResolved }
        for position in requests.indices where !requests[position].isSent {
            let request = requests[position]
            if requests[..<position].contains(where: { $0.hasSameKey(as: request) }) { continue }
            requests[position].isSent = true
            transmit(request)
        }
        requests.removeAll { $0.call.isResolved && !$0.isSent }
    }

    private func transmit(_ request: Request) {
        guard let socket, let packet = try? request.command.packet(for: request.index) else { return }
        log.trace("mgmt → \(packet.hexadecimal)")
        let operation = Self.operation(request.command, request.index)
        switch socket.send(packet.span.bytes) {
        case .sent: return
        case .wouldBlock:
            request.call.fail(
                BluetoothError(.busy, operation, "The management socket is full.", isRetryable: true))
        case .failed(let error):
            request.call.fail(.controller(operation, error, kernel.environment()))
        }
        requests.removeAll { $0.call === request.call }
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
            case .commandComplete(let opcode, let status, let parameters):
                resolve(opcode, packet.index, Reply(status: status, parameters: [UInt8](parameters)))
            case .commandStatus(let opcode, let status):
                resolve(opcode, packet.index, Reply(status: status, parameters: []))
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

    private func resolve(_ opcode: ManagementOpcode, _ index: UInt16, _ reply: Reply) {
        guard
            let position = requests.firstIndex(where: {
                $0.isSent && $0.index == index && $0.command.opcode == opcode
            })
        else { return }
        requests.remove(at: position).call.succeed(reply)
        sendWaiting()
    }

    /// Ends everything that waits.
    func close(_ reason: BluetoothError) {
        guard end == nil else { return }
        end = reason
        socket?.close()
        socket = nil
        for request in requests { request.call.fail(reason) }
        requests = []
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
