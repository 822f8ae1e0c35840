import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT

/// A persistent connection to a device: after the end of a link, the device is connected again, with the same
/// subscriptions.
///
/// Created by ``Central/keepConnected(to:options:policy:)-(BluetoothAddress,_,_)``. It ends with
/// ``disconnect(timeout:)``, with its last reference, when the policy gives up, or when the central is closed; its link
/// ends as well.
public final class KeptConnection: Identifiable, Sendable {
    /// An event of the device's connection. An open set: each property is one thing that may happen, nil for the others.
    public struct Event: Sendable {
        package enum Kind: Sendable {
            case connecting(attempt: Int)
            case connected(Connection)
            case disconnected(BluetoothError)
            case failed(BluetoothError, retryAfter: Duration)
            case waitingForAdapter(BluetoothError)
        }

        package let kind: Kind

        init(_ kind: Kind) { self.kind = kind }

        /// The number of the connection attempt that begins: the n-th since the last link, from 1.
        public var connecting: Int? { if case .connecting(let attempt) = kind { attempt } else { nil } }
        /// The link that is up, with the subscriptions restored.
        public var connected: Connection? { if case .connected(let connection) = kind { connection } else { nil } }
        /// The reason for the end of the link.
        public var disconnected: BluetoothError? { if case .disconnected(let reason) = kind { reason } else { nil } }
        /// The reason for which an attempt has failed; the next one follows after the delay.
        public var failed: (error: BluetoothError, retryAfter: Duration)? {
            if case .failed(let error, let delay) = kind { (error, delay) } else { nil }
        }
        /// The reason for which the adapter is waited for: it is off, blocked or absent, or has no room for another link
        /// (`.linkLimitReached`); the next attempt follows when it is back, or when a link ends.
        public var waitingForAdapter: BluetoothError? {
            if case .waitingForAdapter(let reason) = kind { reason } else { nil }
        }
    }

    /// An element of a subscription that outlives links.
    public enum Update: Hashable, Sendable {
        /// A value from the peer.
        case value([UInt8])
        /// The link has ended, or the characteristic has moved: values since then are not in the stream.
        case interrupted(BluetoothError)
        /// The subscription is restored.
        case resumed
    }

    /// The device's address; of a device known by its key, the identity address, nil if that is unknown:
    /// ``Connection/peer`` is the address connected to.
    public let peer: BluetoothAddress?
    private let core: SessionReference<Reconnector>

    init(
        to target: ReconnectionTarget, by central: some Central, _ options: ConnectionOptions,
        _ policy: ReconnectionPolicy
    ) {
        peer = target.address
        let loop = central.loop
        // A separate isolation domain, so that an ended connection does not retain the adapter.
        core = SessionReference(
            sending: Reconnector(to: target, options, policy, on: loop), in: DetachedSession(on: loop))
        // A caller on the loop may have ended it by then.
        core.later { if $0.end == nil { $0.begin(on: central) } }
    }

    deinit {
        core.later { $0.cancel() }
    }

    /// The link; nil while there is none.
    public nonisolated(nonsending) var connection: Connection? {
        get async { await core { $0.connection } }
    }

    /// A stream of the connection's events that begins with the latest. Each call creates a separate stream.
    ///
    /// The stream ends when its loop is left, and throws the reason when the kept connection ends. When
    /// `bufferCapacity` events wait, the oldest makes room. The stream does not keep the device connected: this object
    /// does.
    public nonisolated(nonsending) func events(bufferCapacity: Int = 64) async -> BoundedStream<Event> {
        await core { $0.events(bufferCapacity) }
    }

    /// The link; waits until it is up.
    /// - Throws: `.timedOut`, `.cancelled`, or the reason why the kept connection has ended.
    public nonisolated(nonsending) func connected(timeout: Duration? = .seconds(30)) async throws(BluetoothError)
        -> Connection
    {
        try await core { (core) async throws(BluetoothError) in try await core.connected(timeout: timeout) }
    }

    /// A subscription to a characteristic that outlives links.
    ///
    /// The subscription is active when the call returns, which waits for a link. The characteristic is looked up again
    /// on each new link and when the device indicates Service Changed (Core Vol 3 Part G §7.1), since the device may
    /// have other attributes by then; cached attributes are used where the device confirms them. The subscription ends
    /// when the loop over the stream is left. The stream throws when the kept connection ends, and when the device no
    /// longer has the characteristic.
    /// - Parameters:
    ///   - characteristic: the first with this UUID in `service`.
    ///   - service: its service.
    ///   - kind: notifications or indications.
    ///   - bufferCapacity: the maximum number of values that wait for the consumer; one more ends the stream with an
    ///     error.
    ///   - timeout: the maximum time to wait for a link, and for the peer.
    /// - Throws: `.notFound` when the device has no such characteristic, besides what
    ///   ``Connection/subscribe(to:kind:bufferCapacity:timeout:)`` throws.
    public nonisolated(nonsending) func subscribe(
        to characteristic: BluetoothUUID, in service: BluetoothUUID, kind: SubscriptionKind = .automatic,
        bufferCapacity: Int = 4096, timeout: Duration? = .seconds(30)
    ) async throws(BluetoothError) -> BoundedStream<Update> {
        let target = KeptSubscriptions.Target(service: service, characteristic: characteristic, kind: kind)
        return try await core { (core) async throws(BluetoothError) in
            try await core.subscribe(target, bufferCapacity, timeout: timeout)
        }
    }

    /// Disconnects the device, unless other callers have the same ``Connection``, and ends the kept connection with all its
    /// streams.
    ///
    /// Returns when the link is down, or after `timeout`, as ``Connection/disconnect(timeout:)`` does.
    public nonisolated(nonsending) func disconnect(timeout: Duration? = .seconds(5)) async {
        await core { await $0.disconnect(timeout: timeout) }
    }
}

extension KeptConnection.Event: CustomStringConvertible {
    /// The kind of event, with what it carries.
    public var description: String { "\(kind)" }
}
