import BluetoothAdvertising
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

extension Adapter {
    /// A stream of advertisements; the controller scans when the call returns.
    ///
    /// Several scans may run at once, each with its filter, its duplicate policy and its buffer. Malformed reports are
    /// skipped.
    ///
    /// The scan ends when the loop over the stream is left, its task is cancelled, the stream is dropped, or
    /// ``ScanOptions/duration`` is over, which finishes the stream; the controller is then left as it was. The stream
    /// throws when the adapter is closed, when the controller fails, and when the adapter is powered off, blocked or
    /// unplugged, unless ``ScanOptions/whenAdapterUnavailable`` is `.resume`.
    ///
    /// The kernel uses the scanner itself to make a connection, for this program or another: the scan pauses and
    /// resumes automatically, as it does when another program has switched the scanner off. The scan of another program
    /// is shared where it covers what is requested, and otherwise replaced by one that serves both. A discovery through
    /// the management interface is shared for the some 10 s it lasts, which the log reports as a notice.
    ///
    /// Needs CAP_NET_RAW. With CAP_NET_ADMIN as well, no trace is left in the kernel: it takes an active scan for a
    /// discovery, and connects to no device while it believes that one is going on.
    /// - Throws: `.notPermitted`, `.unsupported` when the controller has none of the PHYs, `.invalidArgument` when no
    ///   PHY is requested, `.busy` when another program does not release the scanner, `.adapterOff`, `.adapterBlocked`,
    ///   `.noAdapter`, `.timedOut` when the controller does not respond, `.cancelled`.
    public nonisolated(nonsending) func scan(
        _ options: ScanOptions = ScanOptions()
    ) async throws(BluetoothError) -> BoundedStream<Advertisement> {
        try await session.scan(options)
    }

    /// The devices that advertise within a time, each once, with its newest advertisement: strongest RSSI first, those
    /// without an RSSI last.
    ///
    /// An advertising set counts as a device of its own, as in a ``DeviceTable``. Returns when the time is over.
    /// - Parameters:
    ///   - duration: the time to scan, in place of ``ScanOptions/duration``.
    ///   - options: the options of the scan; ``ScanOptions/duplicates`` has no effect. Beyond
    ///     ``ScanOptions/deviceLimit`` the least recently received device is dropped.
    /// - Throws: what ``scan(_:)`` and its stream throw.
    public nonisolated(nonsending) func devices(
        for duration: Duration, options: ScanOptions = ScanOptions()
    ) async throws(BluetoothError) -> [Advertisement] {
        try await session.devices(for: duration, options: options)
    }

    /// The first advertisement that fulfils a condition; scans until then.
    /// - Parameters:
    ///   - timeout: the maximum time to scan; nil for ``ScanOptions/duration``, and without one no limit.
    ///   - options: the options of the scan.
    ///   - condition: called on the adapter's loop for each advertisement that passes the options' filter; by default
    ///     all do.
    /// - Throws: `.notFound` when the time is over, besides what ``scan(_:)`` throws.
    public nonisolated(nonsending) func firstAdvertisement(
        timeout: Duration? = .seconds(10), options: ScanOptions = ScanOptions(),
        where condition: @Sendable (Advertisement) -> Bool = { _ in true }
    ) async throws(BluetoothError) -> Advertisement {
        try await session.firstAdvertisement(timeout: timeout, options: options, where: condition)
    }

    /// Connects to a device and exchanges the ATT_MTU.
    ///
    /// The device need not have been scanned for. Returns with a link that is up, or throws at the time limit; without
    /// one it waits for the device until its task is cancelled, and the controller, not this program, scans for it. A
    /// link that fails to be established, as is common in a crowded band, is tried again up to
    /// ``ConnectionOptions/attempts`` times within the time limit. Cancelling the task cancels the attempt. The next
    /// call may follow at once, even to the same device: it waits, at most 2.5 s, until the kernel has ended the
    /// previous attempt, and after a connection that ended with a request outstanding until the response has arrived or
    /// the link is down. Where a ``ConnectionOrientedChannel`` keeps that link, it throws `.busy` after 2.5 s without a
    /// response. Scans continue meanwhile. Needs no privilege.
    ///
    /// Where this object has a connection to the device already, or is connecting, the call returns that same ``Connection``,
    /// raised to what the options ask for in addition. ``Connection/disconnect(timeout:)`` ends it for all; otherwise it ends
    /// with its last reference.
    ///
    /// Any number of calls may be made at once. Sixteen are under way at a time; while more wait, one that has had no
    /// answer for 8 s is preempted and gets another turn. The controller limits the number of links, mostly to 8 to 20;
    /// beyond that the call throws `.linkLimitReached`, or waits for the end of a link
    /// (``ConnectionOptions/slotTimeout``).
    /// - Throws: `.timedOut`, `.connectionFailed`, `.linkLimitReached`, `.busy` when another program, or another ``Adapter``
    ///   object, is connected to the device, or a channel keeps a link on which a response is outstanding, `.adapterOff`,
    ///   `.adapterBlocked`, `.noAdapter`, `.cancelled`, and what ``Connection/raiseSecurity(to:timeout:)`` throws for a ``SecurityOptions/level``.
    public nonisolated(nonsending) func connect(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        try await session.connect(to: peer, options: options)
    }

    /// Connects to the device of an advertisement, as ``connect(to:options:)-(BluetoothAddress,_)`` does.
    /// - Throws: `.invalidArgument` when the advertisement is anonymous or not connectable.
    public nonisolated(nonsending) func connect(
        to advertisement: Advertisement, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        try await session.connect(to: advertisement, options: options)
    }

    /// Connects to a device by its identity resolving key, whatever its private address is.
    ///
    /// Scans for the device, and connects to the address it advertises with. If it changes that before the link is up, it
    /// is found again; an attempt to one address takes 11 s at most. A device that is bonded needs no scan. Needs
    /// CAP_NET_RAW for the scan. ``Connection/peer`` is the address connected to.
    /// - Throws: `.notFound` when the device was not seen within ``ConnectionOptions/timeout``, besides what
    ///   ``scan(_:)`` and ``connect(to:options:)-(BluetoothAddress,_)`` throw.
    public nonisolated(nonsending) func connect(
        to identity: DeviceIdentity, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        try await SessionRadio(session).connect(to: identity, options: options)
    }

    /// Scans, and connects to the first connectable device that fulfils a condition.
    ///
    /// The scan ends with the call at the latest. The time limit is for both together. Needs CAP_NET_RAW for the scan.
    /// - Parameters:
    ///   - options: the options of the connection.
    ///   - scan: the options of the scan.
    ///   - condition: called on the adapter's loop for each advertisement of a connectable device.
    /// - Throws: `.notFound` when the time is over without such a device, besides what scanning and connecting throw.
    public nonisolated(nonsending) func connect(
        options: ConnectionOptions = ConnectionOptions(), scan: ScanOptions = ScanOptions(),
        firstMatching condition: @Sendable (Advertisement) -> Bool
    ) async throws(BluetoothError) -> Connection {
        try await session.connect(options: options, scan: scan, firstMatching: condition)
    }

    /// Connects, calls `body` with the connection, and disconnects however `body` ends: by returning, throwing, or the
    /// task's cancellation.
    ///
    /// The link is down when the call returns, except in a cancelled task, which does not wait for that, see
    /// ``Connection/disconnect(timeout:)``, and where others have the same connection, which they keep.
    public nonisolated(nonsending) func withConnection<Result: Sendable>(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions(),
        _ body: @Sendable (Connection) async throws -> Result
    ) async throws -> Result {
        let connection = try await connect(to: peer, options: options)
        do {
            let result = try await body(connection)
            await connection.leave()
            return result
        } catch {
            await connection.leave()
            throw error
        }
    }

    /// Keeps a device connected until the returned object is disconnected or released. Needs no privilege.
    /// - Parameters:
    ///   - peer: the device.
    ///   - options: the options of each connection; the time limit is for the ATT_MTU only, since a device that is out
    ///     of range is waited for.
    ///   - policy: when to connect again.
    public func keepConnected(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions(),
        policy: ReconnectionPolicy = ReconnectionPolicy()
    ) -> KeptConnection {
        KeptConnection(to: .address(peer), by: session, options, policy)
    }

    /// Keeps the device of an advertisement connected, as
    /// ``keepConnected(to:options:policy:)-(BluetoothAddress,_,_)`` does.
    /// - Throws: `.invalidArgument` when the advertisement is anonymous or not connectable.
    public func keepConnected(
        to advertisement: Advertisement, options: ConnectionOptions = ConnectionOptions(),
        policy: ReconnectionPolicy = ReconnectionPolicy()
    ) throws(BluetoothError) -> KeptConnection {
        KeptConnection(
            to: .address(try advertisement.connectableAddress(for: session.operation("connect"))), by: session,
            options.hearing(advertisement), policy)
    }

    /// Keeps a device connected that is known by its identity resolving key, whatever its private address is.
    ///
    /// A change of the address does not concern a link that is up; afterwards the device is found by scanning, as
    /// ``connect(to:options:)-(DeviceIdentity,_)`` does, however long that takes. Needs CAP_NET_RAW for the scan, unless the
    /// device is bonded.
    public func keepConnected(
        to identity: DeviceIdentity, options: ConnectionOptions = ConnectionOptions(),
        policy: ReconnectionPolicy = ReconnectionPolicy()
    ) -> KeptConnection {
        KeptConnection(to: .identity(identity), by: session, options, policy)
    }

    /// Opens a connection-oriented channel to a service of a device, without an attribute channel.
    ///
    /// Without a link to the device the kernel makes one, and drops it two seconds after its last channel was closed.
    /// Cancelling the task cancels the attempt. Needs no privilege; pairing, where the service requires it, needs an
    /// agent.
    /// - Parameters:
    ///   - peer: the device.
    ///   - psm: the service's PSM, 0x0001 to 0x00FF on LE (Core Vol 3 Part A §4.22).
    ///   - options: the options of the channel.
    /// - Throws: `.connectionFailed` when the peer refuses or the link fails, `.timedOut`, `.cancelled`,
    ///   `.invalidArgument`, `.unsupported` when the kernel lacks the enhanced mode, `.adapterOff`, `.noAdapter`.
    public nonisolated(nonsending) func openChannel(
        to peer: BluetoothAddress, psm: UInt16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        try await session.openChannel(to: peer, psm: psm, options: options)
    }

    /// Whether the controller receives, and connects to, extended advertisements (LE Read Local Supported Features,
    /// Core Vol 4 Part E §7.8.3). Needs CAP_NET_RAW.
    /// - Throws: `.notPermitted`, `.adapterOff`, `.adapterBlocked`, `.noAdapter`, `.timedOut`, `.cancelled`.
    package nonisolated(nonsending) func hasExtendedAdvertising() async throws(BluetoothError) -> Bool {
        try await session.hasExtendedAdvertising()
    }
}
