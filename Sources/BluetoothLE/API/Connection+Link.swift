import BluetoothPrimitives
import BluetoothHCI

// The link beneath the attributes: its signal, its rhythm, its modulation, its protection, its channels. The controller
// answers for the first three, all of which but ``Connection/rssi(timeout:)`` need CAP_NET_RAW; a connection that an
// adapter did not make has no controller, and throws `.unsupported`.
extension Connection {
    /// How strongly the peer is received, in dBm (HCI Read RSSI, Core Vol 4 Part E §7.5.4). Needs no privilege.
    /// - Throws: `.unsupported` when the controller cannot tell, `.disconnected`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func rssi(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> Int {
        try await core { (link) async throws(BluetoothError) in try await link.rssi(timeout: timeout) }
    }

    /// How strongly this side sends, in dBm (HCI Read Transmit Power Level, §7.3.35). Needs CAP_NET_RAW.
    /// - Throws: `.notPermitted`, `.unsupported`, `.disconnected`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func transmitPower(timeout: Duration? = .seconds(10)) async throws(BluetoothError)
        -> Int
    {
        try await core { (link) async throws(BluetoothError) in try await link.transmitPower(timeout: timeout) }
    }

    /// The parameters the link runs with; nil where this is not known: without CAP_NET_RAW the kernel shows nobody the
    /// events that tell.
    public var parameters: ConnectionParameters? {
        get async { await core { $0.parameters } }
    }

    /// How large the link's packets may be; nil until the controller has told, and without CAP_NET_RAW.
    public var dataLength: LinkDataLength? {
        get async { await core { $0.dataLength } }
    }

    /// Changes the link's parameters and returns those it runs with then (LE Connection Update, §7.8.18).
    ///
    /// Takes some ten connection intervals of the old length. The peer may refuse; whether it asks for others later is
    /// its own affair, see ``setParameterPolicy(_:)``. Needs CAP_NET_RAW.
    /// - Throws: `.invalidArgument` for what the specification does not allow, `.notPermitted`, `.unsupported` or
    ///   `.failed` when the peer refuses, `.busy` while another change is under way, `.disconnected`, `.timedOut`,
    ///   `.cancelled`.
    public nonisolated(nonsending) func requestParameters(
        _ request: ConnectionParameterRequest, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> ConnectionParameters {
        try await core { (link) async throws(BluetoothError) in
            try await link.requestParameters(request, timeout: timeout)
        }
    }

    /// Says what shall happen when the peer has the link's parameters changed; at first its wishes are granted.
    ///
    /// In force until it is said anew, or the link ends. Needs CAP_NET_RAW, without which no change is ever noticed.
    /// - Throws: `.invalidArgument` for what the specification does not allow, `.disconnected`, `.unsupported`.
    public nonisolated(nonsending) func setParameterPolicy(_ policy: ConnectionParameterPolicy)
        async throws(BluetoothError)
    {
        try await core { (link) throws(BluetoothError) in try link.setParameterPolicy(policy) }
    }

    /// The PHYs the link uses (LE Read PHY, §7.8.47). Needs CAP_NET_RAW.
    /// - Throws: `.notPermitted`, `.unsupported` by a controller before Bluetooth 5, `.disconnected`, `.timedOut`,
    ///   `.cancelled`.
    public nonisolated(nonsending) func phys(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> LinkPHYs
    {
        try await core { (link) async throws(BluetoothError) in try await link.phys(timeout: timeout) }
    }

    /// Asks for other PHYs and returns those the link uses then (LE Set PHY, §7.8.49). Needs CAP_NET_RAW.
    ///
    /// A peer that cannot do what is asked for is no error: the link keeps the PHYs it has, and they are returned.
    /// - Parameters:
    ///   - transmit: the PHYs this side would like to send on; nil leaves it to the controllers.
    ///   - receive: those it would like to receive on.
    ///   - timeout: the most time to wait.
    /// - Throws: `.notPermitted`, `.unsupported`, `.busy` while another change is under way, `.disconnected`,
    ///   `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func setPHYs(
        transmit: LEPHYSet?, receive: LEPHYSet?, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> LinkPHYs {
        try await core { (link) async throws(BluetoothError) in
            try await link.setPHYs(transmit: transmit, receive: receive, timeout: timeout)
        }
    }

    /// Suggests how large the packets may be that this side sends (LE Set Data Length, §7.8.33). Needs CAP_NET_RAW.
    ///
    /// Returns when the controller has taken it. What the two devices agree on is told by ``linkChanges(bufferCapacity:)``
    /// and ``dataLength``, and only if it is another size than before.
    /// - Parameters:
    ///   - octets: the most bytes in a packet: 27 to 251.
    ///   - time: the most time a packet takes, 328 to 17 040 µs; nil is what `octets` take on LE 1M.
    ///   - timeout: the most time to wait.
    /// - Throws: `.invalidArgument`, `.notPermitted`, `.unsupported`, `.disconnected`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func requestDataLength(
        _ octets: Int, time: Duration? = nil, timeout: Duration? = .seconds(10)
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in
            try await link.requestDataLength(octets, time: time, timeout: timeout)
        }
    }

    /// What happens to the link's parameters, PHYs and packet size from now on, whoever wants it so.
    ///
    /// The stream lives until its loop is left or the link ends, which it throws. When nobody takes the changes the
    /// oldest make room. Needs CAP_NET_RAW, without which nothing is ever told.
    /// - Throws: `.disconnected`, `.unsupported`.
    public nonisolated(nonsending) func linkChanges(bufferCapacity: Int = 64) async throws(BluetoothError)
        -> BoundedStream<LinkChange>
    {
        try await core { (link) throws(BluetoothError) in try link.linkChanges(bufferCapacity: bufferCapacity) }
    }
}

extension Connection {
    /// Raises the link's protection (`setsockopt(BT_SECURITY)`; Core Vol 3 Part C §10.3), and waits until it is so.
    ///
    /// With a key from an earlier pairing the link is encrypted with that; otherwise the devices pair, in which the
    /// adapter's agent answers what is asked: ``Adapter/setPairingAgent(_:ioCapability:isBondable:secureConnections:)``.
    /// The peripheral of a link can only ask its central for it. Requests made meanwhile wait; what the peer sends
    /// meanwhile the kernel drops. When it fails the link is closed, also when the last task that waits for it is
    /// cancelled or out of time.
    ///
    /// Needs CAP_NET_ADMIN where the devices have to pair, nothing where there is a key.
    /// - Parameters:
    ///   - level: what to reach at the least; a link that has it already is left alone.
    ///   - timeout: the most time for all of it; nil leaves the 30 s that pairing has for each of its steps.
    /// - Returns: the protection reached.
    /// - Throws: `.pairingFailed`, with how in ``BluetoothError/pairingFailure``; `.disconnected`, `.timedOut`, `.cancelled`.
    @discardableResult
    public nonisolated(nonsending) func raiseSecurity(
        to level: SecurityLevel, timeout: Duration? = nil
    ) async throws(BluetoothError) -> LinkSecurity {
        try await core { (link) async throws(BluetoothError) in
            try await link.raiseSecurity(to: level, timeout: timeout)
        }
    }

    /// Pairs with the peer, and keeps the key where both sides want that (Core Vol 3 Part H §2.1).
    ///
    /// As ``raiseSecurity(to:timeout:)``, but makes sure first that pairing is this program's to do, and tells whether the
    /// devices are bonded. A link that is encrypted as well as that, with a key or by an earlier call, is left alone. The
    /// peripheral of a link sends a Security Request, and pairing begins when the central wants it. Needs CAP_NET_ADMIN.
    /// - Parameters:
    ///   - level: what to reach at the least.
    ///   - timeout: the most time for all of it.
    /// - Throws: what ``raiseSecurity(to:timeout:)`` throws, besides ``PairingFailure/ownedByDaemon`` while BlueZ's daemon
    ///   runs, `.notPermitted`, and `.invalidArgument` for ``BluetoothSockets/SecurityLevel/low``, which needs no pairing.
    @discardableResult
    public nonisolated(nonsending) func pair(
        to level: SecurityLevel = .medium, timeout: Duration? = .seconds(60)
    ) async throws(BluetoothError) -> PairingOutcome {
        try await core { (link) async throws(BluetoothError) in try await link.pair(to: level, timeout: timeout) }
    }
}

extension Connection {
    /// Opens further bearers for attributes, so that requests made at the same time need not wait for each other
    /// (Enhanced ATT: Core Vol 3 Part G §5.3.2, Part F §3.2.11).
    ///
    /// Tells the peer that this side has them (Client Supported Features), and opens one channel after the other until
    /// there are `count` of them or the peer takes no more. The link has to be encrypted for it: where it is not, pairing
    /// begins by itself. Each bearer has its own request under way, its own 30 s and its own MTU. They last as long as
    /// the link or until the peer closes them; what was under way on one that ends fails with
    /// ``BluetoothError/Code/disconnected`` and may be tried again, while the connection goes on.
    /// - Parameters:
    ///   - count: how many, 1 to 5 for most peers.
    ///   - timeout: the most time for each step.
    /// - Returns: how many were opened, at least one.
    /// - Throws: `.unsupported` when the peer, the kernel or the way this connection came about has none,
    ///   `.connectionFailed` when the peer refuses, `.disconnected`, `.timedOut`, `.cancelled`.
    @discardableResult
    public nonisolated(nonsending) func openEnhancedBearers(
        count: Int = 1, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> Int {
        try await core { (link) async throws(BluetoothError) in
            try await link.enhancedBearers.open(link, count: count, timeout: timeout)
        }
    }

    /// How many bearers carry attributes: one, and the enhanced ones that are open; none after the end.
    public var bearerCount: Int {
        get async { await core { $0.bearerCount } }
    }

    /// Opens a connection-oriented channel to a service of the same device, over this link.
    ///
    /// The channel is one of its own: it outlives this object and ends with the link. Needs no privilege.
    /// - Parameters:
    ///   - psm: the service's number, 0x0001 to 0x00FF on LE (Core Vol 3 Part A §4.22).
    ///   - options: how.
    /// - Throws: `.connectionFailed` when the peer refuses, `.disconnected`, `.timedOut`, `.cancelled`,
    ///   `.invalidArgument`, `.unsupported` when the kernel lacks the enhanced mode or the connection was made over a
    ///   channel that came from elsewhere.
    public nonisolated(nonsending) func openChannel(
        psm: UInt16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        try await core { (link) async throws(BluetoothError) in try await link.openChannel(psm: psm, options: options) }
    }
}
