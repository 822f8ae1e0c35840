import BluetoothLoop
import BluetoothSockets
import BluetoothCapture
import BluetoothHCI
import BluetoothManagement

/// A management socket.
final class ManagementSocketState: SocketState {
    unowned let kernel: HostKernel
    /// Whether its process had CAP_NET_ADMIN when it opened it.
    let isTrusted: Bool

    /// The latency of the kernel's reply.
    private static let latency = Duration.microseconds(200)

    init(kernel: HostKernel, handler: LoopBound<SocketHandler>) {
        self.kernel = kernel
        isTrusted = kernel.conditions.hasNetAdmin
        super.init(world: kernel.world, handler: handler)
        kernel.management.sockets.append(self)
        monitorOpened()
    }

    override func didClose() {
        kernel.management.sockets.removeAll { $0 === self }
        kernel.monitor.report(.controlClosed, MonitorPayload.controlClosed(cookie: cookie))
    }

    override func acceptOutgoing(_ packet: [UInt8]) -> SendOutcome {
        // The length in the header has to be that of the packet.
        guard let header = try? ManagementPacket(decoding: packet.span.bytes),
            header.parameters.byteCount + ManagementPacket.headerByteCount == packet.count
        else { return .failed(KernelError("send", .invalidArgument)) }
        monitor(.controlCommand, header)
        // A sent command is executed even if its socket was closed.
        world.schedule(after: Self.latency) { [self] in
            perform(packet)
        }
        return .sent
    }

    private func perform(_ packet: [UInt8]) {
        guard let header = try? ManagementPacket(decoding: packet.span.bytes) else { return }
        let request = ManagementRequest(
            socket: self, opcode: ManagementOpcode(rawValue: header.code), index: header.index)
        if kernel.management.isSilent[request.opcode] == true { return }
        if let status = kernel.management.refusals[request.opcode] { return request.fail(status) }
        let command: any ManagementCommand
        do throws(TruncatedBytes) {
            guard let known = try header.command() else { return request.fail(.unknownCommand) }
            command = known
        } catch {
            return request.fail(.invalidParameters)
        }
        guard isTrusted || isForEverybody(command) else { return request.fail(.permissionDenied) }
        // A command that does not re-encode to its bytes had undefined values, or excess bytes.
        guard (try? command.packet(for: header.index)) == packet else { return request.fail(.invalidParameters) }
        guard header.index != ManagementPacket.noController else { return kernel.perform(command, for: request) }
        guard let adapter = kernel.adapter(header.index) else { return request.fail(.invalidIndex) }
        adapter.perform(command, for: request)
    }

    /// Whether a process without CAP_NET_ADMIN may send it.
    private func isForEverybody(_ command: any ManagementCommand) -> Bool {
        switch command {
        case is ManagementReadVersionInformation, is ManagementReadSupportedCommands,
            is ManagementReadControllerIndexList, is ManagementReadControllerInformation,
            is ManagementReadDefaultSystemConfiguration:
            true
        default: false
        }
    }

    func offer(_ packet: [UInt8]) {
        guard !isClosed else { return }
        if let header = try? ManagementPacket(decoding: packet.span.bytes) { monitor(.controlEvent, header) }
        if !deliver(packet) { world.statistics.eventOverflows += 1 }
    }
}

/// A command that waits for its reply.
struct ManagementRequest {
    weak var socket: ManagementSocketState?
    let opcode: ManagementOpcode
    let index: UInt16

    /// Sends Command Complete.
    func complete(_ reply: some PacketField = ManagementNoReply(), status: ManagementStatus = .success) {
        // Every reply fits.
        guard let packet = try? opcode.complete(reply, status: status, index: index) else { return }
        socket?.offer(packet)
    }

    /// Sends Command Complete of a failed command, with the parameters that its reply repeats.
    func fail(_ status: ManagementStatus, _ reply: some PacketField) { complete(reply, status: status) }

    /// Sends Command Status, the kernel's refusal.
    func fail(_ status: ManagementStatus) {
        guard let packet = try? ManagementCommandStatus(opcode, status).packet(for: index) else { return }
        socket?.offer(packet)
    }
}

extension HostKernel {
    func perform(_ command: any ManagementCommand, for request: ManagementRequest) {
        switch command {
        case is ManagementReadVersionInformation:
            request.complete(ManagementReadVersionInformation.Reply(1, revision: 23))
        case is ManagementReadControllerIndexList: request.complete(ManagementList(newestFirst.map(\.index)))
        case is ManagementReadSupportedCommands:
            let unlisted = [ManagementReadVersionInformation.opcode, ManagementReadSupportedCommands.opcode]
            let commands = ManagementOpcode.types.map { $0.opcode }.filter { !unlisted.contains($0) }
            request.complete(
                ManagementReadSupportedCommands.Reply(commands: commands, events: Self.supportedEvents))
        // All others are for an adapter.
        default: request.fail(.invalidIndex)
        }
    }

    private static let supportedEvents: [ManagementEventCode] = [
        ManagementIndexAdded.code, ManagementIndexRemoved.code, ManagementNewSettings.code,
        ManagementNewLongTermKey.code, ManagementNewIdentityResolvingKey.code, .deviceConnected,
        ManagementDeviceDisconnected.code, ManagementConnectFailed.code, ManagementUserConfirmationRequest.code,
        ManagementUserPasskeyRequest.code, ManagementPasskeyNotify.code, ManagementAuthenticationFailed.code,
        ManagementDeviceUnpaired.code, .deviceFound, ManagementDiscovering.code, ManagementDeviceAdded.code,
        ManagementDeviceRemoved.code, ManagementAdvertisingAdded.code, ManagementAdvertisingRemoved.code,
    ]
}
