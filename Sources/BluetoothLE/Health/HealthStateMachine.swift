import BluetoothHost
import BluetoothLoop

/// The decisions about an adapter's health: when it is suspected, which step of the recovery follows, and when to stop.
///
/// A problem is tested before it is believed: silence by restarting the scan, a missing answer by another command. Each
/// step is carried out once, the mildest first, and only if the last has not helped within a time that doubles. When all
/// have failed, they are repeated after an hour, then after twice as long each time, up to a day.
struct HealthStateMachine: Hashable {
    /// The class of a problem, which selects the recovery steps and the proof that they helped.
    enum Trouble: Hashable {
        /// Nothing is received; an advertisement proves the contrary.
        case silence(RadioProblem)
        /// Commands are not answered; an answer proves the contrary.
        case noAnswer(RadioProblem)
        /// The controller has another address; the adapter's return proves the contrary.
        case otherAddress(RadioProblem)

        var problem: RadioProblem {
            switch self {
            case .silence(let problem), .noAnswer(let problem), .otherAddress(let problem): problem
            }
        }
    }

    enum State: Hashable {
        case well
        /// A command decides whether a link or the whole controller is stalled; not reported before that.
        case checking(RadioProblem, until: KernelInstant)
        /// A command decides whether the problem exists.
        case probing(RadioProblem, until: KernelInstant)
        /// The links that a step would end are being counted.
        case counting(Trouble, RecoveryStep)
        case performing(Trouble, RecoveryStep)
        /// The step was carried out; a command or an advertisement must prove that it has helped.
        case proving(Trouble, RecoveryStep, until: KernelInstant)
        /// No step can be carried out, or none has helped; the recovery starts over at this time.
        case resting(Trouble, until: KernelInstant)
    }

    enum Action {
        case probe
        case countLinks
        case perform(RecoveryStep)
        case report(HealthEvent)
        /// The deadline is nearer than it was.
        case setTimer
    }

    /// A hardware error, and until when the kernel may close and open the controller for it.
    ///
    /// Another program's power-off in this time is taken for the kernel's, as both are reported alike. The kernel opens the
    /// controller itself; if it has not after half a minute, that may have failed, and the recovery powers the adapter
    /// on.
    private struct DueReset: Hashable {
        var problem: RadioProblem
        var until: KernelInstant
    }

    private(set) var state = State.well
    private let options: RecoveryOptions
    /// The scan that is being watched; nil while there is none.
    private var watch: SilenceWatch?
    /// Whether the adapter can be used at all.
    private var isReady = true
    /// The number of consecutive failed recoveries.
    private var exhaustedCount = 0
    /// The kernel's reset of the controller that is due; nil if none is.
    private var reset: DueReset?
    /// Whether the step under way is the last, since the program acts itself.
    private var isWithdrawn = false

    private static let firstRest = Duration.seconds(3600)
    private static let longestRest = Duration.seconds(86_400)
    private static let linksRest = Duration.seconds(600)
    private static let resetTime = Duration.seconds(5)
    private static let proofOfAnswer = Duration.seconds(10)

    init(_ options: RecoveryOptions) { self.options = options }

    // MARK: What is known

    /// The health, for programs.
    var health: AdapterHealth {
        switch state {
        case .well, .checking: .good
        case .probing(let problem, _): .init(.suspect(problem))
        case .counting(let trouble, _): .init(.suspect(trouble.problem))
        case .performing(let trouble, let step), .proving(let trouble, let step, _):
            .init(.recovering(trouble.problem, step))
        case .resting(let trouble, _): .init(.failed(trouble.problem))
        }
    }

    /// When ``timeOut(at:)`` is due; nil if nothing is awaited.
    var deadline: KernelInstant? {
        switch state {
        case .well: isReady ? watch?.deadline : nil
        case .counting, .performing: nil
        case .checking(_, let until), .probing(_, let until), .proving(_, _, let until), .resting(_, let until): until
        }
    }

    // MARK: Inputs

    /// A scan of this program runs from now on, or none does.
    mutating func scanChanged(isOn: Bool, at now: KernelInstant) -> [Action] {
        guard options.mode != .off, isOn != (watch != nil) else { return [] }
        watch = isOn ? SilenceWatch(options.silence, at: now) : nil
        // Without a scan there is no silence, and nothing to prove.
        if !isOn, case .silence? = trouble, !isPerforming { state = .well }
        return []
    }

    /// An advertisement was received: the most frequent input.
    mutating func heard(at now: KernelInstant) -> [Action] {
        let isFirst = watch?.heard(at: now) ?? false
        switch state {
        case .well: return isFirst ? [.setTimer] : []
        case .proving(.silence, let step, _): return end(step)
        case .resting(.silence, _), .counting(.silence, _): return end(nil)
        default: return []
        }
    }

    /// Something was not answered, for which others may be the reason as well: only the controller's silence makes it a
    /// problem.
    mutating func suspected(_ problem: RadioProblem, at now: KernelInstant) -> [Action] {
        guard options.mode != .off, isReady, case .well = state else { return [] }
        state = .checking(problem, until: now.advanced(by: Self.proofOfAnswer * 3))
        return [.probe]
    }

    /// The host has noticed a problem.
    mutating func noticed(_ problem: RadioProblem, at now: KernelInstant) -> [Action] {
        guard options.mode != .off, isReady else { return [] }
        let report = Action.report(.init(.problem(problem)))
        if problem.hardwareErrorCode != nil, options.mode == .recover {
            reset = DueReset(problem: problem, until: now.advanced(by: Self.resetTime))
        }
        switch state {
        case .well:
            state = .probing(problem, until: now.advanced(by: Self.proofOfAnswer * 3))
            return [report, .probe]
        // The probe is under way.
        case .checking(let problem, let until):
            state = .probing(problem, until: until)
            return [.report(.init(.problem(problem))), report]
        // A scan that cannot be restarted is not silent: the controller hangs.
        case .proving(.silence, let step, _): return [report] + next(after: step, .noAnswer(problem), at: now)
        // A step's own commands may go unanswered.
        case .performing: return []
        case .probing, .proving, .counting, .resting: return [report]
        }
    }

    /// The adapter was powered off, and neither by this program nor by a step.
    func poweredOff() -> [Action] { options.mode == .off ? [] : [.report(.init(.problem(.poweredOff)))] }

    /// The adapter is off, should be on, and does not power on.
    mutating func restorationFailed(at now: KernelInstant) -> [Action] {
        guard options.mode != .off, !isReady, case .well = state else { return [] }
        return [.report(.init(.problem(.powerOnFailed)))] + begin(.noAnswer(.powerOnFailed), at: now)
    }

    /// The controller answers with another address than the adapter's, which counts as absent.
    mutating func addressChanged(_ problem: RadioProblem, at now: KernelInstant) -> [Action] {
        guard options.mode != .off else { return [] }
        let (trouble, report) = (Trouble.otherAddress(problem), Action.report(.init(.problem(problem))))
        switch state {
        case .resting(.otherAddress, let until): state = .resting(trouble, until: until)
        case .well, .checking, .probing, .resting: return [report] + begin(trouble, at: now)
        case .counting(_, let step): state = .counting(trouble, step)
        case .performing(_, let step): state = .performing(trouble, step)
        case .proving(_, let step, _): return [report] + next(after: step, trouble, at: now)
        }
        return [report]
    }

    /// The controller that answered with another address was unplugged, and not by a step: no step brings it back.
    mutating func replacementWasRemoved() -> [Action] {
        if case .otherAddress? = trouble, !willRestoreAdapter { state = .well }
        return []
    }

    /// The controller has answered the probe, or has not.
    mutating func probed(isAnswered: Bool, at now: KernelInstant) -> [Action] {
        // Asked again when the adapter is back, also if it answered just before.
        guard isReady else { return [] }
        switch state {
        case .probing(let problem, _):
            guard isAnswered else { return begin(.noAnswer(problem), at: now) }
            // The kernel resets a controller after a hardware error, which ends the scan without a report.
            if problem.hardwareErrorCode != nil, watch != nil, options.mode == .recover {
                return perform(.restartScan, for: .silence(problem))
            }
            return end(nil)
        case .checking(let problem, _):
            guard !isAnswered else {
                state = .well
                return []
            }
            return [.report(.init(.problem(problem)))] + begin(.noAnswer(problem), at: now)
        case .proving(.noAnswer(let problem), let step, _):
            return isAnswered ? end(step) : next(after: step, .noAnswer(problem), at: now)
        default: return []
        }
    }

    /// The controller has answered a command of the program.
    mutating func answered(at now: KernelInstant) -> [Action] {
        // The recovery asks the controller itself.
        if case .resting(.noAnswer, _) = state, isReady { end(nil) } else { [] }
    }

    /// The links of the adapter were counted, those of this program apart; nil if they could not be.
    mutating func counted(own: Int, others: Int?, at now: KernelInstant) -> [Action] {
        guard case .counting(let trouble, let step) = state else { return [] }
        // A radio that is silent, but carries links, is not worth them.
        var spared = options.endsOtherProgramsLinks ? 0 : others ?? 0
        if case .silence = trouble { spared += own }
        guard spared == 0 else {
            state = .resting(trouble, until: now.advanced(by: Self.linksRest))
            return [.report(.init(.waitingForLinks(spared)))]
        }
        return perform(step, for: trouble)
    }

    /// A step was carried out, or could not be.
    mutating func performed(_ step: RecoveryStep, _ failure: BluetoothError?, at now: KernelInstant) -> [Action] {
        guard case .performing(let trouble, step) = state else { return [] }
        if isWithdrawn {
            (state, isWithdrawn) = (.well, false)
            watch?.beginAnew(at: now)
            return failure.map { [.report(.init(.failed(step, $0)))] } ?? []
        }
        if let failure { return [.report(.init(.failed(step, failure)))] + next(after: step, trouble, at: now) }
        switch trouble {
        case .silence:
            guard watch != nil else { return end(step) }
            watch?.beginAnew(at: now)
            state = .proving(trouble, step, until: now.advanced(by: proofTime(of: step)))
            return []
        case .noAnswer:
            state = .proving(trouble, step, until: now.advanced(by: Self.proofOfAnswer))
            return [.probe]
        case .otherAddress:
            if isReady { return end(step) }
            state = .proving(trouble, step, until: now.advanced(by: Self.proofOfAnswer))
            return []
        }
    }

    /// The program powers the adapter on or off itself: the recovery ends, after the step that is under way.
    mutating func withdraw(at now: KernelInstant) {
        reset = nil
        if isPerforming {
            isWithdrawn = true
        } else {
            state = .well
            watch?.beginAnew(at: now)
        }
    }

    /// The adapter can be used from now on, or no longer, or it cannot be used for another reason than before.
    mutating func adapterChanged(isReady: Bool, at now: KernelInstant) -> [Action] {
        let isNew = isReady != self.isReady
        self.isReady = isReady
        if isNew { watch?.beginAnew(at: now) }
        guard isReady else {
            // A step takes it away; otherwise somebody has, and that counts.
            guard !willRestoreAdapter else { return [] }
            state = .well
            // The scan may have worked again before the kernel closed the controller.
            guard isNew, let reset, now < reset.until else { return [] }
            self.reset = nil
            state = .probing(reset.problem, until: now.advanced(by: Self.proofOfAnswer * 3))
            return [.probe]
        }
        guard isNew else { return [] }
        switch state {
        case .proving(.otherAddress, let step, _): return end(step)
        case .counting(.otherAddress, _), .resting(.otherAddress, _): return end(nil)
        case .checking, .probing, .proving(.noAnswer, _, _): return [.probe]
        case .proving(.silence(let problem), let step, _):
            state = .proving(.silence(problem), step, until: now.advanced(by: proofTime(of: step)))
        case .resting(let trouble, _):
            // Somebody has done something about it.
            state = .probing(trouble.problem, until: now.advanced(by: Self.proofOfAnswer * 3))
            return [.probe]
        case .well, .counting, .performing: break
        }
        return []
    }

    /// The time of ``deadline`` is over.
    mutating func timeOut(at now: KernelInstant) -> [Action] {
        guard let deadline, deadline <= now else { return [] }
        switch state {
        case .well:
            let problem = RadioProblem(.silent(watch?.last.duration(to: now) ?? .zero))
            return [.report(.init(.problem(problem)))] + begin(.silence(problem), at: now)
        case .proving(let trouble, let step, _): return next(after: step, trouble, at: now)
        case .resting(.noAnswer(let problem), _) where isReady:
            // It may answer again by now.
            state = .probing(problem, until: now.advanced(by: Self.proofOfAnswer * 3))
            return [.probe]
        case .resting(let trouble, _): return begin(trouble, at: now)
        case .probing(let problem, _): return begin(.noAnswer(problem), at: now)
        case .checking(let problem, _): return [.report(.init(.problem(problem)))] + begin(.noAnswer(problem), at: now)
        case .counting, .performing: return []
        }
    }

    // MARK: The recovery steps

    private var trouble: Trouble? {
        switch state {
        case .well, .checking, .probing: nil
        case .counting(let trouble, _), .performing(let trouble, _), .proving(let trouble, _, _),
            .resting(let trouble, _):
            trouble
        }
    }

    /// Whether scans outlive a command that fails: the recovery brings them back.
    func keepsScans(at now: KernelInstant) -> Bool {
        switch state {
        case .well, .checking, .resting: reset.map { now < $0.until } ?? false
        case .probing, .counting, .performing, .proving: options.mode == .recover
        }
    }

    /// Whether the adapter may be temporarily unavailable: by a step, or by the kernel's own after a hardware error.
    var takesAdapterAway: Bool {
        if case .probing(let problem, _) = state, problem.hardwareErrorCode != nil {
            options.mode == .recover
        } else {
            isPerforming
        }
    }

    /// Whether an unavailable adapter returns if the recovery succeeds.
    var willRestoreAdapter: Bool {
        // Binding the driver again takes it away a moment later.
        if case .proving(_, .rebind, _) = state { true } else { takesAdapterAway }
    }

    var isPerforming: Bool { if case .performing = state { true } else { false } }

    /// The time in which a step must prove that it has helped against silence: it doubles with each step.
    private func proofTime(of step: RecoveryStep) -> Duration {
        let rank = RecoveryStep.allCases.firstIndex(of: step) ?? 0
        return min((watch?.limit ?? .zero) * (1 << rank), options.silence.upperBound * 2)
    }

    private mutating func begin(_ trouble: Trouble, at now: KernelInstant) -> [Action] {
        guard options.mode == .recover else {
            // Reported once, and again after a rest.
            return rest(trouble, at: now)
        }
        switch trouble {
        case .silence: return perform(.restartScan, for: trouble)
        case .noAnswer, .otherAddress: return next(after: .restartScan, trouble, at: now)
        }
    }

    private mutating func perform(_ step: RecoveryStep, for trouble: Trouble) -> [Action] {
        state = .performing(trouble, step)
        return [.report(.init(.began(step))), .perform(step)]
    }

    private mutating func next(after step: RecoveryStep, _ trouble: Trouble, at now: KernelInstant) -> [Action] {
        guard let next = RecoveryStep.allCases.first(where: { $0 > step }) else { return rest(trouble, at: now) }
        state = .counting(trouble, next)
        return [.countLinks]
    }

    private mutating func rest(_ trouble: Trouble, at now: KernelInstant) -> [Action] {
        let delay = min(Self.firstRest * (1 << min(exhaustedCount, 5)), Self.longestRest)
        exhaustedCount += 1
        state = .resting(trouble, until: now.advanced(by: delay))
        guard options.mode == .recover else { return [] }
        return [.report(.init(.gaveUp(.radioFailure(trouble.problem), retryAfter: delay)))]
    }

    /// The problem is over; `step` has helped.
    private mutating func end(_ step: RecoveryStep?) -> [Action] {
        (state, exhaustedCount) = (.well, 0)
        return [.report(.init(.recovered(step)))]
    }
}

extension BluetoothError {
    /// The error of a radio that no step has brought back.
    static func radioFailure(_ problem: RadioProblem) -> BluetoothError {
        var remedy =
            "Unplug it and plug it in again, or restart the machine; see also: ble doctor; sudo dmesg | grep -i bluetooth"
        if problem.otherAddress != nil { remedy = addressRemedy }
        return BluetoothError(
            .failed, .init("recover the adapter"), "The adapter does not recover: \(problem).", remedy: remedy)
    }
}
