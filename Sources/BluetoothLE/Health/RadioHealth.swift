import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothHCI
import Logging

/// The health of an adapter: watches its scan and its host, and carries out the steps of ``HealthStateMachine``.
//
// Lives on the loop, with the session.
// Holds more than ten variables: it gives a state machine its clock, its host, its callers and its followers.
final class RadioHealth {
    private let mark: ComponentCount.Mark
    private let adapterRecord: AdapterRecord
    private let host: any HostHealth
    private let loop: EventLoop
    private let log: Logger
    private var machine: HealthStateMachine
    private var events = Broadcaster<HealthEvent>()
    private lazy var timer = loop.makeTimer(of: self) { $0.timeOut() }
    /// The time for which the timer is set; it is not set again for each advertisement.
    private var deadline: KernelInstant?
    private var isEnded = false
    /// The callers that wait for the end of the step under way.
    private var waiters = WaiterList<Void, BluetoothError>()
    /// The number of this program's links.
    var ownLinkCount = 0
    /// The session's components, which receive the events before programs do.
    var followers = HandlerList<HealthEvent>()

    init(
        _ options: RecoveryOptions, of adapterRecord: AdapterRecord, _ host: any HostHealth, on loop: EventLoop,
        log: Logger
    ) {
        mark = loop.components.mark("RadioHealth")
        (self.adapterRecord, self.host, self.loop, self.log) = (adapterRecord, host, loop, log)
        machine = HealthStateMachine(options)
    }

    /// The limit of a wait for a step, whose commands have shorter ones.
    private static let stepLimit = Duration.seconds(120)

    private var name: String { adapterRecord.information.name }

    /// Whether scans outlive a command that is not answered.
    var keepsScans: Bool { machine.keepsScans(at: loop.now) }

    /// Whether the adapter is temporarily unavailable, and returns.
    var isRecovering: Bool { machine.takesAdapterAway || isRecoveredElsewhere }

    /// Whether another session of this process carries out a step on the adapter.
    var isRecoveredElsewhere: Bool { host.isRecoveredElsewhere }

    /// Whether an unavailable adapter returns if the recovery succeeds.
    var willRestoreAdapter: Bool { machine.willRestoreAdapter || isRecoveredElsewhere }

    /// The number of other programs' links; nil if they cannot be counted.
    var otherLinkCount: Int? {
        // The host reports a link's end before its channels do.
        host.countLinks().map { max(0, $0 - ownLinkCount) }
    }

    /// The present health.
    var health: AdapterHealth { machine.health }

    /// The health, after a command that the controller must answer.
    nonisolated(nonsending) func check(_ operation: BluetoothError.Operation) async throws(BluetoothError)
        -> AdapterHealth
    {
        let call = Promise<Bool, BluetoothError>()
        host.probe { [weak self] isAnswered in
            if isAnswered, let self { run(machine.answered(at: loop.now)) }
            call.succeed(isAnswered)
        }
        let isAnswered = try await call.value(operation, timeout: .seconds(10), on: loop)
        if machine.health == .good, !isAnswered {
            return .init(.suspect(.init(.unanswered(command: HCIReadLocalVersionInformation.definition.name))))
        }
        return machine.health
    }

    func events(_ bufferCapacity: Int) -> BoundedStream<HealthEvent> {
        let stream = events.stream(
            capacity: bufferCapacity, policy: .dropOldest, .init("follow the health", adapter: name), from: loop)
        if isEnded { stream.finish(nil) }
        return stream
    }

    // MARK: Inputs

    /// An advertisement was received: the most frequent input.
    func heard(at now: KernelInstant) {
        let actions = machine.heard(at: now)
        if !actions.isEmpty { run(actions) }
    }

    /// The scan of this program begins or ends.
    func scanChanged(isOn: Bool) { run(machine.scanChanged(isOn: isOn, at: loop.now)) }

    /// The adapter can be used from now on, or no longer.
    func adapterChanged(isReady: Bool) { run(machine.adapterChanged(isReady: isReady, at: loop.now)) }

    /// The host has noticed a problem; what a device or another program may cause as well is not certain.
    func noticed(_ problem: RadioProblem, isCertain: Bool) {
        run(isCertain ? machine.noticed(problem, at: loop.now) : machine.suspected(problem, at: loop.now))
    }

    /// A device does not respond, or its link accepts nothing.
    func linkStalled(_ peer: BluetoothAddress) { noticed(.init(.linkStalled(peer)), isCertain: false) }

    /// The error of an attempt to reach a device. The controller may be why it was not answered: that is checked, and an error
    /// that says so replaces one that asks for the device while it is known.
    func failed(_ error: BluetoothError, by peer: BluetoothAddress) -> BluetoothError {
        guard [.timedOut, .connectionFailed].contains(error.code) else { return error }
        linkStalled(peer)
        guard let problem = health.problem else { return error }
        var error = error
        error.message += " The adapter may be the reason (\(name) \(health))."
        error.remedy = BluetoothError.radioFailure(problem).remedy
        return error
    }

    /// The adapter was powered off, and not by this program.
    func wasPoweredOff() {
        if !willRestoreAdapter { run(machine.poweredOff()) }
    }

    /// The controller answers with another address than the adapter's.
    func addressChanged(from own: BluetoothAddress, to other: BluetoothAddress) {
        run(machine.addressChanged(.init(.addressChanged(from: own, to: other)), at: loop.now))
    }

    /// The controller that answered with another address was unplugged.
    func replacementWasRemoved() { run(machine.replacementWasRemoved()) }

    /// The adapter is off and could not be powered on, although it should be on.
    func restorationFailed(_ reason: BluetoothError) {
        // What the kernel refuses, no step brings about.
        if host.showsHang(reason) { run(machine.restorationFailed(at: loop.now)) }
    }

    /// Ends the watch: the adapter is closed.
    func close(_ reason: BluetoothError) {
        isEnded = true
        waiters.failAll(reason)
        setTimer(to: nil)
        events.finish(reason.code == .cancelled ? nil : reason)
    }

    /// Ends the recovery, since the program acts itself; returns when no step is under way.
    nonisolated(nonsending) func withdraw(_ operation: BluetoothError.Operation) async throws(BluetoothError) {
        machine.withdraw(at: loop.now)
        updateTimer()
        guard machine.isPerforming else { return }
        let call = waiters.makePromise()
        try await call.value(operation, timeout: Self.stepLimit, on: loop)
    }

    /// Ends the recovery, since the adapter is being closed; returns when no step is under way, also in a cancelled task: the
    /// second half of a step powers the adapter on again.
    nonisolated(nonsending) func finishStep() async {
        machine.withdraw(at: loop.now)
        updateTimer()
        guard machine.isPerforming else { return }
        let call = waiters.makePromise()
        let timer = loop.makeLocalTimer { call.succeed() }
        timer.set(after: Self.stepLimit)
        _ = try? await call.value(from: loop) {}
        timer.cancel()
    }

    private func timeOut() {
        deadline = nil
        run(machine.timeOut(at: loop.now))
    }

    // MARK: Actions

    private func run(_ actions: [HealthStateMachine.Action]) {
        guard !isEnded else { return }
        for action in actions { run(action) }
        updateTimer()
    }

    private func run(_ action: HealthStateMachine.Action) {
        switch action {
        case .probe:
            host.probe { [weak self] isAnswered in
                guard let self else { return }
                run(machine.probed(isAnswered: isAnswered, at: loop.now))
            }
        case .countLinks:
            run(machine.counted(own: ownLinkCount, others: otherLinkCount, at: loop.now))
        case .perform(let step):
            host.perform(step) { [weak self] failure in
                guard let self else { return }
                run(machine.performed(step, failure, at: loop.now))
                waiters.succeedAll()
            }
        case .report(let event):
            log.notice("\(name): \(event)")
            followers(event)
            events.send(event)
        // Done after every action.
        case .setTimer: break
        }
    }

    private func updateTimer() {
        // An earlier time-out finds nothing to do.
        if let deadline, let wanted = machine.deadline, deadline <= wanted { return }
        setTimer(to: machine.deadline)
    }

    private func setTimer(to deadline: KernelInstant?) {
        if let deadline { timer.set(at: deadline) } else if self.deadline != nil { timer.cancel() }
        self.deadline = deadline
    }
}
