import BluetoothPrimitives
import TestSupport
import Testing

@testable import BluetoothGATT

/// Discoveries of the client against the server, in memory.
@Suite struct OwnServerTests {
    /// The number of requests, each with one response.
    static let requestCounts: [(mtu: Int, requests: Int)] = [
        // One service or characteristic, or five configurations, in each response: 10 + 1 + 50 + 10.
        (23, 71),
        // 12 services, 11 characteristics or 61 configurations: 1 + 1 + 5 + 1.
        (247, 8),
        // 25 services or 24 characteristics: 1 + 1 + 3 + 1.
        (517, 6),
    ]

    @Test("ten services of five characteristics are discovered with this number of requests", arguments: requestCounts)
    func requestCount(mtu: Int, requests: Int) throws {
        var fixture = try ServerFixture(ServerFixture.tenByFive, mtu: mtu)
        let discovery = try fixture.perform(DatabaseDiscovery())
        #expect(discovery.requests == requests)
        #expect(discovery.output == (try RemoteDatabase(services: expectedTree(of: fixture.database))))
        #expect(discovery.output.map(\.characteristics.count) == [Int](repeating: 5, count: 10))
        for service in discovery.output {
            for characteristic in service.characteristics {
                #expect(characteristic.properties == [.read, .write, .writeWithoutResponse, .notify])
                #expect(characteristic.descriptors.map(\.uuid) == [.clientCharacteristicConfiguration])
            }
        }
    }

    private static func service(_ uuid: BluetoothUUID, _ characteristics: GATTCharacteristic...) -> GATTService {
        GATTService(uuid, characteristics: characteristics)
    }

    private static let long: BluetoothUUID = "10000000-0000-0001-0000-00000000ABCD"

    static let databases: [(name: String, services: [GATTService], tree: String)] = [
        ("nothing", [], ""),
        (
            "services without characteristics",
            [service(0x1800), service(long), service(0x1801), GATTService(0x180F, handle: 0xFFFF)],
            "1800 0001-0001; \(long) 0002-0002; 1801 0003-0003; 180F FFFF-FFFF"
        ),
        (
            "16-bit UUIDs",
            [
                service(
                    0x1800, GATTCharacteristic(0x2A00, properties: .read), GATTCharacteristic(0x2A01, properties: .read)
                ),
                service(0x180F, GATTCharacteristic(0x2A19, properties: [.read, .notify])),
            ],
            "1800 0001-0005 2A00@0002/0003-0003[read] 2A01@0004/0005-0005[read]; "
                + "180F 0006-0009 2A19@0007/0008-0009[read, notify](2902@0009)"
        ),
        (
            "UUIDs of all widths",
            [
                service(long, GATTCharacteristic(0x2A00, properties: .read)),
                service(
                    0x1234_5678, GATTCharacteristic(long, properties: .write),
                    GATTCharacteristic(0x8765_4321, properties: .indicate)),
                service(0x180F, GATTCharacteristic(0x2A19, properties: .broadcast)),
            ],
            "\(long) 0001-0003 2A00@0002/0003-0003[read]; 12345678 0004-0009 \(long)@0005/0006-0006[write] "
                + "87654321@0007/0008-0009[indicate](2902@0009); 180F 000A-000D 2A19@000B/000C-000D[broadcast](2903@000D)"
        ),
        (
            "more descriptors",
            [
                service(
                    0x1800,
                    GATTCharacteristic(
                        0x2A00, properties: [.read, .notify], extendedProperties: .reliableWrite,
                        descriptors: [
                            GATTDescriptor(.characteristicUserDescription), GATTDescriptor(long),
                            GATTDescriptor(.characteristicPresentationFormat),
                            GATTDescriptor(.characteristicPresentationFormat),
                        ]),
                    GATTCharacteristic(
                        0x2A01, properties: .read, descriptors: [GATTDescriptor(.characteristicUserDescription)]))
            ],
            "1800 0001-000C 2A00@0002/0003-0009[read, notify, extendedProperties]"
                + "(2900@0004 2902@0005 2901@0006 \(long)@0007 2904@0008 2904@0009) 2A01@000A/000B-000C[read](2901@000C)"
        ),
        (
            "gaps and handles of one's own choice",
            [
                GATTService(
                    0x1800,
                    characteristics: [
                        GATTCharacteristic(0x2A00, properties: .notify, handle: 0x0013),
                        GATTCharacteristic(
                            0x2A01, properties: .read,
                            descriptors: [GATTDescriptor(.characteristicUserDescription, handle: 0x0028)],
                            handle: 0x0020),
                    ], handle: 0x0010, endHandle: 0x002F),
                GATTService(
                    0x180F, characteristics: [GATTCharacteristic(0x2A19, properties: .read, handle: 0xFFFE)],
                    handle: 0xFF00),
            ],
            "1800 0010-002F 2A00@0013/0014-001F[notify](2902@0015) 2A01@0020/0021-002F[read](2901@0028); "
                + "180F FF00-FFFF 2A19@FFFE/FFFF-FFFF[read]"
        ),
        (
            "a secondary service between two primary ones, with a characteristic like those around it",
            [
                service(0x1800, GATTCharacteristic(0x2A00, properties: .read)),
                GATTService(
                    0x1234, isPrimary: false,
                    characteristics: [
                        GATTCharacteristic(
                            0x2A34, properties: .read, descriptors: [GATTDescriptor(.characteristicUserDescription)])
                    ]),
                GATTService(
                    0x180F, includedServices: [0x1234],
                    characteristics: [GATTCharacteristic(0x2A19, properties: .notify)]),
            ],
            "1800 0001-0003 2A00@0002/0003-0003[read]; "
                + "secondary 1234 0004-0007 2A34@0005/0006-0007[read](2901@0007); "
                + "180F 0008-000C →1234@0009/0004-0007 2A19@000A/000B-000C[notify](2902@000C)"
        ),
        (
            "secondary services of 128 bits, one that includes another and one that nobody includes",
            [
                GATTService(
                    long, isPrimary: false, characteristics: [GATTCharacteristic(0x2A00, properties: .read)]),
                GATTService(0x1235, isPrimary: false, characteristics: [GATTCharacteristic(0x2A01, properties: .read)]),
                GATTService(
                    0x1800, includedServices: [0x1234, 0x180F],
                    characteristics: [GATTCharacteristic(0x2A00, properties: .read)]),
                service(0x180F, GATTCharacteristic(0x2A19, properties: .read)),
                GATTService(0x1234, isPrimary: false, includedServices: [.uuid(long)]),
            ],
            "secondary \(long) 0001-0003 2A00@0002/0003-0003[read]; "
                + "1800 0007-000B →1234@0008/000F-0010 →180F@0009/000C-000E 2A00@000A/000B-000B[read]; "
                + "180F 000C-000E 2A19@000D/000E-000E[read]; secondary 1234 000F-0010 →\(long)@0010/0001-0003"
        ),
    ]

    @Test("the secondary services on both sides of the including one are discovered with their contents")
    func includesBeyondIncludes() throws {
        func secondary(_ uuid: BluetoothUUID, _ value: BluetoothUUID, _ included: BluetoothUUID...) -> GATTService {
            GATTService(
                uuid, isPrimary: false, includedServices: included.map { .uuid($0) },
                characteristics: [GATTCharacteristic(value, properties: .read)])
        }
        let services = [
            secondary(0xFFF1, 0x2A01, 0xFFF4), secondary(0xFFF3, 0x2A03),
            GATTService(
                0x1800, includedServices: [0xFFF1, 0xFFF2],
                characteristics: [GATTCharacteristic(0x2A00, properties: .read)]),
            secondary(0xFFF4, 0x2A04), secondary(0xFFF2, 0x2A02, 0xFFF3),
        ]
        var fixture = try ServerFixture(services, mtu: 247)
        #expect(
            try fixture.perform(DatabaseDiscovery()).output
                == RemoteDatabase(services: expectedTree(of: fixture.database)))
    }

    @Test("the discovered database equals the description", arguments: databases, [23, 247])
    func discovery(_ database: (name: String, services: [GATTService], tree: String), mtu: Int) throws {
        var fixture = try ServerFixture(database.services, mtu: mtu)
        let discovered = try fixture.perform(DatabaseDiscovery()).output
        #expect(ending(discovered) == database.tree)
        #expect(discovered == (try RemoteDatabase(services: expectedTree(of: fixture.database))))
    }

    @Test("an included service takes one request for its include, and those for what cannot be inferred from it")
    func secondaryService() throws {
        var fixture = try ServerFixture(Self.databases[6].services, mtu: 247)
        // Services, the end of services, characteristics; the include; the descriptor in the secondary service; the
        // configuration in the last one.
        #expect(try fixture.perform(DatabaseDiscovery()).requests == 6)
    }

    @Test("any database is discovered, complete and in parts", .seeded, arguments: SeededGenerator.seeds(150))
    func randomDatabase(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let services = try RandomDatabase.make(&generator)
        let mtu = [23, 24, 64, 185, 247, 517].randomElement(using: &generator) ?? 23
        var fixture = try ServerFixture(services, mtu: mtu)
        let expected = try expectedTree(of: fixture.database)

        #expect(try fixture.perform(DatabaseDiscovery()).output == RemoteDatabase(services: expected))

        var bare = expected.filter(\.isPrimary)
        for index in bare.indices {
            bare[index].characteristics = []
            bare[index].includedServices = []
        }
        #expect(try fixture.perform(ServiceDiscovery()).output == bare)
        for service in expected {
            let sameUUID = bare.filter { $0.uuid == service.uuid }
            #expect(try fixture.perform(ServiceDiscovery(uuid: service.uuid)).output == sameUUID)
            let includes = try fixture.perform(IncludedServiceDiscovery(in: service.handles)).output
            #expect(includes == service.includedServices)

            var characteristics = service.characteristics
            for index in characteristics.indices { characteristics[index].descriptors = [] }
            #expect(try fixture.perform(CharacteristicDiscovery(in: service.handles)).output == characteristics)
            if let uuid = characteristics.randomElement(using: &generator)?.uuid {
                let some = try fixture.perform(CharacteristicDiscovery(in: service.handles, uuid: uuid)).output
                #expect(some == characteristics.filter { $0.uuid == uuid })
            }
            for characteristic in service.characteristics {
                guard let range = characteristic.descriptorRange else { continue }
                #expect(try fixture.perform(DescriptorDiscovery(in: range)).output == characteristic.descriptors)
            }
        }
    }
}
