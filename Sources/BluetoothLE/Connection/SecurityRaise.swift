import BluetoothSockets
import BluetoothPrimitives

/// What raising a link's protection came to.
struct SecurityRaiseResult: Sendable, Equatable {
    var security: LinkSecurity
    var isPaired: Bool
}

/// The raising of a link's protection that is under way, as a pure state machine.
struct SecurityRaise: Equatable {
    enum Phase: Equatable {
        /// The user is asked whether to pair at all, and pairing is set up.
        case preparing
        /// Requests are held back until none is in flight.
        case quieting
        /// The host has refused to begin so often: its Security Manager may not know of a link yet whose attribute
        /// channel is up already.
        case refused(count: Int)
        /// The host is at work on it.
        case underWay
        case over
    }

    /// Why the host does not begin.
    enum Refusal: Equatable {
        /// The link is protected like that already.
        case isSo(LinkSecurity)
        case tooEarly(BluetoothError.Cause)
        case other(BluetoothError.Cause)
    }

    enum Action: Equatable {
        /// Hold requests back; then ``isQuiet()``.
        case quiesce
        /// Ask the host; then ``hostBegins(at:)`` or ``hostRefuses(_:)``.
        case askHost(SecurityLevel)
        /// Call ``timeIsOver()`` after so long, in place of what was set before.
        case setTimer(Duration)
        /// Tell when the channel can send again.
        case waitUntilWritable
        /// The raise is over, and the link goes on.
        case succeed(SecurityRaiseResult)
        case refuse(BluetoothError.Cause)
        case giveUp
        /// The raise is over, and so is the link.
        case endLink(PairingFailure?)
        /// A pairing has failed that this side had no part in.
        case note(PairingFailure)
    }

    /// After how long without progress pairing is at an end (Core Vol 3 Part H §3.4).
    static let limit = Duration.seconds(30)
    /// For how long, in all, the host is asked again to begin.
    static let refusalLimit = 20
    static let pauseAfterRefusal = Duration.milliseconds(50)

    let level: SecurityLevel
    private(set) var phase = Phase.preparing
    /// Whether a pairing that begins now is this program's wish: not before its user was asked, where that is to be.
    private(set) var isWanted: Bool
    /// Whether there has been a question, so that it is a pairing and not only encryption with a key there was.
    private(set) var isPairing = false
    /// When something was heard of it last.
    private(set) var lastProgress: KernelInstant

    init(to level: SecurityLevel, isWanted: Bool, at now: KernelInstant) {
        self.level = level
        self.isWanted = isWanted
        lastProgress = now
    }

    /// Whether the host is at work on it.
    var isUnderWay: Bool { phase == .underWay }

    // MARK: Beginning

    /// The user agrees to pairing.
    mutating func userAgrees() { isWanted = true }

    /// Pairing is set up.
    mutating func isPrepared() -> Action? {
        guard phase == .preparing else { return nil }
        phase = .quieting
        return .quiesce
    }

    /// No request is in flight any more.
    mutating func isQuiet() -> Action? { phase == .quieting ? .askHost(level) : nil }

    mutating func hostBegins(at now: KernelInstant) -> [Action] {
        guard isAsking else { return [] }
        (phase, lastProgress) = (.underWay, now)
        return [.setTimer(Self.limit), .waitUntilWritable]
    }

    mutating func hostRefuses(_ refusal: Refusal) -> Action? {
        guard isAsking else { return nil }
        switch refusal {
        case .isSo(let security):
            phase = .over
            return .succeed(SecurityRaiseResult(security: security, isPaired: false))
        case .tooEarly where refusalCount < Self.refusalLimit:
            phase = .refused(count: refusalCount + 1)
            return .setTimer(Self.pauseAfterRefusal)
        case .tooEarly(let error), .other(let error):
            phase = .over
            return .refuse(error)
        }
    }

    private var refusalCount: Int { if case .refused(let count) = phase { count } else { 0 } }

    /// Whether the host is to say whether it begins.
    private var isAsking: Bool { phase == .quieting || refusalCount > 0 }

    // MARK: Under way

    /// Something was asked or answered, so that the pairing's time begins anew.
    mutating func progresses(at now: KernelInstant) -> Action? {
        guard isUnderWay else { return nil }
        lastProgress = now
        return .setTimer(Self.limit)
    }

    /// Something is asked.
    mutating func isAsked(at now: KernelInstant) -> Action? {
        isPairing = true
        return progresses(at: now)
    }

    /// The channel can send; `security` is nil when that was said before encryption began.
    mutating func canSend(_ security: LinkSecurity?) -> Action? {
        guard isUnderWay else { return nil }
        guard let security else { return .waitUntilWritable }
        phase = .over
        return .succeed(SecurityRaiseResult(security: security, isPaired: isPairing))
    }

    mutating func timeIsOver() -> Action? {
        switch phase {
        case .refused: return .askHost(level)
        case .underWay:
            phase = .over
            return .endLink(.timedOut)
        case .preparing, .quieting, .over: return nil
        }
    }

    // MARK: Failing

    /// Pairing or encryption has failed. Without a raise of ours the host knows what to do with the link.
    mutating func fails(_ failure: PairingFailure) -> Action {
        guard isUnderWay else { return .note(failure) }
        phase = .over
        return .endLink(failure)
    }

    /// Nobody waits any more; what is half done cannot be left so.
    mutating func isAbandoned() -> Action? {
        guard phase != .over else { return nil }
        defer { phase = .over }
        return isUnderWay ? .endLink(nil) : .giveUp
    }
}
