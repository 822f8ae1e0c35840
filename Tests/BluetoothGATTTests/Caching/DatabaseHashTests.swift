import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

/// Database hashes against a vector that other hosts agree on.
@Suite struct DatabaseHashTests {
    /// The description of the vector's database.
    static let services: [GATTService] = [
        GATTService(
            0x1800,
            characteristics: [
                GATTCharacteristic(0x2A00, properties: [.read, .write], value: .stored([0x41])),
                GATTCharacteristic(0x2A01, properties: [.read], value: .stored([0, 0])),
            ]),
        GATTService(
            0x1801,
            characteristics: [
                GATTCharacteristic(0x2A05, properties: .indicate, value: .stored([])),
                GATTCharacteristic(0x2B29, properties: [.read, .write]),
                GATTCharacteristic(0x2B2A, properties: .read, value: .stored([])),
            ]),
        GATTService(0x1808, includedServices: [0x180F], characteristics: glucose),
        GATTService(
            0x180F, isPrimary: false,
            characteristics: [GATTCharacteristic(0x2A19, properties: .read, value: .stored([100]))]),
    ]

    private static let glucose = [
        GATTCharacteristic(
            0x2A18, properties: [.read, .indicate, .extendedProperties], value: .stored([]),
            descriptors: [
                GATTDescriptor(.clientCharacteristicConfiguration, permissions: [.read, .write]),
                GATTDescriptor(.characteristicExtendedProperties, value: .stored([0, 0])),
            ])
    ]

    @Test func theHashMatchesTheVectorOfOtherHosts() throws {
        let database = try AttributeDatabase(Self.services)
        #expect(database.attributes.count == 0x16)
        #expect(database.hash.description == "F1CA2D48ECF58BAC8A8830BBB9FBA990")
        #expect(database.attribute(at: 0x000D)?.type == .databaseHash)
        #expect(database.attribute(at: 0x000D)?.storedValue == database.hash.bytes)
        #expect(DatabaseHash(database.hash.bytes) == database.hash)
        // A 128-bit number, little-endian as in all values: Core Vol 3 Part G §2.4, GATT/SR/GAS/BV-02-C.
        #expect(database.hash.bytes == hex("90A9FBB9BB30888AAC8BF5EC482DCAF1"))
        #expect(DatabaseHash([1, 2, 3]) == nil)
    }

    @Test func theHashCoversTheStructureAndNotTheValues() throws {
        var database = try AttributeDatabase(Self.services)
        let before = database.hash
        try database.setValue([0x42, 0x43], of: 0x0003)
        #expect(database.hash == before)
        let added = try #require(try database.append([GATTService(0xFFF0)])?.handles)
        #expect(database.hash != before)
        #expect(database.attribute(at: 0x000D)?.storedValue == database.hash.bytes)
        database.remove(added)
        #expect(database.hash == before)
        #expect(database.attribute(at: 0x000D)?.storedValue == before.bytes)
    }

    @Test func handlesAreNotReused() throws {
        var database = try AttributeDatabase([GATTService(0x1800)])
        let service = GATTService(
            0xFFF0, characteristics: [GATTCharacteristic(0xFFF1, properties: .read, value: .stored([1]))])
        let first = try #require(try database.append([service])?.handles)
        #expect(first == AttributeHandleRange(start: 2, end: 4))
        database.remove(first)
        #expect(database.attribute(at: 3) == nil)
        #expect(database.valueHandle(of: 0xFFF1, in: 0xFFF0) == nil)
        let second = try #require(try database.append([service])?.handles)
        #expect(second == AttributeHandleRange(start: 5, end: 7))
        #expect(database.valueHandle(of: 0xFFF1, in: 0xFFF0) == 7)
        #expect(try database.append([]) == nil)
    }

    @Test func handlesAreReusedWhenNoOthersAreLeft() throws {
        var database = try AttributeDatabase([GATTService(0x1800)])
        let last = try #require(try database.append([GATTService(0xFFF0, handle: 0xFFFF)])?.handles)
        let between = try database.append([GATTService(0xFFF1, endHandle: 0xFFFE)])?.handles
        #expect(between == AttributeHandleRange(start: 2, end: 0xFFFE))
        #expect(throws: AttributeDatabaseError.outOfHandles) { try database.append([GATTService(0xFFF2)]) }
        #expect(database.attributes.map(\.handle) == [1, 2, 0xFFFF])
        database.remove(last)
        let again = try database.append([GATTService(0xFFF2)])?.handles
        #expect(again == last)
    }

    @Test func aServiceAddedLaterIncludesAnEarlierOne() throws {
        var database = try AttributeDatabase([GATTService(0x1800), GATTService(0x180F)])
        try database.append([GATTService(0xFFF0, includedServices: [0x180F])])
        #expect(database.attribute(at: 4)?.storedValue == hex("020002000F18"))
    }
}
