import BluetoothKernel
import BluetoothPrimitives
import Logging
import Synchronization

/// Offers a service by connection-oriented channels; the sequence of those that peers open.
///
/// It listens from the moment ``Adapter/listen(psm:backlog:options:)`` returns until the loop over it is left, its last
/// reference goes, ``close()`` is called, or the adapter is closed, for which the loop throws. While the adapter is
/// switched off or unplugged nothing comes in; it goes on when it is back. Channels that were handed out outlive it.
public struct ChannelListener: AsyncSequence, Sendable {
    /// What the sequence throws.
    public typealias Failure = BluetoothError

    /// The service's number: the one asked for, or the one the kernel picked where 0 was.
    public let psm: UInt16
    let stream: BoundedStream<ConnectionOrientedChannel>
    private let state: ChannelListenerState

    init(_ state: ChannelListenerState, psm: UInt16, onEnd: @escaping @Sendable () -> Void) {
        self.psm = psm
        self.state = state
        stream = BoundedStream(channel: state.channel) { [state] in
            state.end(nil)
            onEnd()
        }
    }

    /// How many channels were closed again at once because as many as the backlog holds were waiting.
    public var refusedCount: Int { state.refusedCount }

    /// Stops listening. Channels that wait are still handed out, then the loop ends.
    public func close() { state.end(nil) }

    /// Begins to take channels. A listener has one consumer: a second loop ends at once.
    public func makeAsyncIterator() -> BoundedStream<ConnectionOrientedChannel>.Iterator { stream.makeAsyncIterator() }
}

/// What a listener has in the kernel.
final class ChannelListenerState: Sendable {
    private struct State {
        var listener: (any L2CAPListener)?
        var hasEnded = false
        var refusedCount = 0
    }

    let channel: StreamChannel<ConnectionOrientedChannel>
    private let adapter: Adapter
    private let loop: EventLoop
    private let log: Logger
    private let state = Mutex(State())

    init(backlog: Int, _ operation: BluetoothError.Operation, of adapter: Adapter, log: Logger) {
        loop = adapter.loop
        channel = StreamChannel(capacity: backlog, policy: .fail, operation: operation, from: loop)
        self.adapter = adapter
        self.log = log
    }

    var refusedCount: Int { state.withLock { $0.refusedCount } }

    /// Begins to listen; says on which PSM. To be called on the loop.
    func open(
        _ psm: UInt16, on adapter: BluetoothAddress, of kernel: any BluetoothKernel, _ options: L2CAPOptions
    ) throws(KernelError) -> UInt16 {
        let listener = try kernel.listenL2CAP(channel: .dynamic(psm: psm), on: adapter, options: options) {
            [weak self] socket in self?.accept(socket, psm) ?? { _ in }
        }
        state.withLock { $0.listener = listener }
        guard case .dynamic(let psm) = listener.channel else { return psm }
        return psm
    }

    private func accept(_ socket: any L2CAPSocket, _ asked: UInt16) -> SocketHandler {
        guard channel.room > 0 else {
            state.withLock { $0.refusedCount += 1 }
            log.debug("refused a channel: nobody took those before", metadata: ["peer": "\(socket.peer)"])
            socket.close()
            return { _ in }
        }
        let psm = state.withLock { state in
            if case .dynamic(let psm) = state.listener?.channel { psm } else { asked }
        }
        let made = ConnectionOrientedChannel(to: socket.peer, psm: psm, by: adapter, on: loop, log: log)
        let handler = made.assumeIsolated { LoopBound($0.adopt(socket), on: loop) }.value
        channel.send(made)
        return handler
    }

    /// Stops listening, and ends the sequence after the channels that wait. Callable from anywhere.
    func end(_ reason: BluetoothError?) {
        let listener = state.withLock { state in
            defer { state.listener = nil }
            return state.listener
        }
        channel.finish(reason)
        guard let listener else { return }
        loop.execute { listener.close() }
    }
}
