// The snippets of Docs/Guide/Central/UARTModules.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Central/UARTModules.md
enum UARTModulesPage {
    /// Open one
    static func openOne(_ adapter: Adapter) async throws {
        let options = UARTOptions(profiles: [.linble, .nordic])
        let uart = try await UARTConnection.open(.advertisedService, on: adapter, options: options)
        try await uart.send(Array("hello\n".utf8))
        for try await line in uart.frames(DelimiterFramer()) {
            print(String(decoding: line, as: UTF8.self))
            break
        }
        await uart.disconnect()
    }

    /// A UART that outlives links
    static func aUARTThatOutlivesLinks(_ adapter: Adapter) async throws {
        let uart = UARTConnection.keep(.name("LINBLE-Z1"), on: adapter)
        // Waits in the buffer until there is a link.
        try await uart.send(Array("measure\n".utf8))
        for try await line in uart.frames(DelimiterFramer()) {
            print(String(decoding: line, as: UTF8.self))
            break
        }
        try await uart.flush()
        print(await uart.statistics.confirmedByteCount)
        await uart.disconnect()
    }

    /// A UART that outlives links
    static func aUARTThatOutlivesLinks2(_ adapter: Adapter) async throws {
        let uart = UARTConnection.keep(.name("LINBLE-Z1"), on: adapter)
        for try await event in await uart.events() {
            if let (reason, lost) = event.offline { print("offline:", reason.message, lost) }
            guard event.online != nil else { continue }
            print("online")
            break
        }
        await uart.disconnect()
    }
}
