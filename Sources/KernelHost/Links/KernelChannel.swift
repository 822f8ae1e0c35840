import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives
import Synchronization

/// A channel over a socket of the kernel.
///
/// While the kernel encrypts a link at this side's wish, the socket of its attribute channel refuses to send as if it were
/// not connected. When the peer refuses to pair it may do so for ever, and tell nothing; so that has the time limit of a
/// pairing (Core Vol 3 Part H §3.4), unless protection is being raised here, which has a limit of its own.
package final class KernelChannel: HostChannel {
    /// How long a link may take to be encrypted.
    static let encryptionLimit = Duration.seconds(30)

    /// Who takes the events of an attribute channel, which the kernel leaves without one where encryption fails.
    package struct Events: Sendable {
        private struct Handler { let body: SocketHandler }
        private let handler: LoopBound<Handler>
        fileprivate let loop: EventLoop

        /// Nil for channels that are not held up by encryption.
        package init?(_ body: @escaping SocketHandler, of channel: L2CAPChannel, on loop: EventLoop) {
            guard channel == .attribute else { return nil }
            (handler, self.loop) = (LoopBound(Handler(body: body), on: loop), loop)
        }

        fileprivate func end() { handler.value.body(.closed(.notEncrypted)) }
    }

    private struct State {
        /// What records the attribute channel of a link that is up.
        var record: ChannelTrace?
        var events: Events?
        /// Whether protection is being raised from here.
        var isRaising = false
        /// Runs while the link is encrypted otherwise.
        var timer: LoopTimer?
    }

    private let socket: any L2CAPSocket
    private let recorder: AdapterTrace?
    private let state: Mutex<State>

    package init(_ socket: any L2CAPSocket, _ recorder: AdapterTrace?, _ events: Events? = nil) {
        (self.socket, self.recorder) = (socket, recorder)
        state = Mutex(State(events: events))
    }

    /// A channel over a socket that is connected already, whose events the handler takes.
    package convenience init(
        _ connect: (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket, _ recorder: AdapterTrace?,
        _ handler: @escaping ChannelHandler
    ) throws(KernelError) {
        self.init(try connect { event in handler(ChannelEvent(event)) }, recorder)
    }

    /// An attribute channel over a socket that is connected already, whose events the receiver takes; it is not kept.
    //
    // Not generic, which would cost an allocation more.
    package convenience init(
        _ connect: (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket, _ recorder: AdapterTrace?,
        for receiver: any ChannelReceiver, on loop: EventLoop
    ) throws(KernelError) {
        let onEvent: SocketHandler = { [weak receiver] event in receiver?.receive(ChannelEvent(event)) }
        self.init(try connect(onEvent), recorder, Events(onEvent, of: .attribute, on: loop))
    }

    /// Who takes the events of a channel that a peer has opened.
    func setEvents(_ events: Events?) { state.withLock { $0.events = events } }

    package var peer: BluetoothAddress { socket.peer }

    package var linkHandle: UInt16? {
        guard let handle = try? socket.connectionHandle() else { return nil }
        // It is told again once encryption is over.
        state.withLock { $0.isRaising = false }
        return handle
    }

    package var maximumTransmissionUnits: (receive: Int, send: Int)? {
        (try? socket.maximumTransmissionUnits()).map { (Int($0.receive), Int($0.send)) }
    }

    // MARK: Packets

    package func send(_ packet: RawSpan) -> ChannelSend {
        switch socket.send(packet) {
        case .sent:
            if recorder != nil { state.withLock { $0.record }?.sent(packet) }
            return .sent
        case .wouldBlock: return .wouldBlock
        case .failed(let error):
            // A socket that has ended says the same; its end is told as an event.
            if error.number == .notConnected, waitsForEncryption() { return .wouldBlock }
            return .failed(ChannelFailure(error))
        }
    }

    package func receive(_ body: (RawSpan) -> Void) -> Bool {
        guard recorder != nil else { return socket.receive(body) == .packet }
        return socket.receive { packet in
            state.withLock { $0.record }?.received(packet)
            body(packet)
        } == .packet
    }

    package func notifyWhenWritable() { socket.notifyWhenWritable() }

    package func setReading(_ isOn: Bool) { socket.setReading(isOn) }

    // MARK: Encryption

    package func security() throws(ChannelFailure) -> LinkSecurity {
        do throws(KernelError) { return try socket.security() } catch { throw ChannelFailure(error) }
    }

    package func raiseSecurity(to level: SecurityLevel) throws(ChannelFailure) {
        do throws(KernelError) { try socket.raiseSecurity(to: level) } catch { throw ChannelFailure(error) }
        state.withLock { ($0.isRaising, $0.timer) = (true, nil) }
    }

    /// Waits for the link to be encrypted; false where it is not that which keeps the channel from sending.
    private func waitsForEncryption() -> Bool {
        guard let (events, isRaising) = state.withLock({ state in state.events.map { ($0, state.isRaising) } }) else {
            return false
        }
        guard !isRaising else { return true }
        let timer = events.loop.makeLocalTimer { [weak self] in self?.encryptionIsDue() }
        timer.set(after: Self.encryptionLimit)
        state.withLock { $0.timer = timer }
        return true
    }

    private func encryptionIsDue() {
        if linkHandle == nil { state.withLock { $0.events }?.end() }
    }

    // MARK: Recording

    package func beginRecord(isCentral: Bool) {
        guard let recorder else { return }
        let trace = recorder.link(over: socket, isCentral: isCentral).attributeChannel
        state.withLock { $0.record = trace }
    }

    package func endRecord(_ reason: BluetoothError) {
        guard recorder != nil else { return }
        state.withLock { $0.record.take() }?.link.ended(reason)
    }

    // MARK: The end

    package func error(_ failure: ChannelFailure, _ context: ChannelContext) -> BluetoothError {
        .channel(failure, context, nil)
    }

    package func close() {
        // Released outside the lock.
        let former = state.withLock { state in (state.events.take(), state.timer.take()) }
        withExtendedLifetime(former) { socket.close() }
    }
}
