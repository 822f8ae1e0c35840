// Tests a function of one's own on a simulated radio, with a device made for the test and in virtual time.
//
//     $ swift test --package-path Examples/Small
import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Testing

/// The function to test. It gets its adapter from its caller: in the program a real one.
func isBatteryLow(_ adapter: Adapter) async throws(BluetoothError) -> Bool {
    let connection = try await adapter.connect { $0.services.contains(.battery) }
    let level = try await connection.read(.batteryLevel)
    await connection.disconnect()
    return level < 20
}

@Test func aLowBatteryIsNoticed() async throws {
    let radio = SimulatedRadio()
    let kernel = radio.makeKernel()
    let server = try SimulatedGATTServer([
        GATTService(.battery) { GATTCharacteristic(.batteryLevel, properties: .read, value: .stored([12])) }
    ])
    let advertisement = try SimulatedAdvertisement(fields: [.services([.battery])])
    SimulatedPeripheral(on: radio, advertisements: [advertisement], gatt: server)
    try await radio.run {
        let adapter = try await Adapter.open(power: .powerOn, on: kernel)
        #expect(try await isBatteryLow(adapter))
        kernel.unplug(0)
        await #expect(throws: BluetoothError.self) { try await isBatteryLow(adapter) }
    }
}
