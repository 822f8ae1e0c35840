import TestSupport
import Testing

@testable import BluetoothLE

/// The watchdog and the ladder of recovery, input by input.
@Suite struct HealthStateMachineTests {
    @Test(arguments: [
        // Nothing heard yet: a minute and a half. Frequent ones: the shortest time. Rare ones: ten times their pause.
        (0.0, 0, 90.0), (0.1, 100, 30), (5, 10, 50), (30, 3, 300), (300, 3, 600),
    ]) func theLimitFollowsWhatWasHeard(_ pause: Double, _ count: Int, _ limit: Double) {
        var script = HealthScript()
        script.hear(every: pause, count)
        let deadline = script.machine.deadline
        #expect(deadline.map { script.now.duration(to: $0) } == .seconds(limit))
    }

    @Test func aLongPauseIsForgottenAfterTwoHours() {
        var script = HealthScript()
        script.hear(every: 1, 10)
        script.hear(every: 20, 1)
        script.hear(every: 1, 3000)
        #expect(script.machine.deadline.map { script.now.duration(to: $0) } == .seconds(200))
        script.hear(every: 1, 5000)
        #expect(script.machine.deadline.map { script.now.duration(to: $0) } == .seconds(30))
    }

    @Test func silenceClimbsTheLadderOnce() {
        var script = HealthScript()
        script.hear(every: 1, 10)
        let steps: [RecoveryStep] = [.restartScan, .powerCycle, .reset, .restart, .rebind]
        var times: [Double] = []
        for _ in 0...steps.count {
            let before = script.now
            script.wait()
            times.append(before.duration(to: script.now) / .seconds(1))
        }
        // The time that a step has to prove itself doubles.
        #expect(times == [30, 30, 60, 120, 240, 480])
        let said =
            ["problem: no advertisement was received for 30.0 s", "began", "do restart the scan"]
            + steps.dropFirst().flatMap { ["count", "began", "do \($0)"] } + ["gave up for 3600 s"]
        #expect(
            script.said.map { $0.replacing("30 s", with: "30.0 s") }
                == said.map { $0.replacing("30 s", with: "30.0 s") })
        // The ladder is climbed again after an hour, then after two.
        script.said = []
        for _ in 0...steps.count { script.wait() }
        #expect(script.said.last == "gave up for 7200 s")
        for _ in 0..<10 * (steps.count + 1) { script.wait() }
        #expect(script.said.last == "gave up for 86400 s")
        script.said = []
        script.hear(every: 1, 1)
        #expect(script.said == ["recovered by itself"])
        #expect(script.machine.deadline != nil)
    }

    @Test(arguments: [RecoveryStep.restartScan, .powerCycle, .reset, .restart, .rebind])
    func anAdvertisementProvesAStep(_ cure: RecoveryStep) {
        var script = HealthScript()
        script.hear(every: 1, 10)
        while script.said.last != "do \(cure)" { script.wait() }
        script.said = []
        script.hear(every: 1, 2)
        #expect(script.said == ["recovered by \(cure)"])
        #expect(script.machine.state == .well)
    }

    @Test func stepsThatCannotBeCarriedOutAreSkipped() {
        var script = HealthScript()
        script.wait(failing: true)
        #expect(
            script.said.filter { $0.hasPrefix("failed") } == RecoveryStep.allCases.map { "failed \($0)" })
        #expect(script.said.last == "gave up for 3600 s")
    }

    @Test func linksAreSpared() {
        // Links of this program show that the radio works.
        var script = HealthScript()
        script.wait(own: 1, others: 0)
        script.wait(own: 1, others: 0)
        #expect(script.said.suffix(2) == ["count", "waiting for 1"])
        // The scan is restarted again meanwhile.
        script.wait(own: 1, others: 0)
        #expect(script.said.last == "do restart the scan")
        // Other programs' links are ended only if that is wanted.
        script = HealthScript()
        script.wait()
        script.wait(others: 2)
        #expect(script.said.last == "waiting for 2")
        script = HealthScript(RecoveryOptions(endsOtherProgramsLinks: true))
        script.wait()
        script.wait(others: 2)
        #expect(script.said.last == "do power the adapter off and on")
        // Links that cannot be counted are none.
        script = HealthScript()
        script.wait()
        script.wait(others: nil)
        #expect(script.said.last == "do power the adapter off and on")
    }

    @Test func aMissingAnswerIsTested() {
        var script = HealthScript(isScanning: false)
        script.run(script.machine.noticed(.init(.unanswered(command: "Reset")), at: script.now), isAnswered: true)
        #expect(
            script.said == ["problem: the controller did not answer Reset", "probe", "recovered by itself"])
        script.said = []
        script.run(script.machine.noticed(.init(.unanswered(command: "Reset")), at: script.now), own: 1)
        // A probe that fails as well: own links are lost anyway.
        #expect(
            script.said.prefix(5) == [
                "problem: the controller did not answer Reset", "probe", "count", "began",
                "do power the adapter off and on",
            ])
        #expect(script.said.last == "gave up for 3600 s")
        // Problems that the steps themselves cause are none.
        var performing = HealthScript(isScanning: false)
        performing.take(performing.machine.noticed(.init(.unanswered(command: "Reset")), at: KernelInstant(seconds: 0)))
        performing.take(performing.machine.probed(isAnswered: false, at: KernelInstant(seconds: 5)))
        performing.take(performing.machine.counted(own: 0, others: 0, at: KernelInstant(seconds: 5)))
        performing.said = []
        performing.take(performing.machine.noticed(.init(.unanswered(command: "Reset")), at: KernelInstant(seconds: 6)))
        #expect(performing.said == [])
        performing.take(performing.machine.performed(.powerCycle, nil, at: KernelInstant(seconds: 7)))
        performing.take(performing.machine.probed(isAnswered: true, at: KernelInstant(seconds: 8)))
        #expect(performing.said == ["probe", "recovered by power the adapter off and on"])
    }

    @Test func aLinkThatTakesNothingIsTheControllersFaultOnlyIfThatIsSilent() {
        let problem = RadioProblem(.linkStalled(.zero))
        var script = HealthScript()
        script.run(script.machine.suspected(problem, at: script.now), isAnswered: true)
        #expect(script.said == ["probe"])
        #expect(script.machine.state == .well)
        script.said = []
        script.run(script.machine.suspected(problem, at: script.now), own: 1)
        #expect(
            script.said.prefix(5) == [
                "probe", "problem: \(problem)", "count", "began", "do power the adapter off and on",
            ])
        // The probe that is not answered is told by the host first.
        script = HealthScript()
        script.take(script.machine.suspected(problem, at: script.now))
        #expect(!script.machine.keepsScans(at: script.now))
        script.take(script.machine.noticed(.init(.unanswered(command: "Reset")), at: script.now))
        script.take(script.machine.probed(isAnswered: false, at: script.now))
        #expect(
            script.said == ["probe", "problem: \(problem)", "problem: the controller did not answer Reset", "count"])
        // Nothing is asked of an adapter that is away or already being looked into.
        script.take(script.machine.suspected(problem, at: script.now))
        #expect(script.said.last == "count")
        script = HealthScript()
        script.take(script.machine.adapterChanged(isReady: false, at: script.now))
        script.take(script.machine.suspected(problem, at: script.now))
        #expect(script.said == [])
    }

    @Test func aScanThatCannotBeRestartedShowsAHangingController() {
        var script = HealthScript()
        script.hear(every: 1, 10)
        script.wait()
        #expect(script.machine.keepsScans(at: script.now))
        script.said = []
        script.run(script.machine.noticed(.init(.unanswered(command: "Enable")), at: script.now), isAnswered: true)
        #expect(
            script.said == [
                "problem: the controller did not answer Enable", "count", "began", "do power the adapter off and on",
                "probe", "recovered by power the adapter off and on",
            ])
        // Without a scan there is nothing to prove, and nobody says that it works.
        script.wait()
        script.said = []
        script.take(script.machine.scanChanged(isOn: false, at: script.now))
        #expect(script.said == [])
        #expect(script.machine.state == .well)
    }

    @Test func anAdapterThatSomebodyHasPoweredOffIsLeftAlone() {
        var script = HealthScript()
        script.take(script.machine.noticed(.init(.unanswered(command: "Enable")), at: script.now))
        script.take(script.machine.adapterChanged(isReady: false, at: script.now))
        #expect(script.machine.state == .well)
        script.take(script.machine.noticed(.init(.hardwareError(code: 1)), at: script.now))
        #expect(!script.machine.keepsScans(at: script.now))
        // Also between the steps, and while none is carried out for a time.
        for count in 1...6 {
            var climbing = HealthScript()
            for _ in 0..<count { climbing.wait() }
            climbing.take(climbing.machine.adapterChanged(isReady: false, at: climbing.now))
            // Binding the driver again takes the adapter away a moment later.
            #expect((climbing.machine.state == .well) == (count != 5))
        }
    }

    @Test func anAdapterThatDoesNotPowerOnIsRecovered() {
        var script = HealthScript(isScanning: false)
        // Only one that is off, and should be on.
        script.run(script.machine.restorationFailed(at: script.now))
        #expect(script.said == [])
        script.take(script.machine.adapterChanged(isReady: false, at: script.now))
        script.run(script.machine.restorationFailed(at: script.now), failing: true)
        #expect(script.said.first == "problem: the adapter could not be powered on")
        #expect(
            script.said.filter { $0.hasPrefix("failed") }
                == RecoveryStep.allCases.dropFirst().map { "failed \($0)" })
        #expect(script.said.last == "gave up for 3600 s")
        // It is already being looked into.
        script.said = []
        script.run(script.machine.restorationFailed(at: script.now))
        #expect(script.said == [])
        // It is unplugged, or blocked, meanwhile.
        script.take(script.machine.adapterChanged(isReady: false, at: script.now))
        #expect(script.machine.state == .well)
        #expect(script.machine.deadline == nil)
        // A step helps.
        script.take(script.machine.restorationFailed(at: script.now))
        script.take(script.machine.counted(own: 0, others: 0, at: script.now))
        script.take(script.machine.adapterChanged(isReady: true, at: script.now))
        script.take(script.machine.performed(.powerCycle, nil, at: script.now))
        script.take(script.machine.probed(isAnswered: true, at: script.now))
        #expect(script.said.suffix(2) == ["probe", "recovered by power the adapter off and on"])
    }

    @Test func aHardwareErrorRestartsTheScan() {
        var script = HealthScript()
        script.hear(every: 1, 10)
        script.run(script.machine.noticed(.init(.hardwareError(code: 0x42)), at: script.now), isAnswered: true)
        #expect(
            script.said == [
                "problem: the controller reported a hardware error (0x42)", "probe", "began", "do restart the scan",
            ])
        script.hear(every: 1, 1)
        #expect(script.said.last == "recovered by restart the scan")
        var idle = HealthScript(isScanning: false)
        idle.run(
            idle.machine.noticed(.init(.hardwareError(code: 0x42)), at: KernelInstant(seconds: 0)), isAnswered: true)
        #expect(idle.said.last == "recovered by itself")
    }

    /// The kernel closes and opens the controller after a hardware error, and the scan may work again before it does.
    @Test(arguments: [(1.0, true), (10.0, false)])
    func theKernelResetsTheControllerLate(_ seconds: Double, _ isReset: Bool) {
        var script = HealthScript()
        script.hear(every: 1, 10)
        script.run(script.machine.noticed(.init(.hardwareError(code: 0x42)), at: script.now), isAnswered: true)
        script.hear(every: seconds, 1)
        #expect(script.said.last == "recovered by restart the scan")
        script.take(script.machine.adapterChanged(isReady: false, at: script.now))
        #expect(script.machine.willRestoreAdapter == isReset)
        script.take(script.machine.probed(isAnswered: false, at: script.now))
        script.run(script.machine.adapterChanged(isReady: true, at: script.now), isAnswered: true)
        #expect((script.said.last == "do restart the scan") == isReset)
        // One that stays closed is recovered like one that does not answer.
        var closed = HealthScript(isScanning: false)
        closed.run(closed.machine.noticed(.init(.hardwareError(code: 0x42)), at: closed.now), isAnswered: true)
        closed.take(closed.machine.adapterChanged(isReady: false, at: closed.now))
        closed.wait()
        #expect(closed.said.contains("do power the adapter off and on"))
        // The answer is read after the power-off.
        var late = HealthScript()
        late.take(late.machine.noticed(.init(.hardwareError(code: 0x42)), at: late.now))
        late.take(late.machine.adapterChanged(isReady: false, at: late.now))
        late.run(late.machine.probed(isAnswered: true, at: late.now))
        late.hear(every: 0, 1)
        #expect(late.machine.willRestoreAdapter)
        late.run(late.machine.adapterChanged(isReady: true, at: late.now), isAnswered: true)
        #expect(late.said.last == "do restart the scan")
        // The program has powered it off.
        var withdrawn = HealthScript()
        withdrawn.run(withdrawn.machine.noticed(.init(.hardwareError(code: 0x42)), at: withdrawn.now), isAnswered: true)
        withdrawn.machine.withdraw(at: withdrawn.now)
        withdrawn.take(withdrawn.machine.adapterChanged(isReady: false, at: withdrawn.now))
        #expect(!withdrawn.machine.willRestoreAdapter)
    }

    @Test(arguments: [RecoveryOptions.Mode.off, .reportOnly])
    func nothingIsDoneUnlessItIsWanted(_ mode: RecoveryOptions.Mode) {
        var script = HealthScript(RecoveryOptions(mode: mode))
        script.hear(every: 1, 10)
        script.wait()
        script.run(script.machine.noticed(.init(.hardwareError(code: 1)), at: script.now), isAnswered: true)
        #expect(!script.said.contains { $0.hasPrefix("do") })
        #expect(script.said.contains { $0.hasPrefix("problem: no adv") } == (mode == .reportOnly))
    }

    @Test func withoutAScanThereIsNoTimer() {
        var script = HealthScript(isScanning: false)
        #expect(script.machine.deadline == nil)
        script = HealthScript()
        script.take(script.machine.scanChanged(isOn: false, at: script.now))
        #expect(script.machine.deadline == nil)
        script = HealthScript()
        script.take(script.machine.adapterChanged(isReady: false, at: script.now))
        #expect(script.machine.deadline == nil)
        script.take(script.machine.adapterChanged(isReady: true, at: KernelInstant(seconds: 100)))
        #expect(script.machine.deadline == KernelInstant(seconds: 190))
    }

    /// Inputs that do not fit a state have no effect but those of the state's own; nothing is awaited for ever.
    @Test func everyInputInEveryState() {
        var generator = SeededGenerator(seed: 1)
        for mode in [RecoveryOptions.Mode.recover, .reportOnly, .off] {
            var machine = HealthStateMachine(RecoveryOptions(mode: mode))
            var now = KernelInstant(seconds: 0)
            var pending: [HealthStateMachine.Action] = []
            for _ in 0..<20_000 {
                now = now.advanced(by: .milliseconds(Int.random(in: 0..<40_000, using: &generator)))
                let actions: [HealthStateMachine.Action]
                switch Int.random(in: 0..<14, using: &generator) {
                case 13: actions = machine.addressChanged(.init(.addressChanged(from: .zero, to: .zero)), at: now)
                case 12: actions = machine.replacementWasRemoved()
                case 11: actions = machine.restorationFailed(at: now)
                case 10: actions = machine.suspected(.init(.linkStalled(.zero)), at: now)
                case 0: actions = machine.scanChanged(isOn: .random(using: &generator), at: now)
                case 1: actions = machine.heard(at: now)
                case 2: actions = machine.noticed(.init(.hardwareError(code: 1)), at: now)
                case 3: actions = machine.probed(isAnswered: .random(using: &generator), at: now)
                case 4: actions = machine.counted(own: .random(in: 0...1, using: &generator), others: 0, at: now)
                case 5:
                    let step = RecoveryStep.allCases[Int.random(in: 0..<5, using: &generator)]
                    actions = machine.performed(step, nil, at: now)
                case 7:
                    machine.withdraw(at: now)
                    actions = []
                case 6: actions = machine.adapterChanged(isReady: .random(using: &generator), at: now)
                default: actions = machine.timeOut(at: now)
                }
                let asked = actions.filter { action in
                    switch action {
                    case .report, .setTimer: false
                    case .probe, .countLinks, .perform: true
                    }
                }
                if !asked.isEmpty { pending = asked }
                // Each state that waits for an answer has asked for it.
                switch machine.state {
                case .performing(_, let step):
                    #expect(pending.contains { if case .perform(step) = $0 { true } else { false } })
                case .counting: #expect(pending.contains { if case .countLinks = $0 { true } else { false } })
                case .checking, .probing: #expect(pending.contains { if case .probe = $0 { true } else { false } })
                case .proving, .resting: #expect(machine.deadline != nil)
                case .well: break
                }
                if mode == .off { #expect(machine.state == .well) }
            }
        }
    }
}
