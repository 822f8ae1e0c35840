import BluetoothLE
import BluetoothSimulation
import TestSupport
import Testing

/// Docs/Guide/Central/Caching.md
@Suite struct CachingStories {
    /// A device whose hash covers its whole database.
    private static func device(on radio: SimulatedRadio) throws -> (SimulatedPeripheral, SimulatedGATTServer) {
        let server = try SimulatedGATTServer([
            GATTService(
                .genericAttribute,
                characteristics: [
                    GATTCharacteristic(.serviceChanged, properties: .indicate, value: .stored([])),
                    GATTCharacteristic(.clientSupportedFeatures, properties: [.read, .write], valueLengths: 1...8),
                    GATTCharacteristic(.databaseHash, properties: .read, value: .stored([])),
                ]),
            GATTService(
                0x180F, characteristics: [GATTCharacteristic(0x2A19, properties: .read, value: .stored([97]))]),
        ])
        return (SimulatedPeripheral(on: radio, gatt: server), server)
    }

    /// The number of packets on the air that the snippet causes.
    private static func packets(_ fixture: Fixture, of connection: Connection) async throws -> Int {
        // The packets that follow the connection.
        try await fixture.radio.sleep(for: .seconds(1))
        let before = fixture.radio.statistics.packetsDelivered
        try await CachingPage.knownDevices(connection)
        let after = fixture.radio.statistics.packetsDelivered
        try await fixture.radio.sleep(for: .seconds(1))
        return after - before
    }

    @Test func aCachedDeviceNeedsOneRequest() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let (peripheral, _) = try Self.device(on: fixture.radio)
            var connection = try await adapter.connect(to: peripheral.address)
            let first = try await Self.packets(fixture, of: connection)
            let again = try await Self.packets(fixture, of: connection)
            await connection.disconnect()
            try await fixture.radio.sleep(for: .seconds(3))
            connection = try await adapter.connect(to: peripheral.address)
            let next = try await Self.packets(fixture, of: connection)
            #expect(first > 2)
            #expect(again == 0)
            #expect(next == 2)
            let level: BluetoothUUID = 0x2A19
            #expect(fixture.lines == [String](repeating: "\([level])", count: 3))
            await connection.disconnect()
        }
    }

    @Test func whereItIsKept() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await CachingPage.storage(adapter)
            // Nothing is cached any more.
            let (peripheral, _) = try Self.device(on: fixture.radio)
            for _ in 0..<2 {
                let connection = try await adapter.connect(to: peripheral.address)
                #expect(try await Self.packets(fixture, of: connection) > 2)
                await connection.disconnect()
                try await fixture.radio.sleep(for: .seconds(3))
            }
        }
    }

    @Test func whenTheDeviceChanges() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            let (peripheral, server) = try Self.device(on: fixture.radio)
            let connection = try await adapter.connect(to: peripheral.address)
            _ = try await connection.discover()
            let following = fixture.begin { try await CachingPage.whenTheDeviceChanges(connection) }
            try await fixture.radio.sleep(for: .seconds(1))
            let added = try server.change(
                adding: [
                    GATTService(
                        0xFFF0, characteristics: [GATTCharacteristic(0xFFF1, properties: .read, value: .stored([1]))])
                ])
            try await fixture.settle(printed: 2)
            #expect(fixture.lines == ["changed: \(try #require(added))", "3 services now"])
            peripheral.disconnect()
            #expect(await failureCode { try await following.value } == .disconnected)
        }
    }
}
