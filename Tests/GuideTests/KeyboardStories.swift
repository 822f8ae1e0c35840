import BluetoothLE
import TestSupport
import Testing

/// Docs/Guide/Keyboard.md
@Suite struct KeyboardStories {
    @Test func aHostReceivesWhatTheKeyboardTypes() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await adapter.setPairingAgent(JustWorksPairingAgent())
            let machine = try await Adapter.open(on: fixture.radio.makeKernel())
            let keyboard = Task(executorPreference: fixture.radio.loop) {
                try await KeyboardPage.fromAProgram(machine)
            }
            let connection = try await adapter.connect { $0.localName == "Label scanner" }
            // The keyboard ends with its text, and the link with the keyboard.
            let host = Task(executorPreference: fixture.radio.loop) { try await KeyboardPage.asAHost(connection) }
            try await keyboard.value
            await machine.close()
            _ = await host.result
            #expect(fixture.lines.joined() == "4006381333931\n")
        }
    }
}
