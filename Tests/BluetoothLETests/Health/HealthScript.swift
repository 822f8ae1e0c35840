@testable import BluetoothLE

extension KernelInstant {
    init(seconds: Double) { self.init(nanoseconds: Int64(seconds * 1_000_000_000)) }
}

/// A machine with a script of inputs; its actions in short words.
struct HealthScript {
    var machine: HealthStateMachine
    var now = KernelInstant(seconds: 0)
    var said: [String] = []

    init(_ options: RecoveryOptions = RecoveryOptions(), isScanning: Bool = true) {
        machine = HealthStateMachine(options)
        if isScanning { take(machine.scanChanged(isOn: true, at: now)) }
    }

    mutating func take(_ actions: [HealthStateMachine.Action]) {
        said += actions.map(Self.words).filter { $0 != "look sooner" }
    }

    static func words(_ action: HealthStateMachine.Action) -> String {
        switch action {
        case .probe: "probe"
        case .countLinks: "count"
        case .perform(let step): "do \(step)"
        case .setTimer: "look sooner"
        case .report(let event): words(event)
        }
    }

    private static func words(_ event: HealthEvent) -> String {
        switch event.kind {
        case .problem(let problem): "problem: \(problem)"
        case .began: "began"
        case .failed(let step, _): "failed \(step)"
        case .recovered(let step): "recovered by \(step.map { "\($0)" } ?? "itself")"
        case .waitingForLinks(let count): "waiting for \(count)"
        case .gaveUp(_, let delay): "gave up for \(Int(delay / .seconds(1))) s"
        }
    }

    /// Hears an advertisement every `pause` seconds, `count` times.
    mutating func hear(every pause: Double, _ count: Int) {
        for _ in 0..<count {
            now = now.advanced(by: .seconds(pause))
            take(machine.heard(at: now))
        }
    }

    /// Waits until the machine is due, and lets its steps and questions end at once.
    mutating func wait(failing: Bool = false, own: Int = 0, others: Int? = 0) {
        guard let deadline = machine.deadline else { return }
        now = deadline
        run(machine.timeOut(at: now), failing: failing, own: own, others: others)
    }

    /// Takes actions, and lets their steps and questions end at once.
    mutating func run(
        _ actions: [HealthStateMachine.Action], failing: Bool = false, own: Int = 0, others: Int? = 0,
        isAnswered: Bool = false
    ) {
        take(actions)
        for action in actions {
            let next: [HealthStateMachine.Action] =
                switch action {
                case .perform(let step):
                    machine.performed(
                        step, failing ? BluetoothError(.notPermitted, .init("test"), "no") : nil, at: now)
                case .countLinks: machine.counted(own: own, others: others, at: now)
                case .probe: machine.probed(isAnswered: isAnswered, at: now)
                case .report, .setTimer: []
                }
            run(next, failing: failing, own: own, others: others, isAnswered: isAnswered)
        }
    }
}
