import BluetoothSockets
import BluetoothPrimitives
import Synchronization

/// A program's socket of the simulated kernel. Dropping the last reference closes it.
protocol SimulatedSocket: PacketSocket {
    var radio: SimulatedRadio { get }
    var identifier: Int { get }
}

extension SimulatedSocket {
    func send(_ packet: RawSpan) -> SendOutcome {
        let packet = [UInt8](packet)
        return radio.withWorld { [identifier] world in
            world.sockets[identifier]?.send(packet) ?? .failed(KernelError("send", .notConnected))
        }
    }

    func receive(_ body: (RawSpan) -> Void) -> ReceiveOutcome {
        let (packet, outcome) = radio.withWorld { [identifier] world in
            world.sockets[identifier]?.receive() ?? (nil, .failed(KernelError("recv", .notConnected)))
        }
        if let packet { body(packet.span.bytes) }
        return outcome
    }

    func notifyWhenWritable() {
        radio.withWorld { [identifier] in $0.sockets[identifier]?.notifyWhenWritable() }
    }

    func setReading(_ isOn: Bool) {
        radio.withWorld { [identifier] in $0.sockets[identifier]?.setReading(isOn) }
    }

    func close() {
        radio.withWorld { [identifier] in $0.sockets[identifier]?.close() }
    }
}

/// A raw HCI, management or monitor socket.
final class SimulatedHCISocket: SimulatedSocket, HCISocket {
    let radio: SimulatedRadio
    let identifier: Int

    init(radio: SimulatedRadio, identifier: Int) {
        self.radio = radio
        self.identifier = identifier
    }

    deinit {
        close()
    }

    func setFilter(_ filter: HCISocketFilter) throws(KernelError) {
        radio.withWorld { [identifier] in ($0.sockets[identifier] as? HCISocketState)?.setFilter(filter) }
    }
}

/// An L2CAP channel, connecting, connected or accepted.
final class SimulatedL2CAPSocket: SimulatedSocket, L2CAPSocket {
    let radio: SimulatedRadio
    let identifier: Int
    /// The kernel's last address of the peer, for use after the socket was closed.
    private let lastPeer: Mutex<BluetoothAddress>

    init(radio: SimulatedRadio, identifier: Int, peer: BluetoothAddress) {
        self.radio = radio
        self.identifier = identifier
        lastPeer = Mutex(peer)
    }

    deinit {
        close()
    }

    private func withState<Result: Sendable>(
        _ call: String, _ body: @Sendable (L2CAPSocketState) throws(KernelError) -> Result
    ) throws(KernelError) -> Result {
        try radio.withWorld { [identifier] world throws(KernelError) in
            guard let state = world.sockets[identifier] as? L2CAPSocketState else {
                throw KernelError(call, .badFileDescriptor)
            }
            return try body(state)
        }
    }

    var peer: BluetoothAddress {
        let known = radio.withWorld { [identifier] in ($0.sockets[identifier] as? L2CAPSocketState)?.peer }
        return lastPeer.withLock { last in
            if let known { last = known }
            return last
        }
    }

    func connectionHandle() throws(KernelError) -> UInt16 {
        try withState("getsockopt(L2CAP_CONNINFO)") { state throws(KernelError) in try state.connectionHandle() }
    }

    func security() throws(KernelError) -> LinkSecurity {
        try withState("getsockopt(BT_SECURITY)") { state throws(KernelError) in try state.security() }
    }

    func raiseSecurity(to level: SecurityLevel) throws(KernelError) {
        try withState("setsockopt(BT_SECURITY)") { state throws(KernelError) in try state.raiseSecurity(to: level) }
    }

    func maximumTransmissionUnits() throws(KernelError) -> (receive: UInt16, send: UInt16) {
        try withState("getsockopt(BT_RCVMTU)") { state throws(KernelError) in (state.receiveMTU, state.sendMTU) }
    }
}

/// A listening L2CAP socket.
final class SimulatedListener: L2CAPListener {
    let radio: SimulatedRadio
    let identifier: Int
    let channel: L2CAPChannel

    init(radio: SimulatedRadio, identifier: Int, channel: L2CAPChannel) {
        self.radio = radio
        self.identifier = identifier
        self.channel = channel
    }

    deinit {
        close()
    }

    func close() {
        radio.withWorld { [identifier] in $0.listeners[identifier]?.close() }
    }
}
