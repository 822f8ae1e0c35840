import BluetoothPrimitives
import BluetoothHCI

// The link below the attributes: RSSI, parameters, PHYs, security, channels. The first three come from the controller
// and need CAP_NET_RAW, except for ``Connection/rssi(timeout:)``. A connection without an adapter has no controller and
// throws `.unsupported`.
extension Connection {
    /// The RSSI of the peer, in dBm (HCI Read RSSI, Core Vol 4 Part E §7.5.4). Needs no privilege.
    /// - Throws: `.unsupported` when the controller does not measure it, `.disconnected`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func rssi(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> Int {
        try await core { (link) async throws(BluetoothError) in try await link.rssi(timeout: timeout) }
    }

    /// This side's transmit power, in dBm (HCI Read Transmit Power Level, §7.3.35). Needs CAP_NET_RAW.
    /// - Throws: `.notPermitted`, `.unsupported`, `.disconnected`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func transmitPower(timeout: Duration? = .seconds(10)) async throws(BluetoothError)
        -> Int
    {
        try await core { (link) async throws(BluetoothError) in try await link.transmitPower(timeout: timeout) }
    }

    /// The link's parameters; nil where they are not known, as without CAP_NET_RAW, which the controller's events need.
    public nonisolated(nonsending) var parameters: ConnectionParameters? {
        get async {
            await core { link in
                _ = try? await link.whenSettingsAreRequested(timeout: nil)
                return link.parameters
            }
        }
    }

    /// The link's data length; nil until the controller reports it, and without CAP_NET_RAW.
    public nonisolated(nonsending) var dataLength: LinkDataLength? {
        get async {
            await core { link in
                _ = try? await link.whenSettingsAreRequested(timeout: nil)
                return link.dataLength
            }
        }
    }

    /// Changes the link's parameters and returns the new ones (LE Connection Update, §7.8.18).
    ///
    /// Takes some ten connection intervals of the old length. The peer may refuse, and may request others later, whereupon
    /// these are requested again; see ``setParameterPolicy(_:)``. Needs CAP_NET_RAW.
    /// - Throws: `.invalidArgument` for values outside the specification's ranges, `.notPermitted`, `.unsupported` or
    ///   `.failed` when the peer refuses, `.busy` while another change is under way, `.disconnected`, `.timedOut`,
    ///   `.cancelled`.
    public nonisolated(nonsending) func requestParameters(
        _ request: ConnectionParameterRequest, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> ConnectionParameters {
        try await core { (link) async throws(BluetoothError) in
            let timeout = try await link.whenSettingsAreRequested(timeout: timeout)
            return try await link.requestParameters(request, timeout: timeout)
        }
    }

    /// Reads the connection parameters that the peer prefers as a peripheral, for ``requestParameters(_:timeout:)``: the
    /// characteristic Peripheral Preferred Connection Parameters (0x2A04; Core Vol 3 Part C §12.3). Nil if it has none,
    /// or states no interval.
    /// - Parameter timeout: the longest time to wait; nil for no limit but the peer's 30 s for each response.
    /// - Throws: `.protocolViolation` for a value outside the specification's ranges, `.attributeProtocol`,
    ///   `.disconnected`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func preferredParameters(
        timeout: Duration? = .seconds(300)
    ) async throws(BluetoothError) -> ConnectionParameterRequest? {
        try await core { (link) async throws(BluetoothError) in try await link.preferredParameters(timeout: timeout) }
    }

    /// Requests the connection parameters, PHYs and data length of a use, as far as the link does not have them.
    ///
    /// A controller or a peer that refuses some is no error; ``parameters``, ``phys(timeout:)`` and ``dataLength`` have
    /// the result. Needs CAP_NET_RAW.
    /// - Throws: `.notPermitted`, `.disconnected`, `.unsupported` without an adapter, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func adapt(
        to use: ConnectionUse, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in
            let timeout = try await link.whenSettingsAreRequested(timeout: timeout)
            try await link.request(LinkSettings(use), timeout: timeout)
        }
    }

    /// Sets the policy for the peer's requests of other parameters; by default what this program has requested is requested
    /// again, three times a link.
    ///
    /// In force until the next call, or the end of the link. Needs CAP_NET_RAW, without which no change is reported.
    /// - Throws: `.invalidArgument` for values outside the specification's ranges, `.disconnected`, `.unsupported`.
    public nonisolated(nonsending) func setParameterPolicy(_ policy: ConnectionParameterPolicy)
        async throws(BluetoothError)
    {
        try await core { (link) throws(BluetoothError) in try link.setParameterPolicy(policy) }
    }

    /// The link's PHYs (LE Read PHY, §7.8.47). Needs CAP_NET_RAW.
    /// - Throws: `.notPermitted`, `.unsupported` by a controller before Bluetooth 5, `.disconnected`, `.timedOut`,
    ///   `.cancelled`.
    public nonisolated(nonsending) func phys(timeout: Duration? = .seconds(10)) async throws(BluetoothError) -> LinkPHYs
    {
        try await core { (link) async throws(BluetoothError) in
            let timeout = try await link.whenSettingsAreRequested(timeout: timeout)
            return try await link.phys(timeout: timeout)
        }
    }

    /// Requests other PHYs and returns the link's resulting PHYs (LE Set PHY, §7.8.49). Needs CAP_NET_RAW.
    ///
    /// A peer that does not support them is no error: the link keeps its PHYs, which are returned.
    /// - Parameters:
    ///   - transmit: the preferred PHYs for sending; nil leaves them to the controllers.
    ///   - receive: the preferred PHYs for receiving; nil leaves them to the controllers.
    ///   - timeout: the longest time to wait; nil for no limit.
    /// - Throws: `.notPermitted`, `.unsupported`, `.busy` while another change is under way, `.disconnected`,
    ///   `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func setPHYs(
        transmit: LEPHYSet?, receive: LEPHYSet?, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> LinkPHYs {
        try await core { (link) async throws(BluetoothError) in
            let timeout = try await link.whenSettingsAreRequested(timeout: timeout)
            return try await link.setPHYs(transmit: transmit, receive: receive, timeout: timeout)
        }
    }

    /// Requests a data length for the packets that this side sends (LE Set Data Length, §7.8.33). Needs CAP_NET_RAW.
    ///
    /// Returns when the controller has accepted it. The length that the two devices agree on is reported by
    /// ``linkChanges(bufferCapacity:)`` and ``dataLength``, if it is another than before.
    /// - Parameters:
    ///   - octets: the maximum payload of a packet in bytes: 27 to 251.
    ///   - time: the maximum duration of a packet, 328 to 17 040 µs; nil for that of `octets` on LE 1M.
    ///   - timeout: the longest time to wait; nil for no limit.
    /// - Throws: `.invalidArgument`, `.notPermitted`, `.unsupported`, `.disconnected`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func requestDataLength(
        _ octets: Int, time: Duration? = nil, timeout: Duration? = .seconds(10)
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in
            let timeout = try await link.whenSettingsAreRequested(timeout: timeout)
            try await link.requestDataLength(octets, time: time, timeout: timeout)
        }
    }

    /// A stream of the changes of the link's parameters, PHYs and data length, whichever side requested them.
    ///
    /// It ends when its loop is left, and throws the reason of the link's end. For a slow consumer the oldest changes
    /// make room. Needs CAP_NET_RAW, without which no change is reported.
    /// - Throws: `.disconnected`, `.unsupported`.
    public nonisolated(nonsending) func linkChanges(bufferCapacity: Int = 64) async throws(BluetoothError)
        -> BoundedStream<LinkChange>
    {
        try await core { (link) throws(BluetoothError) in try link.linkChanges(bufferCapacity: bufferCapacity) }
    }
}

extension Connection {
    /// Raises the link's security level (`setsockopt(BT_SECURITY)`; Core Vol 3 Part C §10.3), and waits for it.
    ///
    /// A key from an earlier pairing encrypts the link; otherwise the devices pair, and the adapter's agent answers the
    /// questions: ``Adapter/setPairingAgent(_:ioCapability:isBondable:secureConnections:)``. The peripheral of a link
    /// can only request it of its central. Requests made meanwhile wait; the kernel drops what the peer sends
    /// meanwhile. When it fails the link is closed, also when the last task that waits for it is cancelled or timed
    /// out.
    ///
    /// Needs CAP_NET_ADMIN where the devices pair, nothing where there is a key.
    /// - Parameters:
    ///   - level: the level to reach at least; a link that has it is left unchanged.
    ///   - timeout: the longest time to wait; nil for no limit but the 30 s that pairing has for each of its steps
    ///     (Core Vol 3 Part H §3.4).
    /// - Returns: the security reached.
    /// - Throws: `.pairingFailed`, with the reason in `BluetoothError.pairingFailure`; `.disconnected`, `.timedOut`,
    ///   `.cancelled`.
    @discardableResult
    public nonisolated(nonsending) func raiseSecurity(
        to level: SecurityLevel, timeout: Duration? = .seconds(60)
    ) async throws(BluetoothError) -> LinkSecurity {
        try await core { (link) async throws(BluetoothError) in
            try await link.raiseSecurity(to: level, timeout: timeout)
        }
    }

    /// Pairs with the peer, and bonds where both sides are bondable (Core Vol 3 Part H §2.1).
    ///
    /// As ``raiseSecurity(to:timeout:)``, but checks first that pairing is left to this program, and returns whether
    /// the devices are bonded. A link that has the level, by a key or an earlier call, is left unchanged. The
    /// peripheral of a link sends a Security Request, and the central begins pairing. Needs CAP_NET_ADMIN.
    /// - Parameters:
    ///   - level: the level to reach at least.
    ///   - timeout: the longest time to wait; nil for no limit but those of the steps of pairing.
    /// - Throws: what ``raiseSecurity(to:timeout:)`` throws, besides `PairingFailure.ownedByDaemon` while BlueZ's
    ///   daemon runs, `.notPermitted`, and `.invalidArgument` for `SecurityLevel.low`, which needs
    ///   no pairing.
    @discardableResult
    public nonisolated(nonsending) func pair(
        to level: SecurityLevel = .medium, timeout: Duration? = .seconds(60)
    ) async throws(BluetoothError) -> PairingOutcome {
        try await core { (link) async throws(BluetoothError) in
            try await link.protection.pair(link, to: level, timeout: timeout)
        }
    }

    /// Pairs with out-of-band data of the peer, which authenticates it without a question (LE Secure Connections).
    ///
    /// As ``pair(to:timeout:)``. The data are for this call: whatever its outcome, they are removed.
    /// - Parameters:
    ///   - data: what the peer has transferred by another way, such as an NFC tag or a QR code.
    ///   - timeout: the longest time to wait; nil for no limit but those of the steps of pairing.
    /// - Throws: what ``pair(to:timeout:)`` throws, with `PairingFailure.outOfBandDataRejected` for data that are not
    ///   the peer's present ones; `.invalidArgument` for those of another device.
    @discardableResult
    public nonisolated(nonsending) func pair(
        with data: OutOfBandData, timeout: Duration? = .seconds(60)
    ) async throws(BluetoothError) -> PairingOutcome {
        try await core { (link) async throws(BluetoothError) in
            try await link.pair(with: data, timeout: timeout)
        }
    }
}

extension Connection {
    /// Opens enhanced bearers, so that requests made at the same time need not wait for each other (Enhanced ATT: Core
    /// Vol 3 Part G §5.3.2, Part F §3.2.11).
    ///
    /// Writes Client Supported Features, and opens one channel after the other until there are `count` of them or the
    /// peer accepts no more. They need an encrypted link: where it is not, pairing begins automatically. Each bearer
    /// has its own outstanding request, its own 30 s and its own MTU. They last until the end of the link, or until the
    /// peer closes them; a request on a closed bearer fails with `BluetoothError.Code.disconnected` and may be
    /// repeated, while the connection remains.
    /// - Parameters:
    ///   - count: the number of bearers, 1 to 5 for most peers.
    ///   - timeout: the longest time to wait for all of them; nil for no limit.
    /// - Returns: the number of bearers opened, at least one.
    /// - Throws: `.unsupported` when the peer, the kernel or this kind of connection has none,
    ///   `.connectionFailed` when the peer refuses, `.disconnected`, `.timedOut`, `.cancelled`.
    @discardableResult
    public nonisolated(nonsending) func openEnhancedBearers(
        count: Int = 1, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> Int {
        try await core { (link) async throws(BluetoothError) in
            try await link.enhancedBearers.open(link, count: count, timeout: timeout)
        }
    }

    /// The number of ATT bearers: one, and the enhanced ones that are open; zero after the end.
    public nonisolated(nonsending) var bearerCount: Int {
        get async { await core { $0.bearerCount } }
    }

    /// Opens a connection-oriented channel to a service of the same device, over this link.
    ///
    /// The channel outlives this object and ends with the link. Needs no privilege.
    /// - Parameters:
    ///   - psm: the service's PSM, 0x0001 to 0x00FF on LE (Core Vol 3 Part A §4.22).
    ///   - options: the options of the channel.
    /// - Throws: `.connectionFailed` when the peer refuses, `.disconnected`, `.timedOut`, `.cancelled`,
    ///   `.invalidArgument`, `.unsupported` when the kernel lacks the enhanced mode or the connection was made over a
    ///   channel that came from elsewhere.
    public nonisolated(nonsending) func openChannel(
        psm: UInt16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        try await core { (link) async throws(BluetoothError) in try await link.openChannel(psm: psm, options: options) }
    }
}
