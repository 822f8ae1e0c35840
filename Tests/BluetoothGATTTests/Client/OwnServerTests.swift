import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

@testable import BluetoothGATT

/// The expected discovery of `database`, from its attributes: primary services, and included secondary ones.
func expectedTree(of database: AttributeDatabase) throws -> [RemoteService] {
    var services: [RemoteService] = []
    for (position, attribute) in database.attributes.enumerated() {
        switch attribute.type {
        case .primaryService, .secondaryService:
            let value = attribute.storedValue ?? []
            let uuid = BluetoothUUID(attributeValue: value.span.bytes)
            let range = AttributeHandleRange(start: attribute.handle, end: attribute.groupEnd)
            services.append(
                RemoteService(
                    uuid: try #require(uuid), handles: range, isPrimary: attribute.type == .primaryService))
        case .include:
            let value = try #require(attribute.storedValue)
            let start = AttributeHandle(UInt16(value[0]) | UInt16(value[1]) << 8)
            let end = AttributeHandle(UInt16(value[2]) | UInt16(value[3]) << 8)
            let declaration = try #require(database.attribute(at: start)?.storedValue)
            let uuid = BluetoothUUID(attributeValue: declaration.span.bytes)
            services[services.count - 1].includedServices.append(
                RemoteIncludedService(
                    uuid: try #require(uuid),
                    handles: AttributeHandleRange(start: start, end: end), declarationHandle: attribute.handle))
        case .characteristic:
            guard let service = services.last, service.handles.contains(attribute.handle) else { continue }
            services[services.count - 1].characteristics.append(
                try expectedCharacteristic(at: position, in: service, of: database))
        default: break
        }
    }
    // The services reachable from the primary ones.
    var known = Set(services.filter(\.isPrimary).map(\.handles.start))
    var toVisit = services.filter(\.isPrimary)
    while let service = toVisit.popLast() {
        for included in service.includedServices where known.insert(included.handles.start).inserted {
            toVisit.append(try #require(services.first { $0.handles == included.handles }))
        }
    }
    return services.filter { known.contains($0.handles.start) }
}

private func expectedCharacteristic(
    at position: Int, in service: RemoteService, of database: AttributeDatabase
) throws -> RemoteCharacteristic {
    let attributes = database.attributes
    var value = try #require(attributes[position].storedValue)
    let properties = CharacteristicProperties(rawValue: value.removeFirst())
    let next = attributes[(position + 1)...].first { $0.type == .characteristic }?.handle.previous
    let end = min(next ?? .last, service.handles.end)
    let members = attributes[(position + 2)...].prefix { $0.handle <= end }
    return RemoteCharacteristic(
        uuid: attributes[position + 1].type, properties: properties, declarationHandle: attributes[position].handle,
        valueHandle: attributes[position + 1].handle, endHandle: end,
        descriptors: members.map { RemoteDescriptor(uuid: $0.type, handle: $0.handle) })
}

extension ServerFixture {
    /// Lets the server respond until the procedure ends; counts the requests.
    ///
    /// Reads of dynamic values are answered with `value`, and writes to them are accepted.
    mutating func perform<Procedure: ClientProcedure>(
        _ procedure: Procedure, value: [UInt8] = []
    ) throws -> (output: Procedure.Output, requests: Int) {
        var procedure = procedure
        var requests = 0
        while true {
            var request = ByteWriter(capacity: server.mtu)
            try procedure.writeRequest(into: &request)
            requests += 1
            var answer = send(request.bytes)
            while server.isWaitingForProgram {
                if case .readRequested = events.first {
                    answer = hex(try self.answer(value.hexadecimal))
                } else {
                    answer = hex(try accept())
                }
            }
            try #require(answer.count <= server.mtu)
            if case .done(let output) = try procedure.receive(try ATTServerPDU(decoding: answer.span.bytes)) {
                return (output, requests)
            }
        }
    }

    /// The failure of a procedure.
    mutating func failure(of procedure: some ClientProcedure) throws -> String {
        do {
            _ = try perform(procedure)
            return "no failure"
        } catch let failure as TransactionFailure {
            return ending(failure)
        }
    }
}

/// The client against the server, in memory.
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
            #expect(try fixture.perform(ServiceDiscoveryByUUID(uuid: service.uuid)).output == sameUUID)
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

    // MARK: Values

    static let lengths = [0, 1, 18, 19, 20, 21, 22, 23, 36, 43, 44, 45, 66, 245, 246, 247, 492, 511, 512]

    /// A service with one stored value (handle 3) and one dynamic value (handle 5).
    private func values(_ mtu: Int, _ value: [UInt8] = [], lengths: ClosedRange<Int> = 0...512) throws -> ServerFixture
    {
        try ServerFixture(
            [
                GATTService(
                    0xFFF0,
                    characteristics: [
                        GATTCharacteristic(
                            0xFFF1, properties: [.read, .write], value: .stored(value), valueLengths: lengths),
                        GATTCharacteristic(0xFFF2, properties: [.read, .write]),
                        GATTCharacteristic(0xFFF3, properties: .notify),
                    ])
            ], mtu: mtu)
    }

    @Test("a value of any length is read completely", arguments: lengths, [23, 247, 517])
    func read(count: Int, mtu: Int) throws {
        let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 3) }
        var fixture = try values(mtu, value)
        #expect(try fixture.perform(ValueRead(0x0003)).output == value)
        #expect(try fixture.perform(ValueRead(0x0005), value: value).output == value)
    }

    @Test("a value of any length is written completely", arguments: lengths, [23, 247, 517])
    func write(count: Int, mtu: Int) throws {
        let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 5) }
        var fixture = try values(mtu, [9, 9])
        _ = try fixture.perform(ReliableWrite(value, to: 0x0003))
        #expect(fixture.database.attribute(at: 0x0003)?.storedValue == value)
        if count <= ATTValueLimits(mtu: mtu).write {
            #expect(try fixture.perform(ValueWrite(value.reversed(), to: 0x0003)).requests == 1)
            #expect(fixture.database.attribute(at: 0x0003)?.storedValue == value.reversed())
        }
        _ = try fixture.perform(ReliableWrite(value, to: 0x0005))
    }

    @Test("512 bytes at the minimum ATT_MTU take 24 requests to read and 30 to write")
    func longestValue() throws {
        let value = (0..<512).map { UInt8(truncatingIfNeeded: $0 / 3) }
        var fixture = try values(23)
        #expect(try fixture.perform(ReliableWrite(value, to: 0x0003)).requests == 30)
        let read = try fixture.perform(ValueRead(0x0003))
        #expect(read.output == value)
        #expect(read.requests == 24)
    }

    @Test("both sides agree on the ATT_MTU")
    func mtu() throws {
        for (offer, agreed) in [(0, 23), (22, 23), (23, 23), (100, 100), (517, 517), (65535, 517)] {
            var fixture = try values(23)
            #expect(try fixture.perform(MTUExchange(offering: UInt16(offer))).output == agreed)
            #expect(fixture.server.mtu == agreed)
        }
    }

    @Test("a server's refusals are reported")
    func refusals() throws {
        var fixture = try values(23, [1, 2], lengths: 0...30)
        #expect(try fixture.failure(of: ValueRead(0x0007)) == "refused 02")
        #expect(try fixture.failure(of: ValueRead(0x0099)) == "refused 01")
        #expect(try fixture.failure(of: ValueWrite([1], to: 0x0007)) == "refused 03")
        #expect(try fixture.failure(of: ReliableWrite([1], to: 0x0007)) == "refused 03")
        #expect(try fixture.failure(of: ReliableWrite([UInt8](repeating: 0, count: 31), to: 0x0003)) == "refused 0D")
        #expect(fixture.database.attribute(at: 0x0003)?.storedValue == [1, 2])
    }
}

/// Databases of all kinds, generated from a seed.
enum RandomDatabase {
    static func make(_ generator: inout SeededGenerator) throws -> [GATTService] {
        var services: [GATTService] = []
        for _ in 0..<Int.random(in: 0...7, using: &generator) {
            let uuid = uuid(&generator)
            let included = services.map(\.uuid).filter { _ in generator.oneIn(4) }
            services.append(
                GATTService(
                    uuid, isPrimary: !generator.oneIn(3),
                    includedServices: included.filter { $0 != uuid }.map { .uuid($0) },
                    handle: try gap(behind: services, &generator)))
            let current = services.count - 1
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                let handle = try gap(behind: services, &generator)
                services[current].characteristics.append(characteristic(handle, &generator))
                let last = services[current].characteristics.count - 1
                for uuid in descriptors.shuffled(using: &generator).prefix(Int.random(in: 0...3, using: &generator))
                where generator.oneIn(2) {
                    let handle = try gap(behind: services, &generator)
                    services[current].characteristics[last].descriptors.append(GATTDescriptor(uuid, handle: handle))
                }
            }
            services[current].endHandle = try gap(behind: services, &generator)
        }
        if generator.oneIn(4) { services.append(atTheEnd(&generator)) }
        return services
    }

    /// Descriptors that no property requires; required ones would be placed before the others.
    private static let descriptors: [BluetoothUUID] = [
        .characteristicUserDescription, .characteristicPresentationFormat, .characteristicAggregateFormat,
        0x290E, 0x1234_5678, "10000000-0000-0001-0000-00000000ABCD",
    ]

    private static func characteristic(
        _ handle: AttributeHandle?, _ generator: inout SeededGenerator
    ) -> GATTCharacteristic {
        GATTCharacteristic(
            uuid(&generator), properties: CharacteristicProperties(rawValue: .random(in: 0...255, using: &generator)),
            extendedProperties: generator.oneIn(5) ? .reliableWrite : [], value: .stored([1, 2, 3]), handle: handle)
    }

    private static func uuid(_ generator: inout SeededGenerator) -> BluetoothUUID {
        let number = UInt16.random(in: 0x1800...0x18FF, using: &generator)
        return switch Int.random(in: 0..<4, using: &generator) {
        case 0: BluetoothUUID(UInt32(number) << 16 | 1)
        case 1: BluetoothUUID(high: UInt64(number) << 32, low: 0xABCD)
        default: BluetoothUUID(number)
        }
    }

    /// Occasionally a handle slightly above all used ones.
    private static func gap(
        behind services: [GATTService], _ generator: inout SeededGenerator
    ) throws -> AttributeHandle? {
        guard generator.oneIn(5) else { return nil }
        let attributes = try AttributeDatabase(services).attributes
        let last = attributes.map { max($0.handle, $0.groupEnd) }.max()?.rawValue ?? 0
        return AttributeHandle(last + .random(in: 1...4, using: &generator))
    }

    /// A service that ends at 0xFFFF.
    private static func atTheEnd(_ generator: inout SeededGenerator) -> GATTService {
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: GATTService(0x1801, handle: 0xFFFF)
        case 1: GATTService(0x1801, handle: 0xFFF0, endHandle: 0xFFFF)
        case 2:
            GATTService(
                0x1801, characteristics: [GATTCharacteristic(0x2A05, properties: .read, handle: 0xFFFE)],
                handle: 0xFFF0)
        default:
            GATTService(
                0x1801, characteristics: [GATTCharacteristic(0x2A05, properties: .indicate, handle: 0xFFFD)],
                handle: 0xFFFC)
        }
    }
}
