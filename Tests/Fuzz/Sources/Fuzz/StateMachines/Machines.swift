import BluetoothHCI
import BluetoothHost
import BluetoothLoop
import BluetoothManagement
import BluetoothPrimitives

@testable import BluetoothKernelHost
@testable import BluetoothLE

let machines = [FuzzTarget("health", recover), FuzzTarget("scanner", scanWithOthers)]

/// A radio with every problem, at any time: one step of the recovery at a time, and a time limit for each wait.
@Sendable private func recover(_ source: inout ByteSource) {
    var options = RecoveryOptions(mode: source.choose([.recover, .recover, .reportOnly, .off]) ?? .recover)
    options.endsOtherProgramsLinks = source.flag()
    var machine = HealthStateMachine(options)
    var (now, step, isCounting) = (KernelInstant(nanoseconds: 0), RecoveryStep?.none, false)
    func take(_ actions: [HealthStateMachine.Action]) {
        require(actions.count <= 4 && (options.mode != .off || actions.isEmpty), "\(actions)")
        for action in actions {
            switch action {
            case .perform(let next):
                require(step == nil && machine.isPerforming, "\(next) during \(step.map { "\($0)" } ?? "nothing")")
                require(options.mode == .recover, "a step that nobody wants")
                step = next
            case .countLinks: isCounting = true
            case .probe, .report, .setTimer: break
            }
        }
    }
    let problems: [RadioProblem] = [
        .init(.unanswered(command: "x")), .init(.linkStalled(.zero)), .init(.hardwareError(code: 1)), .poweredOff,
    ]
    while !source.isEmpty {
        now = now.advanced(by: source.flag() ? source.duration() : source.duration() * 1000)
        let problem = source.choose(problems) ?? .poweredOff
        switch source.number(below: 14) {
        case 0: take(machine.scanChanged(isOn: source.flag(), at: now))
        case 1, 2: take(machine.heard(at: now))
        case 3: take(machine.suspected(problem, at: now))
        case 4: take(machine.noticed(problem, at: now))
        case 5: take(machine.restorationFailed(at: now))
        case 6: take(machine.addressChanged(.init(.addressChanged(from: .zero, to: .zero)), at: now))
        case 7: take(machine.replacementWasRemoved())
        case 8: take(machine.probed(isAnswered: source.flag(), at: now))
        case 9: take(machine.answered(at: now))
        case 10 where isCounting:
            isCounting = false
            take(machine.counted(own: Int(source.byte() & 1), others: source.flag() ? 0 : 1, at: now))
        case 11:
            if let done = step.take() {
                take(machine.performed(done, source.flag() ? nil : .cancelled(.init("test")), at: now))
            }
        case 12: if source.byte() > 0xE0 { machine.withdraw(at: now) }
        default: take(machine.adapterChanged(isReady: source.flag(), at: now))
        }
        for count in 0... {
            guard let deadline = machine.deadline, deadline <= now else { break }
            require(count < 10, "the deadline stays in the past: \(machine.state)")
            take(machine.timeOut(at: now))
        }
        require(machine.isPerforming == (step != nil), "\(machine.state) with \(step.map { "\($0)" } ?? "no step")")
    }
}

/// Commands of this and other programs to a controller's scanner: one at a time, and at rest what is declared.
@Sendable private func scanWithOthers(_ source: inout ByteSource) {
    var scanner = ScannerStateMachine()
    var step: ScannerStateMachine.Step?
    func advance() {
        for count in 0... {
            guard let action = scanner.advance() else { break }
            require(count < 10 && step == nil, "\(action) while \(step.map { "\($0)" } ?? "at rest")")
            if case .perform(let next) = action { step = next }
        }
        require(scanner.isBusy == (step != nil), "a step is forgotten")
    }
    func end(_ source: inout ByteSource, isAccepted: Bool) {
        let ends: [ScannerStateMachine.DiscoveryEnd] = [.ended, .none, .otherTypes, .unknown]
        guard step != nil else { return }
        if scanner.isEndingDiscovery {
            let end = isAccepted ? scanner.leavesDiscovery ? .ended : .none : source.choose(ends) ?? .none
            scanner.discoveryEnded(end, isDaemonRunning: !isAccepted && source.flag())
        } else if isAccepted {
            scanner.succeed(.legacy)
        } else {
            _ = scanner.refuse(source.flag() ? .commandDisallowed : HCIStatus(rawValue: source.byte()))
        }
        step = nil
    }
    func timing(_ source: inout ByteSource) -> ScanSettings {
        let interval = UInt16(source.byte()) + 4
        return ScanSettings(
            le1M: LEScanTiming(type: source.flag() ? .active : .passive, interval: interval, window: interval))
    }
    while !source.isEmpty {
        switch source.number(below: 12) {
        case 0: scanner.request = source.flag() ? timing(&source) : nil
        case 1, 2: end(&source, isAccepted: true)
        case 3: end(&source, isAccepted: false)
        case 4: scanner.connectionAttemptEnded()
        case 5: scanner.holdEnded()
        case 6: scanner.scannerWentOff()
        case 7: scanner.discoveryChanged(ManagementAddressTypes(rawValue: source.byte() & 7), isOn: source.flag())
        case 8: scanner.beginAnew()
        case 9:
            if source.flag() { scanner.stoppedWatching() } else { (_, step) = (scanner.forgetController(), nil) }
        default:
            let packet = [0x01] + source.bytes(atMost: 40)
            if let command = try? AnyHCICommand(decoding: packet.span.bytes) {
                _ = scanner.otherCommand(command, source.flag() ? .success : .commandDisallowed)
            }
        }
        advance()
    }
    // The others are quiet from now on, and the controller accepts everything.
    scanner.discoveryChanged([], isOn: false)
    for _ in 0..<60 {
        advance()
        if scanner.hold != nil { scanner.holdEnded() }
        end(&source, isAccepted: true)
    }
    require(step == nil && scanner.isReconciled, "the scanner does not come to rest: \(scanner.state)")
    require(scanner.request != nil || scanner.state != .ours, "a scan is left on")
}
