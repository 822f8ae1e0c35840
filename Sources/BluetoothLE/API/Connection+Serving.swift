import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT

// What the peer finds here when it is a client as well, on this one connection.
extension Connection {
    /// Notifies the peer of one of our values (Core Vol 3 Part G §4.10.1).
    ///
    /// Returns as soon as the kernel has the notification, and waits for that while its buffer is full: notifications
    /// are neither lost nor reordered on this side. Of a value that is longer than the ATT_MTU − 3 bytes the beginning
    /// is sent.
    /// - Parameter characteristic: the handle of the value; see ``PublishedServices/handle(of:in:)``.
    /// - Throws: `.notSubscribed` when the peer has not asked for notifications of it, besides what every call throws.
    public nonisolated(nonsending) func notify(
        _ value: [UInt8], of characteristic: AttributeHandle, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in
            try await link.notify(value, of: characteristic, timeout: timeout)
        }
    }

    /// Indicates one of our values to the peer and waits until it has confirmed (Core Vol 3 Part G §4.11.1).
    ///
    /// One indication is on its way at a time; others wait for their turn. A peer that does not confirm within 30 s
    /// loses the link, as the Attribute Protocol demands.
    /// - Parameter characteristic: the handle of the value; see ``PublishedServices/handle(of:in:)``.
    /// - Throws: `.notSubscribed` when the peer has not asked for indications of it, besides what every call throws.
    public nonisolated(nonsending) func indicate(
        _ value: [UInt8], of characteristic: AttributeHandle, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in
            try await link.indicate(value, of: characteristic, timeout: timeout)
        }
    }

    /// What the peer wants to be sent of one of our characteristics; empty for nothing.
    public nonisolated(nonsending) func peerConfiguration(of characteristic: AttributeHandle) async
        -> ClientCharacteristicConfiguration
    {
        await core { $0.peerConfiguration(of: characteristic) }
    }

    /// The peer's subscriptions to our characteristics: those there are, then every change.
    ///
    /// What a bonded device has subscribed to on an earlier link is among them as soon as the link is protected as the
    /// characteristic demands. Withdrawing services ends the subscriptions to them. The stream ends with the link, throwing
    /// why, and by an overflow when more than 256 changes wait.
    public nonisolated(nonsending) func peerSubscriptions() async -> BoundedStream<PeerSubscription> {
        await core { $0.peerSubscriptions() }
    }

    /// The peer's subscriptions to our characteristics at this moment, for callers on the loop.
    package var peerSubscriptionsNow: [PeerSubscription] { core.value.currentPeerSubscriptions }

    /// How many commands of the peer were passed over because a handler did not keep pace: too many waited, or some still
    /// did when the link ended.
    public var missedCommandCount: Int {
        get async { await core { $0.missedCommandCount } }
    }
}
