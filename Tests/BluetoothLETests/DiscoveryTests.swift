import SimulatedKernel
import Testing

@testable import BluetoothLE

@Suite struct DiscoveryTests {
    private static let long: BluetoothUUID = "27ADC9CA-35EB-465A-9154-B8FF9076F3E8"

    private static func makeServer() throws -> SimulatedGATTServer {
        try SimulatedGATTServer([
            GATTService(
                0x1812, includedServices: [0x180F, long],
                characteristics: [
                    GATTCharacteristic(0x2A4D, properties: [.read, .notify], value: .stored([1])),
                    GATTCharacteristic(0x2A4D, properties: [.read, .notify], value: .stored([2])),
                    GATTCharacteristic(0x2A4A, properties: .read, value: .stored([3])),
                ]),
            GATTService(0x180F, characteristics: [GATTCharacteristic(0x2A19, properties: .read, value: .stored([9]))]),
            GATTService(
                long, isPrimary: false,
                characteristics: [GATTCharacteristic(0x2A00, properties: .read, value: .stored([7]))]),
            GATTService(0x1234, isPrimary: false),
        ])
    }

    /// Runs `body` on a link to a peripheral with that server.
    private static func connected(
        mtu: UInt16 = 517, _ body: @escaping @Sendable (Connection) async throws -> Void
    ) async throws {
        try await Story.run { story in
            let peripheral = SimulatedPeripheral(on: story.radio, gatt: try makeServer())
            let adapter = try await Adapter.open(on: story.kernel)
            try await adapter.withConnection(
                to: peripheral.address, options: ConnectionOptions(maximumTransmissionUnit: mtu)
            ) { connection in
                try await body(connection)
            }
        }
    }

    @Test("includes and the services they lead to are in the tree", arguments: [23, 247] as [UInt16])
    func tree(mtu: UInt16) async throws {
        try await Self.connected(mtu: mtu) { connection in
            let services = try await connection.discover()
            #expect(services.map(\.uuid) == [0x1812, 0x180F, Self.long])
            #expect(services.map(\.isPrimary) == [true, true, false])
            let device = try #require(services.service(0x1812))
            #expect(device.includedServices.map(\.uuid) == [0x180F, Self.long])
            let secondary = try #require(services.service(device.includedServices[1]))
            let characteristic = try #require(secondary.characteristic(0x2A00))
            let value = try await connection.read(characteristic)
            #expect(value == [7])
        }
    }

    @Test("each step can be made by itself")
    func steps() async throws {
        try await Self.connected { connection in
            let services = try await connection.discoverServices(0x1812)
            let device = try #require(services.first)
            let included = try await connection.discoverIncludedServices(of: device)
            #expect(included.map(\.uuid) == [0x180F, Self.long])
            let inside = try await connection.discoverCharacteristics(of: included[1])
            #expect(inside.map(\.uuid) == [0x2A00])
            let reports = try await connection.discoverCharacteristics(0x2A4D, of: device)
            #expect(reports.count == 2)
            let second = try await connection.read(reports[1])
            #expect(second == [2])
            let secondary = try await connection.discoverSecondaryServices()
            #expect(secondary.map(\.uuid) == [Self.long, 0x1234])
        }
    }
}
