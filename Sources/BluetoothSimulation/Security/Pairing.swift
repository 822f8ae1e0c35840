import BluetoothSockets
import BluetoothPrimitives
import BluetoothHCI
import BluetoothManagement

/// What one side brings to a pairing (Core Vol 3 Part H §3.5.1).
struct PairingFeatures {
    var ioCapability = IOCapability.noInputNoOutput
    /// Asks for protection against an attacker in the middle.
    var requiresProtection = false
    var hasSecureConnections = true
    /// Refuses to pair without Secure Connections.
    var needsSecureConnections = false
    var bonds = true
}

/// What a side answers to a pairing request.
enum PairingResponse {
    case accept(PairingFeatures)
    case refuse
    /// Nothing, ever.
    case silence
}

/// What is asked of a side's user.
enum PairingQuestion: Equatable {
    /// Whether to pair; with a number, whether the other side shows the same.
    case confirm(UInt32, isSimple: Bool)
    /// The number the other side shows.
    case enterPasskey
    /// To be shown, for the other side to enter.
    case showPasskey(UInt32)
}

/// What a side answers to a question.
enum PairingAnswer: Equatable {
    case yes
    case no
    case passkey(UInt32)
}

/// How a pairing ended.
enum PairingOutcome {
    /// With a key; what the peer is known by from now on, where it told.
    case paired(PairingKeys)
    /// This side ended it; the link goes with it.
    case failedHere
    /// The other side refused; the link stays.
    case failedThere
}

/// What a pairing makes.
struct PairingKeys {
    var isBonded: Bool
    var kind: LongTermKey.Kind
    var value: SecurityKey
    var encryptedDiversifier: UInt16
    var randomNumber: UInt64
}

/// Somebody who can pair: a kernel or a simulated peripheral.
protocol PairingParty: AnyObject {
    /// The passkey that this side always shows; nil where each pairing has one made up.
    var ownPasskey: UInt32? { get }
    /// Whether it gives the key of its signatures.
    var signs: Bool { get }
    /// What this side brings to a pairing that it begins.
    func pairingFeatures(for level: SecurityLevel) -> PairingFeatures
    /// The other side asks for a pairing.
    func respond(to pairing: Pairing, on end: LinkEnd) -> PairingResponse
    /// Something is asked of this side's user; the answer goes to ``Pairing/answer(_:from:)``.
    func ask(_ question: PairingQuestion, for pairing: Pairing, on end: LinkEnd)
    /// It is over.
    func ended(_ pairing: Pairing, _ outcome: PairingOutcome, on end: LinkEnd)
    /// The key this side has for links with the one at the other end.
    func key(on end: LinkEnd) -> LongTermKey?
    /// The other side, a peripheral, would like a protected link.
    func securityRequested(_ level: SecurityLevel, on end: LinkEnd)
}

/// One pairing over one link, from the request to the keys (Core Vol 3 Part H §2.1).
///
/// Nothing is really encrypted: what matters above the seam is who asks what when, what comes of it, and how long it
/// takes. Every message takes a connection event, as on the air.
final class Pairing {
    private enum State { case requesting, asking, finishing, over }

    private let world: World
    private let initiator: LinkEnd
    let level: SecurityLevel
    private var state = State.requesting
    private var features: (initiator: PairingFeatures, responder: PairingFeatures)?
    private var answers: (initiator: PairingAnswer?, responder: PairingAnswer?)
    private var passkeyShown: UInt32?
    private var timer: ScheduledEvent?

    /// After how long without progress a side gives up (Core Vol 3 Part H §3.4).
    private static let timeout = Duration.seconds(30)

    init(on end: LinkEnd, level: SecurityLevel) {
        world = end.link.world
        initiator = end
        self.level = level
    }

    private var responder: LinkEnd { initiator.other }

    func begin() {
        guard let party = initiator.party else { return }
        let ours = party.pairingFeatures(for: level)
        restartTimer()
        initiator.send(
            .procedure { [self] in
                guard state == .requesting, let party = responder.party else { return }
                let response = party.respond(to: self, on: responder)
                responder.send(.procedure { [self] in responded(response, ours) })
            })
    }

    /// Whatever is sent gives the other side another thirty seconds.
    private func restartTimer() {
        timer?.cancel()
        timer = world.schedule(after: Self.timeout) { [weak self] in self?.fail(by: self?.initiator) }
    }

    private func responded(_ response: PairingResponse, _ ours: PairingFeatures) {
        guard state == .requesting else { return }
        switch response {
        case .silence: return
        case .refuse: fail(by: responder)
        case .accept(let theirs):
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
    }

    /// How to make sure who is there, by what the two sides have (Core Vol 3 Part H §2.3.5.1, table 2.8).
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

    private func ask(_ method: Method) {
        guard let features else { return }
        let isProtected = method != .justWorks
        let reached: SecurityLevel =
            !isProtected ? .medium : usesSecureConnections(features) ? .fips : .high
        guard reached >= level else { return fail(by: initiator) }
        state = .asking
        let number = UInt32.random(in: 0..<1_000_000, using: &world.generator)
        switch method {
        case .justWorks: put(.confirm(number, isSimple: true), .confirm(number, isSimple: true))
        case .numericComparison: put(.confirm(number, isSimple: false), .confirm(number, isSimple: false))
        case .initiatorShows:
            passkeyShown = number
            put(.showPasskey(number), .enterPasskey)
        case .responderShows:
            let shown = responder.party?.ownPasskey ?? number
            passkeyShown = shown
            put(.enterPasskey, .showPasskey(shown))
        case .bothEnter: put(.enterPasskey, .enterPasskey)
        }
    }

    private func put(_ first: PairingQuestion, _ second: PairingQuestion) {
        responder.party?.ask(second, for: self, on: responder)
        initiator.party?.ask(first, for: self, on: initiator)
    }

    private func usesSecureConnections(_ features: (initiator: PairingFeatures, responder: PairingFeatures)) -> Bool {
        features.initiator.hasSecureConnections && features.responder.hasSecureConnections
    }

    /// The passkey that a side shows, for a simulated user who reads it there.
    var shownPasskey: UInt32? { passkeyShown }

    /// A side's user has answered.
    func answer(_ answer: PairingAnswer, from end: LinkEnd) {
        guard state == .asking else { return }
        if end.isCentral == initiator.isCentral { answers.initiator = answer } else { answers.responder = answer }
        restartTimer()
        guard answer != .no else { return fail(by: end) }
        guard let one = answers.initiator, let other = answers.responder else { return }
        if case .passkey(let entered) = one, entered != passkeyShown ?? passkey(other) { return fail(by: responder) }
        if case .passkey(let entered) = other, entered != passkeyShown ?? passkey(one) { return fail(by: initiator) }
        finish()
    }

    private func passkey(_ answer: PairingAnswer) -> UInt32? {
        if case .passkey(let value) = answer { return value }
        return nil
    }

    // MARK: Ending

    private func finish() {
        guard let features else { return }
        state = .finishing
        let wasProtected = answers.initiator != .yes || answers.responder != .yes || passkeyShown != nil || isCompared
        let isSecure = usesSecureConnections(features)
        let keys = PairingKeys(
            isBonded: features.initiator.bonds && features.responder.bonds,
            kind: isSecure
                ? (wasProtected ? .authenticated : .unauthenticated)
                : (wasProtected ? .authenticatedLegacy : .unauthenticatedLegacy),
            value: .random(using: &world.generator),
            encryptedDiversifier: isSecure ? 0 : UInt16.random(in: .min ... .max, using: &world.generator),
            randomNumber: isSecure ? 0 : world.generator.next())
        // The last confirmation, the start of encryption and the keys take a few exchanges more.
        exchange(count: 3) { [self] in
            guard state == .finishing else { return }
            state = .over
            timer?.cancel()
            initiator.link.security = LinkSecurity(level: keys.kind.level, keySize: 16)
            initiator.party?.ended(self, .paired(keys), on: initiator)
            responder.party?.ended(self, .paired(keys), on: responder)
            for end in initiator.link.ends { end.side.node.linkChanged(end, .security) }
        }
    }

    private var isCompared: Bool {
        guard let features else { return false }
        return method(features.initiator, features.responder) == .numericComparison
    }

    private func exchange(count: Int, _ action: @escaping () -> Void) {
        guard count > 0 else { return action() }
        initiator.send(
            .procedure { [self] in
                responder.send(.procedure { [self] in exchange(count: count - 1, action) })
            })
    }

    /// One side breaks off, and tells the other.
    private func fail(by end: LinkEnd?) {
        guard let end, state != .over else { return }
        state = .over
        timer?.cancel()
        end.party?.ended(self, .failedHere, on: end)
        end.other.party?.ended(self, .failedThere, on: end.other)
    }

    func linkEnded() {
        state = .over
        timer?.cancel()
    }
}

extension PairingParty {
    var ownPasskey: UInt32? { nil }
    var signs: Bool { false }
}

extension LinkEnd {
    /// Who pairs at this end.
    var party: (any PairingParty)? { side.node.user as? any PairingParty }
}

extension IOCapability {
    fileprivate var canConfirm: Bool { self == .displayYesNo || self == .keyboardDisplay }
}
