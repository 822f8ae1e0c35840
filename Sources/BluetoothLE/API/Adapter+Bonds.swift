import BluetoothSockets
import BluetoothPrimitives

extension Adapter {
    /// Chooses who answers what pairing asks on this adapter's links, and what the adapter brings to its pairings.
    ///
    /// Without an agent every pairing that a device begins is refused, and this program's own work as far as they ask
    /// nothing. The choice holds until the next, also for an adapter that is unplugged and comes back. Only links that this
    /// program holds are its agent's business. Needs CAP_NET_ADMIN.
    /// - Parameters:
    ///   - agent: who answers; nil for nobody.
    ///   - ioCapability: what the other side is told that can be seen and entered here, where it is not what the agent
    ///     says (management `Set IO Capability`).
    ///   - isBondable: whether keys are kept for the next connection (`Set Bondable`).
    ///   - secureConnections: whether LE Secure Connections are used: where the device has them, never, or so that
    ///     devices without them cannot pair (`Set Secure Connections`).
    /// - Throws: `.pairingFailed` with ``PairingFailure/ownedByDaemon`` while BlueZ's daemon runs, `.notPermitted`,
    ///   `.unsupported` when the adapter has no Secure Connections and nothing else is wanted, `.noAdapter`, `.cancelled`.
    public nonisolated(nonsending) func setPairingAgent(
        _ agent: (any PairingAgent)?, ioCapability: IOCapability? = nil, isBondable: Bool = true,
        secureConnections: SecureConnectionsMode = .on
    ) async throws(BluetoothError) {
        let settings = PairingSettings(
            ioCapability: ioCapability ?? agent?.ioCapability ?? .noInputNoOutput, isBondable: isBondable,
            secureConnections: secureConnections)
        let pairings: SessionReference<Pairings> = SessionReference(session.pairings, in: session)
        try await pairings { pairings throws(BluetoothError) in
            try await pairings.setAgent(agent ?? RefusingPairingAgent(), settings)
        }
    }

    /// The bonds of this adapter, by address.
    public nonisolated(nonsending) func bonds() async -> [Bond] {
        await session.bonds()
    }

    /// The bond with a device; nil when there is none.
    /// - Parameter identity: its public or static random address.
    public nonisolated(nonsending) func bond(with identity: BluetoothAddress) async -> Bond? {
        await session.bond(with: identity)
    }

    /// Whether the kernel knows the keys of the bonds, and otherwise why not.
    public var bondStatus: BondStatus {
        get async { await session.bondStatus }
    }

    /// Forgets a device: its keys, here and in the kernel (management `Unpair Device`), which ends the link with it, its
    /// subscriptions, and what is remembered of its database.
    ///
    /// The device keeps its own keys until it is told otherwise by hand, and refuses to pair or fails to encrypt until
    /// then. One that is not bonded is no error. Needs CAP_NET_ADMIN where the kernel has the keys.
    /// - Throws: `.storageFailed` when the store cannot remove it, `.notPermitted`, `.timedOut`, `.cancelled`.
    public nonisolated(nonsending) func removeBond(with identity: BluetoothAddress) async throws(BluetoothError) {
        try await session.removeBond(with: identity)
    }

    /// Keeps a bond in place of the one with the same device, such as one with another name or sign counter, or one that
    /// was made elsewhere; the kernel is told its keys where they are others.
    /// - Throws: `.storageFailed` when the store cannot write it, which lasts as long as the adapter is open then,
    ///   `.invalidArgument` when its identity is an address that changes, or a key has not 7 to 16 bytes that count,
    ///   `.cancelled`.
    public nonisolated(nonsending) func setBond(_ bond: Bond) async throws(BluetoothError) {
        try await session.setBond(bond)
    }

    /// Changes of the bonds from now on.
    ///
    /// The stream lives until its loop is left or the adapter is closed; it throws `.overflow` when more than 256 changes
    /// wait.
    public nonisolated(nonsending) func bondChanges() async -> BoundedStream<BondChange> {
        await session.bondChanges()
    }

    /// Chooses where the databases of devices are remembered, for the connections made from now on.
    ///
    /// At first it is a ``MemoryAttributeCache``. A ``FileAttributeCache`` outlives the program; nil remembers nothing
    /// beyond a connection.
    public nonisolated(nonsending) func setAttributeCache(_ cache: (any AttributeCache)?) async {
        await session.setAttributeCache(cache)
    }
}
