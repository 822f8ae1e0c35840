import BluetoothATT
import BluetoothHost
import BluetoothSockets
import BluetoothLoop
import BluetoothPrimitives

/// A channel over a socket of the kernel.
package final class KernelChannel: HostChannel {
    private let socket: any L2CAPSocket
    private let life: LoopBound<ChannelLife>
    private let isRecorded: Bool

    /// Creates a channel whose socket's events `life` handles.
    init(_ socket: any L2CAPSocket, _ life: ChannelLife, isRecorded: Bool, on loop: EventLoop) {
        (self.socket, self.isRecorded) = (socket, isRecorded)
        self.life = LoopBound(life, on: loop)
        life.begin(socket)
    }

    /// Creates a channel over a connected socket.
    package convenience init(
        _ connect: (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket, of peer: BluetoothAddress,
        _ channel: L2CAPChannel, _ recorder: AdapterTrace?, on loop: EventLoop, _ receiver: any ChannelReceiver
    ) throws(KernelError) {
        let life = ChannelLife(of: peer, channel, on: loop)
        self.init(
            try connect { event in life.receive(event) }, life, isRecorded: recorder != nil, on: loop)
        life.begin(receiver, recorder, isCentral: true)
    }

    /// Creates a channel for a socket that a peer has opened; the closure returns its receiver, or nil to refuse it.
    package static func accept(
        _ socket: any L2CAPSocket, _ channel: L2CAPChannel, _ links: LingeringLinks? = nil,
        _ recorder: AdapterTrace? = nil,
        on loop: EventLoop, by accept: (any HostChannel) -> (any ChannelReceiver)?
    ) -> SocketHandler {
        let life = ChannelLife(of: socket.peer, channel, links, on: loop)
        let channel = KernelChannel(socket, life, isRecorded: recorder != nil, on: loop)
        if let receiver = accept(channel) {
            life.begin(receiver, recorder, isCentral: false)
        } else {
            channel.close()
        }
        return { event in life.receive(event) }
    }

    package var peer: BluetoothAddress { socket.peer }

    /// The link's handle; nil while the link is not up, or is being encrypted.
    var linkHandle: UInt16? {
        guard let handle = try? socket.connectionHandle() else { return nil }
        life.value.encryptionIsOver()
        return handle
    }

    package var maximumTransmissionUnits: (receive: Int, send: Int)? {
        (try? socket.maximumTransmissionUnits()).map { (Int($0.receive), Int($0.send)) }
    }

    package var isOpen: Bool { life.value.isInUse }

    // MARK: Packets

    package func send(_ packet: RawSpan) -> ChannelSend {
        // Nothing refers to the life meanwhile: counting the reference would be the larger part of the cost.
        let raise = life.value.raise
        if raise?.holds(packet) == true { return .held }
        switch socket.send(packet) {
        case .sent:
            if isRecorded { life.value.trace?.sent(packet) }
            raise?.didSend(packet)
            return .sent
        case .wouldBlock: return .wouldBlock
        case .failed(let error):
            let life = life.value
            if error.number == .notConnected, life.waitsForEncryption() { return .wouldBlock }
            life.sendFailed(error)
            return .failed(ChannelFailure(error))
        }
    }

    package func notifyWhenWritable() { socket.notifyWhenWritable() }

    package func setReading(_ isOn: Bool) { socket.setReading(isOn) }

    package func takeWaiting() -> [UInt8]? {
        var packet: [UInt8]?
        // An end noticed by this is also an event.
        _ = socket.receive { packet = [UInt8]($0) }
        return packet
    }

    // MARK: The link

    package func attach() -> (any HostLink)? { linkHandle.flatMap { life.value.attach($0) } }

    package func security() throws(BluetoothError) -> LinkSecurity {
        do throws(KernelError) { return try socket.security() } catch { throw life.value.reason(error) }
    }

    package func raiseSecurity(
        to level: SecurityLevel?, owing outstanding: OutstandingTransactions, isBegun: Bool
    ) -> SecurityEvent? {
        life.value.raiseSecurity(to: level, owing: outstanding, isBegun: isBegun)
    }

    // MARK: The end

    package func close(
        _ reason: BluetoothError?, owing outstanding: OutstandingTransactions,
        whenDown down: Promise<Void, BluetoothError>?
    ) {
        let life = life.value
        if let down { life.awaitEnd(down, of: self, isDrained: !outstanding.isEmpty) }
        if !life.drain(self, outstanding) {
            life.close()
            socket.close()
        }
        if let reason { life.linkEnds(reason) }
    }
}
