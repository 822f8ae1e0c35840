import BluetoothLE
import Foundation
import Testing

@testable import CoreBluetooth

/// The pairing agent that the environment selects.
@Suite struct TerminalTests {
    private static let request = PairingRequest(
        peer: BluetoothAddress(0xC098_E512_3458, kind: .random), adapter: "hci0", isInitiatedHere: false)

    @Test func theEnvironmentChoosesWhoAnswers() async throws {
        func agent(_ word: String) -> (any PairingAgent)? {
            CBLinux.Configuration(environment: { ["BLUETOOTH_PAIRING": word][$0] }).agent
        }
        #expect(agent("") == nil)
        #expect(agent("4711") == nil)
        #expect(agent("terminal")?.ioCapability == .keyboardDisplay)
        #expect(try await agent("accept")?.confirmPairing(Self.request) == true)
        #expect(try await agent("refuse")?.confirmPairing(Self.request) == false)
        let fixed = try #require(agent("004711"))
        #expect(try await fixed.enterPasskey(Self.request) == Passkey(4711))
        #expect(fixed.refusesJustWorks)
        #expect(try await !fixed.confirmPairing(Self.request))
        let wrong = CBLinux.Configuration(environment: { ["BLUETOOTH_PAIRING": "12345678"][$0] })
        #expect(wrong.pairingProblem?.code == .invalidArgument)
        #expect(wrong.pairingProblem.map { "\($0)".contains("1234") } == false)
        #expect(throws: BluetoothError.self) { try wrong.makeSource() }
        // It applies only if the environment selects the agent.
        let chosen = CBLinux.Configuration()
        let withBase = CBLinux.Configuration(base: chosen, agent: nil, environment: wrong)
        #expect(withBase.pairingProblem?.code == .invalidArgument)
        #expect(throws: BluetoothError.self) { try withBase.makeSource() }
        let withAgent = CBLinux.Configuration(base: nil, agent: JustWorksPairingAgent(), environment: wrong)
        #expect(withAgent.problem == nil && withAgent.pairingProblem == nil)
        #expect(withAgent.agent is JustWorksPairingAgent)
    }

    /// A terminal whose user writes into a pipe.
    private func withTerminal(_ body: (Terminal, FileHandle) async throws -> Void) async throws {
        let pipe = Pipe()
        try await body(Terminal(input: pipe.fileHandleForReading.fileDescriptor), pipe.fileHandleForWriting)
        withExtendedLifetime(pipe) {}
    }

    @Test func theUserAnswersLineByLine() async throws {
        try await withTerminal { terminal, user in
            let agent = TextPairingAgent(on: terminal)
            for (line, answer) in [("y\n", true), ("yes\n", true), (" Yes \r\n", true), ("n\n", false), ("\n", false)] {
                user.write(Data(line.utf8))
                #expect(try await agent.confirmPairing(Self.request) == answer)
            }
            user.write(Data("004711\n".utf8))
            #expect(try await agent.enterPasskey(Self.request) == Passkey(4711))
            user.write(Data("no number\n".utf8))
            #expect(try await agent.enterPasskey(Self.request) == nil)
            // A line that never ends is no answer.
            user.write(Data(String(repeating: "y", count: 2000).utf8) + Data("\n".utf8))
            let endless = try await agent.confirmPairing(Self.request)
            #expect(!endless)
            try user.close()
            let atTheEnd = try await agent.confirmPairing(Self.request)
            #expect(!atTheEnd)
        }
    }

    /// At a terminal, unlike in a pipe, input typed before the question is no answer to it.
    @Test func whatWasTypedBeforeIsNoAnswer() async throws {
        var (keyboard, input): (Int32, Int32) = (-1, -1)
        try #require(openpty(&keyboard, &input, nil, nil, nil) == 0)
        let ends = (keyboard: keyboard, input: input)
        defer {
            close(ends.keyboard)
            close(ends.input)
        }
        let screen = Pipe()
        let (shown, output) = (screen.fileHandleForReading.fileDescriptor, screen.fileHandleForWriting.fileDescriptor)
        let written = write(ends.keyboard, "y\n", 2)
        #expect(written == 2)
        var typed = pollfd(fd: ends.input, events: Int16(POLLIN), revents: 0)
        let isThere = poll(&typed, 1, 10_000)
        #expect(isThere == 1)
        // The user answers when the question is open.
        Thread.detachNewThread {
            var block = [UInt8](repeating: 0, count: 64)
            if read(shown, &block, block.count) > 0 { _ = write(ends.keyboard, "n\n", 2) }
        }
        let answer = await Terminal(input: ends.input, output: output).ask("Really?")
        #expect(answer == "n")
        withExtendedLifetime(screen) {}
    }

    @Test func aQuestionThatIsWithdrawnTakesNoAnswer() async throws {
        try await withTerminal { terminal, user in
            let agent = TextPairingAgent(on: terminal)
            for _ in 0..<20 {
                let question = Task { try await agent.confirmPairing(Self.request) }
                question.cancel()
                let isConfirmed = try await question.value
                #expect(!isConfirmed)
            }
            user.write(Data("y\n".utf8))
            let isConfirmed = try await agent.confirmPairing(Self.request)
            #expect(isConfirmed)
            // Lines that arrive at once answer one question after the other.
            user.write(Data("y\nn\ny\n".utf8))
            for answer in [true, false, true] {
                #expect(try await agent.confirmPairing(Self.request) == answer)
            }
            // Several questions are answered in turn.
            async let first = terminal.ask("one")
            async let second = terminal.ask("two")
            user.write(Data("a\n".utf8))
            user.write(Data("b\n".utf8))
            let answers = await [first, second]
            #expect(Set(answers) == ["a", "b"])
        }
    }
}
