// The snippets of Sources/BluetoothLE/BluetoothLE.docc/Connection.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Sources/BluetoothLE/BluetoothLE.docc/Connection.md
enum ConnectionPage {
    /// Example
    static func example(_ adapter: Adapter, _ address: BluetoothAddress) async throws {
        let connection = try await adapter.connect(to: address)
        let services = try await connection.discover()
        if let level = services.characteristic(.batteryLevel, in: .battery) {
            print("battery", try await connection.read(level))
        }
        for try await value in try await connection.subscribe(to: .heartRateMeasurement, in: .heartRate) {
            print("rate", value)
            break
        }
        await connection.disconnect()
    }
}
