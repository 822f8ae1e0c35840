// The snippets of Sources/BluetoothSimulation/BluetoothSimulation.docc/SimulatedPeripheral.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Sources/BluetoothSimulation/BluetoothSimulation.docc/SimulatedPeripheral.md
enum SimulatedPeripheralPage {
    /// Example
    static func example(_ adapter: Adapter, _ radio: SimulatedRadio) async throws {
        let server = try SimulatedGATTServer([
            GATTService(.battery) {
                GATTCharacteristic(.batteryLevel, properties: [.read, .notify], value: .stored([97]))
            }
        ])
        let device = SimulatedPeripheral(
            on: radio, advertisements: [try SimulatedAdvertisement(fields: [.localName("Meter"), .services([.battery])])],
            gatt: server)
        let connection = try await adapter.connect(to: device.address)
        device.breakLinks()
        print(await connection.disconnected().code)
    }
}
