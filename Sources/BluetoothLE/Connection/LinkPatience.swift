import BluetoothLoop

/// How long the others wait for a link when a value is sent to all subscribers.
///
/// A program sends at the pace of the links. A link that has kept the others waiting for too long is on trial: it gets
/// values but is hardly waited for, until it has taken all of them for some time. Each trial takes twice as long as the
/// one before.
package struct LinkPatience: Hashable, Sendable {
    private enum State: Hashable {
        /// The link is waited for; the sum of its pauses.
        case trusted(Duration)
        /// The link is on trial for this time without a pause.
        case onTrial(Duration)
    }

    /// The sum of the pauses after which a link is on trial.
    static let limit = Duration.seconds(2)
    /// The longest wait that is no pause: a link with a long connection interval is merely slow.
    static let pause = Duration.milliseconds(500)
    /// The longest wait for a link on trial.
    static let trialWait = Duration.milliseconds(100)
    private static let (firstTrial, longestTrial) = (Duration.seconds(30), Duration.seconds(3600))

    private var state = State.trusted(.zero)
    private var nextTrial = Self.firstTrial
    /// The beginning of the time without a pause; nil if the last value was not taken at once.
    private var goodSince: KernelInstant?
    /// The number of values that the link has missed.
    package private(set) var missedCount = 0

    /// A link that is waited for.
    package init() {}

    /// Whether the link has kept the others waiting for too long.
    package var isOnTrial: Bool { if case .onTrial = state { true } else { false } }

    /// Whether a value that is taken at once changes nothing.
    var isSettled: Bool { state == .trusted(.zero) }

    /// The longest wait for the next value.
    package var wait: Duration {
        if case .trusted(let waited) = state { max(Self.limit - waited, Self.pause) } else { Self.trialWait }
    }

    /// The link has taken a value after a wait; returns whether that ends its trial.
    package mutating func took(after wait: Duration, at now: KernelInstant) -> Bool {
        guard wait <= Self.pause else {
            goodSince = nil
            if case .trusted(let waited) = state {
                state = .trusted(waited + wait)
                if waited + wait >= Self.limit { heldUp() }
            }
            return false
        }
        let start = goodSince ?? now
        goodSince = start
        let due = if case .onTrial(let time) = state { time } else { Self.firstTrial }
        guard start.duration(to: now) >= due else { return false }
        defer { state = .trusted(.zero) }
        return isOnTrial
    }

    /// The link has not taken a value in time.
    package mutating func heldUp() {
        goodSince = nil
        guard !isOnTrial else { return }
        state = .onTrial(nextTrial)
        nextTrial = min(nextTrial * 2, Self.longestTrial)
    }

    /// The link has not taken a value in time, and does not get it any more.
    package mutating func missed() {
        missedCount += 1
        heldUp()
    }
}
