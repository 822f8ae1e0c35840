import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT

// The local server on this connection: the peer as a client.
extension Connection {
    /// Notifies the peer of a local value (Core Vol 3 Part G §4.10.1).
    ///
    /// Returns as soon as the kernel has the notification, and waits while its buffer is full: notifications are
    /// neither lost nor reordered on this side. A longer value is truncated to ATT_MTU − 3 bytes.
    /// - Parameter characteristic: the handle of the value; see ``PublishedServices/handle(of:in:)``.
    /// - Throws: `.notSubscribed` when the peer has not subscribed to notifications of it, besides what every call
    ///   throws.
    package nonisolated(nonsending) func notify(
        _ value: [UInt8], of characteristic: AttributeHandle, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        if let link = core.valueIfCurrent, link.maySendWithoutTurn, link.notifyAtOnce(value, of: characteristic) {
            return
        }
        try await core { (link) async throws(BluetoothError) in
            try await link.send(value, of: characteristic, as: .notification, timeout: timeout)
        }
    }

    /// Indicates a local value to the peer and waits for the confirmation (Core Vol 3 Part G §4.11.1).
    ///
    /// One indication is outstanding at a time; others wait. A peer that does not confirm within 30 s loses the link,
    /// as the Attribute Protocol requires.
    /// - Parameter characteristic: the handle of the value; see ``PublishedServices/handle(of:in:)``.
    /// - Throws: `.notSubscribed` when the peer has not subscribed to indications of it, besides what every call
    ///   throws.
    package nonisolated(nonsending) func indicate(
        _ value: [UInt8], of characteristic: AttributeHandle, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in
            try await link.send(value, of: characteristic, as: .indication, timeout: timeout)
        }
    }

    /// The peer's subscription to a local characteristic; empty for none.
    package nonisolated(nonsending) func peerConfiguration(of characteristic: AttributeHandle) async
        -> ClientCharacteristicConfiguration
    {
        await core { $0.peerConfiguration(of: characteristic) }
    }

    /// A stream of the peer's subscriptions to local characteristics: the current ones, then every change.
    ///
    /// Subscriptions of a bonded device from an earlier link are included once the link has the security that the
    /// characteristic requires. Closing services ends the subscriptions to them. The stream throws the reason of
    /// the link's end, or `.overflow` when more than 256 changes wait.
    public nonisolated(nonsending) func peerSubscriptions() async -> BoundedStream<PeerSubscription> {
        await core { $0.peerSubscriptions() }
    }

    /// The peer's current subscriptions to local characteristics, for callers on the loop.
    package var peerSubscriptionsNow: [PeerSubscription] { core.value.currentPeerSubscriptions }

    /// The number of the peer's commands that were dropped because a handler was too slow: too many were waiting, or
    /// some still were when the link ended.
    public nonisolated(nonsending) var missedCommandCount: Int {
        get async { await core { $0.missedCommandCount } }
    }

    /// The number of values for all subscribers that the peer has missed, as its link kept the others waiting; see
    /// ``PublishedValue/notify(_:timeout:)``.
    public nonisolated(nonsending) var missedValueCount: Int {
        get async { await core { $0.patience.missedCount } }
    }
}
