// The snippets of Sources/LINBLE/LINBLE.docc/UARTOptions.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Sources/LINBLE/LINBLE.docc/UARTOptions.md
enum UARTOptionsPage {
    /// Example
    static func example(_ adapter: Adapter) async throws {
        var options = UARTOptions(profiles: [.linble, .nordic], attempts: 1)
        options.pacing = .baudRate(115_200)
        let uart = try await UARTConnection.open(.advertisedService, on: adapter, options: options)
        print(uart.profile.name)
        await uart.disconnect()
    }
}
