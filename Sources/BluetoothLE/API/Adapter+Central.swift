import BluetoothAdvertising
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

extension Adapter: Central {
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
        _ options: ScanOptions
    ) async throws(BluetoothError) -> BoundedStream<Advertisement> {
        try await session.scan(options)
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
        to peer: BluetoothAddress, options: ConnectionOptions
    ) async throws(BluetoothError) -> Connection {
        try await session.connect(to: peer, options: options)
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

    /// Waits until the adapter is closed or can no longer be followed; returns the reason, or `.cancelled` when the task is
    /// cancelled.
    /// - Parameter handler: called with the reason on the loop, as part of the closing.
    public nonisolated(nonsending) func closed(
        _ handler: @escaping @Sendable (BluetoothError) -> Void
    ) async -> BluetoothError {
        await session.closed(handler)
    }
}
