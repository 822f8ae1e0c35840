import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// The events of a link and the questions of its client, for every input in every state.
@Suite struct LinkEventTests {
    private final class Receiver: LinkEventReceiver {
        private(set) var told: [String] = []

        func receive(_ event: LinkEvent) {
            switch event {
            case .value(let value, let handle): told.append("value \(value) of \(handle)")
            case .servicesChanged(let range): told.append("changed \(range)")
            case .began(let id): told.append("began \(id)")
            case .answered(let id, let value): told.append("answered \(id) \(value)")
            case .failed(let id, let error): told.append("failed \(id) \(error.code)")
            }
        }
    }

    private enum Input: CaseIterable { case begin, answer, fail }

    /// The beginning of a request is reported once, however many packets it takes; each outcome as it arrives.
    @Test func everyReportOfARequest() {
        for first in Input.allCases {
            for second in Input.allCases {
                for third in Input.allCases {
                    let (events, receiver) = (LinkEvents(), Receiver())
                    events.receiver = receiver
                    let report = RequestReport(7, to: events)
                    var expected: [String] = []
                    for input in [first, second, third] {
                        switch input {
                        case .begin:
                            report.begin()
                            if !expected.contains("began 7") { expected.append("began 7") }
                        case .answer:
                            report.answer([1])
                            expected.append("answered 7 [1]")
                        case .fail:
                            report.fail(.noAdapter(.init("ask")))
                            expected.append("failed 7 noAdapter")
                        }
                    }
                    #expect(receiver.told == expected, "\(first) \(second) \(third)")
                }
            }
        }
    }

    @Test func aReleasedReceiverGetsNoEvents() {
        let events = LinkEvents()
        do {
            let receiver = Receiver()
            events.receiver = receiver
            events.send(.began(1))
            #expect(receiver.told == ["began 1"])
        }
        #expect(events.receiver == nil)
        events.send(.began(2))
    }

    private final class Answers: AnswerReceiver {
        let isInTime: Bool
        let told = Mutex<[String]>([])

        init(isInTime: Bool) { self.isInTime = isInTime }

        func resolve(_ answer: PeerQuestion.Answer) -> Bool {
            told.withLock { told in
                switch answer {
                case .success(let value): told.append("\(value)")
                case .failure(let code): told.append("\(code)")
                }
            }
            return isInTime
        }
    }

    private enum Answer: CaseIterable { case value, refusal, none }

    /// The first answer counts if it is in time; a dropped question is answered with Unlikely Error.
    @Test(arguments: [false, true]) func everyAnswerToAQuestion(isInTime: Bool) {
        for first in Answer.allCases {
            for second in Answer.allCases {
                let receiver = Answers(isInTime: isInTime)
                var counted: [Bool] = []
                do {
                    let question = PeerQuestion(for: receiver)
                    for answer in [first, second] {
                        switch answer {
                        case .value: counted.append(question.resolve(.success([1])))
                        case .refusal: counted.append(question.resolve(.failure(.readNotPermitted)))
                        case .none: break
                        }
                    }
                }
                let decisive = [first, second].first { $0 != .none }
                let expected =
                    switch decisive {
                    case .value?: "[1]"
                    case .refusal?: "\(ATTErrorCode.readNotPermitted)"
                    case .none?, nil: "\(ATTErrorCode.unlikelyError)"
                    }
                #expect(receiver.told.withLock { $0 } == [expected], "\(first) \(second)")
                #expect(counted.first ?? isInTime == isInTime)
                #expect(!counted.dropFirst().contains(true))
            }
        }
    }
}
