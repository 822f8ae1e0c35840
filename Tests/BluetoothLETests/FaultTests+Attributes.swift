import BluetoothSimulation
import Testing

import BluetoothLE

// The work with attributes.
extension FaultTests {
    static let secondService: BluetoothUUID = "27ADC9CA-35EB-465A-9154-B8FF9076F3E8"

    /// Uses several attributes, without a cached database.
    static func performAttributes(
        _ work: Work, on connection: Connection, _ server: SimulatedGATTServer
    ) async throws {
        let first = try #require(server.handle(of: 0xFFF4, in: service))
        let second = AttributeHandle(first.rawValue + 2)
        let short: [UInt8] = [4]
        let middle = [UInt8](long[..<50])
        switch work {
        case .steps:
            let services = try await connection.discoverServices(service)
            let included = try await connection.discoverIncludedServices(of: try #require(services.first))
            #expect(included.map(\.uuid) == [secondService])
            let inside = try await connection.discoverCharacteristics(0x2A00, of: try #require(included.first))
            #expect(inside.count == 1)
        case .readByUUID:
            let values = try await connection.readValues(of: 0xFFF4)
            #expect(values == [RemoteValue(handle: first, value: short), RemoteValue(handle: second, value: middle)])
        case .readSeveral:
            #expect(try await connection.read([first, second, first]) == [short, middle, short])
        case .reliableWrite:
            try await connection.writeReliably([
                AttributeWrite([9], to: first), AttributeWrite([9, 9], to: second, offset: 49),
            ])
            #expect(server.value(of: first) == [9])
            #expect(server.value(of: second) == middle[..<49] + [9, 9])
        case .bothKinds:
            let services = try await connection.discoverServices(service)
            let found = try await connection.discoverCharacteristics(0xFFF3, of: try #require(services.first))
            let target = try #require(found.first)
            let notified = try await connection.subscribe(to: target, kind: .notification)
            let indicated = try await connection.subscribe(to: target, kind: .indication)
            #expect(server.subscribers(of: target.valueHandle, as: .notification).count == 1)
            #expect(server.subscribers(of: target.valueHandle, as: .indication).count == 1)
            withExtendedLifetime((notified, indicated)) {}
        default: break
        }
    }
}
