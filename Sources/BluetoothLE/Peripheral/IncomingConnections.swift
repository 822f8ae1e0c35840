import BluetoothKernel
import BluetoothPrimitives
import Logging
import Synchronization

/// The links that other devices make to this machine; see ``Adapter/incomingConnections(_:)``.
///
/// Links are taken from the moment that call returns until the loop over this is left, its last reference goes,
/// ``close()`` is called, or the adapter is closed, for which the loop throws. While the adapter is switched off or
/// unplugged nothing comes in; it goes on when it is back.
///
/// A link is served from the moment it comes in, whether or not anybody reads this sequence, and is kept as long as this
/// is, or the program holds its ``Connection``: a loop over this is all that a server needs. A loop that is slow misses
/// the oldest links of those that wait for it, which are served all the same; ``connections`` has them all.
public struct IncomingConnections: AsyncSequence, Sendable {
    /// What the sequence throws.
    public typealias Failure = BluetoothError

    private let stream: BoundedStream<Connection>
    private let state: IncomingConnectionsState

    init(_ state: IncomingConnectionsState, of adapter: Adapter) {
        self.state = state
        stream = BoundedStream(channel: state.channel) { [state, adapter] in
            withExtendedLifetime(adapter) { state.end(nil) }
        }
    }

    /// The links that have come in and have not ended.
    public var connections: [Connection] { state.connections }

    /// How many links the loop has missed because it was slow.
    public var missedCount: Int { stream.missedCount }

    /// Takes no more links. Those that wait are still handed out, then the loop ends; links stay up.
    public func close() { state.end(nil) }

    /// Begins to take links. There is one consumer: a second loop ends at once.
    public func makeAsyncIterator() -> BoundedStream<Connection>.Iterator { stream.makeAsyncIterator() }
}

/// How links that other devices make are taken.
public struct IncomingConnectionOptions: Hashable, Sendable {
    /// The ATT_MTU to agree to, 23 to 517 bytes. The other side is the one that asks.
    public var maximumTransmissionUnit: UInt16
    /// How many links may wait for the loop; the oldest makes room for the newest.
    public var bufferCapacity: Int
    /// What to set on each link's socket; with a security level the peer is asked to pair as soon as it has connected.
    public var socket: L2CAPOptions

    /// Options with the usual choices: an ATT_MTU of 517, room for 64 links.
    public init(
        maximumTransmissionUnit: UInt16 = 517, bufferCapacity: Int = 64,
        socket: L2CAPOptions = L2CAPOptions(receiveBuffer: 1 << 20)
    ) {
        self.maximumTransmissionUnit = min(max(maximumTransmissionUnit, 23), 517)
        self.bufferCapacity = bufferCapacity
        self.socket = socket
    }
}

/// What listening for links has in the kernel, and the links it has brought.
final class IncomingConnectionsState: Sendable {
    private struct State {
        var listener: (any L2CAPListener)?
        var onEnd: (@Sendable () -> Void)?
        var connections: [ObjectIdentifier: Connection] = [:]
        /// Those of ``connections`` in the order they came.
        var order: [ObjectIdentifier] = []
    }

    let channel: StreamChannel<Connection>
    private let loop: EventLoop
    private let state = Mutex(State())

    init(_ options: IncomingConnectionOptions, _ operation: BluetoothError.Operation, on loop: EventLoop) {
        channel = StreamChannel(
            capacity: options.bufferCapacity, policy: .dropOldest, operation: operation, from: loop)
        self.loop = loop
    }

    var connections: [Connection] { state.withLock { state in state.order.compactMap { state.connections[$0] } } }

    /// Whether links are taken.
    var isListening: Bool { state.withLock { $0.listener != nil } }

    /// Begins to listen. To be called on the loop, where `onEnd` is called when it has ended.
    func open(
        on adapter: BluetoothAddress, of kernel: any BluetoothKernel, _ options: L2CAPOptions,
        accept: @escaping L2CAPAcceptHandler, onEnd: @escaping @Sendable () -> Void
    ) throws(KernelError) {
        let listener = try kernel.listenL2CAP(channel: .attribute, on: adapter, options: options, accept)
        state.withLock { ($0.listener, $0.onEnd) = (listener, onEnd) }
    }

    /// Keeps a link and hands it to the loop.
    func add(_ connection: Connection) {
        state.withLock { state in
            state.connections[ObjectIdentifier(connection)] = connection
            state.order.append(ObjectIdentifier(connection))
        }
        channel.send(connection)
    }

    /// A link has ended.
    func remove(_ connection: Connection) {
        let removed = state.withLock { state -> Connection? in
            state.order.removeAll { $0 == ObjectIdentifier(connection) }
            return state.connections.removeValue(forKey: ObjectIdentifier(connection))
        }
        // Released outside the lock.
        withExtendedLifetime(removed) {}
    }

    /// Stops listening, and ends the sequence after the links that wait. Callable from anywhere.
    func end(_ reason: BluetoothError?) {
        let (listener, onEnd) = state.withLock { state in
            defer { (state.listener, state.onEnd) = (nil, nil) }
            return (state.listener, state.onEnd)
        }
        channel.finish(reason)
        guard let listener else { return }
        loop.execute {
            listener.close()
            onEnd?()
        }
    }
}
