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

/// An event of an adapter's health. An open set: each property is one thing that may happen, nil for the others.
public struct HealthEvent: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case problem(RadioProblem)
        case began(RecoveryStep)
        case failed(RecoveryStep, BluetoothError)
        case recovered(RecoveryStep?)
        case waitingForLinks(Int)
        case gaveUp(BluetoothError, retryAfter: Duration)
    }

    package let kind: Kind

    package init(_ kind: Kind) { self.kind = kind }

    /// What is wrong.
    public var problem: RadioProblem? { if case .problem(let problem) = kind { problem } else { nil } }
    /// The step of the recovery that begins.
    public var began: RecoveryStep? { if case .began(let step) = kind { step } else { nil } }
    /// The step that could not be carried out, and why; the next one follows.
    public var failed: (step: RecoveryStep, error: BluetoothError)? {
        if case .failed(let step, let error) = kind { (step, error) } else { nil }
    }
    /// Whether the radio works again.
    public var isRecovered: Bool { if case .recovered = kind { true } else { false } }
    /// The step after which the radio works again; nil also if none was needed.
    public var helpfulStep: RecoveryStep? { if case .recovered(let step) = kind { step } else { nil } }
    /// The number of links for which the recovery waits, as a step would end them.
    public var waitingForLinks: Int? { if case .waitingForLinks(let count) = kind { count } else { nil } }
    /// No step has helped: what a person can do, and the delay after which the steps are repeated.
    public var gaveUp: (error: BluetoothError, retryAfter: Duration)? {
        if case .gaveUp(let error, let delay) = kind { (error, delay) } else { nil }
    }
}

extension HealthEvent: CustomStringConvertible {
    /// The event in words.
    public var description: String {
        switch kind {
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

/// The health of an adapter. An open set: compare with ``good``, or ask for the ``problem``.
public struct AdapterHealth: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case good
        case suspect(RadioProblem)
        case recovering(RadioProblem, RecoveryStep)
        case failed(RadioProblem)
    }

    package let kind: Kind

    package init(_ kind: Kind) { self.kind = kind }

    /// Nothing is wrong, as far as it is known.
    public static let good = AdapterHealth(.good)

    /// The problem that is being looked into or recovered from; nil if there is none.
    public var problem: RadioProblem? {
        switch kind {
        case .good: nil
        case .suspect(let problem), .recovering(let problem, _), .failed(let problem): problem
        }
    }
    /// The step of the recovery that is under way, or has been carried out and must prove itself; nil if there is none.
    public var step: RecoveryStep? { if case .recovering(_, let step) = kind { step } else { nil } }
    /// Whether no step has helped so far.
    public var hasFailed: Bool { if case .failed = kind { true } else { false } }
}

extension AdapterHealth: CustomStringConvertible {
    /// The health in words, such as `good`.
    public var description: String {
        switch kind {
        case .good: "good"
        case .suspect(let problem): "suspect: \(problem)"
        case .recovering(let problem, let step): "recovering: \(problem); trying to \(step)"
        case .failed(let problem): "failed: \(problem)"
        }
    }
}
