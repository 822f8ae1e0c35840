import BluetoothHost
import BluetoothPrimitives
import BluetoothManagement

/// A peripheral's side of pairings, and its keys.
final class PeripheralSecurity: PairingParty {
    private unowned let node: PeripheralNode
    private var settings = SimulatedSecurity()
    private var bonds: [BluetoothAddress: LongTermKey] = [:]
    private(set) var localOutOfBandValues: OutOfBandData?
    /// The values of every central.
    private var receivedOutOfBandValues: OutOfBandData?

    init(node: PeripheralNode) { self.node = node }

    func set(_ settings: SimulatedSecurity) {
        self.settings = settings
        if let identity = settings.identity, node.identityResolvingKey?.address != identity {
            node.identityResolvingKey = IdentityResolvingKey(
                address: identity, value: .random(using: &node.world.generator))
        }
        if settings.identity == nil { node.identityResolvingKey = nil }
    }

    func outOfBandValues(on end: LinkEnd) -> OutOfBandData? { receivedOutOfBandValues }

    func makeOutOfBandValues() -> OutOfBandData {
        let values = OutOfBandData.random(using: &node.world.generator)
        localOutOfBandValues = values
        return values
    }

    func receive(_ values: OutOfBandData?) { receivedOutOfBandValues = values }

    /// Removes all keys.
    func forgetBonds() { bonds = [:] }

    // MARK: Pairing

    var ownPasskey: UInt32? { settings.passkey }
    var signs: Bool { settings.signs }

    func pairingFeatures(for level: SecurityLevel, on end: LinkEnd) -> PairingFeatures {
        PairingFeatures(
            ioCapability: settings.ioCapability, requiresProtection: settings.requiresProtection,
            hasSecureConnections: settings.hasSecureConnections, bonds: settings.storesKeys,
            maximumKeySize: UInt8(min(max(settings.maximumKeySize, 7), 16)))
    }

    func respond(to pairing: Pairing, on end: LinkEnd) -> SimulatedSecurity.Response {
        node.isMute ? .silence : settings.response
    }

    func ask(_ question: SimulatedPairingQuestion, for pairing: Pairing, on end: LinkEnd) {
        let world = node.world
        let shown = pairing.shownPasskey ?? settings.passkey
        switch (question, settings.user) {
        case (.showPasskey, _): pairing.answer(.yes, from: end)
        case (_, .isAbsent): break
        // A user who rejects needs time to read first.
        case (_, .refuses): world.schedule(after: .seconds(1)) { pairing.answer(.no, from: end) }
        case (.confirm, _): pairing.answer(.yes, from: end)
        case (.enterPasskey, .mistypes):
            world.schedule(after: .seconds(1)) { pairing.answer(.passkey((shown + 1) % 1_000_000), from: end) }
        case (.enterPasskey, .agrees): pairing.answer(.passkey(shown), from: end)
        }
    }

    func ended(_ pairing: Pairing, _ outcome: SimulatedPairingOutcome, on end: LinkEnd) {
        guard case .paired(let keys) = outcome, keys.isBonded else { return }
        bonds[end.peerIdentity] = keys.longTermKey(of: end.peerIdentity, isCentral: false)
    }

    func key(on end: LinkEnd) -> LongTermKey? { bonds[end.peerIdentity] }

    func securityRequested(_ level: SecurityLevel, bonds: Bool, on end: LinkEnd) {}

    /// Sends a Security Request.
    func request(_ level: SecurityLevel, on end: LinkEnd) { end.requestSecurity(level, bonds: settings.storesKeys) }
}
