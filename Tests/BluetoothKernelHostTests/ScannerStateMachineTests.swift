import BluetoothHost
import BluetoothHCI
import TestSupport
import Testing

@testable import BluetoothKernelHost

@Suite struct ScannerStateMachineTests {
    private enum Input: Hashable {
        case request(ScanSettings?)
        case advance
        case succeed
        case refuse(HCIStatus)
        case discoveryEnded(ScannerStateMachine.DiscoveryEnd, isDaemonRunning: Bool)
        case other(AnyHCICommand?, HCIStatus)

        /// The answer to another program's command, which always fits.
        static func other(_ command: some HCICommand, _ status: HCIStatus) -> Input {
            .other(try? AnyHCICommand(command), status)
        }

        case connectionAttemptEnded
        case holdEnded
        case wentOff
        case discovery(isOn: Bool)
        case stopWatching
        case forget
        case beginAnew

        var isAnswer: Bool {
            switch self {
            case .succeed, .refuse, .discoveryEnded: true
            default: false
            }
        }
    }

    /// The state machine and its outstanding actions.
    private struct Fixture: Hashable {
        var scanner = ScannerStateMachine()
        var step: ScannerStateMachine.Step?
    }

    private static func timing(_ type: LEScanType) -> LEScanTiming {
        LEScanTiming(type: type, interval: 0x10, window: 0x10)
    }

    private static let active = ScanSettings(le1M: timing(.active))
    private static let passive = ScanSettings(le1M: timing(.passive))

    private static let connecting = LECreateConnection(
        scanInterval: 0x60, scanWindow: 0x60, peer: LEPeerAddress(.zero),
        parameters: LEConnectionParameters(
            intervalMinimum: 24, intervalMaximum: 40, latency: 0, supervisionTimeout: 42))

    private static let inputs: [Input] = {
        var inputs: [Input] = [
            .request(nil), .request(active), .advance, .succeed, .refuse(.commandDisallowed),
            .refuse(.hardwareFailure), .connectionAttemptEnded, .holdEnded, .wentOff, .discovery(isOn: true),
            .discovery(isOn: false), .stopWatching, .forget, .beginAnew, .other(HCIReset(), .success),
            .other(LESetRandomAddress(.zero), .success),
            .other(LESetScanParameters(timing: timing(.active)), .success),
            .other(LESetScanEnable(true, duplicates: .enabled), .success),
            .other(LESetScanEnable(true, duplicates: .disabled), .success),
            .other(LESetScanEnable(true, duplicates: .disabled), .commandDisallowed),
            .other(LESetScanEnable(false, duplicates: .disabled), .success),
            .other(connecting, .success),
            .other(HCIDisconnect(ConnectionHandle(0x40), reason: .remoteDevicePoweringOff), .success),
        ]
        for end in [ScannerStateMachine.DiscoveryEnd.ended, .none, .otherTypes, .unknown] {
            inputs += [.discoveryEnded(end, isDaemonRunning: false)]
        }
        return inputs + [.discoveryEnded(.unknown, isDaemonRunning: true)]
    }()

    private func inputs(_ fixture: Fixture) -> [Input] {
        Self.inputs.filter {
            switch $0 {
            case .succeed, .refuse: fixture.step != nil && !fixture.scanner.isEndingDiscovery
            case .discoveryEnded: fixture.scanner.isEndingDiscovery
            default: true
            }
        }
    }

    /// Performs an input and the controller's reactions, as long as a scan is declared.
    private func step(_ fixture: inout Fixture, _ input: Input, _ path: [Input]) {
        let before = fixture
        switch input {
        case .request(let settings): fixture.scanner.request = settings
        case .advance: break
        case .succeed: fixture.scanner.succeed(.legacy)
        case .refuse(let status): _ = fixture.scanner.refuse(status)
        case .discoveryEnded(let end, let isDaemonRunning):
            fixture.scanner.discoveryEnded(end, isDaemonRunning: isDaemonRunning)
        case .other(let command, let status):
            let isAboutScanner = command.map { fixture.scanner.otherCommand($0, status) }
            #expect(isAboutScanner == true)
        case .connectionAttemptEnded: fixture.scanner.connectionAttemptEnded()
        case .holdEnded: fixture.scanner.holdEnded()
        case .wentOff: fixture.scanner.scannerWentOff()
        case .discovery(let isOn): fixture.scanner.discoveryChanged(.lowEnergy, isOn: isOn)
        case .stopWatching: fixture.scanner.stoppedWatching()
        case .forget: fixture.scanner.forgetController()
        case .beginAnew: fixture.scanner.beginAnew()
        }
        if input.isAnswer || input == .forget { fixture.step = nil }
        #expect(fixture.scanner.isBusy == (fixture.step != nil), "\(path) \(input)")
        if before.scanner.state != .ours, fixture.scanner.state == .ours {
            #expect(before.step == .enable && input == .succeed, "ours without our command: \(path) \(input)")
        }
        if input == .advance || input.isAnswer || fixture.scanner.request != nil { advance(&fixture, path) }
    }

    private func advance(_ fixture: inout Fixture, _ path: [Input]) {
        while let action = fixture.scanner.advance() {
            switch action {
            case .announceListening: #expect(fixture.step == nil, "\(path)")
            case .perform(let step):
                #expect(fixture.step == nil, "two steps: \(path)")
                #expect(!fixture.scanner.isReconciled, "\(path)")
                fixture.step = step
            }
        }
    }

    @Test func everyInputInEveryState() throws {
        let reached = try explore(from: Fixture(), depth: 7, inputs: inputs) { step(&$0, $1, $2) }
        let states = Set(reached.map(\.state.scanner.state))
        for treatment in [ScannerStateMachine.Treatment.undecided, .probed, .heard] {
            #expect(states.contains(.others(treatment, filtersDuplicates: false)), "\(treatment)")
        }
        #expect(states.isSuperset(of: [.unknown, .off, .ours]))
        for (state, path) in reached {
            for request in [nil, Self.active, Self.passive] {
                var fixture = state
                fixture.scanner.request = request
                settle(&fixture, path)
                if case .others(.heard, _) = fixture.scanner.state, request != nil {
                    // The end of a discovery whose reports are used is always reported.
                    step(&fixture, .discovery(isOn: false), path)
                    settle(&fixture, path)
                }
                checkAtRest(fixture, path)
            }
        }
    }

    private func checkAtRest(_ fixture: Fixture, _ path: [Input]) {
        let scanner = fixture.scanner
        #expect(scanner.isReconciled && !scanner.isBusy, "\(path)")
        switch scanner.state {
        case .ours: #expect(scanner.request != nil, "left on: \(path)")
        case .off, .unknown: #expect(scanner.request == nil && !scanner.leavesDiscovery, "does not scan: \(path)")
        case .others(let treatment, _): #expect(treatment != .probed || scanner.request == nil, "\(path)")
        }
        var again = scanner
        let action = again.advance()
        #expect(action == nil && again == scanner, "not at rest: \(path)")
    }

    /// Lets time pass, without other programs and with a controller that accepts everything.
    private func settle(_ fixture: inout Fixture, _ path: [Input]) {
        var last: ScannerStateMachine.Step?
        for _ in 0..<40 {
            if let done = fixture.step {
                #expect(done != last, "\(done) twice: \(path)")
                last = done
                step(&fixture, fixture.scanner.isEndingDiscovery ? endOfDiscovery(fixture) : .succeed, path)
            } else if fixture.scanner.hold != nil {
                step(&fixture, .holdEnded, path)
            } else {
                let before = fixture
                step(&fixture, .advance, path)
                if fixture == before { return }
            }
        }
        Issue.record("does not come to rest: \(path)")
    }

    private func endOfDiscovery(_ fixture: Fixture) -> Input {
        .discoveryEnded(fixture.scanner.leavesDiscovery ? .ended : .none, isDaemonRunning: false)
    }
}
