import BluetoothGATT
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

/// Characteristics that notify without a Client Characteristic Configuration: nothing is written into what is there
/// instead, and their values arrive.
@Suite struct UnconfiguredTests {
    private static let devices = [describedLamp, bareTag]

    /// Runs `body` on a link to a device with these answers.
    private static func run(
        _ answers: [String: String],
        _ body: @escaping @Sendable (Adapter, Connection, AnsweringHandler) async throws -> Void
    ) async throws {
        try await Fixture.run { fixture in
            let handler = AnsweringHandler(answers)
            let peripheral = SimulatedPeripheral(on: fixture.radio) { _ in handler }
            let adapter = try await Adapter.open(on: fixture.kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            try await body(adapter, connection, handler)
            #expect(handler.requests.allSatisfy { ![0x12, 0x52, 0x16].contains($0[0]) }, "a write was sent")
            #expect(await connection.isConnected)
            await connection.disconnect()
        }
    }

    /// The ways to the characteristic.
    enum Way: CaseIterable, Sendable { case database, steps, name, descriptors }

    @Test("values arrive, and nothing is written", arguments: devices, Way.allCases)
    func values(_ device: [String: String], _ way: Way) async throws {
        try await Self.run(device) { _, connection, handler in
            for _ in 0..<2 {
                let stream: BoundedStream<[UInt8]>
                switch way {
                case .database:
                    let found = try await connection.discover().characteristic(0xFFF1, in: 0xFFF0)
                    stream = try await connection.subscribe(to: try #require(found))
                case .steps:
                    let service = try #require(try await connection.discoverServices(0xFFF0).first)
                    let found = try await connection.discoverCharacteristics(of: service)
                    stream = try await connection.subscribe(to: try #require(found.first))
                case .name: stream = try await connection.subscribe(to: 0xFFF1, in: 0xFFF0)
                case .descriptors:
                    let service = try #require(try await connection.discoverServices(0xFFF0).first)
                    var found = try #require(try await connection.discoverCharacteristics(of: service).first)
                    found.descriptors = try await connection.discoverDescriptors(of: found)
                    stream = try await connection.subscribe(to: found)
                }
                handler.send("1B 0300 0709")
                var values = stream.makeAsyncIterator()
                #expect(try await values.next() == [7, 9])
            }
            #expect(try await connection.read(0xFFF1, in: 0xFFF0) == [5])
        }
    }

    @Test func theConfigurationIsAskedForOnceOnALink() async throws {
        try await Self.run(describedLamp) { _, connection, handler in
            for _ in 0..<3 { _ = try await connection.subscribe(to: 0xFFF1, in: 0xFFF0) }
            #expect(handler.requests.count { $0[0] == 0x04 } == 1)
        }
    }

    @Test func onlyWhatTheDeviceShowsIsShownAndStored() async throws {
        try await Self.run(describedLamp) { adapter, connection, _ in
            let database = try await connection.discover()
            let found = try #require(database.characteristic(0xFFF1, in: 0xFFF0))
            #expect(found.descriptors.map(\.uuid) == [.characteristicUserDescription])
            let key = AttributeCacheKey(adapter: adapter.information.publicAddress, peer: connection.peer)
            let stored = try #require(await adapter.session.attributeCache?.database(for: key))
            #expect(stored.services == database.services)
        }
    }

    /// A cache of an earlier version has a descriptor that the device does not have.
    @Test("an invented descriptor in the cache is not written to", arguments: [false, true])
    func cached(byName: Bool) async throws {
        try await Self.run(describedLamp) { adapter, connection, handler in
            let characteristic = RemoteCharacteristic(
                uuid: 0xFFF1, properties: [.read, .notify], declarationHandle: 2, valueHandle: 3, endHandle: 4,
                descriptors: [RemoteDescriptor(uuid: .clientCharacteristicConfiguration, handle: 4)])
            let service = RemoteService(
                uuid: 0xFFF0, handles: AttributeHandleRange(start: 1, end: 4), characteristics: [characteristic])
            let key = AttributeCacheKey(adapter: adapter.information.publicAddress, peer: connection.peer)
            await adapter.session.attributeCache?.setDatabase(
                CachedDatabase(services: [service], hash: nil), for: key)
            if byName {
                let stream = try await connection.subscribe(to: 0xFFF1, in: 0xFFF0)
                handler.send("1B 0300 07")
                var values = stream.makeAsyncIterator()
                #expect(try await values.next() == [7])
            } else {
                let found = try #require(try await connection.discover().characteristic(0xFFF1, in: 0xFFF0))
                #expect(await failureCode { _ = try await connection.subscribe(to: found) } == .attributesChanged)
            }
            let now = try #require(try await connection.discover().characteristic(0xFFF1, in: 0xFFF0))
            #expect(now.descriptors.map(\.uuid) == [.characteristicUserDescription])
        }
    }
}
