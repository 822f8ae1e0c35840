import BluetoothLE
import CoreBluetooth
import BluetoothSimulation
import TestSupport
import Testing

/// Devices with impossible declarations or missing descriptors, seen through Core Bluetooth.
@Suite struct MalformedDeviceTests {
    @Test func whatIsSoundCanBeUsed() async throws {
        try await Fixture.run { fixture in
            let device = SimulatedPeripheral(on: fixture.radio, address: Device.address) { _ in
                AnsweringHandler(malformedSensor)
            }
            let program = await Recorder.start(fixture)
            await program.beginConnecting()
            await program.wait(for: "connected")
            await program.perform(with: { $0.discoverServices([CBUUID(string: "180D")]) })
            await program.wait(for: "services")
            await program.discoverCharacteristics(upTo: "180D")
            await program.perform(with: { peripheral in
                #expect(peripheral.services?.flatMap { $0.characteristics ?? [] }.map(\.uuid.uuidString) == ["2A38"])
                guard let location = peripheral.characteristic("2A38", in: "180D") else { return }
                peripheral.readValue(for: location)
            })
            await program.wait(for: "value 2A38 = 2")
            withExtendedLifetime(device) {}
        }
    }

    @Test("what notifies without a configuration is listened to without a write", arguments: [describedLamp, bareTag])
    func unconfigured(_ answers: [String: String]) async throws {
        try await Fixture.run { fixture in
            let server = AnsweringHandler(answers)
            let device = SimulatedPeripheral(on: fixture.radio, address: Device.address) { _ in server }
            let program = await Recorder.start(fixture)
            await program.beginConnecting()
            await program.wait(for: "connected")
            await program.discoverServices()
            await program.discoverCharacteristics(upTo: "FFF0")
            for (isOn, value) in [(true, "07"), (false, "08"), (true, "09")] {
                await program.perform(with: "FFF1", in: "FFF0") { $0.setNotifyValue(isOn, for: $1) }
                await program.wait(for: "notifying FFF1 \(isOn)", count: value == "09" ? 2 : 1)
                server.send("1B 0300 \(value)")
                if isOn { await program.wait(for: "value FFF1 = \(value.suffix(1))") }
                try await fixture.radio.sleep(for: .seconds(1))
            }
            #expect(program.take().filter { $0.hasPrefix("value") } == ["value FFF1 = 7", "value FFF1 = 9"])
            #expect(server.requests.allSatisfy { ![0x12, 0x52].contains($0[0]) }, "a write was sent")
            withExtendedLifetime(device) {}
        }
    }
}
