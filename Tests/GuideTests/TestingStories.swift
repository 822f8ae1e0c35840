import BluetoothLE
import Testing

/// Docs/Guide/Testing.md
@Suite struct TestingStories {
    @Test func aTest() async throws {
        try await TestingPage.testingYourOwnProgram()
    }

    @Test func aDeviceOfYourOwn() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await TestingPage.aDeviceOfYourOwn(fixture.radio)
            let connection = try await adapter.connect { $0.localName == "Thermo" }
            #expect(fixture.lines == ["\(connection.peer)"])
            #expect(try await connection.read(.temperatureType, in: .healthThermometer) == [2])
            await connection.disconnect()
        }
    }

    @Test func yourProgramBesideTheTest() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await TestingPage.yourProgramBesideTheTest(adapter, fixture.radio)
            #expect(fixture.lines.contains("LINBLE-Z1"))
        }
    }

    @Test func losingThings() async throws {
        try await Fixture.withConnection { fixture, adapter, connection in
            try await TestingPage.losingThings(fixture.radio, fixture.kernel, fixture.sensor.peripheral)
            #expect(await !connection.isConnected)
            #expect(fixture.radio.conditions.packetLoss == 0.2)
            // The other one has an address of its own.
            #expect(adapter.state == .absent)
            #expect(try fixture.kernel.adapters().count == 1)
        }
    }

    @Test func aUARTModule() async throws {
        try await TestingPage.aUARTModule()
    }
}
