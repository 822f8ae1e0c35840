import BluetoothLE
import Foundation
import Testing

@testable import CoreBluetooth

/// Who answers what pairing asks, as the environment has it.
@Suite struct TerminalTests {
    private static let request = PairingRequest(
        peer: BluetoothAddress(0xC098_E512_3458, kind: .random), adapter: "hci0", isInitiatedHere: false)

    @Test func theEnvironmentChoosesWhoAnswers() async throws {
        func agent(_ word: String) -> (any PairingAgent)? {
            CBLinux.Configuration(environment: ["BLUETOOTH_PAIRING": word]).agent
        }
        #expect(agent("") == nil)
        #expect(agent("terminal")?.ioCapability == .keyboardDisplay)
        #expect(try await agent("accept")?.confirmPairing(Self.request) == true)
        #expect(try await agent("refuse")?.confirmPairing(Self.request) == false)
        let fixed = try #require(agent("004711"))
        #expect(try await fixed.enterPasskey(Self.request) == Passkey(4711))
        #expect(try await fixed.confirmPairing(Self.request))
        let wrong = CBLinux.Configuration(environment: ["BLUETOOTH_PAIRING": "12345678"])
        #expect(wrong.problem?.code == .invalidArgument)
        #expect(wrong.problem.map { "\($0)".contains("1234") } == false)
        #expect(throws: BluetoothError.self) { try wrong.makeKernel() }
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
                let isConfirmed = try await agent.confirmPairing(Self.request)
                #expect(isConfirmed == answer)
            }
            user.write(Data("004711\n".utf8))
            let passkey = try await agent.enterPasskey(Self.request)
            #expect(passkey == Passkey(4711))
            user.write(Data("no number\n".utf8))
            let none = try await agent.enterPasskey(Self.request)
            #expect(none == nil)
            // A line that never ends is none.
            user.write(Data(String(repeating: "y", count: 2000).utf8) + Data("\n".utf8))
            let endless = try await agent.confirmPairing(Self.request)
            #expect(!endless)
            try user.close()
            let atTheEnd = try await agent.confirmPairing(Self.request)
            #expect(!atTheEnd)
        }
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
