import BluetoothHost
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// The security of one link in the kernel: the requested level, the pairing in progress, and the result.
final class ConnectionSecurity: PairingParty {
    private unowned let connection: HostConnection
    /// The pairing in progress, which the peer may have started.
    private(set) var pairing: Pairing?
    /// Whether the link ends because it could not be secured.
    private(set) var hasFailed = false
    /// The completion of a program's Pair Device.
    private var onPaired: ((ManagementStatus) -> Void)?
    /// The level to raise the link to as soon as it is up.
    private var wantedLevel: SecurityLevel?
    /// The level that this side, a central, has encrypted the link for with a stored key.
    private var askedLevel: SecurityLevel?

    /// The time after which a link's channels have the identity of its peer (`ID_ADDR_TIMEOUT`).
    private static let renamingDelay = Duration.milliseconds(200)

    /// The adapter's IO capability when the link was begun.
    private let ioCapability: IOCapability

    init(connection: HostConnection) {
        self.connection = connection
        ioCapability = connection.adapter.settings.ioCapability
    }

    /// Whether a program waits for a pairing.
    var isAwaited: Bool { onPaired != nil }

    /// The link's security as this side reports it: with a stored key a central has the level that it has asked for.
    func reported(on end: LinkEnd) -> LinkSecurity {
        var security = end.link.security
        if let askedLevel { security.level = min(askedLevel, security.level) }
        return security
    }

    // MARK: Starting

    /// Pairs, as soon as the link is up, and passes the result to `completion`.
    func pair(_ completion: @escaping (ManagementStatus) -> Void) {
        onPaired = completion
        if connection.state == .connected { raise(to: .medium) } else { wantedLevel = .medium }
    }

    /// Starts the requested procedures: the link is up.
    func linkReady() {
        guard let level = wantedLevel.take() else { return }
        raise(to: level)
    }

    /// Raises the link's security: with a sufficient stored key, else by pairing.
    func raise(to level: SecurityLevel) {
        guard let end = connection.end, pairing == nil else { return }
        // A peripheral can only request it, always with the wish to bond.
        guard connection.isCentral else { return end.requestSecurity(level, bonds: true) }
        secure(end, level, isRequested: false)
    }

    /// Handles the peer's Security Request: without a user interface medium security is all that there is, and an adapter
    /// that is not bondable refuses to bond (`smp_cmd_security_req`). The link stays in any case.
    func securityRequested(_ level: SecurityLevel, bonds: Bool, on end: LinkEnd) {
        let level = ioCapability == .noInputNoOutput ? .medium : level
        guard level > reported(on: end).level, pairing == nil else { return }
        secure(end, level, isRequested: true, isRefused: bonds && !connection.adapter.settings.isBondable)
    }

    private func secure(_ end: LinkEnd, _ level: SecurityLevel, isRequested: Bool, isRefused: Bool = false) {
        if let key = connection.adapter.keys.longTermKey(of: connection.peer, isCentral: true),
            key.kind.level >= level
        {
            return encrypt(with: key, for: level, over: end)
        }
        guard !isRefused else {
            reportFailure()
            return end.send(.procedure { end.other.party?.securityRefused(on: end.other) })
        }
        let pairing = Pairing(on: end, level: level, isRequested: isRequested)
        self.pairing = pairing
        pairing.begin()
    }

    // MARK: Pairing

    var localOutOfBandValues: OutOfBandData? { connection.adapter.pairing.localOutOfBandValues }

    func outOfBandValues(on end: LinkEnd) -> OutOfBandData? {
        connection.adapter.pairing.remoteOutOfBandValues[connection.peer]
    }

    func pairingFeatures(for level: SecurityLevel, on end: LinkEnd) -> PairingFeatures {
        let settings = connection.adapter.settings
        return PairingFeatures(
            ioCapability: ioCapability,
            // The kernel requests MITM protection whenever its user interface allows it.
            requiresProtection: level >= .high || ioCapability != .noInputNoOutput,
            hasSecureConnections: settings.secureConnections != .off,
            needsSecureConnections: settings.secureConnections == .only,
            bonds: settings.isBondable, maximumKeySize: connection.adapter.pairing.maximumKeySize)
    }

    func respond(to pairing: Pairing, on end: LinkEnd) -> SimulatedSecurity.Response {
        self.pairing = pairing
        return .accept
    }

    func ask(_ question: SimulatedPairingQuestion, for pairing: Pairing, on end: LinkEnd) {
        let (adapter, peer) = (connection.adapter, ManagementAddress(connection.peer))
        switch question {
        case .confirm(let value, let isSimple):
            adapter.send(ManagementUserConfirmationRequest(peer, isSimple: isSimple, value: value))
        case .enterPasskey: adapter.send(ManagementUserPasskeyRequest(peer))
        case .showPasskey(let passkey):
            adapter.send(ManagementPasskeyNotify(peer, passkey: passkey, enteredCount: 0))
            pairing.answer(.yes, from: end)
        }
    }

    func key(on end: LinkEnd) -> LongTermKey? {
        connection.adapter.keys.longTermKey(of: connection.peer, isCentral: connection.isCentral)
    }

    // MARK: Stored keys

    /// Starts encryption with a stored key; the peripheral must have the same one.
    private func encrypt(with key: LongTermKey, for level: SecurityLevel, over end: LinkEnd) {
        end.send(
            .procedure {
                let other = end.other
                let isKnown = other.party?.key(on: other)?.value == key.value
                other.send(
                    .procedure { [weak self] in
                        guard let self, connection.end != nil else { return }
                        guard isKnown else { return encryptionFailed() }
                        askedLevel = level
                        end.link.change(.security) {
                            $0.security = LinkSecurity(level: key.kind.level, keySize: key.encryptionSize)
                        }
                        complete(.success)
                    })
            })
    }

    /// Handles a peer without the key: the kernel ends the link, without an event of its own.
    private func encryptionFailed() {
        guard let end = connection.end else { return }
        connection.adapter.controller.emit(
            HCIEncryptionChange(status: .pinOrKeyMissing, handle: end.handle, isEncrypted: false))
        fail()
    }

    // MARK: Ending

    /// Handles the end of the pairing.
    func ended(_ pairing: Pairing, _ outcome: SimulatedPairingOutcome, on end: LinkEnd) {
        self.pairing = nil
        switch outcome {
        case .paired(let keys):
            askedLevel = nil
            store(keys, end)
            complete(.success)
        case .failedHere(let keepsLink):
            reportFailure()
            if !keepsLink { fail() }
        case .failedThere: securityRefused(on: end)
        }
    }

    /// Handles the peer's Pairing Failed, after which a peripheral's kernel ends the link.
    func securityRefused(on end: LinkEnd) {
        reportFailure()
        for socket in connection.channels.sockets { socket.securityFailed() }
        if !connection.isCentral { fail() }
    }

    private func reportFailure() {
        connection.adapter.send(
            ManagementAuthenticationFailed(ManagementAddress(connection.peer), .authenticationFailed))
        complete(.authenticationFailed)
    }

    /// Cancels the program's wait.
    func cancel() {
        complete(.cancelled)
        fail()
    }

    /// Ends the link because it could not be secured.
    private func fail() {
        hasFailed = true
        guard let end = connection.end else { return }
        connection.adapter.perform(HCIDisconnect(end.handle, reason: .authenticationFailure))
    }

    /// Handles the end of the link or of the attempt.
    func linkEnded() {
        pairing?.linkEnded()
        pairing = nil
        complete(.disconnected)
    }

    private func complete(_ status: ManagementStatus) {
        onPaired.take()?(status)
    }

    // MARK: Keys

    private func store(_ made: SimulatedPairingKeys, _ end: LinkEnd) {
        let adapter = connection.adapter
        // The identity is distributed before the key, which then names it.
        if adapter.keys.exchangesIdentities, let identity = end.other.side.node.identityResolvingKey {
            let air = connection.peer
            adapter.keys.store(identity)
            connection.peer = identity.address
            adapter.world.schedule(after: Self.renamingDelay) { [weak connection] in
                for socket in connection?.channels.sockets ?? [] { socket.peer = identity.address }
            }
            adapter.send(
                ManagementNewIdentityResolvingKey(
                    identity, randomAddress: air.randomKind == .resolvablePrivate ? air : nil, isStored: made.isBonded))
        }
        let isStored = made.isBonded && connection.peer.randomKind != .resolvablePrivate
        if end.other.party?.signs == true, made.isBonded { sendSignatureKeys(made, isStored: isStored) }
        // Secure Connections derives one key for both sides. In legacy pairing each side distributes one for either
        // role, and none without bonding.
        let roles = made.key.kind.isSecureConnections ? [connection.isCentral] : made.isBonded ? [false, true] : []
        let keys = roles.map { made.longTermKey(of: connection.peer, isCentral: $0) }
        adapter.keys.replaceLongTermKeys(of: connection.peer, with: keys)
        for key in keys { adapter.send(ManagementNewLongTermKey(key, isStored: isStored)) }
    }

    private func sendSignatureKeys(_ made: SimulatedPairingKeys, isStored: Bool) {
        let adapter = connection.adapter
        let isAuthenticated = made.key.kind == .authenticated || made.key.kind == .authenticatedLegacy
        let kinds: [SignatureResolvingKey.Kind] =
            isAuthenticated
            ? [.authenticatedRemote, .authenticatedLocal] : [.unauthenticatedRemote, .unauthenticatedLocal]
        for kind in kinds {
            adapter.send(
                ManagementNewSignatureResolvingKey(
                    SignatureResolvingKey(
                        address: connection.peer, kind: kind, value: .random(using: &adapter.world.generator)),
                    isStored: isStored))
        }
    }
}
