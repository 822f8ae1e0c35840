import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothCapture
import BluetoothManagement

/// The monitor's socket: it receives everything and sends nothing.
final class MonitorSocketState: SocketState {
    unowned let kernel: HostKernel

    /// Reports the system, the adapters and the present programs first.
    init(kernel: HostKernel, handler: LoopBound<SocketHandler>) {
        self.kernel = kernel
        super.init(world: kernel.world, handler: handler)
        // As large as the real socket requests.
        inboxLimit = 4 << 20
        offer(.systemNote, MonitorPayload.systemNote("Linux version \(kernel.conditions.kernelRelease)"))
        offer(.systemNote, MonitorPayload.systemNote("Bluetooth subsystem version 2.22"))
        for adapter in kernel.adapters { adapter.replay(to: self) }
        for socket in kernel.management.sockets { offer(.controlOpened, socket.controlOpened) }
        kernel.monitor.sockets.append(self)
    }

    override func acceptOutgoing(_ packet: [UInt8]) -> SendOutcome {
        .failed(KernelError("send", .operationNotSupported))
    }

    override func didClose() {
        kernel.monitor.sockets.removeAll { $0 === self }
    }

    func offer(
        _ kind: CapturedPacketKind, adapter: UInt16 = CapturedPacket.noAdapter, _ payload: [UInt8] = []
    ) {
        var writer = ByteWriter(capacity: 6 + payload.count)
        let packet = CapturedPacket(adapter: adapter, kind: kind, payload: payload.span.bytes)
        guard (try? packet.encodeMonitorPacket(into: &writer)) != nil else { return }
        if !deliver(writer.bytes) { world.statistics.eventOverflows += 1 }
    }
}

extension SimulatedAdapter {
    private var name: String { "hci\(index)" }

    private var information: [UInt8] {
        MonitorPayload.indexInformation(
            address: controller.publicAddress,
            manufacturer: CompanyIdentifier(controller.configuration.version.companyIdentifier))
    }

    /// Reports a new adapter, whose address is not known before it is read.
    func monitorPlugged() {
        kernel.monitor.report(.newIndex, adapter: index, MonitorPayload.newIndex(address: .zero, name: name))
    }

    /// Reports that the adapter is up; its transport may have been open before.
    func monitorOpened(isOpen: Bool) {
        if !isOpen { kernel.monitor.report(.openedIndex, adapter: index) }
        kernel.monitor.report(.indexInformation, adapter: index, information)
    }

    /// Reports the adapter's state to a new monitor.
    func replay(to socket: MonitorSocketState) {
        socket.offer(
            .newIndex, adapter: index, MonitorPayload.newIndex(address: controller.publicAddress, name: name))
        guard isRunning || isSettling else { return }
        socket.offer(.openedIndex, adapter: index)
        socket.offer(.indexInformation, adapter: index, information)
    }

    /// Reports a packet of a channel, as it travels between host and controller.
    func monitor(_ packet: [UInt8], channel: ChannelKey, on end: LinkEnd, isSent: Bool) {
        kernel.monitor.report(isSent ? .aclSent : .aclReceived, adapter: index, Self.data(packet, channel, end, isSent))
    }

    private static func data(_ packet: [UInt8], _ key: ChannelKey, _ end: LinkEnd, _ isSent: Bool) -> [UInt8] {
        let link = SynthesisedLink(
            handle: end.handle, peer: end.peerAddress, role: end.isCentral ? .central : .peripheral)
        var frame = packet
        var channel = UInt16(truncatingIfNeeded: key.number)
        if case .dynamic(let number) = key {
            // One of the identifiers for such channels; the first frame begins with the length of the SDU.
            channel = 0x0040 + UInt16(truncatingIfNeeded: number % 0x40)
            frame = [UInt8(truncatingIfNeeded: packet.count), UInt8(truncatingIfNeeded: packet.count >> 8)] + packet
        }
        var writer = ByteWriter(capacity: frame.count + 8)
        // A packet that is too long is omitted; the simulated peers do not send one.
        try? link.encode(frame.span.bytes, channel: channel, isSent: isSent, into: &writer)
        return writer.bytes
    }
}

extension ManagementSocketState {
    /// The identifier of this socket in the monitor.
    var cookie: UInt32 { UInt32(truncatingIfNeeded: identifier) }

    var controlOpened: [UInt8] {
        MonitorPayload.controlOpened(
            cookie: cookie, version: 1, revision: 23, isTrusted: isTrusted, program: "simulated")
    }

    func monitorOpened() {
        kernel.monitor.report(.controlOpened, controlOpened)
    }

    func monitor(_ kind: CapturedPacketKind, _ packet: borrowing ManagementPacket) {
        guard kernel.monitor.hasListeners else { return }
        kernel.monitor.report(
            kind, adapter: packet.index,
            MonitorPayload.control(cookie: cookie, code: packet.code, parameters: packet.parameters))
    }
}

/// A kernel's monitor: reports the packets between it, its controllers and programs.
final class Monitor: SocketList<MonitorSocketState> {
    var hasListeners: Bool { !sockets.isEmpty }

    /// Reports to all sockets, if there are any.
    func report(
        _ kind: CapturedPacketKind, adapter: UInt16 = CapturedPacket.noAdapter,
        _ payload: @autoclosure () -> [UInt8] = []
    ) {
        guard hasListeners else { return }
        let payload = payload()
        for socket in sockets { socket.offer(kind, adapter: adapter, payload) }
    }
}
