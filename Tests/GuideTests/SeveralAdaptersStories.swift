import BluetoothLE
import BluetoothSimulation
import Testing

/// Docs/Guide/Central/SeveralAdapters.md
@Suite struct SeveralAdaptersStories {
    @Test func theCapacityOfAnAdapter() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await SeveralAdaptersPage.roomForLinks(adapter)
            #expect(
                fixture.lines == [
                    "0 links of this program, 0 of others", "0 of 3 advertising sets", "no limit is known yet",
                    "0 connects wait",
                ])
        }
    }

    @Test func aConnectThatWaitsForRoom() async throws {
        var controller = SimulatedController()
        controller.maximumLinks = 1
        try await Fixture.run([controller]) { fixture in
            let adapter = try await Adapter.open()
            let held = try await adapter.connect(to: fixture.linble.address)
            let connecting = fixture.begin {
                try await SeveralAdaptersPage.roomForLinks2(adapter, fixture.sensor.address)
            }
            try await fixture.radio.sleep(for: .seconds(30))
            #expect(fixture.lines.isEmpty)
            await held.disconnect()
            try await connecting.value
            #expect(fixture.lines == ["connected to \(fixture.sensor.address)"])
        }
    }

    @Test func severalAdaptersScanAsOne() async throws {
        try await Fixture.run([.fresh, .fresh]) { fixture in
            try await SeveralAdaptersPage.severalAsOne()
            #expect(fixture.lines.contains { $0.hasPrefix("LINBLE-Z1 [") && $0.contains("hci0") })
            #expect(fixture.lines.count { $0.hasPrefix("LINBLE-Z1") } <= 2)
        }
    }

    @Test func severalAdaptersConnectAsOne() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await SeveralAdaptersPage.severalAsOne2(adapter, fixture.sensor.address)
            try await SeveralAdaptersPage.severalAsOne4(adapter)
            #expect(fixture.lines.first == "connected to \(fixture.sensor.address)")
            #expect(fixture.lines.count == 2)
        }
    }

    @Test func aDeviceIsKnownByItsKey() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let address = BluetoothAddress(0x4A1B_2C42_AB84, kind: .random)
            SimulatedPeripheral(
                on: fixture.radio, address: address, signalStrength: -40, gatt: try SimulatedGATTServer([]))
            try await SeveralAdaptersPage.severalAsOne3(adapter)
            #expect(fixture.lines == ["connected to \(address) by hci0"])
        }
    }

    @Test func adaptersComeAndGo() async throws {
        try await Fixture.run([.fresh, .fresh]) { fixture in
            try await SeveralAdaptersPage.addingAndRemovingAdapters(try await Adapter.open(.index(0), power: .powerOn))
            #expect(fixture.lines == ["[\"hci0\", \"hci1\"]"])
        }
    }
}
