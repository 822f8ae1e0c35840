import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import Testing

@testable import BluetoothKernelHost

@Suite struct SecurityProcedureTests {
    private static let start = KernelInstant(nanoseconds: 0)
    private static let later = start.advanced(by: .seconds(7))
    private static let reached = LinkSecurity(level: .medium, keySize: 16)
    private static let tooEarly = BluetoothError.Cause.kernel(KernelError("setsockopt", .invalidArgument))
    private static let refused = BluetoothError.Cause.kernel(KernelError("setsockopt", .accessDenied))

    private enum Input: CaseIterable {
        case quiet, begins, reported, alreadySecure, tooEarly, refused, progress, writable, writableTooEarly, late
    }

    private func apply(_ input: Input, to procedure: inout SecurityProcedure) -> [SecurityProcedure.Action] {
        let action: SecurityProcedure.Action?
        switch input {
        case .begins: return procedure.kernelBegins(at: Self.later)
        case .quiet: action = procedure.peerOwesNothing()
        case .reported: action = procedure.linkIsEncrypted(owed: true)
        case .alreadySecure: action = procedure.kernelRefuses(.alreadySecure(Self.reached))
        case .tooEarly: action = procedure.kernelRefuses(.tooEarly(Self.tooEarly))
        case .refused: action = procedure.kernelRefuses(.other(Self.refused))
        case .progress: action = procedure.progresses(at: Self.later)
        case .writable: action = procedure.canSend(Self.reached)
        case .writableTooEarly: action = procedure.canSend(nil)
        case .late: action = procedure.timerFired(owed: true)
        }
        return action.map { [$0] } ?? []
    }

    private func procedure(isBegun: Bool = false, _ inputs: Input...) -> SecurityProcedure {
        var procedure = SecurityProcedure(to: .medium, isBegun: isBegun, at: Self.start)
        for input in inputs { _ = apply(input, to: &procedure) }
        return procedure
    }

    @Test func everyInputInEveryPhase() {
        let limit = SecurityProcedure.Action.setTimer(.seconds(30))
        let pause = SecurityProcedure.Action.setTimer(.milliseconds(50))
        let encrypted = SecurityProcedure.Action.report(.encrypted(Self.reached))
        let begins = [.report(.began), limit, .waitUntilWritable]
        let asking: [Input: [SecurityProcedure.Action]] = [
            .begins: begins, .alreadySecure: [encrypted], .tooEarly: [pause],
            .refused: [.report(.refused(Self.refused))],
        ]
        let phases: [(procedure: SecurityProcedure, answers: [Input: [SecurityProcedure.Action]])] = [
            (procedure(), [.quiet: [.ask(.medium)]]),
            (procedure(.quiet), asking),
            (procedure(isBegun: true), [:]),
            (procedure(isBegun: true, .late), [.quiet: [.ask(.medium)]]),
            (procedure(isBegun: true, .reported, .quiet), asking),
            (procedure(.quiet, .tooEarly), asking.merging([.late: [.ask(.medium)]]) { $1 }),
            (
                procedure(.quiet, .begins),
                [
                    .progress: [limit], .writable: [encrypted], .writableTooEarly: [.waitUntilWritable],
                    .late: [.report(.failed(.timedOut))],
                ]
            ),
            (procedure(.quiet, .refused), [:]),
            (procedure(.quiet, .begins, .writable), [:]),
        ]
        for (number, phase) in phases.enumerated() {
            for input in Input.allCases {
                var procedure = phase.procedure
                let expected = phase.answers[input] ?? []
                #expect(apply(input, to: &procedure) == expected, "\(input) in phase \(number)")
                // Only one event ends it.
                let isOver = expected.contains {
                    if case .report(let event) = $0 { event != .began } else { false }
                }
                #expect(
                    (procedure.phase == .over) == (isOver || phase.procedure.phase == .over),
                    "\(input) in phase \(number)")
            }
        }
    }

    @Test func theKernelIsAskedOrHasBegun() {
        for isOwed in [false, true] {
            var (own, kernels, late) = (procedure(), procedure(isBegun: true), procedure(isBegun: true))
            let ask: SecurityProcedure.Action? = isOwed ? nil : .ask(.medium)
            #expect(own.begin(owed: isOwed) == ask)
            #expect(kernels.begin(owed: isOwed) == .setTimer(.seconds(10)))
            #expect(kernels.linkIsEncrypted(owed: isOwed) == ask)
            #expect(late.timerFired(owed: isOwed) == ask)
        }
    }

    @Test func theKernelIsAskedAgainForASecond() {
        var procedure = procedure(.quiet)
        for _ in 0..<20 { #expect(apply(.tooEarly, to: &procedure) == [.setTimer(.milliseconds(50))]) }
        #expect(apply(.tooEarly, to: &procedure) == [.report(.refused(Self.tooEarly))])
    }

    @Test func progressRestartsTheTimeLimit() {
        #expect(procedure().lastProgress == Self.start)
        #expect(procedure(.progress).lastProgress == Self.start)
        #expect(procedure(.quiet, .begins).lastProgress == Self.later)
    }

    private static let peer = BluetoothAddress(1, kind: .public)
    private static let other = BluetoothAddress(2, kind: .public)
    private static let end = start.advanced(by: .seconds(29))

    @Test func theFailureFollowsTheCourse() throws {
        let number = try #require(Passkey(123_456))
        func failure(
            _ question: PairingQuestion?, hasKey: Bool = false, at moment: KernelInstant = Self.start
        ) -> PairingFailure {
            var courses = PairingCourses()
            if let question { courses.asked(question, Self.peer, at: Self.start) }
            return courses.failure([Self.other, Self.peer], since: Self.start, hasKey: hasKey, at: moment)
        }
        #expect(failure(nil) == .rejected)
        #expect(failure(nil, hasKey: true) == .keyMissing)
        #expect(failure(nil, hasKey: true, at: Self.end) == .timedOut)
        #expect(failure(.confirm, hasKey: true) == .rejected)
        #expect(failure(.compare(number)) == .authenticationFailed)
        #expect(failure(.compare(number), at: Self.end) == .timedOut)
        #expect(failure(.show(number, enteredCount: 0)) == .authenticationFailed)
    }

    @Test func anAnswerIsProgressAndAnEndForgets() throws {
        let number = try #require(Passkey(123_456))
        var courses = PairingCourses()
        courses.asked(.compare(number), Self.peer, at: Self.start)
        courses.answered(Self.peer, at: Self.later)
        #expect(courses.failure([Self.peer], since: nil, hasKey: true, at: Self.end) == .authenticationFailed)
        courses.ended(Self.peer)
        #expect(courses == PairingCourses())
        #expect(courses.failure([Self.peer], since: nil, hasKey: true, at: Self.end) == .keyMissing)
    }

    /// Nothing may report the end of another program's pairing.
    @Test func coursesAreBoundedAndShortLived() throws {
        let number = try #require(Passkey(123_456))
        var courses = PairingCourses()
        for index in 1...65 {
            courses.asked(.compare(number), BluetoothAddress(UInt64(index), kind: .public), at: Self.start)
        }
        let last = [BluetoothAddress(65, kind: .public)]
        #expect(courses.failure(last, since: nil, hasKey: false, at: Self.start) == .rejected)
        let late = Self.start.advanced(by: .seconds(35))
        #expect(courses.failure([Self.peer], since: nil, hasKey: false, at: late) == .rejected)
        courses.asked(.compare(number), last[0], at: late)
        #expect(courses.failure(last, since: nil, hasKey: false, at: late) == .authenticationFailed)
    }
}
