import BluetoothGATT
import BluetoothLE
import Synchronization
import TestSupport
import Testing

/// The characteristics of an echo: a write to `rx` is notified, or indicated, as `tx`.
enum Echo {
    static let tx: BluetoothUUID = "27ADC9CB-35EB-465A-9154-B8FF9076F3E8"
    static let rx: BluetoothUUID = "27ADC9CC-35EB-465A-9154-B8FF9076F3E8"
}

extension Connection {
    /// The first characteristic with the UUID, anywhere in the peer's database.
    func find(_ uuid: BluetoothUUID) async throws -> RemoteCharacteristic {
        let services = try await discover()
        return try #require(services.lazy.compactMap { $0.characteristic(uuid) }.first, "no characteristic \(uuid)")
    }
}

extension Peers {
    @Suite struct Attributes {
        @Test func theWholeDatabaseIsDiscovered() async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: "big")
                let services = try await connection.discover()
                let truth = try Outline.of(try await fixture.database(of: "big"))
                #expect(Outline.of(services) == truth)
                #expect(services.count == 22)
                await connection.disconnect()
            }
        }

        /// A cache that counts its entries.
        final class CountingCache: DatabaseCache {
            private let cache = MemoryAttributeCache()
            private let state = Mutex<(count: Int, last: CachedDatabase?)>((0, nil))

            var count: Int { state.withLock { $0.count } }
            var last: CachedDatabase? { state.withLock { $0.last } }

            func database(for key: AttributeCacheKey) -> CachedDatabase? { cache.database(for: key) }

            func setDatabase(_ database: CachedDatabase?, for key: AttributeCacheKey) {
                state.withLock { $0 = ($0.count + 1, database) }
                cache.setDatabase(database, for: key)
            }
        }

        @Test("a Database Hash is recognised in either order of its bytes", arguments: ["big", "turned"])
        func theHashIsRecognised(name: String) async throws {
            try await Fixture.run { fixture in
                let cache = CountingCache()
                await fixture.adapter.setAttributeCache(AttributeCache(cache))
                var connection = try await fixture.connect(to: name)
                let found = try await connection.discover()
                #expect(found.problems.isEmpty)
                try await fixture.wait(for: "the hash is read") { cache.count > 0 }
                // Stored with its services: the hash is that of the discovered database.
                #expect(cache.last?.services == found.services)
                #expect(cache.last?.hash != nil)
                await connection.disconnect()
                connection = try await fixture.connect(to: name)
                #expect(try await connection.discover() == found)
                // A discovery would have been stored.
                #expect(try await connection.readValues(of: .databaseHash).count == 1)
                #expect(cache.count == 1)
                await connection.disconnect()
            }
        }

        @Test("one of everything is discovered", arguments: ["gatt", "narrow"])
        func oneOfEverythingIsDiscovered(name: String) async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: name)
                let services = try await connection.discover()
                let truth = try Outline.of(try await fixture.database(of: name))
                #expect(Outline.of(services) == truth)
                await connection.disconnect()
            }
        }

        @Test func theWholeDatabaseIsDiscoveredWithASmallMTU() async throws {
            try await Fixture.run { fixture in
                let options = ConnectionOptions(timeout: .seconds(60), maximumTransmissionUnit: 23)
                let connection = try await fixture.connect(to: "big", options: options)
                let services = try await connection.discover()
                let truth = try Outline.of(try await fixture.database(of: "big"))
                #expect(Outline.of(services) == truth)
                await connection.disconnect()
            }
        }

        @Test("a value of any length is read whole", arguments: ["gatt", "narrow"])
        func valuesOfAnyLength(name: String) async throws {
            try await Fixture.run { fixture in
                let truth = try await fixture.database(of: name)
                let connection = try await fixture.connect(to: name)
                var lengths: Set<Int> = []
                for characteristic in try await connection.discover().flatMap(\.characteristics)
                where characteristic.uuid == 0xFF10 {
                    let value = try await connection.read(characteristic)
                    #expect(value == truth.first { $0.handle == characteristic.valueHandle }?.value)
                    lengths.insert(value.count)
                }
                #expect(lengths.isSuperset(of: [0, 1, 22, 23, 62, 63, 64, 512]))
                await connection.disconnect()
            }
        }

        @Test("a value of any length is written whole", arguments: ["gatt", "narrow"])
        func writesOfAnyLength(name: String) async throws {
            try await Fixture.run { fixture in
                let connection = try await fixture.connect(to: name)
                let characteristic = try await connection.find("CA010001-1234-5678-9ABC-DEF012345678")
                for length in [0, 1, 20, 60, 61, 62, 511, 512] {
                    let value = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 3 &+ length) }
                    try await connection.write(value, to: characteristic)
                    let stored = try await fixture.database(of: name).first { $0.handle == characteristic.valueHandle }
                    #expect(stored?.value == value)
                    #expect(try await connection.read(characteristic) == value)
                }
                await connection.disconnect()
            }
        }

        @Test func aRefusalHasThePeersCode() async throws {
            try await Fixture.run { fixture in
                var options = ConnectionOptions(timeout: .seconds(60))
                options.security.policy = .never
                let connection = try await fixture.connect(to: "gatt", options: options)
                let characteristic = try await connection.find("CA01000A-1234-5678-9ABC-DEF012345678")
                let reading = await failure { _ = try await connection.read(characteristic) }
                #expect(reading?.cause == .attribute(ATTErrorCode(0x80)))
                let writing = await failure { try await connection.write([1], to: characteristic) }
                #expect(writing?.cause == .attribute(ATTErrorCode(0x80)))
                let secret = try await connection.find("CA01000B-1234-5678-9ABC-DEF012345678")
                let unencrypted = await failure { _ = try await connection.read(secret) }
                #expect(unencrypted?.cause == .attribute(.insufficientEncryption))
                await connection.disconnect()
            }
        }
    }
}
