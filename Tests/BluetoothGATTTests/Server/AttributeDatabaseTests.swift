import BluetoothATT
import BluetoothPrimitives
import Testing

import BluetoothGATT

@Suite struct AttributeDatabaseTests {
    @Test("declarations and required descriptors are added automatically")
    func layout() throws {
        let database = try AttributeDatabase([
            GATTService(
                0x180D,
                characteristics: [
                    GATTCharacteristic(
                        0x2A37, properties: [.read, .notify, .broadcast], extendedProperties: .writableAuxiliaries,
                        value: .stored([7]),
                        descriptors: [
                            GATTDescriptor(.characteristicUserDescription, value: .stored(Array("Rate".utf8)))
                        ])
                ])
        ])
        let expected: [(UInt16, BluetoothUUID, String?, UInt16)] = [
            (1, .primaryService, "0D18", 7), (2, .characteristic, "930300372A", 7), (3, 0x2A37, "07", 3),
            (4, .characteristicExtendedProperties, "0200", 4), (5, .clientCharacteristicConfiguration, nil, 5),
            (6, .serverCharacteristicConfiguration, "0000", 6), (7, .characteristicUserDescription, "52617465", 7),
        ]
        #expect(database.attributes.count == expected.count)
        for (attribute, (handle, type, value, end)) in zip(database.attributes, expected) {
            #expect(attribute.handle == AttributeHandle(handle))
            #expect(attribute.type == type)
            #expect(attribute.storedValue?.hexadecimal == value)
            #expect(attribute.groupEnd == AttributeHandle(end))
        }
    }

    @Test("an explicit configuration descriptor replaces the automatic one")
    func explicitConfiguration() throws {
        let characteristic = GATTCharacteristic(
            0x2A37, properties: .notify,
            descriptors: [
                GATTDescriptor(.characteristicUserDescription, value: .stored([])),
                GATTDescriptor(
                    .clientCharacteristicConfiguration, permissions: [.read, .write, .writeEncrypted], handle: 9),
            ])
        let database = try AttributeDatabase([GATTService(0x180D, characteristics: [characteristic])])
        #expect(database.attributes.map(\.handle.rawValue) == [1, 2, 3, 4, 9])
        #expect(database.attribute(at: 9)?.permissions.contains(.writeEncrypted) == true)
        #expect(database.attributes[0].groupEnd == 9)
    }

    @Test("attributes are found by handle, across gaps and up to 0xFFFF")
    func lookup() throws {
        let database = try AttributeDatabase(ServerFixture.services)
        for attribute in database.attributes { #expect(database.attribute(at: attribute.handle) == attribute) }
        for handle: AttributeHandle in [0, 8, 0x0F, 0x16, 0x43, 0xFFFB] {
            #expect(database.attribute(at: handle) == nil)
        }
        #expect(database.attributes.last?.handle == 0xFFFF)
    }

    @Test("values are found by characteristic and service, in any width of UUID")
    func valueHandles() throws {
        let database = try AttributeDatabase(ServerFixture.services)
        let linble = ServerFixture.linble
        #expect(database.valueHandle(of: ServerFixture.dataToPeripheral, in: linble) == 0x0015)
        #expect(database.valueHandle(of: "00002A19-0000-1000-8000-00805F9B34FB", in: 0x180F) == 0x0006)
        #expect(database.valueHandle(of: 0x2A19, in: linble) == nil)
        #expect(database.valueHandle(of: .clientCharacteristicConfiguration, in: linble) == nil)
        #expect(database.valueHandle(of: 0x2A19, in: 0x9999) == nil)
    }

    @Test("a second service with the same UUID is searched when the first lacks the characteristic")
    func repeatedServices() throws {
        let database = try AttributeDatabase([
            GATTService(0x1111, characteristics: [GATTCharacteristic(0x0001, properties: .read)]),
            GATTService(0x1111, characteristics: [GATTCharacteristic(0x0002, properties: .read)]),
        ])
        #expect(database.valueHandle(of: 0x0002, in: 0x1111) == 6)
    }

    @Test("a service can reserve handles up to its end handle")
    func endHandle() throws {
        let database = try AttributeDatabase([
            GATTService(0x1111, endHandle: 0x0010), GATTService(0x2222, endHandle: 0xFFFF),
        ])
        #expect(database.attributes.map(\.handle.rawValue) == [0x0001, 0x0011])
        #expect(database.attributes.map(\.groupEnd.rawValue) == [0x0010, 0xFFFF])
    }

    private static func service(
        _ uuid: BluetoothUUID, at handle: AttributeHandle? = nil, end: AttributeHandle? = nil
    ) -> GATTService {
        GATTService(
            uuid, characteristics: [GATTCharacteristic(0x2222, properties: .read, value: .stored([1]))], handle: handle,
            endHandle: end)
    }

    @Test("a service with an explicit handle can have any free one, also one it had before")
    func explicitHandles() throws {
        var database = try AttributeDatabase([Self.service(0x1111, at: 0x100), Self.service(0x2222)])
        let whole = database
        let low = try #require(try database.append([Self.service(0x3333, at: 0x50, end: 0x5F)])?.handles)
        #expect(low == AttributeHandleRange(start: 0x50, end: 0x5F))
        #expect(
            database.attributes.map(\.handle.rawValue)
                == [0x50, 0x51, 0x52, 0x100, 0x101, 0x102, 0x103, 0x104, 0x105])
        for attribute in database.attributes { #expect(database.attribute(at: attribute.handle) == attribute) }
        #expect(database.valueHandle(of: 0x2222, in: 0x3333) == 0x52)
        // The next service without an explicit handle follows all others.
        #expect(try database.append([Self.service(0x4444)])?.handles.start == 0x106)
        database.remove(AttributeHandleRange(start: 0x106, end: 0x108))
        database.remove(low)
        #expect(database.attributes == whole.attributes)
        #expect(database.hash == whole.hash)
        #expect(try database.append([Self.service(0x3333, at: 0x50, end: 0x5F)])?.handles == low)
        // Without gaps on both sides.
        #expect(try database.append([Self.service(0x5555, at: 0x60, end: 0xFF)])?.handles.end == 0xFF)
        #expect(try database.append([Self.service(0x6666, at: 0x4D)])?.handles.end == 0x4F)
    }

    @Test(
        "a service at used handles is refused, and the database is unchanged",
        arguments: [
            ([service(0x7777, at: 0x100)], 0x100), ([service(0x7777, at: 0x101)], 0x101),
            ([service(0x7777, at: 0x10F)], 0x10F), ([service(0x7777, at: 0xFE)], 0x100),
            ([service(0x7777, at: 0x90, end: 0x100)], 0x100),
            // A service must not surround existing ones either.
            ([service(0x7777, at: 0x90), service(0x7777, at: 0x200)], 0x100),
            ([service(0x7777, at: 0x90), service(0x7777, at: 0x80)], 0x80),
        ] as [([GATTService], AttributeHandle)])
    func takenHandles(_ services: [GATTService], _ handle: AttributeHandle) throws {
        var database = try AttributeDatabase([Self.service(0x1111, at: 0x100, end: 0x10F)])
        let before = database.attributes
        #expect(throws: AttributeDatabaseError.handleNotAvailable(handle)) { try database.append(services) }
        #expect(database.attributes == before)
        #expect(try database.append([Self.service(0x2222)])?.handles.start == 0x110)
    }

    @Test("when all handles were used, those of removed services are reused, including gaps")
    func handlesRunOut() throws {
        var database = try AttributeDatabase([Self.service(0x1111)])
        var last = try #require(try database.append([Self.service(0x2222)])?.handles)
        // Two services alternate, so that one is always near the end.
        for _ in 0..<50_000 {
            let next = try #require(try database.append([Self.service(0x2222)])?.handles)
            #expect(next.count == 3)
            database.remove(last)
            last = next
        }
        #expect(database.attributes.count == 6)
        #expect(database.attributes.map(\.handle) == database.attributes.map(\.handle).sorted())
        let before = database.attributes
        let many = (0..<22_000).map { _ in Self.service(0x4444) }
        #expect(throws: AttributeDatabaseError.outOfHandles) { try database.append(many) }
        #expect(database.attributes == before)
    }

    @Test func anErrorHasItsParts() {
        #expect(AttributeDatabaseError.handleNotAvailable(1).handleNotAvailable == 1)
        let error = AttributeDatabaseError.noHandle(for: 0x2902, of: 0x2A19, at: nil)
        #expect(error.noHandle?.descriptor == 0x2902)
        #expect(error.noHandle?.characteristic == 0x2A19)
        #expect(error.noHandle?.handle == .some(nil))
        #expect(error.handleNotAvailable == nil)
        #expect(AttributeDatabaseError.invalidValueLength(2, count: 513).invalidValueLength?.count == 513)
        #expect(AttributeDatabaseError.includedServiceNotFound(0x180F).includedServiceNotFound == 0x180F)
        #expect(AttributeDatabaseError.repeatedDescriptor(0x2901, 3).repeatedDescriptor?.handle == 3)
        #expect(AttributeDatabaseError.noStoredValue(4).noStoredValue == 4)
        #expect(AttributeDatabaseError.outOfHandles.noHandle == nil)
    }

    static let mistakes: [([GATTService], AttributeDatabaseError)] = [
        ([GATTService(0x1111, handle: 0)], .handleNotAvailable(0)),
        ([GATTService(0x1111), GATTService(0x2222, handle: 1)], .handleNotAvailable(1)),
        ([GATTService(0x1111, handle: 9, endHandle: 8)], .handleNotAvailable(8)),
        ([GATTService(0x1111, handle: 0xFFFF), GATTService(0x2222)], .outOfHandles),
        (
            [
                GATTService(
                    0x1111, characteristics: [GATTCharacteristic(0x2222, properties: .read)], handle: 0xFFFE)
            ], .outOfHandles
        ),
        ([GATTService(0x1111, includedServices: [0x2222])], .includedServiceNotFound(0x2222)),
        ([GATTService(0x1111, includedServices: [0x1111])], .includedServiceNotFound(0x1111)),
        (
            characteristic(value: .stored([UInt8](repeating: 0, count: 513))), .invalidValueLength(3, count: 513)
        ),
        (characteristic(value: .stored([1]), lengths: 2...2), .invalidValueLength(3, count: 1)),
        (characteristic(value: .dynamic, lengths: 0...513), .invalidValueLength(3, count: 513)),
        (characteristic(value: .dynamic, lengths: Int.min...0), .invalidValueLength(3, count: .min)),
        (
            characteristic(
                value: .dynamic,
                descriptors: [
                    GATTDescriptor(.characteristicUserDescription), GATTDescriptor(.characteristicUserDescription),
                ]), .repeatedDescriptor(.characteristicUserDescription, 5)
        ),
    ]

    /// A notified heart rate at handles 2 and 3 requires its configuration at 4; the services request that handle.
    static let missingPlaces: [([GATTService], AttributeHandle?)] = {
        func service(
            _ descriptors: [GATTDescriptor] = [], then next: [GATTCharacteristic] = [], end: AttributeHandle? = nil
        ) -> GATTService {
            GATTService(
                0x180D,
                characteristics: [
                    GATTCharacteristic(0x2A37, properties: .notify, descriptors: descriptors, handle: 2)
                ] + next, endHandle: end)
        }
        let description = GATTDescriptor(.characteristicUserDescription, value: .stored([]))
        return [
            ([service([GATTDescriptor(.characteristicUserDescription, value: .stored([]), handle: 4)])], 4),
            ([service(then: [GATTCharacteristic(0x2A38, properties: .read, handle: 4)])], 4),
            ([service(), GATTService(0x180F, handle: 4)], 4),
            ([service(end: 3)], 4),
            // One handle further on, where there would be room without the configuration.
            ([service([description], then: [GATTCharacteristic(0x2A38, properties: .read, handle: 5)])], 4),
            (
                [
                    GATTService(
                        0x180D, characteristics: [GATTCharacteristic(0x2A37, properties: .indicate, handle: 0xFFFE)])
                ], nil
            ),
        ]
    }()

    @Test("a handle missing for a client's configuration is reported as such", arguments: missingPlaces)
    func missingPlace(_ services: [GATTService], _ handle: AttributeHandle?) {
        let error = AttributeDatabaseError.noHandle(
            for: .clientCharacteristicConfiguration, of: 0x2A37, at: handle)
        #expect(throws: error) { try AttributeDatabase(services) }
        #expect(error.description.contains("2A37 needs handle"))
        #expect(error.description.contains(handle.map { "\($0)" } ?? "0x10000"))
    }

    @Test("an existing attribute can take the handle")
    func missingPlaceBeforeAnother() throws {
        var database = try AttributeDatabase([Self.service(0x1111, at: 0x10)])
        let service = GATTService(
            0x180D, characteristics: [GATTCharacteristic(0x2A37, properties: .notify)], handle: 0x0D)
        #expect(
            throws: AttributeDatabaseError.noHandle(
                for: .clientCharacteristicConfiguration, of: 0x2A37, at: 0x10)
        ) { try database.append([service]) }
        // Otherwise the used handle is reported.
        let longer = GATTService(
            0x180D,
            characteristics: [
                GATTCharacteristic(0x2A37, properties: .notify), GATTCharacteristic(0x2A38, properties: .read),
            ], handle: 0x0D)
        #expect(throws: AttributeDatabaseError.handleNotAvailable(0x10)) { try database.append([longer]) }
        #expect(throws: AttributeDatabaseError.handleNotAvailable(3)) {
            try AttributeDatabase([
                GATTService(
                    0x180D,
                    characteristics: [
                        GATTCharacteristic(0x2A37, properties: .notify, handle: 2),
                        GATTCharacteristic(0x2A38, properties: .read, handle: 3),
                    ])
            ])
        }
    }

    static func characteristic(
        value: AttributeValue, lengths: ClosedRange<Int> = 0...512, descriptors: [GATTDescriptor] = []
    ) -> [GATTService] {
        [
            GATTService(
                0x1111,
                characteristics: [
                    GATTCharacteristic(
                        0x2222, properties: .read, value: value, valueLengths: lengths, descriptors: descriptors)
                ])
        ]
    }

    @Test("an invalid description is refused with its handle", arguments: mistakes)
    func mistake(services: [GATTService], error: AttributeDatabaseError) {
        #expect(throws: error) { try AttributeDatabase(services) }
        #expect(!error.description.isEmpty)
    }

    @Test("the program changes stored values within their lengths")
    func setValue() throws {
        var database = try AttributeDatabase(ServerFixture.services)
        try database.setValue([0x32], of: 6)
        #expect(database.attribute(at: 6)?.storedValue == [0x32])
        #expect(throws: AttributeDatabaseError.invalidValueLength(0x42, count: 3)) {
            try database.setValue([1, 2, 3], of: 0x42)
        }
        #expect(throws: AttributeDatabaseError.noStoredValue(0x12)) { try database.setValue([], of: 0x12) }
        #expect(throws: AttributeDatabaseError.noStoredValue(8)) { try database.setValue([], of: 8) }
    }

    @Test("a 32-bit UUID is declared in 128 bits, since ATT has no 32-bit UUIDs")
    func thirtyTwoBits() throws {
        let database = try AttributeDatabase([GATTService(0x1234_5678)])
        #expect(database.attributes[0].storedValue?.hexadecimal == "FB349B5F800000800010000078563412")
    }

    @Test("permissions follow properties unless given")
    func permissions() {
        #expect(AttributePermissions([.read, .notify]) == .read)
        #expect(AttributePermissions(.writeWithoutResponse) == .write)
        #expect(AttributePermissions(.indicate).isEmpty)
        // Plain writes must not change a value that only signed writes may change.
        #expect(AttributePermissions([.read, .authenticatedSignedWrites]) == .read)
        #expect(AttributePermissions([.read, .writeEncrypted]).description == "[read, writeEncrypted]")
    }
}
