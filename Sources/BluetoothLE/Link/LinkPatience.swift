import BluetoothLoop
import BluetoothPrimitives

/// Whether the others wait for a link when a value is sent to all subscribers.
///
/// A program sends at the pace of the links. A link that has kept the others waiting for too long is on trial: it gets
/// values but is hardly waited for, until it has taken all of them for some time. Each trial takes twice as long as the
/// one before.
package struct LinkPatience: Sendable {
    private enum State: Equatable {
        case trusted
        /// On trial for this time without a missed value, which begins with the first value taken.
        case onTrial(Duration, since: KernelInstant?)
    }

    /// The longest wait for the links on trial after all others have taken the value.
    static let trialWait = Duration.milliseconds(100)

    private static let longestTrial = Duration.seconds(3600)

    /// What a link has that was ever on trial.
    private struct Record {
        var state = State.trusted
        var nextTrial = Duration.seconds(30)
        var missedCount = 0
    }

    @Boxed private var record: Record?

    /// A link that is waited for.
    package init() {}

    /// The number of values that the link has missed.
    package var missedCount: Int { record?.missedCount ?? 0 }

    /// Whether the link has kept the others waiting for too long.
    package var isOnTrial: Bool { $record.exists && record?.state != .trusted }

    /// The link has taken a value; returns whether that ends its trial.
    package mutating func took(at now: @autoclosure () -> KernelInstant) -> Bool {
        guard case .onTrial(let time, let since) = record?.state else { return false }
        let now = now()
        let start = since ?? now
        let isOver = start.duration(to: now) >= time
        record?.state = isOver ? .trusted : .onTrial(time, since: start)
        return isOver
    }

    /// The link has not taken a value in time.
    package mutating func heldUp() {
        var record = record ?? Record()
        if case .onTrial(let time, _) = record.state {
            record.state = .onTrial(time, since: nil)
        } else {
            record.state = .onTrial(record.nextTrial, since: nil)
            record.nextTrial = min(record.nextTrial * 2, Self.longestTrial)
        }
        self.record = record
    }

    /// The link has not accepted a value in time, and no longer gets it.
    package mutating func missed() {
        heldUp()
        record?.missedCount += 1
    }
}
