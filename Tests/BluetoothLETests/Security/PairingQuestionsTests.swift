import TestSupport
import Testing

@testable import BluetoothLE

@Suite struct PairingQuestionsTests {
    private enum Input: Hashable {
        case ask(PairingQuestion, BluetoothAddress, PairingQuestions.Verdict)
        case askFirst
        /// The agent returns from a call.
        case answer(Int, PairingAnswer)
        case late
        case abort(BluetoothAddress)
        case end(BluetoothAddress)
        case endAll
    }

    /// The waiting party for a call of the agent to return.
    private enum Waiting: Hashable {
        case device(BluetoothAddress)
        /// None any more.
        case cancelled(BluetoothAddress)
        /// A request of this program.
        case request
    }

    /// A state machine with a model of its agent and kernel.
    private struct Fixture: Hashable {
        var questions = PairingQuestions(limit: 2)
        var calls: [Int: Waiting] = [:]
        /// The questions without an answer to the kernel.
        var unanswered: [BluetoothAddress: PairingQuestion] = [:]
    }

    private static let peer = BluetoothAddress(1, kind: .public)
    private static let other = BluetoothAddress(2, kind: .public)
    private static let start = KernelInstant(nanoseconds: 0)
    private static let later = start.advanced(by: .seconds(60))

    private static func link(_ peer: BluetoothAddress) -> LinkAddresses {
        LinkAddresses(connected: peer, known: peer)
    }

    private func inputs(_ fixture: Fixture, _ questions: [PairingQuestion]) -> [Input] {
        var inputs: [Input] = [.askFirst, .late, .abort(Self.peer), .end(Self.peer), .end(Self.other), .endAll]
        for question in questions {
            inputs += [PairingQuestions.Verdict.ask, .refuse(.bondStoreFull)].map { .ask(question, Self.peer, $0) }
            inputs.append(.ask(question, Self.other, .ask))
        }
        inputs += [PairingQuestions.Verdict.accept, .refuse(.keyMissing)].map { .ask(.confirm, Self.peer, $0) }
        return inputs + fixture.calls.keys.flatMap { [.answer($0, .yes), .answer($0, .no)] }
    }

    private func step(_ fixture: inout Fixture, _ input: Input, _ path: [Input]) {
        let before = fixture.questions.dialogs
        let (actions, moment) = (perform(input, on: &fixture), input == .late ? Self.later : Self.start)
        for action in actions { perform(action, on: &fixture, path, input) }
        switch input {
        case .end(let peer): fixture.unanswered[peer] = nil
        case .endAll: fixture.unanswered = [:]
        default: break
        }
        check(fixture, at: moment, path, input)
        for (peer, dialog) in fixture.questions.dialogs {
            guard let before = before[peer], before.refusal != nil else { continue }
            #expect(dialog.refusal == before.refusal, "\(path) \(input)")
        }
    }

    private func perform(_ input: Input, on fixture: inout Fixture) -> [PairingQuestions.Action] {
        switch input {
        case .ask(let question, let peer, let verdict):
            fixture.unanswered[peer] = question.wantsAnswer ? question : nil
            let request = PairingRequest(peer: peer, adapter: "hci0", isInitiatedHere: false)
            return fixture.questions.asked(question, request, verdict, at: Self.start)
        case .askFirst:
            if let call = fixture.questions.beginCall() { fixture.calls[call] = .request }
            return []
        case .answer(let call, let answer):
            switch fixture.calls.removeValue(forKey: call) {
            case .device(let peer), .cancelled(let peer):
                return fixture.questions.answered(call, answer, of: peer, at: Self.start)
            case .request, nil:
                fixture.questions.endCall(call)
                return []
            }
        case .late: return fixture.questions.late(at: Self.later)
        case .abort(let peer): return fixture.questions.abort(Self.link(peer), at: Self.start)
        case .end(let peer): return fixture.questions.end(Self.link(peer))
        case .endAll: return fixture.questions.endAll()
        }
    }

    private func perform(
        _ action: PairingQuestions.Action, on fixture: inout Fixture, _ path: [Input], _ input: Input
    ) {
        switch action {
        case .ask(let call, _, let request):
            #expect(fixture.calls[call] == nil, "a call's number is used twice: \(path) \(input)")
            fixture.calls[call] = .device(request.peer)
        case .cancel(let call):
            // A call that has returned is not cancelled, and neither is one whose answer does not matter.
            guard case .device(let peer) = fixture.calls[call] else {
                Issue.record("nothing to cancel: \(path) \(input)")
                return
            }
            fixture.calls[call] = .cancelled(peer)
        case .reply(let answer, let question, let peer):
            #expect(fixture.unanswered[peer] == question, "\(path) \(input)")
            fixture.unanswered[peer] = nil
            switch input {
            case .late, .abort: #expect(answer == .no, "\(path) \(input)")
            case .answer(_, let given): #expect(answer == given, "\(path) \(input)")
            default: break
            }
        case .disconnect(let peer): #expect(fixture.unanswered[peer] == nil, "\(path) \(input)")
        }
    }

    private func check(_ fixture: Fixture, at moment: KernelInstant, _ path: [Input], _ input: Input) {
        let questions = fixture.questions
        #expect(questions.calls == Set(fixture.calls.keys), "\(path) \(input)")
        #expect((questions.nextMoment == nil) == questions.dialogs.isEmpty, "\(path) \(input)")
        #expect(questions.nextMoment.map { $0 > moment } != false, "\(path) \(input)")
        // The agent is asked about the devices with an open question, for which the kernel waits.
        var asked: [BluetoothAddress: Int] = [:]
        for case (let call, .device(let peer)) in fixture.calls { asked[peer] = call }
        #expect(asked == questions.dialogs.compactMapValues { $0.open?.call }, "\(path) \(input)")
        let open = questions.dialogs.compactMapValues { $0.open?.question }.filter { $0.value.wantsAnswer }
        #expect(fixture.unanswered == open, "\(path) \(input)")
    }

    @Test func everyInputInEveryState() throws {
        let number = try #require(Passkey(123_456))
        let questions: [PairingQuestion] = [.confirm, .compare(number), .show(number, enteredCount: 0)]
        let reached = try explore(from: Fixture(), inputs: { inputs($0, questions) }, step: { step(&$0, $1, $2) })
        let refusals = Set(reached.compactMap { $0.state.questions.dialogs[Self.peer] }.map(\.refusal))
        #expect(refusals == [nil, .keyMissing, .bondStoreFull, .notConfirmed])
        // Every state comes to rest without further events.
        for (state, path) in reached {
            var fixture = state
            for input in [Input.abort(Self.peer), .endAll] { step(&fixture, input, path) }
            for call in fixture.calls.keys { step(&fixture, .answer(call, .yes), path) }
            #expect(fixture == Fixture(), "\(path)")
        }
    }

    @Test func aRefusalIsTheReasonOfTheFailure() throws {
        let number = try #require(Passkey(123_456))
        let request = PairingRequest(peer: Self.peer, adapter: "hci0", isInitiatedHere: true)
        func refusal(_ question: PairingQuestion?, _ verdict: PairingQuestions.Verdict = .ask) -> PairingFailure? {
            var questions = PairingQuestions()
            if let question { _ = questions.asked(question, request, verdict, at: Self.start) }
            return questions.refusal(Self.link(Self.peer))
        }
        #expect(refusal(nil) == nil)
        #expect(refusal(.confirm, .accept) == nil)
        #expect(refusal(.compare(number)) == nil)
        #expect(refusal(.confirm, .refuse(.keyMissing)) == .keyMissing)
        #expect(refusal(.show(number, enteredCount: 0), .refuse(.bondStoreFull)) == .bondStoreFull)
    }

    @Test func heldQuestionsAreBoundedAndShortLived() {
        var questions = PairingQuestions(limit: 2)
        func hold(_ question: PairingQuestion, _ peer: BluetoothAddress = Self.peer) -> Bool {
            questions.hold(question, peer, at: Self.start)
        }
        func release(at moment: KernelInstant = Self.start) -> PairingQuestion? {
            questions.release(Self.peer, at: moment)
        }
        #expect(hold(.confirm) && hold(.enter))
        #expect(release() == .enter)
        #expect(release() == nil)
        #expect(hold(.confirm))
        #expect(release(at: Self.later) == nil)
        #expect(hold(.confirm) && hold(.confirm, Self.other))
        #expect(!hold(.confirm, BluetoothAddress(3, kind: .public)))
        #expect(release() == nil)
    }

    /// The keys of a pairing may come after the end of its link, within 30 s of the answer.
    @Test func aKeyIsOfAPairingThatTheProgramHasAgreedTo() {
        var pairings = AgreedPairings()
        let third = BluetoothAddress(3, kind: .public)
        func isAgreed(
            _ identity: BluetoothAddress, _ privateAddress: BluetoothAddress? = nil, after seconds: Double = 0
        ) -> Bool {
            pairings.haveMadeKey(of: identity, privateAddress, at: Self.start.advanced(by: .seconds(seconds)))
        }
        #expect(!isAgreed(Self.peer))
        pairings.add(Self.peer, at: Self.start)
        #expect(isAgreed(Self.peer, after: 29.999))
        #expect(isAgreed(Self.other, Self.peer, after: 29.999), "the second key of legacy pairing")
        #expect(!isAgreed(Self.peer, after: 30))
        #expect(!isAgreed(Self.other, after: 1), "its key is there")
        pairings.add(Self.peer, at: Self.start)
        #expect(!isAgreed(third, Self.other, after: 1), "another private address")
        #expect(isAgreed(third, after: 1), "the only open pairing")
        pairings.add(Self.peer, at: Self.start)
        pairings.add(Self.other, at: Self.start)
        #expect(!isAgreed(third, after: 1), "one of two open pairings")
        pairings.remove(Self.other)
        #expect(isAgreed(third, after: 1))
    }
}
