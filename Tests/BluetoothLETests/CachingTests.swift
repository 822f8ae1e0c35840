import BluetoothATT
import BluetoothGATT
import BluetoothPrimitives
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

@testable import BluetoothLE

/// Cached databases, and changes of databases (Core Vol 3 Part G §2.5.2, §7).
@Suite struct CachingTests {
    /// The characteristics of the Generic Attribute service.
    enum Follows: String, CaseIterable, Sendable { case nothing, changes, everything }

    static func genericAttribute(_ follows: Follows) -> [GATTService] {
        var characteristics: [GATTCharacteristic] = []
        if follows != .nothing {
            characteristics.append(GATTCharacteristic(.serviceChanged, properties: .indicate, value: .stored([])))
        }
        if follows == .everything {
            characteristics += [
                GATTCharacteristic(.clientSupportedFeatures, properties: [.read, .write], valueLengths: 1...8),
                GATTCharacteristic(.databaseHash, properties: .read, value: .stored([])),
            ]
        }
        return follows == .nothing ? [] : [GATTService(.genericAttribute, characteristics: characteristics)]
    }

    static let battery = GATTService(
        0x180F, characteristics: [GATTCharacteristic(0x2A19, properties: [.read, .notify], value: .stored([9]))])
    static let other = GATTService(
        0xFFF0,
        characteristics: [
            GATTCharacteristic(0xFFF1, properties: [.read, .write, .notify], value: .stored([1])),
            GATTCharacteristic(0xFFF2, properties: [.read, .write], value: .stored([2])),
        ])

    /// An adapter whose packets are counted, and a peripheral with a server.
    struct CachingFixture: Sendable {
        var base: Fixture
        var kernel: FaultingKernel
        var adapter: Adapter
        var server: SimulatedGATTServer
        var peripheral: SimulatedPeripheral

        /// The number of PDUs during `body`, including those of background procedures.
        func count(_ body: () async throws -> Void) async throws -> Int {
            kernel.arm(at: nil) {}
            try await body()
            try await base.radio.sleep(for: .seconds(1))
            return kernel.count
        }

        func connect() async throws -> Connection { try await adapter.connect(to: peripheral.address) }
    }

    static func run(
        _ follows: Follows = .everything, _ body: @escaping @Sendable (CachingFixture) async throws -> Void
    ) async throws {
        try await Fixture.run { fixture in
            let server = try SimulatedGATTServer(genericAttribute(follows) + [battery])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let kernel = FaultingKernel(fixture.kernel)
            let adapter = try await Adapter.open(on: kernel)
            try await body(
                CachingFixture(base: fixture, kernel: kernel, adapter: adapter, server: server, peripheral: peripheral))
        }
    }

    /// The PDUs in both directions: of the discovery with its background procedures, of a second discovery, and of the
    /// next link.
    @Test(
        "a known device is asked for its hash and for nothing else, and for nothing if it cannot change",
        arguments: [(Follows.nothing, [8, 0, 0]), (.changes, [10, 0, 10]), (.everything, [14, 0, 2])])
    func counts(_ follows: Follows, _ counts: [Int]) async throws {
        try await Self.run(follows) { fixture in
            var connection = try await fixture.connect()
            let found = Mutex<RemoteDatabase?>(nil)
            let first = try await fixture.count {
                let services = try await connection.discover()
                found.withLock { $0 = services }
            }
            let again = try await fixture.count { _ = try await connection.discover() }
            await connection.disconnect()
            connection = try await fixture.connect()
            let next = try await fixture.count {
                let services = try await connection.discover()
                #expect(services == found.withLock { $0 })
            }
            #expect([first, again, next] == counts)
            let forced = try await fixture.count { _ = try await connection.discover(cached: false) }
            #expect(forced >= 6)
            await connection.disconnect()
        }
    }

    @Test func withoutACacheEveryLinkDiscovers() async throws {
        try await Self.run { fixture in
            await fixture.adapter.setAttributeCache(nil)
            for _ in 0..<2 {
                let connection = try await fixture.connect()
                let count = try await fixture.count { _ = try await connection.discover() }
                #expect(count == 14)
                await connection.disconnect()
            }
        }
    }

    @Test func aChangedDeviceIsDiscoveredAgain() async throws {
        try await Self.run { fixture in
            try await fixture.adapter.withConnection(to: fixture.peripheral.address) { connection in
                _ = try await connection.discover()
                try await fixture.base.radio.sleep(for: .seconds(1))
            }
            try fixture.server.change(adding: [Self.other])
            for round in 0..<2 {
                try await fixture.adapter.withConnection(to: fixture.peripheral.address) { connection in
                    let count = try await fixture.count {
                        let services = try await connection.discover()
                        let characteristic = try #require(services.service(0xFFF0)?.characteristic(0xFFF2))
                        #expect(try await connection.read(characteristic) == [2])
                    }
                    #expect(round == 0 ? count > 10 : count == 4)
                }
            }
        }
    }

    @Test func aMismatchedHashIsReadFirstNextTime() async throws {
        try await Fixture.run { fixture in
            // Extended properties are part of the hash, and have not been read.
            let server = try SimulatedGATTServer(
                Self.genericAttribute(.everything) + [
                    GATTService(
                        0xFFF0,
                        characteristics: [
                            GATTCharacteristic(
                                0xFFF1, properties: .read, extendedProperties: .reliableWrite, value: .stored([1]))
                        ])
                ])
            let peripheral = SimulatedPeripheral(on: fixture.radio, gatt: server)
            let kernel = FaultingKernel(fixture.kernel)
            let adapter = try await Adapter.open(on: kernel)
            var counts: [Int] = []
            for _ in 0..<3 {
                let connection = try await adapter.connect(to: peripheral.address)
                kernel.arm(at: nil) {}
                _ = try await connection.discover()
                try await fixture.radio.sleep(for: .seconds(1))
                counts.append(kernel.count)
                await connection.disconnect()
            }
            #expect(counts[0] == counts[1])
            #expect(counts[2] == 2)
        }
    }

    @Test("a hash is recognised in either byte order", arguments: [true, false])
    func orderOfTheHash(isLeastSignificantFirst: Bool) async throws {
        try await Fixture.run { fixture in
            let services = [
                GATTService(
                    .genericAccess,
                    characteristics: [
                        GATTCharacteristic(0x2A00, properties: .read, value: .stored([])),
                        GATTCharacteristic(0x2A01, properties: .read, value: .stored([])),
                    ]),
                GATTService(
                    .genericAttribute,
                    characteristics: [
                        GATTCharacteristic(.serviceChanged, properties: .read, value: .stored([])),
                        GATTCharacteristic(.databaseHash, properties: .read, value: .stored([])),
                    ]),
            ]
            let database = try AttributeDatabase(services)
            let hash = database.hash.bytes
            let sent = isLeastSignificantFirst ? hash : hash.reversed()
            // A server of this library with the structure, whose hash is altered on the way.
            let server = HashTurner(database, hash: sent)
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in server }
            let kernel = FaultingKernel(fixture.kernel)
            let adapter = try await Adapter.open(on: kernel)
            var counts: [Int] = []
            for _ in 0..<2 {
                let connection = try await adapter.connect(to: peripheral.address)
                kernel.arm(at: nil) {}
                let found = try await connection.discover()
                #expect(found.map(\.uuid) == [.genericAccess, .genericAttribute])
                try await fixture.radio.sleep(for: .seconds(1))
                counts.append(kernel.count)
                await connection.disconnect()
            }
            #expect(counts[0] > 2)
            #expect(counts[1] == 2, "the hash, and nothing else")
        }
    }

    /// A server whose Database Hash has its bytes in another order.
    private final class HashTurner: SimulatedLinkHandler {
        private struct State: ~Copyable {
            var server = GATTServer()
            var database: AttributeDatabase
            var writer = ByteWriter(capacity: 517)
        }

        private let state: Mutex<State>
        private let hash: [UInt8]

        init(_ database: AttributeDatabase, hash: [UInt8]) {
            state = Mutex(State(database: database))
            self.hash = hash
        }

        func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
            let request = [UInt8](packet)
            let answer = state.withLock { state in
                state.writer.removeAll()
                _ = state.server.receive(request.span.bytes, database: &state.database, into: &state.writer)
                let bytes = state.writer.bytes
                // The response to the read by type: a handle and sixteen bytes.
                return bytes.count == 20 && bytes.first == 9 ? Array(bytes.prefix(4)) + hash : bytes
            }
            if !answer.isEmpty { link.send(answer) }
        }
    }

    @Test func theDatabaseIsNotReturnedAfterTheEnd() async throws {
        try await Self.run { fixture in
            let connection = try await fixture.connect()
            _ = try await connection.discover()
            let spinning = fixture.base.begin { while true { _ = try await connection.discover() } }
            spinning.cancel()
            #expect(await failure { try await spinning.value }?.code == .cancelled)
            await connection.disconnect()
            #expect(await failure { _ = try await connection.discover() }?.code == .disconnected)
        }
    }

    // MARK: Changes under the link

    @Test func aChangeIsReportedAndStaleAttributesAreRefused() async throws {
        try await Self.run { fixture in
            let connection = try await fixture.connect()
            let services = try await connection.discover()
            let level = try #require(services.service(0x180F)?.characteristic(0x2A19))
            let changes = await connection.serviceChanges()
            try await fixture.base.radio.sleep(for: .seconds(1))
            let range = try #require(services.service(0x180F)?.handles)
            let added = try #require(try fixture.server.change(removing: range, adding: [Self.other]))
            var iterator = changes.makeAsyncIterator()
            #expect(try await iterator.next() == AttributeHandleRange(start: range.start, end: added.end))

            let error = await failure { _ = try await connection.read(level) }
            #expect(error?.code == .attributesChanged)
            #expect(error?.remedy?.contains("discover()") == true)
            #expect(await failure { try await connection.write([1], to: level) }?.code == .attributesChanged)
            #expect(await failure { try await connection.writeCommand([1], to: level) }?.code == .attributesChanged)
            #expect(await failure { _ = try await connection.subscribe(to: level) }?.code == .attributesChanged)

            let after = try await connection.discover()
            #expect(after.service(0x180F) == nil)
            let characteristic = try #require(after.service(0xFFF0)?.characteristic(0xFFF2))
            #expect(try await connection.read(characteristic) == [2])
            // The stale attribute is recognised at once.
            #expect(await failure { _ = try await connection.read(level) }?.code == .attributesChanged)
            await connection.disconnect()
            #expect(await failure { _ = try await iterator.next() }?.code == .disconnected)
        }
    }

    @Test func subscriptionsToRemovedCharacteristicsEndAndOthersContinue() async throws {
        try await Self.run { fixture in
            let connection = try await fixture.connect()
            try fixture.server.change(adding: [Self.other])
            let services = try await connection.discover()
            let level = try #require(services.service(0x180F)?.characteristic(0x2A19))
            let kept = try #require(services.service(0xFFF0)?.characteristic(0xFFF1))
            let levels = try await connection.subscribe(to: level)
            let values = try await connection.subscribe(to: kept)
            try await fixture.base.radio.sleep(for: .seconds(1))
            try fixture.server.change(removing: try #require(services.service(0x180F)?.handles))
            try await fixture.base.radio.sleep(for: .seconds(1))
            _ = try await connection.discover()
            var iterator = levels.makeAsyncIterator()
            #expect(await failure { _ = try await iterator.next() }?.code == .attributesChanged)
            await fixture.server.notify([5], of: kept.valueHandle)
            var others = values.makeAsyncIterator()
            #expect(try await others.next() == [5])
            await connection.disconnect()
        }
    }

    /// A cache on a slow disk.
    private final class SlowCache: DatabaseCache {
        let changes = Mutex<[Bool]>([])
        private let radio: SimulatedRadio

        init(_ radio: SimulatedRadio) { self.radio = radio }

        func database(for key: AttributeCacheKey) async -> CachedDatabase? { nil }

        func setDatabase(_ database: CachedDatabase?, for key: AttributeCacheKey) async {
            changes.withLock { $0.append(database != nil) }
            try? await radio.sleep(for: .seconds(1))
        }
    }

    @Test func repeatedChangesClearTheCacheOnce() async throws {
        try await Self.run { fixture in
            let cache = SlowCache(fixture.base.radio)
            await fixture.adapter.setAttributeCache(AttributeCache(cache))
            let connection = try await fixture.connect()
            _ = try await connection.discover()
            try await fixture.base.radio.sleep(for: .seconds(5))
            for _ in 0..<100 {
                try fixture.server.change(adding: [Self.other])
                try await fixture.base.radio.sleep(for: .milliseconds(100))
            }
            try await fixture.base.radio.sleep(for: .seconds(5))
            #expect(cache.changes.withLock { $0 } == [true, false])
            _ = try await connection.discover()
            try await fixture.base.radio.sleep(for: .seconds(5))
            try fixture.server.change(adding: [Self.battery])
            try await fixture.base.radio.sleep(for: .seconds(5))
            #expect(cache.changes.withLock { $0 } == [true, false, true, false])
            await connection.disconnect()
        }
    }

    // MARK: Out of sync

    @Test func anUnfoundedDatabaseOutOfSyncIsRepeated() async throws {
        try await Self.run { fixture in
            let connection = try await fixture.connect()
            let services = try await connection.discover()
            let level = try #require(services.service(0x180F)?.characteristic(0x2A19))
            try await fixture.base.radio.sleep(for: .seconds(1))
            // Removed and added again: the hash is the former one.
            let added = try #require(try fixture.server.change(adding: [Self.other], isReported: false))
            try fixture.server.change(removing: added, isReported: false)
            let count = try await fixture.count {
                let value = try await connection.read(level)
                #expect(value == [9])
            }
            #expect(count == 6)
            await connection.disconnect()
        }
    }

    @Test func anUnannouncedChangeIsDetected() async throws {
        try await Self.run { fixture in
            let connection = try await fixture.connect()
            let services = try await connection.discover()
            let level = try #require(services.service(0x180F)?.characteristic(0x2A19))
            let changes = await connection.serviceChanges()
            try await fixture.base.radio.sleep(for: .seconds(1))
            try fixture.server.change(adding: [Self.other], isReported: false)
            let error = await failure { try await connection.write([1], to: level) }
            #expect(error?.code == .attributesChanged)
            var iterator = changes.makeAsyncIterator()
            #expect(try await iterator.next() == .all)
            let after = try await connection.discover()
            #expect(after.service(0xFFF0) != nil)
            #expect(try await connection.read(level) == [9])
            await connection.disconnect()
        }
    }

    /// A subscription by handle, to a characteristic that no discovery has shown, survives a change.
    @Test func whatWasNotDiscoveredIsNotGone() {
        let level = RemoteCharacteristic(
            uuid: 0x2A19, properties: .notify, declarationHandle: 2, valueHandle: 3, endHandle: 4)
        let former = RemoteService(
            uuid: 0x180F, handles: AttributeHandleRange(start: 1, end: 4), characteristics: [level])
        var state = PeerDatabaseState()
        state.discovered([])
        #expect(state.gone(among: [3, 9], from: [former]) == [3])
        #expect(state.gone(among: [3, 9], from: []) == [])
    }

    @Test func aChangedDatabaseIsNotRemembered() {
        var state = PeerDatabaseState()
        state.discovered([], isRemembered: true)
        #expect(state.isRemembered)
        state.changed(in: .all)
        #expect(!state.isRemembered)
    }
}
