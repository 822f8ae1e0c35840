import BluetoothAdvertising
import BluetoothPrimitives
import TestSupport
import Testing

@Suite struct ADFieldTests {
    @Test(arguments: vectors) func bytesAndMeaningAgreeBothWays(_ vector: Vector) throws {
        let data = AdvertisementData(advertising: vector.bytes)
        #expect(data.fields == [vector.field])
        #expect(data.problems == [])
        #expect(data.structures.map(\.field) == [vector.field])
        let structures = try vector.field.structures()
        #expect(structures == data.structures)
        #expect(structures.first?.type == vector.field.type)
        #expect(!vector.field.description.isEmpty)
        var builder = AdvertisementDataBuilder()
        try builder.add(vector.field)
        #expect(builder.bytes == vector.bytes)
    }

    @Test func everyAssignedTypeHasAVector() {
        let tested = Set(vectors.map { $0.bytes[1] })
        let named = (UInt8.min...UInt8.max).filter { ADType(rawValue: $0).name != nil }
        #expect(named.count == 50)
        #expect(named.filter { !tested.contains($0) } == [])
    }

    @Test func flagsHaveTheirAssignedBits() {
        let flags: [AdvertisementFlags] = [
            .leLimitedDiscoverable, .leGeneralDiscoverable, .brEDRNotSupported, .simultaneousLEAndBREDRController,
            .simultaneousLEAndBREDRHost,
        ]
        #expect(flags.map(\.rawValue) == [0x01, 0x02, 0x04, 0x08, 0x10])
        let outOfBand: [SecurityManagerOutOfBandFlags] = [
            .dataPresent, .leSupported, .simultaneousLEAndBREDR, .randomAddress,
        ]
        #expect(outOfBand.map(\.rawValue) == [0x01, 0x02, 0x04, 0x08])
        let roles: [LERole] = [.peripheralOnly, .centralOnly, .peripheralPreferred, .centralPreferred]
        #expect(roles.map(\.rawValue) == [0, 1, 2, 3])
    }

    @Test func unknownTypesPrintAsHexadecimal() {
        #expect(ADType(rawValue: 0x3C).description == "AD type 0x3C")
        #expect(ADType.completeLocalName.description == "Complete Local Name")
    }

    /// Every type with a value of fixed or minimum length: truncated, one byte longer, and empty.
    @Test(arguments: vectors) func aStructureOfAnotherLengthNeverHidesItsNeighbours(_ vector: Vector) throws {
        let structure = try #require(AdvertisementData(advertising: vector.bytes).structures.first)
        for count in 0...structure.data.count + 1 {
            let data = Array((structure.data + [0xEE]).prefix(count))
            let changed = [UInt8(data.count + 1), structure.type.rawValue] + data
            let advertisement = AdvertisementData(advertising: hex("03FE0102") + changed + hex("03FD0304"))
            let fields = advertisement.fields
            #expect(fields.count == 3)
            #expect(fields.first == .other(ADType(rawValue: 0xFE), hex("0102")))
            #expect(fields.last == .other(ADType(rawValue: 0xFD), hex("0304")))
            #expect(
                advertisement.structures.map(\.type) == [
                    ADType(rawValue: 0xFE), structure.type, ADType(rawValue: 0xFD),
                ])
            if case .other(let type, let kept) = fields[1].kind {
                #expect(type == structure.type)
                #expect(kept == data)
            }
            for problem in advertisement.problems {
                #expect(problem.offset == 4)
                #expect(problem.type == structure.type)
            }
        }
    }

    @Test(arguments: [
        ("01 01", ADFault.tooShort(needed: 1, available: 0)),
        ("01 0A", .tooShort(needed: 1, available: 0)),
        ("03 0D 0102", .tooShort(needed: 3, available: 2)),
        ("05 0E 01020304", .tooShort(needed: 16, available: 4)),
        ("08 10 01020304050607", .tooShort(needed: 2, available: 1)),
        ("04 12 060080", .tooShort(needed: 2, available: 1)),
        ("02 16 0F", .tooShort(needed: 2, available: 1)),
        ("04 20 785634", .tooShort(needed: 4, available: 3)),
        ("05 21 01020304", .tooShort(needed: 16, available: 4)),
        ("02 19 C1", .tooShort(needed: 2, available: 1)),
        ("02 1A A0", .tooShort(needed: 2, available: 1)),
        ("03 2F 0000", .tooShort(needed: 3, available: 2)),
        ("07 1B 010203040506", .tooShort(needed: 1, available: 0)),
        ("01 24", .tooShort(needed: 1, available: 0)),
        ("07 28 FFFFFFFF1F34", .tooShort(needed: 2, available: 1)),
        ("06 2E AAFB0D9481", .tooShort(needed: 3, available: 2)),
        ("09 31 0102030405 111213", .tooShort(needed: 4, available: 3)),
        ("02 FF A6", .tooShort(needed: 2, available: 1)),
        ("04 24 C38F 61", .unassigned(0xCF)),
        ("02 24 00", .unassigned(0)),
    ])
    func structuresWithoutAValueKeepTheirBytes(_ text: String, _ fault: ADFault) throws {
        let bytes = hex(text)
        let data = AdvertisementData(advertising: bytes)
        #expect(data.fields == [.other(ADType(rawValue: bytes[1]), Array(bytes.dropFirst(2)))])
        let problem = try #require(data.problems.first)
        #expect(problem == ADProblem(offset: 0, type: ADType(rawValue: bytes[1]), fault: fault))
    }

    @Test(arguments: [
        ("04 01 06 0000", ADField.flags([.leGeneralDiscoverable, .brEDRNotSupported]), ADFault.trailingBytes(2)),
        ("03 0A F400", .txPowerLevel(-12), .trailingBytes(1)),
        ("04 19 C103 00", .appearance(.keyboard), .trailingBytes(1)),
        ("04 03 0D18 0F", .services([0x180D]), .trailingBytes(1)),
        ("02 03 0D", .services([]), .trailingBytes(1)),
        ("08 05 78563412 0D1800", .services([0x1234_5678]), .trailingBytes(3)),
        ("12 07 \(linbleServiceOnTheAir) 01", .services([linbleService]), .trailingBytes(1)),
        ("04 14 0D18 0F", .solicitedServices([0x180D]), .trailingBytes(1)),
        (
            "0A 17 010203040506 111213", .targetAddresses([BluetoothAddress(0x0605_0403_0201, kind: .public)]),
            .trailingBytes(3)
        ),
        (
            "08 26 01 06 01 AA 02 00 01",
            .transportDiscoveryData([TransportDiscoveryBlock(organization: 1, flags: 6, data: [0xAA])]),
            .trailingBytes(3)
        ),
        ("06 09 4C49 C3 4E42", .localName("LI"), .invalidUTF8(validBytes: 2)),
        ("06 08 4C494E E383", .localName("LIN", complete: false), .invalidUTF8(validBytes: 3)),
        ("05 09 FF414243", .localName(""), .invalidUTF8(validBytes: 0)),
        ("06 09 4C49 00 4E42", .localName("LI"), .trailingBytes(3)),
        ("05 30 4E65 C0AF", .broadcastName("Ne"), .invalidUTF8(validBytes: 2)),
        ("05 24 17 2F2F FF", .uri("https://"), .invalidUTF8(validBytes: 3)),
    ])
    func readablePartsOfMalformedStructuresAreKept(_ text: String, _ field: ADField, _ fault: ADFault) {
        let bytes = hex(text)
        let data = AdvertisementData(advertising: bytes)
        #expect(data.fields == [field])
        #expect(data.problems == [ADProblem(offset: 0, type: ADType(rawValue: bytes[1]), fault: fault)])
        #expect(data.problems.allSatisfy { !$0.description.isEmpty })
    }

    @Test func namesPaddedWithZerosEndAtTheFirst() {
        let data = AdvertisementData(advertising: hex("07 09 4C494E 000000"))
        #expect(data.localName == "LIN")
        #expect(data.problems == [])
    }

    @Test func namesInOtherScriptsAreKeptWhole() {
        let data = AdvertisementData(advertising: [16, 0x09] + Array("リンブル".utf8) + [0x2D, 0x31, 0x32])
        #expect(data.localName == "リンブル-12")
        #expect(data.problems == [])
    }

    @Test func serviceListsInWiderFormsAreEqual() throws {
        let data = AdvertisementData(advertising: hex("05 05 0D180000 11 07 FB349B5F80000080001000000F180000"))
        #expect(data.services == [0x180D, 0x180F])
        #expect(data.containsService(0x180D))
        #expect(data.containsService(0x180F))
        #expect(!data.containsService(0x1810))
    }

    @Test func valuesAnswerQuestions() throws {
        let range = ConnectionIntervalRange(minimum: 6, maximum: nil)
        #expect(range.minimumDuration == .microseconds(7500))
        #expect(range.maximumDuration == nil)
        #expect(range.description == "7.5 ms to any")
        #expect(AdvertisementData(advertising: hex("05 12 0600 FFFF")).peripheralConnectionIntervalRange == range)
        let interval = AdvertisingInterval(rawValue: 0xFFFF_FFFF)
        #expect(interval.duration == .microseconds(2_684_354_559_375))
        #expect(AdvertisingInterval(rawValue: 160).description == "100 ms")
        #expect(ConnectionIntervalRange(minimum: 6, maximum: 3200).maximumDuration == .seconds(4))
        let features = LESupportedFeatures(bytes: [0x21, 0x01])
        #expect([0, 5, 8].allSatisfy(features.contains))
        #expect([-1, 1, 9, 16, Int.max, Int.min].allSatisfy { !features.contains($0) })
        let update = ChannelMapUpdate(channelMap: 0b101, instant: 0)
        #expect(update.contains(0) && !update.contains(1) && update.contains(2))
        #expect([-1, 37, 64, Int.min].allSatisfy { !update.contains($0) })
        let deviceClass = ClassOfDevice(rawValue: 0xFF5A_020C)
        #expect(deviceClass.rawValue == 0x5A_020C)
        #expect(deviceClass.majorDeviceClass == 2)
        #expect(deviceClass.minorDeviceClass == 3)
        #expect(deviceClass.serviceClasses == 0x2D0)
    }

    @Test func addressesPrintWithoutTheirType() {
        let target = ADField.targetAddresses([BluetoothAddress(1, kind: .random)])
        #expect(target.description == "target addresses [00:00:00:00:00:01]")
    }

    @Test func namesPrintWithoutTouchingTheTerminal() {
        #expect(ADField.localName("a\u{1B}[2J\n").description == #"name "a\u{1B}[2J\n""#)
    }

    @Test(arguments: [
        ("http://a", 0x16, "//a"), ("HTTPS://a", 0x17, "//a"), ("tel:5", 0x45, "5"), ("z39.50s:x", 0x58, "x"),
        ("example:y", 0xB9, "y"), ("nothing", 0x01, "nothing"), ("unheard:of", 0x01, "unheard:of"), ("", 0x01, ""),
        (":", 0x01, ":"),
    ])
    func schemesBecomeNumbers(_ uri: String, _ number: UInt32, _ rest: String) throws {
        let structure = try #require(try ADField.uri(uri).structures().first)
        let scalar = try #require(Unicode.Scalar(number))
        #expect(structure.data == Array((String(scalar) + rest).utf8))
    }
}
