// The snippets of Sources/LINBLE/LINBLE.docc/UARTCentral.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Sources/LINBLE/LINBLE.docc/UARTCentral.md
enum UARTCentralPage {
    /// Example
    static func example(_ adapter: Adapter) async throws {
        try await UARTServer.run(on: adapter) { central in
            print(central.peer, "is online")
            for try await line in central.frames(DelimiterFramer()) { try await central.send(line.reversed() + [0x0A]) }
        }
    }
}
