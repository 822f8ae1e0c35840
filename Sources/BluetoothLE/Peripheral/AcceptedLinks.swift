import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Synchronization

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
