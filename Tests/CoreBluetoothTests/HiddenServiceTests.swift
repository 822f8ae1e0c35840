import BluetoothLE
import CoreBluetooth
import BluetoothSimulation
import Testing

/// Generic Access and Generic Attribute, which Core Bluetooth uses and hides.
@Suite struct HiddenServiceTests {
    private static let generic = [CBUUID(string: "1800"), CBUUID(string: "1801")]

    @Test func genericServicesAreHidden() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            // A service that includes the two, as it should not.
            let including = SimulatedPeripheral(
                on: fixture.radio, address: Device.otherAddress,
                gatt: try SimulatedGATTServer(
                    Device.services.prefix(2) + [GATTService("FFF0", includedServices: ["1800", "1801"])]))
            let program = await Recorder.start(fixture)
            let peripheral = try #require(await program.reachDevice())
            #expect(peripheral.services?.map(\.uuid.uuidString) == ["180D", "180F", Device.own])
            await program.perform(with: { $0.discoverServices(Self.generic) })
            await program.wait(for: "services", count: 2)
            #expect(peripheral.services?.count == 3)
            await program.perform { manager, program in
                manager.cancelPeripheralConnection(program.peripherals[0])
                program.peripherals = manager.retrievePeripherals(withIdentifiers: [Device.otherIdentifier])
                manager.connect(program.peripherals[0])
            }
            await program.wait(for: "connected", count: 2)
            await program.perform(with: { $0.discoverServices(Self.generic) })
            await program.wait(for: "services", count: 3)
            await program.perform(with: { #expect($0.services == []) })
            await program.perform(with: { $0.discoverServices(nil) })
            await program.wait(for: "services", count: 4)
            await program.perform(with: { peripheral in
                #expect(peripheral.services?.map(\.uuid.uuidString) == ["FFF0"])
                if let service = peripheral.services?.first { peripheral.discoverIncludedServices(nil, for: service) }
            })
            await program.wait(for: "included FFF0")
            await program.perform(with: { #expect($0.services?.first?.includedServices == []) })
            withExtendedLifetime((device, including)) {}
        }
    }

    /// Changes are reported by Service Changed of the one, and the name is read from the other.
    @Test func changesAndNamesGoOn() async throws {
        try await Fixture.run { fixture in
            let device = try Device(on: fixture.radio)
            try device.server.setValue(Array("Pulse of Ada".utf8), of: device.handle("2A00", in: "1800"))
            let program = await Recorder.start(fixture)
            let peripheral = try #require(await program.reachDevice(named: "Pulse of Ada"))
            try await fixture.radio.sleep(for: .seconds(2))
            #expect(!device.server.subscribers(of: device.handle("2A05", in: "1801"), as: .indication).isEmpty)
            let value = device.handle("2A19", in: "180F").rawValue
            try device.server.change(
                removing: AttributeHandleRange(start: AttributeHandle(value - 2), end: AttributeHandle(value + 2)))
            await program.wait(for: "modified 180F")
            #expect(peripheral.services?.map(\.uuid.uuidString) == ["180D", Device.own])
        }
    }

    @Test func anOptionShowsThem() async throws {
        try await Fixture.withDevice(showsGenericServices: true) { _, _, program in
            let peripheral = try #require(program.peripherals.first)
            #expect(peripheral.services?.map(\.uuid.uuidString) == ["1800", "1801", "180D", "180F", Device.own])
            let name = try #require(peripheral.characteristic("2A00", in: "1800"))
            let subject = name
            await program.perform(with: { $0.readValue(for: subject) })
            await program.wait(for: "value 2A00 = 80 117 108 115 101")
        }
        #expect(!CBLinux.showsGenericServices)
    }
}
