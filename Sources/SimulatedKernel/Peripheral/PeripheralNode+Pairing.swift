import BluetoothKernel
import BluetoothPrimitives
import GATT
import HCI
import Management

extension PeripheralNode: PairingParty {
    var ownPasskey: UInt32? { security.passkey }
    var signs: Bool { security.signs }

    private var features: PairingFeatures {
        PairingFeatures(
            ioCapability: security.ioCapability, requiresProtection: security.requiresProtection,
            hasSecureConnections: security.hasSecureConnections, bonds: security.keepsKeys)
    }

    func pairingFeatures(for level: SecurityLevel) -> PairingFeatures { features }

    func respond(to pairing: Pairing, on end: LinkEnd) -> PairingResponse {
        guard !isMute else { return .silence }
        switch security.response {
        case .accept: return .accept(features)
        case .refuse: return .refuse
        case .silence: return .silence
        }
    }

    func ask(_ question: PairingQuestion, for pairing: Pairing, on end: LinkEnd) {
        let shown = pairing.shownPasskey ?? security.passkey
        switch (question, security.user) {
        case (.showPasskey, _): pairing.answer(.yes, from: end)
        case (_, .isAbsent): break
        // Whoever does not agree has to look first.
        case (_, .refuses): world.schedule(after: .seconds(1)) { pairing.answer(.no, from: end) }
        case (.confirm, _): pairing.answer(.yes, from: end)
        case (.enterPasskey, .mistypes):
            world.schedule(after: .seconds(1)) { pairing.answer(.passkey((shown + 1) % 1_000_000), from: end) }
        case (.enterPasskey, .agrees): pairing.answer(.passkey(shown), from: end)
        }
    }

    func ended(_ pairing: Pairing, _ outcome: PairingOutcome, on end: LinkEnd) {
        guard case .paired(let keys) = outcome, keys.isBonded else { return }
        bonds[end.peerIdentity] = LongTermKey(
            address: end.peerIdentity, kind: keys.kind, isCentral: false,
            encryptedDiversifier: keys.encryptedDiversifier, randomNumber: keys.randomNumber, value: keys.value)
    }

    func key(on end: LinkEnd) -> LongTermKey? { bonds[end.peerIdentity] }

    func securityRequested(_ level: SecurityLevel, on end: LinkEnd) {}
}

extension SimulatedPeripheral {
    /// Chooses how it behaves when it is asked to pair.
    public func setSecurity(_ security: SimulatedSecurity) {
        withNode { node in
            node.security = security
            if let identity = security.identity, node.identityResolvingKey?.address != identity {
                node.identityResolvingKey = IdentityResolvingKey(
                    address: identity, value: .random(using: &node.world.generator))
            }
            if security.identity == nil { node.identityResolvingKey = nil }
        }
    }

    /// What it tells in pairing to those who are to resolve its private addresses; nil without an
    /// ``SimulatedSecurity/identity``.
    public var identityResolvingKey: SecurityKey? {
        radio.withWorld { [identifier] world in world.peripheral(identifier)?.identityResolvingKey?.value }
    }

    /// Makes a private address that those resolve to whom it has told its identity in pairing
    /// (Core Vol 3 Part H §2.2.2); nil without an ``SimulatedSecurity/identity``.
    public func makePrivateAddress() -> BluetoothAddress? {
        radio.withWorld { [identifier] world -> BluetoothAddress? in
            guard let key = world.peripheral(identifier)?.identityResolvingKey else { return nil }
            return key.value.makePrivateAddress(using: &world.generator)
        }
    }

    /// Loses all keys: links with those who still have theirs cannot be encrypted any more.
    public func forgetBonds() {
        withNode { $0.bonds = [:] }
    }

    /// Asks the centrals it is connected with for protected links (Security Request).
    public func requestSecurity(_ level: SecurityLevel = .medium) {
        withNode { node in
            for end in node.world.links(of: node) {
                end.send(.procedure { end.other.party?.securityRequested(level, on: end.other) })
            }
        }
    }
}
