import BluetoothLoop
import BluetoothSockets
import BluetoothHCI

/// A raw HCI socket.
final class HCISocketState: SocketState {
    unowned let kernel: HostKernel
    let index: UInt16
    private weak var adapter: SimulatedAdapter?
    private var filter = HCISocketFilter(packetTypes: 0, events: 0)

    /// The events that the kernel passes to sockets without CAP_NET_RAW, whatever their filter.
    private static let unprivilegedEvents: UInt64 = 0x0000_B00C_1000_D9FE
    /// The commands that such sockets may send: none that change anything.
    private static let unprivilegedCommands: Set<HCIOpcode> = [
        HCIReadLocalVersionInformation.opcode, HCIReadLocalSupportedCommands.opcode,
        HCIReadLocalSupportedFeatures.opcode, HCIReadBDADDR.opcode, HCIReadRSSI.opcode,
        // Read Buffer Size.
        HCIOpcode(rawValue: 0x1005),
    ]

    init(kernel: HostKernel, adapter: SimulatedAdapter, handler: LoopBound<SocketHandler>) {
        self.kernel = kernel
        self.adapter = adapter
        index = adapter.index
        super.init(world: kernel.world, handler: handler)
        kernel.rawSockets.sockets.append(self)
    }

    override func didClose() {
        kernel.rawSockets.sockets.removeAll { $0 === self }
    }

    func setFilter(_ wanted: HCISocketFilter) {
        filter = wanted
        guard !kernel.conditions.hasNetRaw else { return }
        filter.packetTypes &= 1 << UInt32(HCIPacketType.event.rawValue)
        filter.events &= Self.unprivilegedEvents
    }

    override func acceptOutgoing(_ packet: [UInt8]) -> SendOutcome {
        func failed(_ number: ErrorNumber) -> SendOutcome { .failed(KernelError("send", number)) }
        guard packet.count >= 4 else { return failed(.invalidArgument) }
        guard let adapter, adapter.power.isPluggedIn else { return failed(.brokenPipe) }
        guard adapter.isRunning else { return failed(.networkDown) }
        guard packet[0] == HCIPacketType.command.rawValue || packet[0] == HCIPacketType.acl.rawValue else {
            return failed(.invalidArgument)
        }
        guard packet[0] == HCIPacketType.command.rawValue else {
            return kernel.conditions.hasNetRaw ? .sent : failed(.notPermitted)
        }
        guard let command = try? AnyHCICommand(decoding: packet.span.bytes) else { return failed(.invalidArgument) }
        guard kernel.conditions.hasNetRaw || Self.unprivilegedCommands.contains(command.opcode) else {
            return failed(.notPermitted)
        }
        adapter.sendRaw(command, packet: packet, from: self)
        return .sent
    }

    /// Delivers a packet if the filter passes it.
    func offer(_ packet: [UInt8]) {
        guard packet.count >= 2, filter.packetTypes >> UInt32(packet[0] & 31) & 1 == 1 else { return }
        if packet[0] == HCIPacketType.event.rawValue {
            guard filter.events >> UInt64(packet[1] & 63) & 1 == 1 else { return }
            if filter.opcode != 0, let opcode = Self.answeredOpcode(packet), opcode != filter.opcode { return }
        }
        if !deliver(packet) { world.statistics.eventOverflows += 1 }
    }

    /// The opcode of the command that a Command Complete or Command Status answers.
    private static func answeredOpcode(_ packet: [UInt8]) -> UInt16? {
        guard let event = try? HCIEventPacket(decoding: packet.span.bytes) else { return nil }
        if let complete = try? event.commandComplete() { return complete.opcode.rawValue }
        return (try? event.as(HCICommandStatus.self))?.opcode.rawValue
    }
}

/// A kernel's raw sockets, including those of removed adapters.
final class RawSockets: SocketList<HCISocketState> {
    func hasOne(of adapter: UInt16) -> Bool { sockets.contains { $0.index == adapter } }

    /// Delivers a packet of an adapter to all sockets but the sender.
    func offer(_ packet: [UInt8], of adapter: UInt16, except sender: HCISocketState? = nil) {
        for socket in sockets where socket.index == adapter && socket !== sender { socket.offer(packet) }
    }

    /// Ends the sockets of a removed adapter.
    func fail(of adapter: UInt16) {
        for socket in sockets where socket.index == adapter { socket.fail(KernelError("recv", .brokenPipe)) }
    }
}
