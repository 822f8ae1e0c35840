// The snippets of Docs/Guide/Testing.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Testing.md
enum TestingPage {
    /// Testing your own program
    static func testingYourOwnProgram() async throws {
        let radio = SimulatedRadio()
        let kernel = radio.makeKernel()                       // a machine with one adapter, hci0
        try await radio.run {                                 // fails instead of waiting forever
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            #expect(adapter.state == .poweredOn)
        }
    }

    /// A device of your own
    static func aDeviceOfYourOwn(_ radio: SimulatedRadio) async throws {
        let server = try SimulatedGATTServer([
            GATTService(.healthThermometer) {
                GATTCharacteristic(.temperatureMeasurement, properties: .indicate, value: .dynamic)
                GATTCharacteristic(.temperatureType, properties: .read, value: .stored([2]))
            }
        ])
        let thermometer = SimulatedPeripheral(
            on: radio,
            advertisements: [
                try SimulatedAdvertisement(fields: [.localName("Thermo"), .services([.healthThermometer])])
            ],
            gatt: server)
        print(thermometer.address)
    }

    /// A UART module
    static func aUARTModule() async throws {
        let radio = SimulatedRadio()                     // virtual time: the half hour takes no real time
        let kernel = radio.makeKernel()
        let linble = SimulatedLINBLE(on: radio)
        try await radio.run {
            // Your program.
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            let uart = try await UARTConnection.open(.name("LINBLE-Z1"), on: adapter)
            try await uart.send([0x01, 0x00])
            try await radio.sleep(for: .seconds(1800))
            await uart.disconnect()
        }
        #expect(linble.statistics.bytesFromHosts == 2)
    }

    /// Your program beside the test
    static func yourProgramBesideTheTest(_ adapter: Adapter, _ radio: SimulatedRadio) async throws {
        try await withThrowingTaskGroup { program in
            program.addTask {
                for try await advertisement in try await adapter.scan() { print(advertisement.localName ?? "-") }
            }
            try await radio.sleep(for: .seconds(1))               // the test
            program.cancelAll()
            let end = await program.nextResult()                  // waits until it has ended
            #expect(throws: BluetoothError.self) { try end?.get() }
        }
    }

    /// Losing things
    static func losingThings(_ radio: SimulatedRadio, _ kernel: SimulatedKernel, _ thermometer: SimulatedPeripheral) async throws {
        thermometer.breakLinks()                              // as if it were out of reach
        radio.conditions.packetLoss = 0.2                     // every fifth packet is sent again
        kernel.unplug(0)                                      // the adapter is gone
        try await radio.sleep(for: .seconds(5))
        kernel.plug()                                         // and another is there
    }
}
