import BluetoothLoop

/// The pauses between the advertisements of a scan, and the time after which silence is suspicious.
struct SilenceWatch: Hashable {
    /// The longest pauses of this hour and the last one.
    private struct Pauses: Hashable {
        var now = Duration.zero
        var before = Duration.zero
    }

    private let range: ClosedRange<Duration>
    /// When the last advertisement arrived, or the scan began.
    private(set) var last: KernelInstant
    /// Whether anything was received.
    private(set) var hasHeard = false
    private var pauses = Pauses()
    private var hourEnd: KernelInstant

    /// The limit before anything was received.
    private static let firstLimit = Duration.seconds(90)
    private static let factor = 10

    init(_ range: ClosedRange<Duration>, at now: KernelInstant) {
        self.range = range
        last = now
        hourEnd = now.advanced(by: .seconds(3600))
    }

    /// Records an advertisement; returns whether it is the first, after which silence may last less long.
    mutating func heard(at now: KernelInstant) -> Bool {
        let (pause, isFirst) = (last.duration(to: now), !hasHeard)
        if hasHeard, pause > pauses.now { pauses.now = pause }
        (last, hasHeard) = (now, true)
        if now >= hourEnd {
            pauses = Pauses(before: pauses.now)
            hourEnd = now.advanced(by: .seconds(3600))
        }
        return isFirst
    }

    /// Begins to wait anew, as after a restart of the scan.
    mutating func beginAnew(at now: KernelInstant) { last = now }

    /// The time without an advertisement after which the scan is tested.
    var limit: Duration {
        let wanted = hasHeard ? max(pauses.now, pauses.before) * Self.factor : Self.firstLimit
        return min(max(wanted, range.lowerBound), range.upperBound)
    }

    /// When silence becomes suspicious.
    var deadline: KernelInstant { last.advanced(by: limit) }
}
