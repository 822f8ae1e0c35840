import BluetoothSockets
import BluetoothPrimitives

extension Adapter {
    private var pairings: SessionReference<Pairings> { SessionReference(session.pairings, in: session) }

    /// Sets the agent that answers the questions of pairing on this adapter's links, and the adapter's pairing
    /// settings.
    ///
    /// Without an agent, pairings that a device begins are refused, and those of this program fail if they ask a
    /// question. The agent and the settings apply until the next call, also after the adapter was unplugged and is
    /// back. The agent serves only links that this program holds. Needs CAP_NET_ADMIN.
    ///
    /// The adapter has one set of settings for all programs. They are sent before a connection and before pairing, and
    /// while centrals are served at each beginning and end of a link; after the last link the former ones are restored. A
    /// link keeps the IO capability that it began with: set the agent before connecting.
    /// - Parameters:
    ///   - agent: the agent; nil for none.
    ///   - ioCapability: the IO capability reported to peers, if it differs from the agent's (management `Set IO
    ///     Capability`).
    ///   - isBondable: whether keys are stored for later connections (`Set Bondable`).
    ///   - secureConnections: the use of LE Secure Connections: with devices that support them, never, or exclusively,
    ///     so that other devices cannot pair (`Set Secure Connections`).
    /// - Throws: `.pairingFailed` with `PairingFailure.ownedByDaemon` while BlueZ's daemon runs, `.notPermitted`,
    ///   `.unsupported` when only Secure Connections are allowed and the adapter lacks them, `.noAdapter`,
    ///   `.cancelled`.
    public nonisolated(nonsending) func setPairingAgent(
        _ agent: (any PairingAgent)?, ioCapability: IOCapability? = nil, isBondable: Bool = true,
        secureConnections: SecureConnectionsMode = .on
    ) async throws(BluetoothError) {
        let settings = PairingSettings(
            ioCapability: ioCapability ?? agent?.ioCapability ?? .noInputNoOutput, isBondable: isBondable,
            secureConnections: secureConnections)
        try await pairings { pairings throws(BluetoothError) in
            try await pairings.setAgent(agent ?? RefusingPairingAgent(), settings)
        }
    }

    /// Makes out-of-band data of this adapter, for a device that receives them by another way, such as an NFC tag or a QR
    /// code: `OutOfBandData.nfcMessage`, `OutOfBandData.text`.
    ///
    /// A pairing with a device that has them is authenticated and asks nothing, whichever side begins it. They replace
    /// the adapter's former data, and apply until it is powered off, also after the program's end; make new ones for
    /// each device. Needs CAP_NET_ADMIN.
    /// - Throws: `.unsupported` when the adapter has no LE Secure Connections or uses private addresses, `.pairingFailed`
    ///   with `PairingFailure.ownedByDaemon` while BlueZ's daemon runs, `.notPermitted`, `.adapterOff`, `.cancelled`.
    public nonisolated(nonsending) func makeOutOfBandData() async throws(BluetoothError) -> OutOfBandData {
        try await pairings { pairings throws(BluetoothError) in try await pairings.makeOutOfBandData() }
    }

    /// Sets the out-of-band data that a device has transferred by another way, for the next pairing with it, such as one
    /// that it begins. ``Connection/pair(with:timeout:)`` needs no such call.
    ///
    /// They apply until the pairing ends, at most 64 devices' at a time. Needs CAP_NET_ADMIN.
    /// - Parameters:
    ///   - data: the data; nil removes them.
    ///   - peer: the address that the device connects with.
    /// - Throws: `.overflow` beyond 64 devices, `.pairingFailed` with `PairingFailure.ownedByDaemon` while BlueZ's
    ///   daemon runs, `.notPermitted`, `.adapterOff`, `.cancelled`.
    public nonisolated(nonsending) func setOutOfBandData(
        _ data: OutOfBandData?, of peer: BluetoothAddress
    ) async throws(BluetoothError) {
        _ = try await pairings { pairings throws(BluetoothError) in
            try await pairings.setOutOfBandData(data, of: peer)
        }
    }

    /// The bonds of this adapter, sorted by address.
    public nonisolated(nonsending) func bonds() async -> [Bond] {
        await session { $0.bondManager.bonds }
    }

    /// The bond with a device; nil when there is none.
    /// - Parameter identity: the device's identity address: public or static random.
    public nonisolated(nonsending) func bond(with identity: BluetoothAddress) async -> Bond? {
        await session { $0.bondManager.bond(with: identity) }
    }

    /// The state of the bonds' keys in the kernel.
    public nonisolated(nonsending) var bondStatus: BondStatus {
        get async { await session { $0.bondManager.status } }
    }

    /// Removes a bond: the keys, in the store and in the kernel (management `Unpair Device`), the device's subscriptions
    /// and its cached database; ends this program's link to the device.
    ///
    /// Programs with another store keep bonds of their own with the device.
    /// The device keeps its own keys until its user removes them, and until then refuses to pair or fails to encrypt. A
    /// device without a bond is no error. Needs CAP_NET_ADMIN where the kernel has the keys.
    /// - Throws: `.storageFailed` when the store cannot remove the bond, `.notPermitted`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func removeBond(with identity: BluetoothAddress) async throws(BluetoothError) {
        try await session.removeBond(with: identity)
    }

    /// Stores a bond in place of the one with the same device, such as to change its name, or to
    /// restore one with ``Bond/init(stored:for:)``. Changed keys are loaded into the kernel.
    /// - Throws: `.storageFailed` when the store cannot write the bond, which then lasts as long as the adapter is
    ///   open; `.invalidArgument` when the identity is not an identity address; `.cancelled`.
    public nonisolated(nonsending) func setBond(_ bond: Bond) async throws(BluetoothError) {
        try await session.setBond(bond)
    }

    /// A stream of changes of the bonds from now on.
    ///
    /// The stream ends when its loop is left or the adapter is closed; it throws `.overflow` when more than 256 changes
    /// wait.
    public nonisolated(nonsending) func bondChanges() async -> BoundedStream<BondChange> {
        await session { $0.bondManager.bondChanges($0.operation("follow the bonds"), keeping: $0) }
    }

    /// Sets the cache of devices' databases, for connections made from now on.
    ///
    /// The default is ``AttributeCache/memory(capacity:)``. ``AttributeCache/files(in:capacity:log:)`` outlives the
    /// program; with nil a database is kept only as long as its connection.
    public nonisolated(nonsending) func setAttributeCache(_ cache: AttributeCache?) async {
        await session { $0.linkMaker.attributeCache = cache?.databases }
    }
}
