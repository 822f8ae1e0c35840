import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives

/// The outcome of raising a link's security.
struct SecurityRaiseResult: Sendable, Equatable {
    var security: LinkSecurity
    var isPaired: Bool
}

/// The raising of a link's security, as a pure state machine.
struct SecurityRaise: Equatable {
    enum Phase: Equatable {
        /// The agent is asked whether to pair, and the pairing settings are applied.
        case preparing
        /// Requests are quiesced.
        case quiescing
        /// The host has refused so often to begin: its Security Manager may not be ready for a link whose attribute
        /// channel is established already.
        case refused(count: Int)
        /// The host encrypts a new link automatically, as requested with the link, while its channel stays open.
        case begunByHost
        /// The host is raising the security.
        case underWay
        case over
    }

    /// The host's reason not to begin.
    enum Refusal: Equatable {
        /// The link has the requested security already.
        case alreadySecure(LinkSecurity)
        case tooEarly(BluetoothError.Cause)
        case other(BluetoothError.Cause)
    }

    enum Action: Equatable {
        /// Quiesce requests; then call ``isQuiet()``.
        case quiesce
        /// Ask the host; then call ``hostBegins(at:)`` or ``hostRefuses(_:)``.
        case askHost(SecurityLevel)
        /// Call ``timerFired()`` after the duration, in place of an earlier timer.
        case setTimer(Duration)
        /// Call ``canSend(_:)`` when the channel is writable.
        case waitUntilWritable
        /// The raise is complete, and the link remains.
        case succeed(SecurityRaiseResult)
        case refuse(BluetoothError.Cause)
        case giveUp
        /// The raise has failed, and the link must be closed.
        case endLink(PairingFailure?)
        /// A pairing begun by the peer has failed.
        case note(PairingFailure)
    }

    /// The maximum time without progress of a pairing (Core Vol 3 Part H §3.4).
    static let limit = Duration.seconds(30)
    /// The maximum number of attempts to make the host begin.
    static let refusalLimit = 20
    static let pauseAfterRefusal = Duration.milliseconds(50)
    /// The time after which the host is asked whether a link is encrypted that it encrypts by itself, without a report:
    /// longer than it may take to explain the end of a link.
    static let reportLimit = Duration.seconds(10)

    let level: SecurityLevel
    private(set) var phase = Phase.preparing
    /// Whether a pairing that begins now is this program's own: after the agent's confirmation, if that is required.
    private(set) var isWanted: Bool
    /// Whether there has been a question, which distinguishes pairing from encryption with an existing key.
    private(set) var isPairing = false
    /// The time of the last progress.
    private(set) var lastProgress: KernelInstant

    init(to level: SecurityLevel, isWanted: Bool, at now: KernelInstant) {
        self.level = level
        self.isWanted = isWanted
        lastProgress = now
    }

    /// Whether the host is raising the security.
    var isUnderWay: Bool { phase == .underWay || phase == .begunByHost }

    // MARK: Beginning

    /// Records the agent's confirmation.
    mutating func userConfirmed() { isWanted = true }

    /// Records that the pairing settings are applied.
    mutating func isPrepared() -> Action? {
        guard phase == .preparing else { return nil }
        phase = .quiescing
        return .quiesce
    }

    /// Records that no request is in flight any longer.
    mutating func isQuiet() -> Action? { phase == .quiescing ? .askHost(level) : nil }

    /// Records that the host has begun with the link; ``encryptionIsReported()`` or a failure follows.
    mutating func hostHasBegun(at now: KernelInstant) -> Action? {
        guard phase == .preparing else { return nil }
        (phase, lastProgress) = (.begunByHost, now)
        return .setTimer(Self.reportLimit)
    }

    /// Handles the controller's report of encryption, which may precede the host's own: the host is asked, since its
    /// channel tells when it has the report as well.
    mutating func encryptionIsReported() -> Action? {
        guard phase == .begunByHost else { return nil }
        phase = .quiescing
        return .askHost(level)
    }

    mutating func hostBegins(at now: KernelInstant) -> [Action] {
        guard isAsking else { return [] }
        (phase, lastProgress) = (.underWay, now)
        return [.setTimer(Self.limit), .waitUntilWritable]
    }

    mutating func hostRefuses(_ refusal: Refusal) -> Action? {
        guard isAsking else { return nil }
        switch refusal {
        case .alreadySecure(let security):
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

    /// Whether the host has yet to report whether it begins.
    private var isAsking: Bool { phase == .quiescing || refusalCount > 0 }

    // MARK: Under way

    /// Restarts the time limit after a question or an answer.
    mutating func progresses(at now: KernelInstant) -> Action? {
        guard phase == .underWay else { return nil }
        lastProgress = now
        return .setTimer(Self.limit)
    }

    /// Records a pairing question.
    mutating func isAsked(at now: KernelInstant) -> Action? {
        isPairing = true
        return progresses(at: now)
    }

    /// Handles a writable channel; `security` is nil if encryption has not begun.
    mutating func canSend(_ security: LinkSecurity?) -> Action? {
        guard phase == .underWay else { return nil }
        guard let security else { return .waitUntilWritable }
        phase = .over
        return .succeed(SecurityRaiseResult(security: security, isPaired: isPairing))
    }

    mutating func timerFired() -> Action? {
        switch phase {
        case .refused: return .askHost(level)
        case .begunByHost: return encryptionIsReported()
        case .underWay:
            phase = .over
            return .endLink(.timedOut)
        case .preparing, .quiescing, .over: return nil
        }
    }

    // MARK: Failing

    /// Handles a failure of pairing or encryption. Without a raise by this side, the host decides about the link.
    mutating func fails(_ failure: PairingFailure) -> Action {
        guard isUnderWay else { return .note(failure) }
        phase = .over
        return .endLink(failure)
    }

    /// Handles the departure of the last caller; a raise by the host cannot be interrupted without ending the link.
    mutating func isAbandoned() -> Action? {
        guard phase != .over else { return nil }
        defer { phase = .over }
        return isUnderWay ? .endLink(nil) : .giveUp
    }
}
