import BluetoothLoop
import Synchronization
import Testing

import BluetoothLE

/// A user who is asked in words, for several devices at the same time.
@Suite struct TextPairingAgentTests {
    /// The user's screen, and answers given when the test says so.
    private final class User: Sendable {
        private let lines = Mutex<[String]>([])
        private let answer = Mutex<Promise<String?, Never>>(Promise())
        private let asked: AsyncStream<String>.Continuation
        let questions: AsyncStream<String>

        init() {
            let made = AsyncStream.makeStream(of: String.self)
            questions = made.stream
            asked = made.continuation
        }

        var shown: [String] { lines.withLock { $0 } }

        func say(_ line: String) { answer.withLock { $0 }.succeed(line) }

        var agent: TextPairingAgent {
            TextPairingAgent(
                show: { line in self.lines.withLock { $0.append(line) } },
                ask: { question in
                    let answer = Promise<String?, Never>()
                    self.answer.withLock { $0 = answer }
                    self.asked.yield(question)
                    return await answer.value(ifCancelled: nil)
                })
        }
    }

    private static func request(_ number: UInt64) -> PairingRequest {
        PairingRequest(
            peer: BluetoothAddress(0xC098_E512_3400 + number, kind: .random), adapter: "hci0", isInitiatedHere: false)
    }

    @Test func anAnswerForOneDeviceReachesNoOther() async throws {
        try await Fixture.run { fixture in
            let user = User()
            let agent = user.agent
            var questions = user.questions.makeAsyncIterator()
            let first = fixture.begin { try await agent.confirmPairing(Self.request(1)) }
            let question1 = await questions.next()
            #expect(question1?.contains("12:34:01") == true)
            let isStrangerIn = try await agent.confirmPairing(Self.request(2))
            #expect(!isStrangerIn)
            let number = try #require(Passkey(4711))
            let isSame = try await agent.compareNumber(number, Self.request(2))
            #expect(!isSame)
            let entered = try await agent.enterPasskey(Self.request(2))
            #expect(entered == nil)
            #expect(user.shown.count == 3 && user.shown.allSatisfy { $0.contains("12:34:02 was refused") })
            user.say("y")
            let isConfirmed = try await first.value
            #expect(isConfirmed)
            // The next question is allowed.
            let second = fixture.begin { try await agent.confirmPairing(Self.request(2)) }
            let question2 = await questions.next()
            #expect(question2?.contains("12:34:02") == true)
            user.say("n")
            let isRefused = try await second.value
            #expect(!isRefused)
            #expect(user.shown.count == 3)
        }
    }

    @Test func aCancelledQuestionAllowsTheNext() async throws {
        try await Fixture.run { fixture in
            let user = User()
            let agent = user.agent
            var questions = user.questions.makeAsyncIterator()
            let first = fixture.begin { try await agent.confirmPairing(Self.request(1)) }
            let question3 = await questions.next()
            #expect(question3 != nil)
            first.cancel()
            let isConfirmed = try await first.value
            #expect(!isConfirmed)
            let second = fixture.begin { try await agent.confirmPairing(Self.request(2)) }
            let question4 = await questions.next()
            #expect(question4?.contains("12:34:02") == true)
            user.say("yes")
            let isSecondConfirmed = try await second.value
            #expect(isSecondConfirmed)
            #expect(user.shown.isEmpty)
        }
    }
}
