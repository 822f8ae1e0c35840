import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// A device that is kept connected: whenever its link ends it is connected to again, and what was subscribed to is
/// subscribed to again.
///
/// Made by ``Adapter/maintainConnection(to:options:policy:)``. It ends by ``close()``, when its last reference goes, when the
/// policy gives up, or when the adapter is closed; the link then ends as well.
public final class MaintainedConnection: Sendable {
    /// How it stands with the device.
    public enum Event: Sendable {
        /// It is being looked for and connected to, for the n-th time since the last link, from 1.
        case connecting(attempt: Int)
        /// The link is up, and what was subscribed to is live again.
        case connected(Connection)
        /// The link has ended.
        case disconnected(BluetoothError)
        /// Connecting failed; the next attempt follows after the delay.
        case failed(BluetoothError, retryAfter: Duration)
        /// The adapter is switched off or away; waits for it to be back.
        case waitingForAdapter(BluetoothError)
    }

    /// What a subscription that outlives links hands out.
    public enum Notice: Hashable, Sendable {
        /// The peer sent a value.
        case value([UInt8])
        /// The link has ended, or the characteristic has moved: values the peer may have had since then are not in the
        /// stream.
        case interrupted(BluetoothError)
        /// The subscription is live again.
        case resumed
    }

    /// The device.
    public let peer: BluetoothAddress
    private let core: SessionReference<Reconnector>
    private let task: Task<Void, Never>

    init(
        to peer: BluetoothAddress, by session: AdapterSession, _ options: ConnectionOptions,
        _ policy: ReconnectionPolicy
    ) {
        self.peer = peer
        let reconnector = LoopBound(
            sending: Reconnector(to: peer, options, policy, on: session.loop), to: session.loop)
        // A domain of its own, so that one that has ended keeps no adapter.
        core = SessionReference(reconnector, in: DetachedSession(on: session.loop))
        // The one task that does it all, as long as this is wanted.
        task = Task(executorPreference: session.loop) { await session.run(reconnector) }
    }

    deinit {
        task.cancel()
    }

    /// The link, when there is one.
    public var connection: Connection? {
        get async { await core { $0.connection } }
    }

    /// How it stands, now and whenever that changes. Each call makes a stream of its own.
    ///
    /// The stream begins with how it stands. It lives until its loop is left, or throws why the whole has ended; when
    /// nobody takes the events the oldest make room. It does not keep the connection maintained: this object does.
    public nonisolated(nonsending) func events(bufferCapacity: Int = 64) async -> BoundedStream<Event> {
        await core { $0.events(bufferCapacity) }
    }

    /// Waits for a link and returns it; at once when there is one.
    /// - Throws: `.timedOut`, `.cancelled`, or why the whole has ended.
    public nonisolated(nonsending) func connected(timeout: Duration? = .seconds(30)) async throws(BluetoothError)
        -> Connection
    {
        try await core { (core) async throws(BluetoothError) in try await core.connected(timeout: timeout) }
    }

    /// Subscribes to a characteristic for as long as somebody listens, over however many links.
    ///
    /// The subscription is live when the call returns, for which it waits for a link. After each new link the
    /// characteristic is looked up anew, since a device may have other attributes by then, and also when the device
    /// indicates such a change (Core Vol 3 Part G §7.1); what is remembered of a device is used where the device confirms
    /// it. Leaving the loop ends the subscription. The stream throws when the whole has ended, or when the device no
    /// longer has the characteristic.
    /// - Parameters:
    ///   - characteristic: the first with this UUID in `service`.
    ///   - service: the service it is in.
    ///   - kind: notifications or indications.
    ///   - bufferCapacity: how many may wait for the consumer; one more ends the stream with an error.
    ///   - timeout: the most time to wait for a link, and for the peer.
    /// - Throws: `.notFound` when the device has no such characteristic, besides what subscribing throws.
    public nonisolated(nonsending) func subscribe(
        to characteristic: BluetoothUUID, in service: BluetoothUUID, kind: SubscriptionKind = .automatic,
        bufferCapacity: Int = 4096, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> BoundedStream<Notice> {
        let wish = KeptSubscriptions.Wish(service: service, characteristic: characteristic, kind: kind)
        return try await core { (core) async throws(BluetoothError) in
            try await core.subscribe(wish, bufferCapacity, timeout: timeout)
        }
    }

    /// Ends the link, the attempts and all streams; returns when that is done.
    public nonisolated(nonsending) func close() async {
        task.cancel()
        await core { await $0.close() }
    }
}
