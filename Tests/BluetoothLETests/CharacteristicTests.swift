import BluetoothGATT
import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// Characteristics that are used by UUID.
@Suite struct CharacteristicTests {
    /// Runs `body` on a link to a device with a battery and a control point.
    private static func run(
        _ body: @escaping @Sendable (Fixture, Connection, SimulatedGATTServer) async throws -> Void
    ) async throws {
        try await Fixture.run { fixture in
            let server = try SimulatedGATTServer([
                GATTService(
                    0x180F,
                    characteristics: [GATTCharacteristic(0x2A19, properties: [.read, .notify], value: .stored([97]))]),
                GATTService(
                    0xFFF0,
                    characteristics: [
                        GATTCharacteristic(
                            0xFFF1, properties: [.read, .write, .writeWithoutResponse], value: .stored([]))
                    ]),
            ])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            try await body(fixture, connection, server)
            await connection.disconnect()
        }
    }

    @Test func valuesAreReadAndWritten() async throws {
        try await Self.run { fixture, connection, server in
            #expect(try await connection.read("2A19", in: "180F") == [97])
            let handle = try #require(server.handle(of: 0xFFF1, in: 0xFFF0))
            try await connection.write([1, 2], to: "FFF1", in: "FFF0")
            #expect(server.value(of: handle) == [1, 2])
            try await connection.write([3], to: "FFF1", in: "FFF0", type: .withoutResponse)
            try await fixture.settle { server.value(of: handle) == [3] }
            let longest = await connection.maximumCommandLength
            let long = [UInt8](repeating: 7, count: 512)
            try await connection.write(long, to: handle)
            #expect(try await connection.read("FFF1", in: "FFF0") == long)
            try await connection.write([4], to: handle, type: .withoutResponse)
            try await fixture.settle { server.value(of: handle) == [4] }
            let error = await failure {
                try await connection.write(
                    [UInt8](repeating: 0, count: longest + 1), to: "FFF1", in: "FFF0", type: .withoutResponse)
            }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func valuesAreSubscribedTo() async throws {
        try await Self.run { _, connection, server in
            let handle = try #require(server.handle(of: 0x2A19, in: 0x180F))
            var values = try await connection.subscribe(to: "2A19", in: "180F").makeAsyncIterator()
            await server.notify([96], of: handle)
            #expect(try await values.next() == [96])
        }
    }

    @Test func afterTheFirstNothingIsDiscovered() async throws {
        try await Self.run { fixture, connection, _ in
            let first = try await fixture.duration { _ = try await connection.read("2A19", in: "180F") }
            let second = try await fixture.duration { _ = try await connection.read("2A19", in: "180F") }
            let database = try await connection.discover()
            let found = try #require(database.characteristic(0x2A19, in: 0x180F))
            let direct = try await fixture.duration { _ = try await connection.read(found) }
            #expect(second < first / 2, "\(first), \(second)")
            #expect(second <= direct * 2, "\(second), \(direct)")
        }
    }

    @Test func whatIsMissingIsNotFound() async throws {
        try await Self.run { _, connection, _ in
            for (characteristic, service): (BluetoothUUID, BluetoothUUID) in [("2A1A", "180F"), ("2A19", "FFF0")] {
                let codes = [
                    await failureCode { _ = try await connection.read(characteristic, in: service) },
                    await failureCode { try await connection.write([], to: characteristic, in: service) },
                    await failureCode { _ = try await connection.subscribe(to: characteristic, in: service) },
                ]
                #expect(codes == [.notFound, .notFound, .notFound])
            }
        }
    }
}
