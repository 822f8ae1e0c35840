// The snippets of Docs/Guide/Peripheral/UART.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Peripheral/UART.md
enum UARTPage {
    /// An echo
    static func anEcho(_ adapter: Adapter) async throws {
        try await UARTServer.run(on: adapter) { central in
            print(central.peer, "is online")
            for try await bytes in central.received { try await central.send(bytes) }
        }
    }

    /// Lines, one central at a time
    static func linesOneCentralAtATime(_ adapter: Adapter) async throws {
        let options = UARTServerOptions(name: "Greeter", profile: .nordic, isExclusive: true)
        try await UARTServer.run(on: adapter, options: options) { central in
            for try await line in central.frames(DelimiterFramer()) {
                try await central.send(Array("hello \(String(decoding: line, as: UTF8.self))\n".utf8))
                break
            }
        }
    }
}
