import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

extension Connection {
    /// Ends the link. Calls under way fail with ``BluetoothError/Code/disconnected``, streams end with it.
    ///
    /// The kernel drops the link itself two seconds after its last channel is closed. As long as a
    /// ``ConnectionOrientedChannel`` keeps it, an answer that is outstanding now keeps the device `.busy` for
    /// ``Adapter/connect(to:options:)-(BluetoothAddress,_)``.
    public nonisolated(nonsending) func disconnect() async {
        await core { $0.disconnect() }
    }

    /// As ``disconnect()``; nobody waits for it.
    package func disconnectSoon() { core.later { $0.disconnect() } }

    /// As ``disconnect()``, at once; for callers on the loop.
    package func disconnectNow() { core.value.disconnect() }

    /// As ``maximumCommandLength``, for callers on the loop.
    package var maximumCommandLengthNow: Int { core.value.maximumCommandLength }

    /// Whether the link is up; for callers on the loop.
    package var isConnectedNow: Bool { core.value.isConnected }

    /// Whether the link is up.
    public var isConnected: Bool {
        get async { await core { $0.isConnected } }
    }

    /// Waits for the end of the link and tells why it ended; a cancelled task is told so instead.
    public nonisolated(nonsending) func closed() async -> BluetoothError {
        await core { await $0.closed() }
    }

    /// Who the peer is, as far as the kernel can tell: ``peer``, or what pairing has told of a device that came with an
    /// address that changes.
    public var identity: BluetoothAddress {
        get async { await core { $0.identity } }
    }

    /// The ATT_MTU in force, 23 to 517 bytes (Core Vol 3 Part F §3.2.8).
    public var maximumTransmissionUnit: Int {
        get async { await core { $0.maximumTransmissionUnit } }
    }

    /// The longest value a Write Command or a single Write Request carries: ATT_MTU − 3 bytes, and never more than the
    /// 512 bytes a value can have (Core Vol 3 Part F §3.2.9), beyond which a peer drops it.
    public var maximumCommandLength: Int {
        get async { await core { $0.maximumCommandLength } }
    }

    /// How many values the peer notified that nobody had subscribed to.
    public var unwantedValueCount: Int {
        get async { await core { $0.unwantedValueCount } }
    }

    /// The link's protection now (`getsockopt(BT_SECURITY)`): how far it is encrypted, and with how long a key.
    ///
    /// Needs no privilege.
    /// - Throws: `.disconnected` after the end.
    public nonisolated(nonsending) func security() async throws(BluetoothError) -> LinkSecurity {
        try await core { (link) throws(BluetoothError) in try link.security() }
    }
}
