// The snippets of Docs/Guide/Keyboard.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Keyboard.md
enum KeyboardPage {
    /// From a program
    static func fromAProgram(_ adapter: Adapter) async throws {
        try await adapter.setPairingAgent(JustWorksPairingAgent())
        let keyboard = Keyboard(named: "Label scanner")
        try await keyboard.serve(on: adapter) {
            try await keyboard.hostIsReady()
            try await keyboard.type("4006381333931\n")
        }
    }

    /// As a host
    static func asAHost(_ connection: Connection) async throws {
        let database = try await connection.discover()
        let service = database.services.first { $0.uuid == .humanInterfaceDevice }
        if let report = service?.characteristics.first(where: { $0.uuid == .report && $0.properties.contains(.notify) }) {
            var text = KeyboardText()
            for try await value in try await connection.subscribe(to: report) {
                print(text.type(try KeyboardReport(value)), terminator: "")
            }
        }
    }
}
