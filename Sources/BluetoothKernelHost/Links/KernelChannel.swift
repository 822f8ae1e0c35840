import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothLoop
import BluetoothPrimitives
import Synchronization

/// A channel over a socket of the kernel.
package final class KernelChannel: HostChannel {
    private let socket: any L2CAPSocket
    private let life: LoopBound<ChannelLife>
    private let recorder: AdapterTrace?
    /// The recorder of the attribute channel of a link that is up.
    private let record = Mutex<ChannelTrace?>(nil)

    /// Creates a channel whose socket's events `life` handles.
    init(_ socket: any L2CAPSocket, _ life: ChannelLife, _ recorder: AdapterTrace?, on loop: EventLoop) {
        (self.socket, self.recorder) = (socket, recorder)
        self.life = LoopBound(life, on: loop)
        life.begin(socket)
    }

    /// Creates a channel over a connected socket, whose events the handler receives.
    package convenience init(
        _ connect: (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket, of peer: BluetoothAddress,
        _ channel: L2CAPChannel, _ recorder: AdapterTrace?, on loop: EventLoop, _ handler: @escaping ChannelHandler
    ) throws(KernelError) {
        let life = ChannelLife(of: peer, channel, on: loop)
        life.begin(handler)
        self.init(try connect { event in life.receive(event) }, life, recorder, on: loop)
    }

    /// Creates a channel for a socket that a peer has opened; the closure returns the handler of its events.
    package static func accept(
        _ socket: any L2CAPSocket, _ channel: L2CAPChannel, _ links: LingeringLinks? = nil,
        _ recorder: AdapterTrace? = nil,
        on loop: EventLoop, by accept: (any HostChannel) -> ChannelHandler
    ) -> SocketHandler {
        let life = ChannelLife(of: socket.peer, channel, links, on: loop)
        life.begin(accept(KernelChannel(socket, life, recorder, on: loop)))
        return { event in life.receive(event) }
    }

    package var peer: BluetoothAddress { socket.peer }

    package var linkHandle: UInt16? {
        guard let handle = try? socket.connectionHandle() else { return nil }
        life.value.encryptionIsOver()
        return handle
    }

    package var maximumTransmissionUnits: (receive: Int, send: Int)? {
        (try? socket.maximumTransmissionUnits()).map { (Int($0.receive), Int($0.send)) }
    }

    // MARK: Packets

    package func send(_ packet: RawSpan) -> ChannelSend {
        switch socket.send(packet) {
        case .sent:
            if recorder != nil { record.withLock { $0 }?.sent(packet) }
            return .sent
        case .wouldBlock: return .wouldBlock
        case .failed(let error):
            if error.number == .notConnected, life.value.waitsForEncryption() { return .wouldBlock }
            return .failed(ChannelFailure(error))
        }
    }

    package func receive(_ body: (RawSpan) -> Void) -> Bool {
        guard recorder != nil else { return socket.receive(body) == .packet }
        return socket.receive { packet in
            record.withLock { $0 }?.received(packet)
            body(packet)
        } == .packet
    }

    package func notifyWhenWritable() { socket.notifyWhenWritable() }

    package func setReading(_ isOn: Bool) { socket.setReading(isOn) }

    // MARK: The link

    package func confirmLink() { life.value.confirmLink() }

    package func security() throws(ChannelFailure) -> LinkSecurity {
        do throws(KernelError) { return try socket.security() } catch { throw ChannelFailure(error) }
    }

    package func raiseSecurity(to level: SecurityLevel) throws(ChannelFailure) {
        do throws(KernelError) { try socket.raiseSecurity(to: level) } catch { throw ChannelFailure(error) }
        life.value.raiseBegins()
    }

    // MARK: Recording

    package func beginRecord(isCentral: Bool) {
        guard let recorder else { return }
        let trace = recorder.link(over: socket, isCentral: isCentral).attributeChannel
        record.withLock { $0 = trace }
    }

    package func endRecord(_ reason: BluetoothError) {
        guard recorder != nil else { return }
        record.withLock { $0.take() }?.link.ended(reason)
    }

    // MARK: The end

    package func error(_ failure: ChannelFailure, _ context: ChannelContext) -> BluetoothError {
        let error = BluetoothError.channel(failure, context, nil)
        let life = life.value
        switch context {
        case .connecting(let operation) where life.isMeantForAnother(failure):
            return .metTheEnd(operation, failure.cause)
        case .connecting(let operation):
            guard let status = life.refusal(failure) else { return error }
            return .linkLimitReached(operation, .controller(status))
        case .link(let peer), .linkSaid(_, let peer):
            guard life.isMeantForAnother(error.disconnectReason) else { return error }
            return .metTheEnd(.init("connect", peer: peer), error.cause)
        default: return error
        }
    }

    package func close() {
        life.value.close()
        socket.close()
    }

    package func close(owing outstanding: OutstandingTransactions) {
        if !life.value.drain(self, outstanding) { close() }
    }
}
