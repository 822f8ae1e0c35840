import BluetoothHost
import BluetoothKernel
import BluetoothPrimitives
import Synchronization

/// The kernel's L2CAP sockets of one adapter.
//
// Lives on the loop, with the session.
final class KernelChannels: HostChannels {
    private let mark: ComponentCount.Mark
    private let adapter: AdapterFacts
    private let kernel: any BluetoothKernel
    private let ends: LinkEnds
    private let trace: PacketSynthesis?

    init(of adapter: AdapterFacts, on kernel: any BluetoothKernel, _ ends: LinkEnds, trace: PacketSynthesis?) {
        mark = kernel.loop.components.mark("KernelChannels")
        (self.adapter, self.kernel, self.ends, self.trace) = (adapter, kernel, ends, trace)
    }

    private var recorder: AdapterTrace? { AdapterTrace(trace, adapter: adapter.information.index) }

    func connect(
        to peer: BluetoothAddress, _ channel: L2CAPChannel, _ options: L2CAPOptions,
        _ handler: @escaping ChannelHandler
    ) throws(ChannelFailure) -> any HostChannel {
        do throws(KernelError) {
            let socket = try kernel.connectL2CAP(
                to: peer, channel: channel, from: adapter.information.address, options: options
            ) { event in handler(ChannelEvent(event)) }
            return KernelChannel(socket, recorder)
        } catch {
            throw ChannelFailure(error)
        }
    }

    func listen(
        _ channel: L2CAPChannel, _ options: L2CAPOptions,
        _ accept: @escaping (any HostChannel) -> ChannelHandler
    ) throws(ChannelFailure) -> any HostChannelListener {
        do throws(KernelError) {
            let listener = try kernel.listenL2CAP(
                channel: channel, on: adapter.information.address, options: options
            ) { [weak self] socket in
                let handler = accept(KernelChannel(socket, self?.recorder))
                return { event in handler(ChannelEvent(event)) }
            }
            return KernelChannelListener(listener)
        } catch {
            throw ChannelFailure(error)
        }
    }

    func error(_ failure: ChannelFailure, _ context: ChannelContext) -> BluetoothError {
        .channel(failure, context, kernel.environment())
    }

    func reason(
        of failure: ChannelFailure, otherwise other: BluetoothError, isLocal: Bool,
        then completion: @escaping (BluetoothError) -> Void
    ) -> BluetoothError? {
        ends.reason(of: failure.kernelError, otherwise: other, isLocal: isLocal, then: completion)
    }

    func adapterHasLeft(_ reason: BluetoothError) { ends.completeAll(reason) }

    func close() { ends.close() }

    var unexplainedCount: Int { ends.waitingCount }
}

private final class KernelChannelListener: HostChannelListener {
    private let base: any L2CAPListener

    init(_ base: any L2CAPListener) { self.base = base }

    var channel: L2CAPChannel { base.channel }

    func close() { base.close() }
}

/// A channel over a socket of the kernel.
package final class KernelChannel: HostChannel {
    private let socket: any L2CAPSocket
    private let recorder: AdapterTrace?
    /// What records the attribute channel of a link that is up.
    private let record = Mutex<ChannelTrace?>(nil)

    package init(_ socket: any L2CAPSocket, _ recorder: AdapterTrace?) {
        (self.socket, self.recorder) = (socket, recorder)
    }

    /// A channel over a socket that is connected already, whose events the handler takes.
    package convenience init(
        _ connect: (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket, _ recorder: AdapterTrace?,
        _ handler: @escaping ChannelHandler
    ) throws(KernelError) {
        self.init(try connect { event in handler(ChannelEvent(event)) }, recorder)
    }

    /// A channel over a socket that is connected already, whose events the receiver takes; it is not kept.
    //
    // Not generic, which would cost an allocation more.
    package convenience init(
        _ connect: (@escaping SocketHandler) throws(KernelError) -> any L2CAPSocket, _ recorder: AdapterTrace?,
        for receiver: any ChannelReceiver
    ) throws(KernelError) {
        self.init(try connect { [weak receiver] event in receiver?.receive(ChannelEvent(event)) }, recorder)
    }

    package var peer: BluetoothAddress { socket.peer }

    package var linkHandle: UInt16? { try? socket.connectionHandle() }

    package var maximumTransmissionUnits: (receive: Int, send: Int)? {
        (try? socket.maximumTransmissionUnits()).map { (Int($0.receive), Int($0.send)) }
    }

    package func send(_ packet: RawSpan) -> ChannelSend {
        switch socket.send(packet) {
        case .sent:
            if recorder != nil { record.withLock { $0 }?.sent(packet) }
            return .sent
        case .wouldBlock: return .wouldBlock
        case .failed(let error): return .failed(ChannelFailure(error))
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

    package func security() throws(ChannelFailure) -> LinkSecurity {
        do throws(KernelError) { return try socket.security() } catch { throw ChannelFailure(error) }
    }

    package func raiseSecurity(to level: SecurityLevel) throws(ChannelFailure) {
        do throws(KernelError) { try socket.raiseSecurity(to: level) } catch { throw ChannelFailure(error) }
    }

    package func beginRecord(isCentral: Bool) {
        guard let recorder else { return }
        let trace = recorder.link(over: socket, isCentral: isCentral).attributeChannel
        record.withLock { $0 = trace }
    }

    package func endRecord(_ reason: BluetoothError) {
        guard recorder != nil else { return }
        record.withLock { $0.take() }?.link.ended(reason)
    }

    package func error(_ failure: ChannelFailure, _ context: ChannelContext) -> BluetoothError {
        .channel(failure, context, nil)
    }

    package func close() { socket.close() }
}

extension ChannelEvent {
    @inline(__always)
    package init(_ event: SocketEvent) {
        switch event {
        case .readable: self = .readable
        case .writable: self = .writable
        case .closed(let error): self = .closed(ChannelFailure(error))
        }
    }
}

extension ChannelFailure {
    package init(_ error: KernelError) {
        let kind: Kind =
            switch error.number {
            case .notConnected: .notConnected
            case .messageTooLong: .tooLong
            case .connectionAborted: .aborted
            case .connectionReset: .closedByPeer
            case .invalidArgument: .tooEarly
            default: .other
            }
        self.init(kind, .kernel(error))
    }

    /// The kernel's word for it.
    var kernelError: KernelError {
        if case .kernel(let error) = cause { error } else { KernelError("channel", .inputOutput) }
    }
}

extension BluetoothError {
    /// What a failure of a channel means.
    static func channel(
        _ failure: ChannelFailure, _ context: ChannelContext, _ environment: HostEnvironment?
    ) -> BluetoothError {
        let error = failure.kernelError
        switch context {
        case .link(let peer): return .disconnected(peer, error)
        case .connecting(let operation): return .connecting(operation, error)
        case .meetingTheEnd(let operation): return .metTheEnd(operation, failure.cause)
        case .channel(let peer): return .channelEnded(peer, error)
        case .openingChannel(let operation, let psm): return .openingChannel(operation, psm, error)
        case .bearer(let peer): return .bearerEnded(peer, error)
        case .openingBearer(let operation): return .openingEnhancedBearer(operation, error)
        case .listening(let operation): return .listening(operation, error, environment ?? HostEnvironment())
        case .listeningForBearers(let operation):
            return .listeningForEnhancedBearers(operation, error, environment ?? HostEnvironment())
        }
    }
}
