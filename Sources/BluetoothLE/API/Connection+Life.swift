import BluetoothHost
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

extension Connection {
    /// Disconnects, and waits until the link is down, for at most `timeout`; nil for no limit.
    ///
    /// Calls under way fail with `BluetoothError.Code.disconnected` at once, and streams end with it. The kernel
    /// drops a link two seconds after its last channel is closed, so that this takes as long; a
    /// ``Central/connect(to:options:)-(BluetoothAddress,_)`` meanwhile uses the link again, and this returns. It
    /// returns at once with a timeout of zero, when its task is cancelled, when the connection has ended already or
    /// another call is ending it, and while a ``ConnectionOrientedChannel`` of this program keeps the link; a response
    /// that is outstanding then keeps the device `.busy` for connecting.
    public nonisolated(nonsending) func disconnect(timeout: Duration? = .seconds(5)) async {
        await core { await $0.disconnect(timeout: timeout) }
    }

    /// Disconnects, unless other callers have the connection as well.
    package nonisolated(nonsending) func leave(timeout: Duration? = .seconds(5)) async {
        await core { if $0.isLeftByLast() { await $0.disconnect(timeout: timeout) } }
    }

    /// Disconnects without waiting; for callers on the loop.
    package func disconnectNow() { core.value.disconnect() }

    /// As ``maximumCommandLength``, for callers on the loop.
    package var maximumCommandLengthNow: Int { core.value.maximumCommandLength }

    /// The length of the longest Write Commands or notifications of a stream; for callers on the loop.
    package var streamLengthNow: Int { core.value.streamLength }

    /// Whether the link is up; for callers on the loop.
    package var isConnectedNow: Bool { core.value.isConnected }

    /// Whether the link is up.
    public nonisolated(nonsending) var isConnected: Bool {
        get async { await core { $0.isConnected } }
    }

    /// The reason of the link's end; waits for it. It has the `BluetoothError.disconnectReason`, and the controller's
    /// status as `BluetoothError.cause`. For a cancelled task it is `.cancelled`.
    public nonisolated(nonsending) func disconnected() async -> BluetoothError {
        await core { await $0.disconnected() }
    }

    /// The name of the adapter that has the link, such as `hci0`: of several in an `AdapterGroup`, the one that made it.
    public nonisolated(nonsending) var adapterName: String {
        get async { await core { $0.adapter?.adapterName ?? "" } }
    }

    /// The peer's identity address where it has proven it; otherwise ``peer``.
    ///
    /// Pairing reveals an identity that the peer claims. It counts once its bond is stored here, which needs the stored
    /// identity resolving key if there is a bond with a device of that identity already.
    public nonisolated(nonsending) var identity: BluetoothAddress {
        get async { await core { $0.identity } }
    }

    /// Whether the link has the security that the bond with its peer promises.
    ///
    /// In the central's role it has, unless ``SecurityOptions/leavesBondedLinksUnencrypted`` is set. A central begins
    /// encryption automatically some time after it has connected.
    public nonisolated(nonsending) var bondProtection: BondProtection {
        get async { await core { $0.bondProtection } }
    }

    /// The ATT_MTU in force, 23 to 517 bytes (Core Vol 3 Part F §3.2.8).
    public nonisolated(nonsending) var maximumTransmissionUnit: Int {
        get async { await core { $0.maximumTransmissionUnit } }
    }

    /// The longest value a Write Command or a single Write Request carries: ATT_MTU − 3 bytes, and never more than the
    /// 512 bytes a value can have (Core Vol 3 Part F §3.2.9), beyond which a peer drops it.
    public nonisolated(nonsending) var maximumCommandLength: Int {
        get async { await core { $0.maximumCommandLength } }
    }

    /// The number of values that the peer has notified without a subscription.
    public nonisolated(nonsending) var unwantedValueCount: Int {
        get async { await core { $0.unwantedValueCount } }
    }

    /// The link's security (`getsockopt(BT_SECURITY)`): its level and the size of its key.
    ///
    /// Needs no privilege.
    /// - Throws: `.disconnected` after the end.
    public nonisolated(nonsending) func security() async throws(BluetoothError) -> LinkSecurity {
        try await core { (link) throws(BluetoothError) in try link.security() }
    }
}
