import BluetoothKernel
import Synchronization

/// Incoming connections: the links that centrals make to this machine; see ``Adapter/incomingConnections(_:)``.
///
/// The sequence accepts connections from the moment that call returns until the loop over it is left, its last reference
/// is released, ``close()`` is called, or the adapter is closed, for which the loop throws. It pauses while the adapter is
/// switched off or unplugged.
///
/// It begins with the connections that are up already and not accepted. Every connection is served at once, whether or not
/// the program reads this sequence, and stays up while this sequence exists or the program holds its ``Connection``: a
/// loop over this is all that a server needs. A slow loop misses the oldest of the connections that wait for it, which are
/// served all the same; ``connections`` has them all.
public struct IncomingConnections: AsyncSequence, Sendable {
    /// What the sequence throws.
    public typealias Failure = BluetoothError

    private let stream: BoundedStream<Connection>
    private let links: AcceptedLinks

    init(_ links: AcceptedLinks, of adapter: AdapterSession) {
        self.links = links
        stream = BoundedStream(channel: links.listener.channel) {
            withExtendedLifetime(adapter) { links.listener.end(nil) }
        }
    }

    /// The incoming connections that are up.
    public var connections: [Connection] { links.connections }

    /// How many connections the loop has missed because it was slow.
    public var missedCount: Int { stream.missedCount }

    /// Accepts no more connections. The loop still receives those that wait, then ends; links stay up.
    public func close() { links.listener.end(nil) }

    /// The iterator of the one consumer; a second loop ends at once.
    public func makeAsyncIterator() -> BoundedStream<Connection>.Iterator { stream.makeAsyncIterator() }
}

/// How links that other devices make are taken.
public struct IncomingConnectionOptions: Hashable, Sendable {
    /// The ATT_MTU to agree to, 23 to 517 bytes. The other side is the one that asks.
    public var maximumTransmissionUnit: UInt16
    /// How many enhanced bearers (EATT) each device may open for attributes beside the link's own, so that its requests
    /// need not wait for each other; the other bearers that it opens are closed at once. Their links have to be encrypted.
    ///
    /// With 0 nobody is told that there are any. Others need CAP_NET_BIND_SERVICE, and a kernel with the enhanced credit
    /// based mode switched on (Core Vol 3 Part G §5.3, §7.4; Part F §3.2.11).
    public var enhancedBearers: Int
    /// How many links may wait for the loop; the oldest makes room for the newest.
    public var bufferCapacity: Int
    /// What to do when the peer's server refuses a request until the link is protected better.
    public var securityPolicy: SecurityPolicy = .automatic
    /// What to set on each link's socket; with a security level the peer is asked to pair as soon as it has connected.
    public var socket: L2CAPOptions

    /// Options with the usual choices: an ATT_MTU of 517, no enhanced bearers, room for 64 links.
    public init(
        maximumTransmissionUnit: UInt16 = 517, enhancedBearers: Int = 0, bufferCapacity: Int = 64,
        socket: L2CAPOptions = L2CAPOptions(receiveBuffer: 1 << 20)
    ) {
        self.enhancedBearers = enhancedBearers
        self.maximumTransmissionUnit = min(max(maximumTransmissionUnit, 23), 517)
        self.bufferCapacity = bufferCapacity
        self.socket = socket
    }
}

/// The links that a program takes: the listener for them, and those that have come in and have not ended.
final class AcceptedLinks: Sendable {
    let listener: Listener<Connection>
    /// In the order in which they came.
    private let links = Mutex<[Connection]>([])

    init(_ options: IncomingConnectionOptions, _ operation: BluetoothError.Operation, on loop: EventLoop) {
        listener = Listener(capacity: options.bufferCapacity, policy: .dropOldest, operation, on: loop)
    }

    var connections: [Connection] { links.withLock { $0 } }

    /// Keeps a link and hands it to the loop.
    func add(_ connection: Connection) {
        links.withLock { $0.append(connection) }
        listener.channel.send(connection)
    }

    /// A link has ended.
    func remove(_ connection: Connection) {
        // The caller holds the connection, so that it is not released under the lock.
        links.withLock { links in links.removeAll { $0 === connection } }
    }
}
