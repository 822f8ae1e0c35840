// The snippets of Sources/LINBLE/LINBLE.docc/KeptUARTOptions.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Sources/LINBLE/LINBLE.docc/KeptUARTOptions.md
enum KeptUARTOptionsPage {
    /// Example
    static func example(_ adapter: Adapter) async throws {
        let options = KeptUARTOptions(sendCapacity: 1024, whileOffline: .drop)
        let uart = UARTConnection.keep(.name("LINBLE-Z1"), on: adapter, options: options)
        for try await event in await uart.events() {
            if let connection = event.online {
                print("online with", connection.peer)
                break
            }
        }
        await uart.disconnect()
    }
}
