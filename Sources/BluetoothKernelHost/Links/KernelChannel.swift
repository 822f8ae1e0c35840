import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothLoop
import BluetoothPrimitives

/// A channel over a socket of the kernel.
package final class KernelChannel: HostChannel {
    private let socket: any L2CAPSocket
    private let life: LoopBound<ChannelLife>
    private let recorder: AdapterTrace?

    /// Creates a channel whose socket's events `life` handles.
    init(_ socket: any L2CAPSocket, _ life: ChannelLife, _ recorder: AdapterTrace?, on loop: EventLoop) {
        (self.socket, self.recorder) = (socket, recorder)
        self.life = LoopBound(life, on: loop)
        life.begin(socket)
    }

    /// Creates a channel over a connected socket.
    package convenience init(
        _ connect: (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket, of peer: BluetoothAddress,
        _ channel: L2CAPChannel, _ recorder: AdapterTrace?, on loop: EventLoop, _ receiver: any ChannelReceiver
    ) throws(KernelError) {
        let life = ChannelLife(of: peer, channel, on: loop)
        life.begin(receiver)
        self.init(try connect { event in life.receive(event) }, life, recorder, on: loop)
    }

    /// Creates a channel for a socket that a peer has opened; the closure returns its receiver, or nil to refuse it.
    package static func accept(
        _ socket: any L2CAPSocket, _ channel: L2CAPChannel, _ links: LingeringLinks? = nil,
        _ recorder: AdapterTrace? = nil,
        on loop: EventLoop, by accept: (any HostChannel) -> (any ChannelReceiver)?
    ) -> SocketHandler {
        let life = ChannelLife(of: socket.peer, channel, links, on: loop)
        let channel = KernelChannel(socket, life, recorder, on: loop)
        if let receiver = accept(channel) { life.begin(receiver) } else { channel.close() }
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
            if recorder != nil { life.value.trace?.sent(packet) }
            return .sent
        case .wouldBlock: return .wouldBlock
        case .failed(let error):
            let life = life.value
            if error.number == .notConnected, life.waitsForEncryption() { return .wouldBlock }
            let failure = ChannelFailure(error)
            life.sendFailed(failure)
            return .failed(failure)
        }
    }

    package func notifyWhenWritable() { socket.notifyWhenWritable() }

    package func setReading(_ isOn: Bool) { socket.setReading(isOn) }

    package func passWaiting() -> Bool { life.value.passPacket() }

    // MARK: The link

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
        life.value.trace = recorder.link(over: socket, isCentral: isCentral).attributeChannel
    }

    package func endRecord(_ reason: BluetoothError) {
        guard recorder != nil else { return }
        life.value.trace.take()?.link.ended(reason)
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
