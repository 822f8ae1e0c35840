import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import TestSupport
import Testing

/// Docs/Guide/Profiles.md
@Suite struct ProfilesStories {
    @Test func theValuesOfADevice() async throws {
        try await Fixture.withConnection { fixture, _, connection in
            let using = fixture.begin { try await ProfilesPage.aDeviceSValues(connection) }
            for value in [[0x16, 72, 0, 4], [0x10], [0x04, 70]] as [[UInt8]] {
                try await fixture.sensor.notify(value, of: 0x2A37, in: 0x180D, fixture)
            }
            try await using.value
            #expect(fixture.lines == ["97 %", "worn at the wrist", "72 [1.0]", "70 []"])
            #expect(fixture.sensor.writes.map(\.value) == [[1]])
        }
    }

    @Test func serving() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ProfilesPage.serve(adapter)
            let set = try await adapter.advertise(AdvertisementContent(localName: "Heart"))
            let visitor = try await Adapter.open(on: fixture.radio.makeKernel())
            let connection = try await visitor.connect(to: adapter.information.address)
            let place = try await connection.read(.bodySensorLocation)
            let level = try await connection.read(.batteryLevel)
            try await connection.write(.resetEnergyExpended, to: .heartRateControlPoint)
            #expect(place == .chest)
            #expect(level == 97)
            let refused = await failure { try await connection.write([], to: .heartRateControlPoint, in: .heartRate) }
            #expect(refused?.cause == .attribute(.valueNotAllowed))
            #expect(fixture.lines == ["0 subscribers", "command 1"])
            await connection.disconnect()
            await set.close()
            await visitor.close()
        }
    }

    @Test func valuesThatAreMade() async throws {
        try await Fixture.run { fixture in
            try await ProfilesPage.serve2()
            #expect(fixture.lines == ["36.6 70.5 120.0 98.0", "98.0 210 160"])
        }
    }

    @Test func storedValues() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await ProfilesPage.serve3(adapter)
            let set = try await adapter.advertise(AdvertisementContent(localName: "Label"))
            let visitor = try await Adapter.open(on: fixture.radio.makeKernel())
            let connection = try await visitor.connect(to: adapter.information.address)
            let label = Characteristic(
                "CA010003-1234-5678-9ABC-DEF012345678", in: "CA010001-1234-5678-9ABC-DEF012345678", codec: TextCodec())
            let text = try await connection.read(label)
            let refused = await failure { try await connection.write("Hall", to: label) }
            #expect(text == "Kitchen")
            #expect(refused?.cause == .attribute(.insufficientAuthentication))
            #expect(fixture.lines == ["[97]"])
            await connection.disconnect()
            await set.close()
            await visitor.close()
        }
    }

    @Test func aCharacteristicOfOnesOwn() async throws {
        try await Fixture.run { fixture in
            try await ProfilesPage.aCharacteristicOfYourOwn()
            #expect(fixture.lines == ["123.4 25.0", "Kitchen", "temperature: 2 bytes needed, 0 available"])
        }
    }
}
