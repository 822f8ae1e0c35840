import BluetoothLoop

/// Whether the others wait for a link when a value is sent to all subscribers.
///
/// A program sends at the pace of the links. A link that has kept the others waiting for too long is on trial: it gets
/// values but is hardly waited for, until it has taken all of them for some time. Each trial takes twice as long as the
/// one before.
package struct LinkPatience: Hashable, Sendable {
    private enum State: Hashable {
        case trusted
        /// On trial for this time without a missed value, which begins with the first value taken.
        case onTrial(Duration, since: KernelInstant?)
    }

    /// The longest wait for the links on trial after all others have taken the value.
    static let trialWait = Duration.milliseconds(100)

    private var state = State.trusted
    private var nextTrial = Duration.seconds(30)
    private static let longestTrial = Duration.seconds(3600)
    /// The number of values that the link has missed.
    package private(set) var missedCount = 0

    /// A link that is waited for.
    package init() {}

    /// Whether the link has kept the others waiting for too long.
    package var isOnTrial: Bool { state != .trusted }

    /// The link has taken a value; returns whether that ends its trial.
    package mutating func took(at now: @autoclosure () -> KernelInstant) -> Bool {
        guard case .onTrial(let time, let since) = state else { return false }
        let now = now()
        let start = since ?? now
        let isOver = start.duration(to: now) >= time
        state = isOver ? .trusted : .onTrial(time, since: start)
        return isOver
    }

    /// The link has not taken a value in time.
    package mutating func heldUp() {
        guard case .onTrial(let time, _) = state else {
            state = .onTrial(nextTrial, since: nil)
            nextTrial = min(nextTrial * 2, Self.longestTrial)
            return
        }
        state = .onTrial(time, since: nil)
    }

    /// The link has not accepted a value in time, and no longer gets it.
    package mutating func missed() {
        missedCount += 1
        heldUp()
    }
}
