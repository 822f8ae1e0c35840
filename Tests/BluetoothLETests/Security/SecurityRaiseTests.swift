import BluetoothSockets
import BluetoothPrimitives
import Testing

@testable import BluetoothLE

@Suite struct SecurityRaiseTests {
    private static let start = KernelInstant(nanoseconds: 0)
    private static let later = start.advanced(by: .seconds(7))
    private static let reached = LinkSecurity(level: .medium, keySize: 16)
    private static let tooEarly = BluetoothError.Cause.kernel(KernelError("setsockopt", .invalidArgument))
    private static let refused = BluetoothError.Cause.kernel(KernelError("setsockopt", .accessDenied))

    private enum Input: CaseIterable {
        case agreed, prepared, quiet, begins, alreadySecure, tooEarly, refused, progress, question, writable,
            writableTooEarly
        case late, fails, abandoned, begunByHost, reported
    }

    private func apply(_ input: Input, to raise: inout SecurityRaise) -> [SecurityRaise.Action] {
        let action: SecurityRaise.Action?
        switch input {
        case .agreed:
            raise.userConfirmed()
            action = nil
        case .prepared: action = raise.isPrepared()
        case .quiet: action = raise.isQuiet()
        case .begins: return raise.hostBegins(at: Self.later)
        case .alreadySecure: action = raise.hostRefuses(.alreadySecure(Self.reached))
        case .tooEarly: action = raise.hostRefuses(.tooEarly(Self.tooEarly))
        case .refused: action = raise.hostRefuses(.other(Self.refused))
        case .progress: action = raise.progresses(at: Self.later)
        case .question: action = raise.isAsked(at: Self.later)
        case .writable: action = raise.canSend(Self.reached)
        case .writableTooEarly: action = raise.canSend(nil)
        case .late: action = raise.timerFired()
        case .fails: action = raise.fails(.rejected)
        case .abandoned: action = raise.isAbandoned()
        case .begunByHost: action = raise.hostHasBegun(at: Self.later)
        case .reported: action = raise.encryptionIsReported()
        }
        return action.map { [$0] } ?? []
    }

    private func raise(_ inputs: Input...) -> SecurityRaise {
        var raise = SecurityRaise(to: .medium, isWanted: false, at: Self.start)
        for input in inputs { _ = apply(input, to: &raise) }
        return raise
    }

    private func outcome(isPaired: Bool) -> SecurityRaise.Action {
        .succeed(SecurityRaiseResult(security: Self.reached, isPaired: isPaired))
    }

    @Test func everyInputInEveryPhase() {
        let limit = SecurityRaise.Action.setTimer(.seconds(30))
        let pause = SecurityRaise.Action.setTimer(.milliseconds(50))
        let paired = SecurityRaise.Action.succeed(SecurityRaiseResult(security: Self.reached, isPaired: true))
        let phases: [(raise: SecurityRaise, answers: [Input: [SecurityRaise.Action]])] = [
            (raise(), [.prepared: [.quiesce], .abandoned: [.giveUp], .begunByHost: [.setTimer(.seconds(10))]]),
            (
                raise(.begunByHost),
                [
                    .reported: [.askHost(.medium)], .late: [.askHost(.medium)], .fails: [.endLink(.rejected)],
                    .abandoned: [.endLink(nil)],
                ]
            ),
            (
                raise(.begunByHost, .reported),
                [
                    .quiet: [.askHost(.medium)], .begins: [limit, .waitUntilWritable],
                    .alreadySecure: [outcome(isPaired: false)], .tooEarly: [pause], .refused: [.refuse(Self.refused)],
                    .abandoned: [.giveUp],
                ]
            ),
            (
                raise(.prepared),
                [
                    .quiet: [.askHost(.medium)], .begins: [limit, .waitUntilWritable],
                    .alreadySecure: [outcome(isPaired: false)], .tooEarly: [pause], .refused: [.refuse(Self.refused)],
                    .abandoned: [.giveUp],
                ]
            ),
            (
                raise(.prepared, .tooEarly),
                [
                    .begins: [limit, .waitUntilWritable], .alreadySecure: [outcome(isPaired: false)],
                    .tooEarly: [pause],
                    .refused: [.refuse(Self.refused)], .late: [.askHost(.medium)], .abandoned: [.giveUp],
                ]
            ),
            (
                raise(.prepared, .begins),
                [
                    .progress: [limit], .question: [limit], .writable: [outcome(isPaired: false)],
                    .writableTooEarly: [.waitUntilWritable], .late: [.endLink(.timedOut)],
                    .fails: [.endLink(.rejected)], .abandoned: [.endLink(nil)],
                ]
            ),
            (
                raise(.question, .prepared, .begins),
                [
                    .progress: [limit], .question: [limit], .writable: [paired],
                    .writableTooEarly: [.waitUntilWritable], .late: [.endLink(.timedOut)],
                    .fails: [.endLink(.rejected)], .abandoned: [.endLink(nil)],
                ]
            ),
            (raise(.abandoned), [:]),
        ]
        for (number, phase) in phases.enumerated() {
            for input in Input.allCases {
                var raise = phase.raise
                var expected = phase.answers[input] ?? []
                if input == .fails, !raise.isUnderWay { expected = [.note(.rejected)] }
                #expect(apply(input, to: &raise) == expected, "\(input) in phase \(number)")
                // Only one action ends it.
                let isOver = expected.contains {
                    switch $0 {
                    case .succeed, .refuse, .giveUp, .endLink: true
                    default: false
                    }
                }
                #expect((raise.phase == .over) == (isOver || phase.raise.phase == .over), "\(input) in phase \(number)")
            }
        }
    }

    @Test func theHostIsAskedAgainForASecond() {
        var raise = raise(.prepared)
        for _ in 0..<20 { #expect(apply(.tooEarly, to: &raise) == [.setTimer(.milliseconds(50))]) }
        #expect(apply(.tooEarly, to: &raise) == [.refuse(Self.tooEarly)])
    }

    @Test func aPairingIsOwnOnceTheUserConfirms() {
        #expect(!raise(.prepared).isWanted)
        #expect(raise(.agreed, .prepared).isWanted)
        #expect(SecurityRaise(to: .high, isWanted: true, at: Self.start).isWanted)
    }

    @Test func progressRestartsTheTimeLimit() {
        #expect(raise(.prepared).lastProgress == Self.start)
        #expect(raise(.prepared, .progress).lastProgress == Self.start)
        #expect(raise(.prepared, .begins).lastProgress == Self.later)
    }
}
