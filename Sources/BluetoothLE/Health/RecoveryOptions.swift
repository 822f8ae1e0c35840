import BluetoothHost

/// The options of an adapter's recovery from a radio that no longer works.
public struct RecoveryOptions: Hashable, Sendable {
    /// What happens when a problem is noticed.
    public enum Mode: Hashable, Sendable {
        /// Nothing is watched.
        case off
        /// Problems are reported, and nothing is done about them.
        case reportOnly
        /// Problems are reported, and the steps of `RecoveryStep` carried out until one has helped.
        case recover
    }

    /// What happens when a problem is noticed.
    public var mode: Mode
    /// Whether steps that end links are also carried out while other programs have links on the adapter.
    public var endsOtherProgramsLinks: Bool
    /// The shortest and longest time without any advertisement after which a scan is tested, of a second at least. In
    /// between, it is ten times the longest pause of the last hour.
    public var silence: ClosedRange<Duration>

    static let leastSilence = Duration.seconds(1)

    /// Creates options with the defaults, which are those of a program that runs unattended: it recovers, spares the
    /// links of other programs, and tests a scan after half a minute to ten minutes without an advertisement.
    ///
    /// Restarting a scan costs nothing; a controller that is silent or does not respond is useless.
    public init(
        mode: Mode = .recover, endsOtherProgramsLinks: Bool = false,
        silence: ClosedRange<Duration> = .seconds(30)...(.seconds(600))
    ) {
        self.mode = mode
        self.endsOtherProgramsLinks = endsOtherProgramsLinks
        self.silence = silence
    }
}

/// An event of an adapter's health.
public enum HealthEvent: Hashable, Sendable {
    /// Something is wrong.
    case problem(RadioProblem)
    /// A step of the recovery begins.
    case began(RecoveryStep)
    /// A step could not be carried out; the next one follows.
    case failed(RecoveryStep, BluetoothError)
    /// The radio works again; the step is the one that has helped, nil if none was needed.
    case recovered(RecoveryStep?)
    /// No step is carried out for now, as it would end this number of links.
    case waitingForLinks(Int)
    /// No step has helped. The error has what a person can do; the steps are repeated after the delay.
    case gaveUp(BluetoothError, retryAfter: Duration)
}

extension HealthEvent: CustomStringConvertible {
    /// The event in words.
    public var description: String {
        switch self {
        case .problem(let problem): "\(problem)"
        case .began(let step): "trying to \(step)"
        case .failed(let step, let error): "could not \(step): \(error.message)"
        case .recovered(let step?): "recovered after \(step.gerund)"
        case .recovered(nil): "recovered"
        case .waitingForLinks(let count): "is not recovered yet, since that would end \(count) links"
        case .gaveUp(let error, let delay):
            "\(error.message) \(error.remedy ?? "") The next attempt follows in \(delay.inSeconds)."
        }
    }
}

/// The health of an adapter.
public enum AdapterHealth: Hashable, Sendable {
    /// Nothing is wrong, as far as it is known.
    case good
    /// Something is wrong, and being looked into.
    case suspect(RadioProblem)
    /// A step of the recovery is under way, or has been carried out and must prove itself.
    case recovering(RadioProblem, RecoveryStep)
    /// No step has helped so far.
    case failed(RadioProblem)

    /// The problem; nil if there is none.
    var problem: RadioProblem? {
        switch self {
        case .good: nil
        case .suspect(let problem), .recovering(let problem, _), .failed(let problem): problem
        }
    }
}

extension AdapterHealth: CustomStringConvertible {
    /// The health in words, such as `good`.
    public var description: String {
        switch self {
        case .good: "good"
        case .suspect(let problem): "suspect: \(problem)"
        case .recovering(let problem, let step): "recovering: \(problem); trying to \(step)"
        case .failed(let problem): "failed: \(problem)"
        }
    }
}
