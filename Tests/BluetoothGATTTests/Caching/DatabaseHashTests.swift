import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

@testable import BluetoothGATT

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
        var database = try AttributeDatabase(Self.services)
        #expect(database.attributes.count == 0x16)
        #expect(database.hash.description == "F1CA2D48ECF58BAC8A8830BBB9FBA990")
        #expect(database.attribute(at: 0x000D)?.type == .databaseHash)
        #expect(database.hashValueForClients == database.hash.bytes)
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
        #expect(database.hashValueForClients == database.hash.bytes)
        database.remove(added)
        #expect(database.hash == before)
        #expect(database.hashValueForClients == before.bytes)
    }

    /// The hash takes time linear in the database, and each client reads it after a change: not before.
    @Test func theValueIsComputedWhenItIsRead() throws {
        var database = try AttributeDatabase(Self.services)
        #expect(database.isHashDue)
        database.updateHash(for: .readRequest(0x0003))
        database.updateHash(for: .readByTypeRequest(.all, type: .characteristic))
        #expect(database.isHashDue)
        database.updateHash(for: .readByTypeRequest(.all, type: .databaseHash))
        #expect(!database.isHashDue)
        let added = try #require(try database.append([GATTService(0xFFF0)])?.handles)
        #expect(database.isHashDue)
        database.updateHash(for: .readBlobRequest(0x000D, offset: 0))
        #expect(!database.isHashDue)
        database.remove(added)
        #expect(database.isHashDue)
    }

    /// Services that are added and removed one by one cost the same in a large database as in a small one.
    @Test func changesDoNotGetDearerWithTheDatabase() throws {
        func cost(serviceCount: Int) throws -> Duration {
            var database = try AttributeDatabase(Self.services)
            func service(_ number: Int) -> GATTService {
                GATTService(
                    BluetoothUUID(UInt16(0x6000 + number)),
                    characteristics: [GATTCharacteristic(0x5555, properties: [.read, .notify], value: .stored([1]))])
            }
            for number in 0..<serviceCount { try database.append([service(number)]) }
            var best = Duration.seconds(60)
            for round in 0..<20 {
                let start = ContinuousClock.now
                var added: [AttributeHandleRange] = []
                for number in 0..<10 {
                    let layout = try database.append([service(serviceCount + 10 * round + number)])
                    if let handles = layout?.handles { added.append(handles) }
                }
                for handles in added { database.remove(handles) }
                best = min(best, ContinuousClock.now - start)
            }
            return best
        }
        let (few, many) = (try cost(serviceCount: 10), try cost(serviceCount: 3000))
        // By the former rebuilding of the indices it was 200 times as much.
        #expect(many < few * 4, "\(few) and \(many)")
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

extension AttributeDatabase {
    /// The value of the Database Hash characteristic as a client reads it.
    fileprivate var hashValueForClients: [UInt8]? {
        mutating get {
            updateHash(for: .readRequest(0x000D))
            return attribute(at: 0x000D)?.storedValue
        }
    }
}
