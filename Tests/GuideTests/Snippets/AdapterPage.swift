// The snippets of Sources/BluetoothLE/BluetoothLE.docc/Adapter.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Sources/BluetoothLE/BluetoothLE.docc/Adapter.md
enum AdapterPage {
    /// Example
    static func example() async throws {
        let adapter = try await Adapter.open(.first, power: .powerOn)
        for device in try await adapter.devices(for: .seconds(5)) {
            print(device.localName ?? "-", device.rssi ?? 0)
        }
        let connection = try await adapter.connect { $0.localName == "Pulse-Z1" }
        print(connection.peer)
        await adapter.close()
    }
}
