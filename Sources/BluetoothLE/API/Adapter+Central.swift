import BluetoothAdvertising
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

extension Adapter {
    /// Begins to listen for advertisements; the scan is on when the call returns.
    ///
    /// Several scans may be on at once, each with its filter, its policy and its buffer. A malformed report is passed
    /// over.
    ///
    /// The scan lives until the loop over the stream is left, its task is cancelled, or the stream is dropped; then the
    /// controller is left as it was. The stream finishes by throwing when the adapter is closed, when the controller
    /// fails, and when the adapter is powered off, blocked or unplugged, unless ``ScanOptions/whenAdapterLeaves`` says
    /// otherwise.
    ///
    /// While a connection is made, by whomever, the kernel itself uses the scanner; the scan pauses and goes on by
    /// itself, as it does when another program has switched the scanner off. Another program's scan is listened to where
    /// it gives all that is wanted, and otherwise replaced by one that serves both; a discovery through the management
    /// interface is listened to as it is for the some 10 s it lasts, which the log tells as a notice.
    ///
    /// Needs CAP_NET_RAW; CAP_NET_ADMIN as well to leave no trace in the kernel, which takes an active scan for a
    /// discovery and connects nobody any more while it thinks that one goes on.
    /// - Throws: `.notPermitted`, `.unsupported` when the controller has none of the PHYs, `.invalidArgument` when there
    ///   are none, `.busy` when another program keeps the scanner busy for good, `.adapterOff`, `.adapterBlocked`,
    ///   `.noAdapter`, `.timedOut` when the controller does not answer, `.cancelled`.
    public nonisolated(nonsending) func scan(
        _ options: ScanOptions = ScanOptions()
    ) async throws(BluetoothError) -> BoundedStream<Advertisement> {
        try await session.scan(options)
    }

    /// Scans for the first advertisement that fulfils a condition.
    /// - Parameters:
    ///   - timeout: the most time to look; nil for ever.
    ///   - options: how to scan.
    ///   - condition: called for every advertisement that passes the options' filter, in turn; at first any will do.
    /// - Throws: `.notFound` when the time is over, besides what ``scan(_:)`` throws.
    public nonisolated(nonsending) func first(
        timeout: Duration?, options: ScanOptions = ScanOptions(),
        where condition: @Sendable (Advertisement) -> Bool = { _ in true }
    ) async throws(BluetoothError) -> Advertisement {
        try await session.first(timeout: timeout, options: options, where: condition)
    }

    /// Connects to a device and agrees on the ATT_MTU.
    ///
    /// The device need not have been scanned for. Returns with a link that is up, or throws once the time allowed is
    /// over; with no time limit it waits for the device for as long as the task is not cancelled, and the controller,
    /// not this program, does the looking. A link that fails to be established – the usual fate of a connection attempt
    /// in a crowded band – is tried again up to ``ConnectionOptions/attempts`` times within the time allowed.
    /// Cancelling the task cancels the attempt. The next call may follow at once, even to the same device: it waits, at
    /// most 2.5 s, until the kernel has ended the previous attempt, and after a connection that ended with a request
    /// outstanding until the response has arrived or the link is down. Where a ``ConnectionOrientedChannel`` keeps that
    /// link, it ends with `.busy` instead after 2.5 s without a response. Scans continue meanwhile. Needs no privilege.
    ///
    /// Any number of calls may be made at once. Sixteen are under way at a time; while more wait, one that has not been
    /// answered for 8 s gives way to the next and gets its turn again. How many links there can be is the controller's
    /// affair, mostly 8 to 20; beyond that the call ends with `.connectionFailed` or `.timedOut`.
    /// - Throws: `.timedOut`, `.connectionFailed`, `.busy` when this or another program is connected to the device, or a
    ///   channel keeps a link on which a response is outstanding, `.adapterOff`, `.adapterBlocked`, `.noAdapter`,
    ///   `.cancelled`.
    public nonisolated(nonsending) func connect(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        try await session.connect(to: peer, options: options)
    }

    /// Connects to a device that was heard, as ``connect(to:options:)-(BluetoothAddress,_)`` does.
    /// - Throws: `.invalidArgument` when it advertises anonymously or takes no connections.
    public nonisolated(nonsending) func connect(
        to advertisement: Advertisement, options: ConnectionOptions = ConnectionOptions()
    ) async throws(BluetoothError) -> Connection {
        try await session.connect(to: advertisement, options: options)
    }

    /// Scans for a device that takes connections and fulfils a condition, and connects to the first that is heard.
    ///
    /// The scan ends with the call at the latest. The time limit is for both together. Needs CAP_NET_RAW for the scan.
    /// - Parameters:
    ///   - options: how to connect.
    ///   - scan: how to scan.
    ///   - condition: called for every advertisement in turn.
    /// - Throws: `.notFound` when the time is over before such a device is heard, besides what scanning and connecting
    ///   throw.
    public nonisolated(nonsending) func connect(
        options: ConnectionOptions = ConnectionOptions(), scan: ScanOptions = ScanOptions(),
        firstMatching condition: @Sendable (Advertisement) -> Bool
    ) async throws(BluetoothError) -> Connection {
        try await session.connect(options: options, scan: scan, firstMatching: condition)
    }

    /// Connects, hands the connection to `body`, and disconnects however `body` ends: by returning, throwing, or the
    /// task's cancellation.
    ///
    /// The connection is closed when the call returns; the kernel takes the link down within 2 s.
    public nonisolated(nonsending) func withConnection<Result: Sendable>(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions(),
        _ body: @Sendable (Connection) async throws -> Result
    ) async throws -> Result {
        let connection = try await connect(to: peer, options: options)
        do {
            let result = try await body(connection)
            await connection.disconnect()
            return result
        } catch {
            await connection.disconnect()
            throw error
        }
    }

    /// Keeps a device connected until the returned object is closed or dropped. Needs no privilege.
    /// - Parameters:
    ///   - peer: the device.
    ///   - options: how to connect; its time limit holds for the ATT_MTU only, since a device that is away is waited for.
    ///   - policy: when to connect again.
    public func maintainConnection(
        to peer: BluetoothAddress, options: ConnectionOptions = ConnectionOptions(),
        policy: ReconnectionPolicy = ReconnectionPolicy()
    ) -> MaintainedConnection {
        MaintainedConnection(to: peer, by: session, options, policy)
    }

    /// Opens a connection-oriented channel to a service of a device, without an attribute channel.
    ///
    /// Where there is no link to the device the kernel makes one, and drops it two seconds after its last channel was
    /// closed. Cancelling the task cancels the attempt. Needs no privilege; pairing, where it comes to that, needs
    /// somebody who answers for this side.
    /// - Parameters:
    ///   - peer: the device.
    ///   - psm: the service's number, 0x0001 to 0x00FF on LE (Core Vol 3 Part A §4.22).
    ///   - options: how.
    /// - Throws: `.connectionFailed` when the peer refuses or cannot be linked with, `.timedOut`, `.cancelled`,
    ///   `.invalidArgument`, `.unsupported` when the kernel lacks the enhanced mode, `.adapterOff`, `.noAdapter`.
    public nonisolated(nonsending) func openChannel(
        to peer: BluetoothAddress, psm: UInt16, options: ChannelOptions = ChannelOptions()
    ) async throws(BluetoothError) -> ConnectionOrientedChannel {
        try await session.openChannel(to: peer, psm: psm, options: options)
    }

    /// Whether the controller hears, and connects to, extended advertisements (LE Read Local Supported Features, Core
    /// Vol 4 Part E §7.8.3). Needs CAP_NET_RAW.
    /// - Throws: `.notPermitted`, `.adapterOff`, `.adapterBlocked`, `.noAdapter`, `.timedOut`, `.cancelled`.
    package nonisolated(nonsending) func hasExtendedAdvertising() async throws(BluetoothError) -> Bool {
        try await session.hasExtendedAdvertising()
    }
}
