import BluetoothAdvertising
import BluetoothPrimitives
import TestSupport
import Testing

@Suite struct BuilderTests {
    @Test func fieldsAreAddedInOrderUntilTheBudgetIsUsedUp() throws {
        var builder = AdvertisementDataBuilder()
        #expect(builder.capacity == 31)
        try builder.add(.flags([.leGeneralDiscoverable, .brEDRNotSupported]))
        try builder.add(.services([linbleService]))
        #expect(builder.remaining == 10)
        #expect(
            throws: AdvertisementDataError.doesNotFit(.completeLocalName, needed: 11, left: 10)
        ) { try builder.add(.localName("LINBLE-Z1")) }
        #expect(builder.bytes == hex("020106 1107\(linbleServiceOnTheAir)"))
        try builder.add(.localName("LINBLE-Z", complete: false))
        #expect(builder.remaining == 0)
        #expect(builder.data.localName == "LINBLE-Z")
    }

    @Test(arguments: [-5, 0, 1, 2]) func aTooSmallBudgetRefusesEverything(_ capacity: Int) {
        var builder = AdvertisementDataBuilder(capacity: capacity)
        let left = max(0, capacity)
        #expect(throws: AdvertisementDataError.doesNotFit(.flags, needed: 3, left: left)) {
            try builder.add(.flags([]))
        }
        #expect(throws: AdvertisementDataError.self) { try builder.addShortening(localName: "LINBLE") }
        #expect(builder.addFitting(services: [0x180D]) == [0x180D])
        #expect(builder.bytes == [])
    }

    @Test(arguments: [31, 251, 1650]) func everyBudgetIsUsedToTheLastByteAndNotExceeded(_ capacity: Int) throws {
        var builder = AdvertisementDataBuilder(capacity: capacity)
        while builder.remaining > 2 {
            let count = min(builder.remaining - 4, 252)
            guard count >= 0 else { break }
            try builder.add(.manufacturerData(.musenConnect, [UInt8](repeating: 1, count: count)))
        }
        #expect(builder.bytes.count <= capacity)
        #expect(builder.remaining < 4)
        #expect(builder.data.problems == [])
    }

    @Test func oneStructureHolds254Bytes() throws {
        var builder = AdvertisementDataBuilder(capacity: 1650)
        let most = [UInt8](repeating: 7, count: 252)
        #expect(throws: AdvertisementDataError.tooLong(.manufacturerSpecificData, byteCount: 255)) {
            try builder.add(.manufacturerData(.apple, most + [7]))
        }
        #expect(throws: AdvertisementDataError.tooLong(.meshMessage, byteCount: 255)) {
            try builder.add(ADStructure(type: .meshMessage, data: [UInt8](repeating: 0, count: 255)))
        }
        #expect(throws: AdvertisementDataError.self) {
            try builder.add(
                .transportDiscoveryData([
                    TransportDiscoveryBlock(organization: 1, flags: 0, data: [UInt8](repeating: 0, count: 300))
                ]))
        }
        #expect(builder.bytes == [])
        try builder.add(.manufacturerData(.apple, most))
        #expect(builder.bytes.count == 256)
        #expect(builder.data.manufacturerData(for: .apple) == most)
    }

    @Test func aFieldOfSeveralStructuresIsAddedWholeOrNotAtAll() throws {
        var builder = AdvertisementDataBuilder(capacity: 21)
        #expect(throws: AdvertisementDataError.doesNotFit(.completeServices16, needed: 22, left: 21)) {
            try builder.add(.services([linbleService, 0x180D]))
        }
        #expect(builder.bytes == [])
        builder = AdvertisementDataBuilder(capacity: 22)
        try builder.add(.services([linbleService, 0x180D]))
        #expect(builder.bytes == hex("03030D18 1107\(linbleServiceOnTheAir)"))
        let mixed = [BluetoothAddress(1, kind: .random), BluetoothAddress(2, kind: .public)]
        #expect(
            try ADField.targetAddresses(mixed).structures() == [
                ADStructure(type: .publicTargetAddress, data: hex("020000000000")),
                ADStructure(type: .randomTargetAddress, data: hex("010000000000")),
            ])
    }

    @Test func typesThatMayOccurOnceAreNotRepeated() throws {
        let once: [(ADField, ADField)] = [
            (.flags([]), .flags([])), (.localName("A"), .localName("B", complete: false)),
            (.services([0x180D], complete: false), .services([0x180F])), (.txPowerLevel(1), .txPowerLevel(2)),
            (.appearance(.keyboard), .appearance(.mouse)),
            (.advertisingInterval(.init(rawValue: 1)), .advertisingInterval(.init(rawValue: 0x1_0000))),
        ]
        for (first, second) in once {
            var builder = AdvertisementDataBuilder()
            try builder.add(first)
            let before = builder.bytes
            #expect(throws: AdvertisementDataError.alreadyPresent(second.type)) { try builder.add(second) }
            #expect(builder.bytes == before)
        }
        var builder = AdvertisementDataBuilder()
        for data in [[1], [2]] as [[UInt8]] {
            try builder.add(.manufacturerData(.musenConnect, data))
            try builder.add(.serviceData(0x180F, data))
        }
        #expect(builder.data.manufacturerData.count == 2)
        #expect(builder.data.serviceData.count == 2)
        try builder.add(.services([0x180D]))
    }

    @Test func valuesOfFixedLengthAreChecked() {
        let fields: [(ADField, ADType)] = [
            (.securityManagerTK([1]), .deviceIDOrSecurityManagerTK), (.broadcastCode([]), .broadcastCode),
            (.simplePairingHash192([UInt8](repeating: 0, count: 17)), .simplePairingHash192),
        ]
        for (field, type) in fields {
            var builder = AdvertisementDataBuilder()
            do throws(AdvertisementDataError) {
                try builder.add(field)
                Issue.record("\(field) was taken")
            } catch {
                guard case .wrongLength(type, expected: 16, actual: _) = error.kind else {
                    Issue.record("\(error)")
                    continue
                }
            }
        }
        #expect(throws: AdvertisementDataError.wrongLength(.encryptedAdvertisingData, expected: 5, actual: 1)) {
            try ADField.encryptedAdvertisingData(
                .init(randomizer: [1], ciphertext: [], messageIntegrityCheck: [1, 2, 3, 4])
            ).structures()
        }
        #expect(throws: AdvertisementDataError.wrongLength(.encryptedAdvertisingData, expected: 4, actual: 0)) {
            try ADField.encryptedAdvertisingData(
                .init(randomizer: [1, 2, 3, 4, 5], ciphertext: [], messageIntegrityCheck: [])
            ).structures()
        }
    }

    @Test(arguments: [
        (31, "LINBLE-Z1", "LINBLE-Z1", true), (11, "LINBLE-Z1", "LINBLE-Z1", true),
        (10, "LINBLE-Z1", "LINBLE-Z", false), (3, "LINBLE-Z1", "L", false), (8, "リンブル", "リン", false),
        (10, "リンブル", "リン", false), (11, "リンブル", "リンブ", false),
        (9, "e\u{301}e\u{301}e\u{301}", "e\u{301}e\u{301}", false),
        (2, "", "", true),
    ])
    func aNameIsCutBetweenTwoCharacters(_ capacity: Int, _ name: String, _ kept: String, _ isWhole: Bool) throws {
        var builder = AdvertisementDataBuilder(capacity: capacity)
        #expect(try builder.addShortening(localName: name) == isWhole)
        #expect(builder.data.localName == kept)
        #expect(builder.data.isLocalNameShortened == !isWhole)
        #expect(builder.data.problems == [])
    }

    @Test func aNameOfWhichNothingFitsIsRefused() {
        var builder = AdvertisementDataBuilder(capacity: 4)
        #expect(throws: AdvertisementDataError.doesNotFit(.completeLocalName, needed: 14, left: 4)) {
            try builder.addShortening(localName: "リンブル")
        }
        #expect(builder.bytes == [])
    }

    @Test func aListOfServicesIsCutAndMarked() throws {
        var builder = AdvertisementDataBuilder(capacity: 8)
        #expect(
            builder.addFitting(services: [0x180D, linbleService, 0x180F, 0x180A, 0x1812]) == [0x1812, linbleService])
        #expect(builder.bytes == hex("0702 0D18 0F18 0A18"))
        #expect(builder.addFitting(services: [0x1811]) == [0x1811])
        builder = AdvertisementDataBuilder(capacity: 31)
        #expect(builder.addFitting(services: [0x180D, linbleService]) == [])
        #expect(!builder.data.hasMoreServices)
        builder = AdvertisementDataBuilder(capacity: 31)
        #expect(builder.addFitting(services: [0x180D], complete: false) == [])
        #expect(builder.bytes == hex("0302 0D18"))
    }

    @Test func errorsNameTheFieldAndTheNumbers() {
        #expect(
            AdvertisementDataError.doesNotFit(.completeLocalName, needed: 11, left: 10).description
                == "Complete Local Name needs 11 bytes, 10 remain")
    }
}

@Suite struct PayloadsTests {
    static let flags = ADField.flags([.leGeneralDiscoverable, .brEDRNotSupported])

    @Test func fieldsThatDoNotFitGoIntoTheScanResponse() {
        let payloads = AdvertisingPayloads([
            Self.flags, .services([linbleService]), .localName("LINBLE-Z1"), .txPowerLevel(4),
        ])
        #expect(payloads.advertising == hex("020106 1107\(linbleServiceOnTheAir) 020A04"))
        #expect(payloads.scanResponse == hex("0A094C494E424C452D5A31"))
        #expect(payloads.leftOver == [])
        #expect(payloads.data.localName == "LINBLE-Z1")
    }

    @Test func withoutAScanResponseTheNameIsShortened() {
        let payloads = AdvertisingPayloads(
            [Self.flags, .services([linbleService]), .localName("LINBLE-Z1")],
            options: [.shortensName, .splitsServices])
        #expect(payloads.advertising == hex("020106 1107\(linbleServiceOnTheAir) 09084C494E424C452D5A"))
        #expect(payloads.scanResponse == [])
        #expect(payloads.leftOver == [])
    }

    @Test func withoutAnyOptionTheFieldIsLeftOverWithItsReason() throws {
        let payloads = AdvertisingPayloads(
            [Self.flags, .services([linbleService]), .localName("LINBLE-Z1"), .txPowerLevel(4)], options: [])
        #expect(payloads.advertising == hex("020106 1107\(linbleServiceOnTheAir) 020A04"))
        #expect(
            payloads.leftOver.map(\.reason) == [.doesNotFit(.completeLocalName, needed: 11, left: 10)])
        #expect(payloads.leftOver.map(\.field) == [.localName("LINBLE-Z1")])
        #expect(payloads.description.contains("left out: name \"LINBLE-Z1\""))
    }

    @Test func aNameThatFitsNowhereIsShortenedWhereMoreOfItFits() {
        let name = String(repeating: "N", count: 60)
        let payloads = AdvertisingPayloads([Self.flags, .localName(name)])
        #expect(payloads.advertising == hex("020106"))
        #expect(payloads.data.localName == String(repeating: "N", count: 29))
        #expect(payloads.data.isLocalNameShortened)
        #expect(payloads.leftOver == [])
    }

    @Test func aListThatFitsNowhereIsSplitOverBothAndTheRestIsLeftOver() {
        let services = (0..<40).map { BluetoothUUID(0x1800 + UInt16($0)) }
        let payloads = AdvertisingPayloads([Self.flags, .services(services)])
        #expect(payloads.data.services == Array(services.prefix(13 + 14)))
        #expect(payloads.data.hasMoreServices)
        #expect(!payloads.data.structures.contains { $0.type == .completeServices16 })
        #expect(payloads.leftOver.map(\.field) == [.services(Array(services.dropFirst(27)), complete: false)])
    }

    @Test func eachWidthIsPlacedByItself() {
        let payloads = AdvertisingPayloads([Self.flags, .services([linbleService, 0x180D]), .services([0x1234_5678])])
        #expect(payloads.advertising == hex("020106 03030D18 1107\(linbleServiceOnTheAir) 050578563412"))
        #expect(payloads.scanResponse == [])
        #expect(payloads.leftOver == [])
    }

    @Test func flagsNeverGoIntoTheScanResponse() {
        let payloads = AdvertisingPayloads([.manufacturerData(.apple, [UInt8](repeating: 0, count: 25)), Self.flags])
        #expect(payloads.scanResponse == [])
        #expect(payloads.leftOver.map(\.field) == [Self.flags])
    }

    @Test func repeatedFieldsArePlacedOnce() {
        let payloads = AdvertisingPayloads([.txPowerLevel(1), .txPowerLevel(2)])
        #expect(payloads.advertising == hex("020A01"))
        #expect(payloads.scanResponse == [])
        #expect(payloads.leftOver.map(\.reason) == [.alreadyPresent(.txPowerLevel)])
    }

    @Test func fieldsThatCannotBeEncodedAreLeftOver() {
        let payloads = AdvertisingPayloads([.broadcastCode([1]), .txPowerLevel(2)], capacity: 1650)
        #expect(payloads.advertising == hex("020A02"))
        #expect(payloads.leftOver.map(\.reason) == [.wrongLength(.broadcastCode, expected: 16, actual: 1)])
    }

    /// The placed and the left over fields are all given ones, at any budget.
    @Test func nothingIsLostAtAnyBudget() {
        let fields = vectors.map(\.field)
        for capacity in [0, 1, 2, 3, 5, 12, 31, 62, 100, 251, 1650] {
            for options in [[], .usesScanResponse, .all] as [AdvertisingPayloads.Options] {
                let payloads = AdvertisingPayloads(
                    fields, capacity: capacity, scanResponseCapacity: 31, options: options)
                #expect(payloads.advertising.count <= capacity)
                #expect(payloads.scanResponse.count <= 31)
                #expect(payloads.data.problems == [])
                var accounted = payloads.data.fields + payloads.leftOver.map(\.field)
                for field in fields {
                    switch field.kind {
                    case .services(let uuids, _):
                        let rest = accounted.flatMap { (field) -> [BluetoothUUID] in
                            if case .services(let uuids, _) = field.kind { uuids } else { [] }
                        }
                        #expect(Set(uuids).isSubset(of: rest))
                    case .localName:
                        #expect(accounted.contains { $0.localName != nil })
                    default:
                        let index = accounted.firstIndex(of: field)
                        #expect(index != nil)
                        if let index { accounted.remove(at: index) }
                    }
                }
            }
        }
    }
}
