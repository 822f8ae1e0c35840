// The snippets of Sources/LINBLE/LINBLE.docc/UARTServerOptions.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Sources/LINBLE/LINBLE.docc/UARTServerOptions.md
enum UARTServerOptionsPage {
    /// Example
    static func example(_ adapter: Adapter) async throws {
        let options = UARTServerOptions(name: "Meter", profile: .nordic, isExclusive: true)
        try await UARTServer.run(on: adapter, options: options) { central in
            for try await bytes in central.received { try await central.send(bytes) }
        }
    }
}
