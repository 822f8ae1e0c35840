import BluetoothATT
import BluetoothPrimitives
import Testing

@testable import BluetoothGATT

/// The stored state of a client, and its restoration (Core Vol 3 Part G §2.5.2.1, §3.3.3.3, §7.2).
@Suite struct ClientRecordTests {
    private static let service = GATTService(
        0xFFF0,
        characteristics: [
            GATTCharacteristic(0xFFF1, properties: [.read, .notify], value: .stored([1])),
            GATTCharacteristic(0xFFF2, properties: [.read, .indicate], value: .stored([2])),
            GATTCharacteristic(0xFFF3, properties: .read, value: .stored([3])),
        ])

    private static func database(_ services: [GATTService] = [service]) throws -> AttributeDatabase {
        try AttributeDatabase(services)
    }

    private static func handle(_ uuid: BluetoothUUID, _ database: AttributeDatabase) throws -> AttributeHandle {
        try #require(database.valueHandle(of: uuid, in: nil, within: .all))
    }

    @Test func subscriptionsAreRestored() throws {
        let database = try Self.database()
        let (first, second) = (try Self.handle(0xFFF1, database), try Self.handle(0xFFF2, database))
        var state = GATTClientState(configurations: [first: .notification, second: .indication])
        state.features = [3]
        let record = state.record(of: database)
        #expect(record.subscriptions.map(\.characteristic) == [first, second])
        #expect(record.subscriptions.map(\.type) == [0xFFF1, 0xFFF2])
        #expect(record.knownDatabase == database.hash)
        let restored = GATTClientState(record, database: database)
        #expect(restored == state)
        #expect(restored.isChangeAware)
    }

    @Test func subscriptionsToRemovedCharacteristicsAreDropped() throws {
        let database = try Self.database()
        let first = try Self.handle(0xFFF1, database)
        let third = try Self.handle(0xFFF3, database)
        let none = AttributeHandle(0x7777)
        let record = GATTClientRecord(
            subscriptions: [
                // Another characteristic has this handle now.
                .init(characteristic: first, type: 0xFFF9, configuration: .notification),
                // This one cannot be subscribed to.
                .init(characteristic: third, type: 0xFFF3, configuration: .notification),
                .init(characteristic: none, type: 0xFFF1, configuration: .notification),
            ], knownDatabase: database.hash)
        #expect(GATTClientState(record, database: database).configurations.isEmpty)
        // Bits that the characteristic does not support are dropped too.
        let both = GATTClientRecord(
            subscriptions: [.init(characteristic: first, type: 0xFFF1, configuration: [.notification, .indication])])
        #expect(GATTClientState(both, database: database).configurations == [first: .notification])
    }

    @Test func aClientThatMissedAChangeIsChangeUnaware() throws {
        let before = try Self.database()
        let after = try Self.database([Self.service, GATTService(0x180F, characteristics: [])])
        let known = GATTClientState().record(of: before)
        var state = GATTClientState(known, database: after)
        #expect(!state.isChangeAware)
        // The known hash is unchanged.
        let unaware = state.record(of: after, after: known)
        #expect(unaware.knownDatabase == before.hash)
        #expect(GATTClientState(unaware, database: before).isChangeAware)
        state.confirmedServiceChanged(state.changeCount)
        #expect(state.record(of: after, after: unaware).knownDatabase == after.hash)
        // A client without a stored hash is change-unaware.
        #expect(!GATTClientState(GATTClientRecord(), database: after).isChangeAware)
    }
}
