// The snippets of Docs/Guide/Peripheral.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Peripheral.md
enum PeripheralPage {
    /// The peripheral role
    static func thePeripheralRole(_ adapter: Adapter) async throws {
        try await adapter.serve(AdvertisementContent(localName: "Battery", services: [.battery])) {
            LocalService(.battery) {
                LocalCharacteristic(.batteryLevel) { 97 }
            }
        } while: { _, connections in
            for try await connection in connections {
                print(connection.peer, "connected")
                break
            }
        }
    }
}
