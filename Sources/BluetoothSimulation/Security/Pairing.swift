import BluetoothHost
import BluetoothPrimitives

/// The pairing features of one side (Core Vol 3 Part H §3.5.1).
struct PairingFeatures {
    var ioCapability = IOCapability.noInputNoOutput
    /// Whether it requires MITM protection.
    var requiresProtection = false
    var hasSecureConnections = true
    /// Whether it refuses to pair without Secure Connections.
    var needsSecureConnections = false
    var bonds = true
    /// The longest encryption key that it supports, in bytes.
    var maximumKeySize: UInt8 = 16
}

/// A question to a side's user.
enum SimulatedPairingQuestion: Equatable {
    /// Whether to pair; with a number, whether the other side shows the same.
    case confirm(UInt32, isSimple: Bool)
    /// Enter the passkey that the other side shows.
    case enterPasskey
    /// Show the passkey, which the other side enters.
    case showPasskey(UInt32)
}

/// The answer to a question.
enum SimulatedPairingAnswer: Equatable {
    case yes
    case no
    case passkey(UInt32)
}

/// The result of a pairing.
enum SimulatedPairingOutcome {
    /// Succeeded, with the keys and the peer's identity if it was distributed.
    case paired(SimulatedPairingKeys)
    /// This side ended it; the link ends with it, unless the other side has asked for the pairing.
    case failedHere(keepsLink: Bool)
    /// The other side refused; the link stays.
    case failedThere
}

/// The keys of a pairing.
struct SimulatedPairingKeys {
    var isBonded: Bool
    /// The key, of no device yet.
    var key: LongTermKey

    /// The key for links with a device in a role.
    func longTermKey(of peer: BluetoothAddress, isCentral: Bool) -> LongTermKey {
        var key = key
        (key.address, key.isCentral) = (peer, isCentral)
        return key
    }
}

/// A side that can pair: a kernel or a simulated peripheral.
protocol PairingParty: AnyObject {
    /// A fixed passkey of this side; nil if each pairing generates one.
    var ownPasskey: UInt32? { get }
    /// Whether it distributes a signature resolving key.
    var signs: Bool { get }
    /// The out-of-band values that this side has made last.
    var localOutOfBandValues: OutOfBandData? { get }
    /// The out-of-band values that this side has received from the device at the other end.
    func outOfBandValues(on end: LinkEnd) -> OutOfBandData?
    /// The features of this side in a pairing for a level.
    func pairingFeatures(for level: SecurityLevel, on end: LinkEnd) -> PairingFeatures
    /// Handles the other side's pairing request.
    func respond(to pairing: Pairing, on end: LinkEnd) -> SimulatedSecurity.Response
    /// Asks this side's user; the answer is passed to ``Pairing/answer(_:from:)``.
    func ask(_ question: SimulatedPairingQuestion, for pairing: Pairing, on end: LinkEnd)
    /// Handles the end of the pairing.
    func ended(_ pairing: Pairing, _ outcome: SimulatedPairingOutcome, on end: LinkEnd)
    /// The stored key for links with the device at the other end.
    func key(on end: LinkEnd) -> LongTermKey?
    /// Handles a Security Request of the other side, a peripheral, which wants to bond or not.
    func securityRequested(_ level: SecurityLevel, bonds: Bool, on end: LinkEnd)
    /// Handles the other side's Pairing Failed in response to a Security Request.
    func securityRefused(on end: LinkEnd)
}

/// A pairing over one link, from the request to the keys (Core Vol 3 Part H §2.1).
///
/// Nothing is really encrypted: above the kernel seam only the order of questions, the result and the duration matter.
/// Every message goes over the link, in its connection events.
final class Pairing {
    private enum State { case requesting, asking, finishing, over }

    private let world: World
    private let initiator: LinkEnd
    let level: SecurityLevel
    /// Whether it answers a Security Request of the responder.
    private let isRequested: Bool
    private var state = State.requesting
    private var features = (initiator: PairingFeatures(), responder: PairingFeatures())
    private var answers: (initiator: SimulatedPairingAnswer?, responder: SimulatedPairingAnswer?)
    private var method = Method.justWorks
    /// The passkey that a side shows, for a simulated user who reads it there.
    private(set) var shownPasskey: UInt32?
    private var timer: ScheduledEvent?

    /// The time limit without progress (Core Vol 3 Part H §3.4).
    private static let timeout = Duration.seconds(30)

    init(on end: LinkEnd, level: SecurityLevel, isRequested: Bool) {
        world = end.link.world
        initiator = end
        self.level = level
        self.isRequested = isRequested
    }

    private var responder: LinkEnd { initiator.other }

    func begin() {
        guard let party = initiator.party else { return }
        let ours = party.pairingFeatures(for: level, on: initiator)
        restartTimer()
        initiator.send(
            .procedure(LinkMessage.pairingByteCount) { [self] in
                guard state == .requesting, let party = responder.party else { return }
                let response = party.respond(to: self, on: responder)
                let theirs = party.pairingFeatures(for: .medium, on: responder)
                responder.send(.procedure(LinkMessage.pairingByteCount) { [self] in responded(response, ours, theirs) })
            })
    }

    /// Restarts the time limit: every message does.
    private func restartTimer() {
        timer?.cancel()
        timer = world.schedule(after: Self.timeout) { [weak self] in
            self?.fail(by: self?.initiator, keepsLink: false)
        }
    }

    private func responded(
        _ response: SimulatedSecurity.Response, _ ours: PairingFeatures, _ theirs: PairingFeatures
    ) {
        guard state == .requesting else { return }
        switch response {
        case .silence: return
        case .refuse: fail(by: responder)
        case .accept:
            features = (ours, theirs)
            restartTimer()
            if ours.needsSecureConnections, !theirs.hasSecureConnections { return fail(by: initiator) }
            if theirs.needsSecureConnections, !ours.hasSecureConnections { return fail(by: responder) }
            ask(method(ours, theirs))
        }
    }

    // MARK: Questions

    private enum Method: Equatable {
        case justWorks
        case numericComparison
        case initiatorShows
        case responderShows
        case bothEnter
        /// At least one side has the values of the other.
        case outOfBand
    }

    /// The pairing method for the features of the two sides (Core Vol 3 Part H §2.3.5.1, table 2.8).
    private func method(_ ours: PairingFeatures, _ theirs: PairingFeatures) -> Method {
        guard ours.requiresProtection || theirs.requiresProtection else { return .justWorks }
        let (one, other) = (ours.ioCapability, theirs.ioCapability)
        guard one != .noInputNoOutput, other != .noInputNoOutput else { return .justWorks }
        if ours.hasSecureConnections, theirs.hasSecureConnections, one.canConfirm, other.canConfirm {
            return .numericComparison
        }
        switch (one, other) {
        case (.keyboardOnly, .keyboardOnly): return .bothEnter
        case (.keyboardOnly, _): return .responderShows
        case (_, .keyboardOnly): return .initiatorShows
        case (_, .keyboardDisplay): return .initiatorShows
        case (.keyboardDisplay, _): return .responderShows
        default: return .justWorks
        }
    }

    /// The first side whose values of the other are wrong, which it detects by the public key.
    private var deceived: LinkEnd? {
        [initiator, responder].first { end in
            guard let values = end.party?.outOfBandValues(on: end) else { return false }
            return values != end.other.party?.localOutOfBandValues
        }
    }

    private func ask(_ method: Method) {
        // The kernel checks the capabilities before it looks at out-of-band data.
        if level >= .high, method == .justWorks { return fail(by: initiator) }
        // As soon as a side has received values of the other, both sides use them.
        let hasValues = [initiator, responder].contains { $0.party?.outOfBandValues(on: $0) != nil }
        let method = isSecure && hasValues ? .outOfBand : method
        self.method = method
        let reached: SecurityLevel = method == .justWorks ? .medium : isSecure ? .fips : .high
        guard reached >= level else { return fail(by: initiator) }
        // The highest level includes the size of the key (Core Vol 3 Part C §10.2.1, mode 1 level 4).
        guard level < .fips || keySize == 16 else { return fail(by: initiator) }
        state = .asking
        let number = UInt32.random(in: 0..<1_000_000, using: &world.generator)
        switch method {
        case .justWorks: put(.confirm(number, isSimple: true), .confirm(number, isSimple: true))
        case .numericComparison: put(.confirm(number, isSimple: false), .confirm(number, isSimple: false))
        case .initiatorShows:
            shownPasskey = number
            put(.showPasskey(number), .enterPasskey)
        case .responderShows:
            let shown = responder.party?.ownPasskey ?? number
            shownPasskey = shown
            put(.enterPasskey, .showPasskey(shown))
        case .bothEnter: put(.enterPasskey, .enterPasskey)
        case .outOfBand:
            if let deceived { return fail(by: deceived) }
            answers = (.yes, .yes)
            finish()
        }
    }

    /// The size of the key: the longest that both sides support (Core Vol 3 Part H §2.3.4).
    private var keySize: UInt8 { min(features.initiator.maximumKeySize, features.responder.maximumKeySize) }

    /// Whether the pairing uses LE Secure Connections.
    private var isSecure: Bool { features.initiator.hasSecureConnections && features.responder.hasSecureConnections }

    private func put(_ first: SimulatedPairingQuestion, _ second: SimulatedPairingQuestion) {
        responder.party?.ask(second, for: self, on: responder)
        initiator.party?.ask(first, for: self, on: initiator)
    }

    /// Records the answer of a side's user.
    func answer(_ answer: SimulatedPairingAnswer, from end: LinkEnd) {
        guard state == .asking else { return }
        if end.isCentral == initiator.isCentral { answers.initiator = answer } else { answers.responder = answer }
        restartTimer()
        guard answer != .no else { return fail(by: end) }
        guard let one = answers.initiator, let other = answers.responder else { return }
        if case .passkey(let entered) = one, entered != shownPasskey ?? passkey(other) { return fail(by: responder) }
        if case .passkey(let entered) = other, entered != shownPasskey ?? passkey(one) { return fail(by: initiator) }
        finish()
    }

    private func passkey(_ answer: SimulatedPairingAnswer) -> UInt32? {
        if case .passkey(let value) = answer { return value }
        return nil
    }

    // MARK: Ending

    private func finish() {
        state = .finishing
        let wasProtected = method != .justWorks
        let value = SecurityKey.random(using: &world.generator)
        let key = LongTermKey(
            address: .zero,
            kind: isSecure
                ? (wasProtected ? .authenticated : .unauthenticated)
                : (wasProtected ? .authenticatedLegacy : .unauthenticatedLegacy),
            isCentral: false, encryptionSize: Int(keySize),
            encryptedDiversifier: isSecure ? 0 : UInt16.random(in: .min ... .max, using: &world.generator),
            randomNumber: isSecure ? 0 : world.generator.next(), value: value)
        let keys = SimulatedPairingKeys(isBonded: features.initiator.bonds && features.responder.bonds, key: key)
        // The last confirmation, the start of encryption and the keys take a few more exchanges.
        exchange(count: 3) { [self] in
            guard state == .finishing else { return }
            state = .over
            timer?.cancel()
            initiator.link.security = LinkSecurity(level: key.kind.level, keySize: Int(keySize))
            initiator.party?.ended(self, .paired(keys), on: initiator)
            responder.party?.ended(self, .paired(keys), on: responder)
            for end in initiator.link.ends { end.receive(.changed(.security)) }
        }
    }

    private func exchange(count: Int, _ action: @escaping () -> Void) {
        guard count > 0 else { return action() }
        initiator.ask(LinkMessage.pairingByteCount) { [self] in exchange(count: count - 1, action) }
    }

    /// Fails the pairing at one side, and informs the other.
    private func fail(by end: LinkEnd?, keepsLink: Bool? = nil) {
        guard let end, state != .over else { return }
        state = .over
        timer?.cancel()
        end.party?.ended(self, .failedHere(keepsLink: keepsLink ?? (isRequested && end.isCentral)), on: end)
        end.other.party?.ended(self, .failedThere, on: end.other)
    }

    func linkEnded() {
        state = .over
        timer?.cancel()
    }
}

extension OutOfBandData {
    /// New values, without an address.
    static func random(using generator: inout some RandomNumberGenerator) -> OutOfBandData {
        OutOfBandData(confirmation: .random(using: &generator), random: .random(using: &generator))
    }
}

extension PairingParty {
    var ownPasskey: UInt32? { nil }
    var signs: Bool { false }
    func securityRefused(on end: LinkEnd) {}
}

extension LinkEnd {
    /// The pairing party at this end.
    var party: (any PairingParty)? { side.node.user(of: self) as? any PairingParty }

    /// Sends a peripheral's Security Request.
    func requestSecurity(_ level: SecurityLevel, bonds: Bool) {
        send(.procedure { other.party?.securityRequested(level, bonds: bonds, on: other) })
    }
}

extension IOCapability {
    fileprivate var canConfirm: Bool { self == .displayYesNo || self == .keyboardDisplay }
}
