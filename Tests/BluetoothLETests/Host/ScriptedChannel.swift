import ATT
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import HCI

/// A channel of a ``ScriptedHost``, whose other side answers by the host's table.
//
// Lives on the loop.
final class ScriptedChannel: HostChannel, @unchecked Sendable {
    // Unchecked: everything that changes is reached on the loop alone.
    let peer: BluetoothAddress
    private unowned let host: ScriptedHost
    var handler: ChannelHandler = { _ in }
    /// What was sent, in order.
    private(set) var sent: [[UInt8]] = []
    private(set) var isClosed = false
    private(set) var protection = LinkSecurity(level: .low, keySize: 0)
    private var inbound: [[UInt8]] = []

    init(to peer: BluetoothAddress, of host: ScriptedHost) { (self.peer, self.host) = (peer, host) }

    let linkHandle: UInt16? = 64
    let maximumTransmissionUnits: (receive: Int, send: Int)? = nil

    /// The other side sends a packet.
    func deliver(_ packet: [UInt8]) {
        inbound.append(packet)
        host.loop.executeLocally { [self] in if !isClosed { handler(.readable) } }
    }

    /// The other side ends the link.
    func end() {
        handler(.closed(ChannelFailure(.closedByPeer, .kernel(KernelError("read", .connectionReset)))))
    }

    func send(_ packet: RawSpan) -> ChannelSend {
        let packet = [UInt8](packet)
        sent.append(packet)
        if let answer = host.answers[packet] { deliver(answer) }
        return .sent
    }

    func receive(_ body: (RawSpan) -> Void) -> Bool {
        guard !inbound.isEmpty else { return false }
        let packet = inbound.removeFirst()
        body(packet.span.bytes)
        return true
    }

    func notifyWhenWritable() {}
    func setReading(_ isOn: Bool) {}
    func security() throws(ChannelFailure) -> LinkSecurity { protection }
    func raiseSecurity(to level: SecurityLevel) throws(ChannelFailure) {
        protection = LinkSecurity(level: level, keySize: 16)
        host.loop.executeLocally { [self] in handler(.writable) }
    }
    func beginRecord(isCentral: Bool) {}
    func endRecord(_ reason: BluetoothError) {}
    func error(_ failure: ChannelFailure, _ context: ChannelContext) -> BluetoothError {
        BluetoothError(.disconnected, .init("use the link", peer: peer), "scripted", disconnectReason: .remote)
    }
    func linkHolds() {}
    func close() { isClosed = true }
    func close(owing outstanding: OutstandingTransactions) { close() }
}

/// A link of which nothing is known.
final class ScriptedLink: HostLink {
    let parameters: ConnectionParameters? = nil
    let dataLength: LinkDataLength? = nil

    func rssi(_ operation: BluetoothError.Operation, timeout: Duration?) async throws(BluetoothError) -> Int? { -40 }
    func transmitPower(_ operation: BluetoothError.Operation, timeout: Duration?) async throws(BluetoothError) -> Int {
        0
    }
    func phys(_ operation: BluetoothError.Operation, timeout: Duration?) async throws(BluetoothError) -> LinkPHYs {
        LinkPHYs(transmit: .le1M, receive: .le1M)
    }
    func setPHYs(
        _ preference: LEPHYPreference, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> LinkPHYs { LinkPHYs(transmit: .le2M, receive: .le2M) }
    func setDataLength(
        octets: UInt16, time: UInt16, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) {}
    func setParameters(
        _ parameters: LEConnectionParameters, _ operation: BluetoothError.Operation, timeout: Duration?
    ) async throws(BluetoothError) -> ConnectionParameters {
        throw BluetoothError(.unsupported, operation, "scripted")
    }
    func keepParameters(_ range: LEConnectionParameters?, _ operation: BluetoothError.Operation) throws(BluetoothError)
    {}
    func follow(
        _ operation: BluetoothError.Operation, _ onChange: @escaping (Result<LinkChange, BluetoothError>) -> Void
    ) throws(BluetoothError) {}
    func reasonOfEnd(_ peer: BluetoothAddress, _ failure: ChannelFailure) -> BluetoothError {
        BluetoothError(
            .disconnected, .init("use the link", peer: peer), "The peer ended it.", disconnectReason: .remote)
    }
    func end(_ reason: BluetoothError) {}
}
