import BluetoothATT
import BluetoothCryptography
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

/// A cached database is either decoded unchanged or refused.
@Suite struct CachedDatabaseTests {
    private static let key = AttributeCacheKey(
        adapter: BluetoothAddress(0x0011_2233_4455, kind: .public),
        peer: BluetoothAddress(0xC098_E512_3456, kind: .random))

    private static let database = CachedDatabase(
        services: [
            RemoteService(
                uuid: "27ADC9CA-35EB-465A-9154-B8FF9076F3E8", handles: AttributeHandleRange(start: 1, end: 9),
                includedServices: [
                    RemoteIncludedService(
                        uuid: 0x180F, handles: AttributeHandleRange(start: 10, end: 12), declarationHandle: 2)
                ],
                characteristics: [
                    RemoteCharacteristic(
                        uuid: 0x2A37, properties: [.notify, .read], declarationHandle: 3, valueHandle: 4, endHandle: 9,
                        descriptors: [
                            RemoteDescriptor(uuid: .clientCharacteristicConfiguration, handle: 5),
                            RemoteDescriptor(uuid: .characteristicUserDescription, handle: 6),
                        ])
                ]),
            RemoteService(uuid: 0x180F, handles: AttributeHandleRange(start: 10, end: 12), isPrimary: false),
        ],
        problems: [
            DatabaseProblem(
                .valueOutside, .characteristic, at: 7, declared: AttributeHandleRange(start: 10, end: 10), uuid: 0x2A38),
            DatabaseProblem(
                .invalidRange, .include, at: 2, declared: AttributeHandleRange(start: 0, end: 0)),
            DatabaseProblem(.unexpectedHandle, .primaryService, at: 0xFFFF),
        ], hash: DatabaseHash([UInt8](1...16)), isFollowed: true)

    @Test func encodingAndDecodingAreInverse() throws {
        let bytes = try #require(Self.database.encoded(for: Self.key))
        #expect(try CachedDatabase(decoding: bytes, for: Self.key) == Self.database)
        let least = CachedDatabase(services: [], hash: nil)
        let few = try #require(least.encoded(for: Self.key))
        #expect(try CachedDatabase(decoding: few, for: Self.key) == least)
        #expect(few.count == 8 + 2 + 14 + 16)
    }

    @Test("every truncation and every flipped bit is detected")
    func damage() throws {
        let bytes = try #require(Self.database.encoded(for: Self.key))
        for count in 0..<bytes.count {
            #expect(throws: RecordFormat.Failure.damaged) {
                try CachedDatabase(decoding: Array(bytes.prefix(count)), for: Self.key)
            }
        }
        for index in bytes.indices {
            for change in [0xFF] + (0..<8).map({ 1 << $0 as UInt8 }) {
                var changed = bytes
                changed[index] ^= change
                #expect(throws: RecordFormat.Failure.damaged) { try CachedDatabase(decoding: changed, for: Self.key) }
            }
        }
        #expect(throws: RecordFormat.Failure.damaged) { try CachedDatabase(decoding: bytes + [0], for: Self.key) }
    }

    /// The checksum is public, so bytes with a correct checksum are decoded with the same care.
    @Test func aRightChecksumOverWrongBytesDoesNoHarm() throws {
        let bytes = try #require(Self.database.encoded(for: Self.key)).dropLast(16)
        for index in bytes.indices.dropFirst(10) {
            for value in [0, 1, 3, 0x7F, 0xFF] as [UInt8] {
                var changed = Array(bytes)
                changed[index] = value
                changed += RecordFormat.checksum(of: changed)
                _ = try? CachedDatabase(decoding: changed, for: Self.key)
            }
            let cut = Array(bytes.prefix(index))
            _ = try? CachedDatabase(decoding: cut + RecordFormat.checksum(of: cut), for: Self.key)
        }
    }

    @Test func aLaterFormatAndAnotherDeviceAreRefused() throws {
        var bytes = Array(try #require(Self.database.encoded(for: Self.key)).dropLast(16))
        var other = Self.key
        other.peer = BluetoothAddress(other.peer.value, kind: .public)
        #expect(throws: RecordFormat.Failure.otherOwner) {
            try CachedDatabase(decoding: try #require(Self.database.encoded(for: Self.key)), for: other)
        }
        bytes[8] = 2
        bytes += RecordFormat.checksum(of: bytes)
        #expect(throws: RecordFormat.Failure.unknownVersion(2)) { try CachedDatabase(decoding: bytes, for: Self.key) }
    }

    @Test func unknownFieldsAreSkipped() throws {
        var bytes = Array(try #require(Self.database.encoded(for: Self.key)).dropLast(16))
        bytes += [0x77, 3, 0, 1, 2, 3]
        bytes += RecordFormat.checksum(of: bytes)
        #expect(try CachedDatabase(decoding: bytes, for: Self.key) == Self.database)
    }

    @Test func theHashOfADiscoveredDatabaseEqualsTheServers() throws {
        let (hash, services) = try Self.discover(DatabaseHashTests.services)
        #expect(DatabaseHash(of: services) != hash, "extended properties are not discovered")
        let plain = DatabaseHashTests.services.filter { $0.uuid != 0x1808 && $0.uuid != 0x180F }
        let (servers, found) = try Self.discover(
            plain + [
                GATTService(0x180F, isPrimary: false),
                GATTService("27ADC9CA-35EB-465A-9154-B8FF9076F3E8", includedServices: [0x180F]),
            ])
        #expect(DatabaseHash(of: found) == servers)
        // Zephyr, NimBLE, Android and Bumble send the first order, BlueZ the second.
        for bytes in [servers.bytes, servers.bytes.reversed()] {
            #expect(DatabaseHash(bytes)?.isHash(of: found) == true)
            #expect(DatabaseHash(bytes)?.isHash(of: Array(found.dropLast())) == false)
        }
        #expect(DatabaseHash(servers.bytes.dropLast() + [0x5A])?.isHash(of: found) == false)
    }

    /// The hash of a server with these services, and those that this package's client discovers there.
    private static func discover(_ services: [GATTService]) throws -> (hash: DatabaseHash, found: [RemoteService]) {
        var fixture = try ServerFixture(services)
        let found = try fixture.perform(DatabaseDiscovery()).output.services
        return (fixture.database.hash, found)
    }

    @Test(
        "the hash is read without its handle",
        arguments: [
            ("0912080000112233445566778899AABBCCDDEEFF", "FFEEDDCCBBAA99887766554433221100"),
            ("010801000A", "none"), ("0108010002", "none"), ("09040800AABB", "violation"), ("0B00", "violation"),
        ])
    func hashRead(_ answer: String, _ result: String) throws {
        var read = DatabaseHashRead()
        var writer = ByteWriter(capacity: 23)
        try read.writeRequest(into: &writer)
        #expect(writer.bytes.hexadecimal == "080100FFFF2A2B")
        let bytes = hex(answer)
        let found: String
        do throws(TransactionFailure) {
            guard let pdu = try? ATTServerPDU(decoding: bytes.span.bytes) else { return }
            switch try read.receive(pdu) {
            case .done(let hash): found = hash?.description ?? "none"
            case .next: found = "next"
            }
        } catch {
            guard case .violation = error else {
                Issue.record("\(error)")
                return
            }
            found = "violation"
        }
        #expect(found == result)
    }
}
