import BluetoothLE
import CoreBluetooth
import BluetoothSimulation
import TestSupport
import Testing

/// A device with an impossible declaration, seen through Core Bluetooth.
@Suite struct MalformedDeviceTests {
    @Test func whatIsSoundCanBeUsed() async throws {
        try await Fixture.run { fixture in
            let device = SimulatedPeripheral(on: fixture.radio, address: Device.address) { _ in
                AnsweringHandler(malformedSensor)
            }
            let program = await Recorder.start(fixture)
            await program.perform { manager, recorder in
                guard let identifier = UUID(uuidString: Device.identifier),
                    let peripheral = manager.retrievePeripherals(withIdentifiers: [identifier]).first
                else { return }
                recorder.peripherals.append(peripheral)
                manager.connect(peripheral, options: nil)
            }
            await program.wait(for: "connected")
            await program.perform(with: { $0.discoverServices([CBUUID(string: "180D")]) })
            await program.wait(for: "services")
            await program.perform(with: { peripheral in
                for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
            })
            await program.wait(for: "characteristics 180D")
            await program.perform(with: { peripheral in
                #expect(peripheral.services?.flatMap { $0.characteristics ?? [] }.map(\.uuid.uuidString) == ["2A38"])
                guard let location = peripheral.characteristic("2A38", in: "180D") else { return }
                peripheral.readValue(for: location)
            })
            await program.wait(for: "value 2A38 = 2")
            withExtendedLifetime(device) {}
        }
    }
}
