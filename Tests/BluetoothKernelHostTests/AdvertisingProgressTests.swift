import BluetoothHost
import TestSupport
import Testing

@testable import BluetoothKernelHost

@Suite struct AdvertisingProgressTests {
    /// The state machine with a model of the kernel.
    private struct Fixture: Hashable {
        var progress = AdvertisingProgress()
        /// The instance in the kernel.
        var kernel: UInt8?
        /// Whether a caller waits for the kernel to apply the set.
        var isWaited = true
        var hasEnded = false
    }

    private static let refusal = BluetoothError(.failed, .init("test"), "refused")
    private static let reason = BluetoothError(.cancelled, .init("test"), "ended")
    private static let inputs: [AdvertisingProgress.Input] = [
        .resend, .beginSending, .use(1), .use(nil), .sent, .refused(refusal), .instanceRemoved, .lossExplained(reason),
        .retry, .linkEnded, .end(reason),
        .adapterLeft(reason, isAbsent: false, resumes: false), .adapterLeft(reason, isAbsent: false, resumes: true),
        .adapterLeft(reason, isAbsent: true, resumes: false), .adapterLeft(reason, isAbsent: true, resumes: true),
    ]

    private func isSending(_ fixture: Fixture) -> Bool {
        if case .sending = fixture.progress.state { true } else { false }
    }

    /// The possible inputs, given the outstanding requests and the kernel's state.
    private func inputs(_ fixture: Fixture) -> [AdvertisingProgress.Input] {
        Self.inputs.filter {
            switch $0 {
            case .beginSending: fixture.progress.isPending
            case .use(.some): isSending(fixture) && fixture.progress.instance == nil
            case .use(nil): fixture.progress.instance != nil && (isSending(fixture) || fixture.progress.hasEnded)
            // The kernel can only have accepted an instance that was named to it.
            case .sent: isSending(fixture) && (fixture.progress.instance != nil || fixture.progress.hasEnded)
            // What the kernel has refused is taken back first.
            case .refused: isSending(fixture) && fixture.progress.instance == nil
            case .instanceRemoved: fixture.progress.instance != nil
            default: true
            }
        }
    }

    private func step(
        _ fixture: inout Fixture, _ input: AdvertisingProgress.Input, _ path: [AdvertisingProgress.Input]
    ) {
        let place: Comment = "\(path) \(input)"
        let before = fixture
        let events = fixture.progress.receive(input)
        switch input {
        case .use(nil), .instanceRemoved, .adapterLeft(_, isAbsent: true, _): fixture.kernel = nil
        case .sent: fixture.kernel = before.progress.instance
        case .resend: if !fixture.progress.hasEnded { fixture.isWaited = true }
        default: break
        }
        for event in events {
            #expect(!fixture.hasEnded, "reported after the end: \(place)")
            switch event {
            case .applied(nil):
                #expect(fixture.progress.state == .advertising(instance: 1), place)
                fixture.isWaited = false
            case .applied: fixture.isWaited = false
            case .state(let state) where state.closed != nil: (fixture.isWaited, fixture.hasEnded) = (false, true)
            case .state, .parameters, .removed: break
            }
        }
        #expect(fixture.hasEnded == fixture.progress.hasEnded, place)
        // No instance of the kernel is forgotten.
        #expect(fixture.kernel == nil || fixture.progress.instance == fixture.kernel, place)
        #expect(!before.progress.hasBegun || fixture.progress.hasBegun, place)
        if isSending(before), !isSending(fixture) {
            let isAnswer =
                switch input {
                case .sent, .refused: true;
                default: false
                }
            #expect(isAnswer, "no longer sending without an answer: \(place)")
        }
        switch fixture.progress.state {
        case .pending, .sending: break
        case .advertising, .lost, .refused, .ended: #expect(!fixture.isWaited, place)
        }
        // A state with a time limit ends only by that or by the kernel.
        #expect((fixture.progress.limit != nil) == [.lost, .refused].contains(fixture.progress.state), place)
    }

    @Test func everyInputInEveryState() throws {
        let reached = try explore(from: Fixture(), inputs: inputs) { step(&$0, $1, $2) }
        let states = Set(reached.map(\.state.progress.state))
        let sequels: [AdvertisingProgress.Sequel] = [.nothing, .retry, .resendIfSent, .resend, .remove]
        for sequel in sequels { #expect(states.contains(.sending(instance: 1, then: sequel)), "\(sequel)") }
        #expect(states.isSuperset(of: [.lost, .refused, .advertising(instance: 1), .ended(instance: nil)]))
        for (state, path) in reached {
            var fixture = state
            settle(&fixture, path)
            let isAtRest = fixture.progress.state == .advertising(instance: 1) || fixture.hasEnded
            #expect(isAtRest, "no way on the air: \(path)")
            step(&fixture, .end(Self.reason), path)
            if fixture.progress.instance != nil { step(&fixture, .use(nil), path) }
            #expect(fixture.kernel == nil, "left behind: \(path)")
        }
    }

    /// Lets time pass, with a kernel that accepts everything.
    private func settle(_ fixture: inout Fixture, _ path: [AdvertisingProgress.Input]) {
        for _ in 0..<10 {
            switch fixture.progress.state {
            case .pending: step(&fixture, .beginSending, path)
            case .sending(instance: nil, then: .remove): step(&fixture, .sent, path)
            case .sending(instance: nil, _): step(&fixture, .use(1), path)
            case .sending: step(&fixture, .sent, path)
            case .lost: step(&fixture, .lossExplained(Self.reason), path)
            case .refused: step(&fixture, .retry, path)
            case .advertising, .ended: return
            }
        }
    }

    @Test func aKernelThatRemovesWhatItRefusesIsNotAskedAtOnce() {
        var progress = AdvertisingProgress()
        for input in [AdvertisingProgress.Input.beginSending, .use(1), .sent, .resend, .beginSending] {
            _ = progress.receive(input)
        }
        _ = progress.receive(.instanceRemoved)
        #expect(progress.receive(.refused(Self.refusal)).contains(.applied(Self.refusal)))
        #expect(progress.state == .refused)
        #expect(progress.receive(.linkEnded) == [])
        #expect(progress.isPending)
    }
}
