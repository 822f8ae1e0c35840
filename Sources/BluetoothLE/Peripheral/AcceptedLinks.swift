import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets

/// The options of incoming connections.
public struct IncomingConnectionOptions: Hashable, Sendable {
    /// The ATT_MTU to offer, 23 to 517 bytes. The peer begins the exchange.
    public var maximumTransmissionUnit: Int
    /// The number of enhanced bearers (EATT) that each device may open in addition to the link's own bearer, so that
    /// its requests need not wait for each other; bearers beyond it are closed at once. Their links must be encrypted.
    ///
    /// With 0 the server does not advertise support. Others need CAP_NET_BIND_SERVICE, and a kernel with the enhanced
    /// credit based mode enabled (Core Vol 3 Part G §5.3, §7.4; Part F §3.2.11).
    public var enhancedBearers: Int
    /// The number of accepted connections that may wait for the consumer; beyond it the oldest is dropped.
    public var bufferCapacity: Int
    /// The security of each link. With a level the peer is asked to pair as soon as it has connected; the policy
    /// applies to requests that the peer's server refuses; the time limit does not apply. Connections that are up already keep the default
    /// policy, and are not asked to pair.
    public var security: SecurityOptions
    /// The send buffer of each link's socket, enhanced bearers excepted, in bytes (`SO_SNDBUF`); nil leaves the kernel's default, about 200 kB.
    public var sendBuffer: Int?
    /// The receive buffer of each link's socket, enhanced bearers excepted, in bytes (`SO_RCVBUF`); nil leaves the kernel's default, about 200 kB.
    public var receiveBuffer: Int?

    /// Creates options with the defaults: an ATT_MTU of 517, no enhanced bearers, 64 waiting connections, no security
    /// level, 1 MiB to receive into.
    public init(
        maximumTransmissionUnit: Int = 517, enhancedBearers: Int = 0, bufferCapacity: Int = 64,
        security: SecurityOptions = SecurityOptions(), sendBuffer: Int? = nil, receiveBuffer: Int? = 1 << 20
    ) {
        self.enhancedBearers = enhancedBearers
        self.maximumTransmissionUnit = min(max(maximumTransmissionUnit, 23), 517)
        self.bufferCapacity = bufferCapacity
        self.security = security
        self.sendBuffer = sendBuffer
        self.receiveBuffer = receiveBuffer
    }

    /// The options of the listening socket and of each link's socket.
    var socketOptions: L2CAPOptions {
        L2CAPOptions(security: security.level, sendBuffer: sendBuffer, receiveBuffer: receiveBuffer)
    }
}

/// The incoming connections that the program accepts: their listener, and those that are up.
final class AcceptedLinks: Sendable {
    let listener: Listener<Connection>
    let kept = KeptConnections()

    init(_ options: IncomingConnectionOptions, _ operation: BluetoothError.Operation, on loop: EventLoop) {
        listener = Listener(capacity: options.bufferCapacity, policy: .dropOldest, operation, on: loop)
    }

    var connections: [Connection] { kept.all }

    /// Stores a connection and delivers it to the loop.
    func add(_ connection: Connection) {
        kept.add(connection)
        listener.channel.send(connection)
    }
}
