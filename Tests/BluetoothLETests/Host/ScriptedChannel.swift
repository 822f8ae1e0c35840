import BluetoothATT
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives

/// A channel of a ``ScriptedHost``, whose peer responds by the host's table.
//
// Confined to the event loop.
final class ScriptedChannel: HostChannel, @unchecked Sendable {
    // Unchecked: all mutable state is accessed on the loop alone.
    let peer: BluetoothAddress
    private unowned let host: ScriptedHost
    var receiver: (any ChannelReceiver)?
    /// The sent packets, in order.
    private(set) var sent: [[UInt8]] = []
    private(set) var isClosed = false
    var protection = LinkSecurity(level: .low, keySize: 0)

    init(to peer: BluetoothAddress, of host: ScriptedHost) { (self.peer, self.host) = (peer, host) }

    let maximumTransmissionUnits: (receive: Int, send: Int)? = nil

    /// Delivers a packet from the peer.
    func deliver(_ packet: [UInt8]) {
        host.loop.executeLocally { [self] in if !isClosed { receiver?.receive(packet.span.bytes) } }
    }

    /// Ends the link from the peer's side.
    func end() {
        receiver?.channelEnded(
            BluetoothError(
                .disconnected, .init("use the link"), "", cause: .kernel(KernelError("read", .connectionReset)),
                disconnectReason: .remote))
    }

    func send(_ packet: RawSpan) -> ChannelSend {
        let packet = [UInt8](packet)
        sent.append(packet)
        if let answer = host.answers[packet] { deliver(answer) }
        return .sent
    }

    func notifyWhenWritable() {}
    func setReading(_ isOn: Bool) {}
    func takeWaiting() -> [UInt8]? { nil }
    var isOpen: Bool { !isClosed }
    func attach() -> (any HostLink)? { nil }
    func security() throws(BluetoothError) -> LinkSecurity { protection }
    func raiseSecurity(to level: SecurityLevel?, owing: OutstandingTransactions, isBegun: Bool) -> SecurityEvent? {
        guard let level else { return nil }
        let reached = LinkSecurity(level: level, keySize: 16)
        protection = reached
        host.loop.executeLocally { [self] in host.tell(.security(.encrypted(reached)), of: self) }
        return .began
    }
    func close(
        _ reason: BluetoothError?, owing outstanding: OutstandingTransactions,
        whenDown down: Promise<Void, BluetoothError>?
    ) {
        down?.succeed()
        (isClosed, receiver) = (true, nil)
    }
}
