// The snippets of Sources/LINBLE/LINBLE.docc/UARTProfile.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Sources/LINBLE/LINBLE.docc/UARTProfile.md
enum UARTProfilePage {
    /// Example
    static func example(_ adapter: Adapter) async throws {
        let meter = UARTProfile(
            name: "meter", service: "27ADC9CA-35EB-465A-9154-B8FF9076F3E8",
            toDevice: "27ADC9CC-35EB-465A-9154-B8FF9076F3E8", fromDevice: "27ADC9CB-35EB-465A-9154-B8FF9076F3E8")
        let options = UARTOptions(profiles: [meter])
        let uart = try await UARTConnection.open(.advertisedService, on: adapter, options: options)
        print(uart.profile.name, uart.peer)
        await uart.disconnect()
    }
}
