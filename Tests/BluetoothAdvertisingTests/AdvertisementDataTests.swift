import BluetoothAdvertising
import BluetoothPrimitives
import TestSupport
import Testing

@Suite struct AdvertisementDataTests {
    @Test func aLINBLEIsRead() {
        let data = AdvertisementData(
            advertising: hex("020106 1107\(linbleServiceOnTheAir)"), scanResponse: hex("0A094C494E424C452D5A31 020A04"))
        #expect(data.flags == [.leGeneralDiscoverable, .brEDRNotSupported])
        #expect(data.localName == "LINBLE-Z1")
        #expect(!data.isLocalNameShortened)
        #expect(data.services == [linbleService])
        #expect(!data.hasMoreServices)
        #expect(data.containsService(linbleService))
        #expect(data.txPowerLevel == 4)
        #expect(data.appearance == nil)
        #expect(data.problems == [])
        #expect(
            data.description
                == "flags [LE general discoverable, BR/EDR not supported], "
                + "services [27ADC9CA-35EB-465A-9154-B8FF9076F3E8], name \"LINBLE-Z1\", TX power 4 dBm")
    }

    @Test func emptyPayloadsHaveNoValues() {
        let data = AdvertisementData.empty
        #expect(data.isEmpty)
        #expect(data.flags == nil)
        #expect(data.localName == nil)
        #expect(!data.isLocalNameShortened)
        #expect(data.services == [])
        #expect(data.serviceData == [])
        #expect(data.manufacturerData == [])
        #expect(data.structures == [])
        #expect(data.problems == [])
        #expect(data.beacon(IBeacon.self) == nil)
        #expect(data.beacon(Eddystone.self) == nil)
        #expect(data.description == "")
    }

    @Test func everyAccessorFindsItsField() {
        func data(_ type: UInt8, _ ordinal: Int = 0) -> AdvertisementData {
            let bytes = vectors.filter { $0.bytes[1] == type }.map(\.bytes)
            return AdvertisementData(advertising: [], scanResponse: bytes[ordinal])
        }
        #expect(data(0x01).flags == [.leGeneralDiscoverable, .brEDRNotSupported])
        #expect(data(0x02).services == [0x180D, 0x180F])
        #expect(data(0x02).hasMoreServices)
        #expect(data(0x04).services == [0x1234_5678])
        #expect(data(0x06).services == [linbleService])
        #expect(data(0x08).localName == "LINBLE")
        #expect(data(0x08).isLocalNameShortened)
        #expect(data(0x0A).txPowerLevel == -12)
        #expect(data(0x0D).classOfDevice?.rawValue == 0x5A_020C)
        #expect(data(0x0E).simplePairingHash192 == hex(sixteen))
        #expect(data(0x0F).simplePairingRandomizer192 == hex(sixteen))
        #expect(data(0x10, 0).deviceID?.vendor == 0x07A6)
        #expect(data(0x10, 0).securityManagerTK == nil)
        #expect(data(0x10, 1).securityManagerTK == hex(sixteen))
        #expect(data(0x10, 1).deviceID == nil)
        #expect(data(0x11).securityManagerOutOfBandFlags == [.dataPresent, .leSupported, .randomAddress])
        #expect(data(0x12).peripheralConnectionIntervalRange?.maximum == 3200)
        #expect(data(0x14).solicitedServices == [0x180D, 0x180F])
        #expect(data(0x15).solicitsService(linbleService))
        #expect(data(0x1F).solicitedServices == [0x1234_5678])
        #expect(data(0x16).serviceData(for: 0x180F) == hex("5A01"))
        #expect(data(0x20).serviceData(for: 0x1234_5678) == hex("5A01"))
        #expect(data(0x21).serviceData(for: linbleService) == hex("5A01"))
        #expect(data(0x17).targetAddresses.count == 2)
        #expect(data(0x18).targetAddresses.first?.kind == .random)
        #expect(data(0x19).appearance == .keyboard)
        #expect(data(0x1A).advertisingInterval?.rawValue == 160)
        #expect(data(0x2F, 0).advertisingInterval?.rawValue == 0x01_0000)
        #expect(data(0x2F, 1).advertisingInterval?.rawValue == 0x0100_0000)
        #expect(data(0x1B).leBluetoothDeviceAddress == BluetoothAddress(0xC605_0403_0201, kind: .random))
        #expect(data(0x1C).leRole == .peripheralPreferred)
        #expect(data(0x1D).simplePairingHash256 == hex(sixteen))
        #expect(data(0x1E).simplePairingRandomizer256 == hex(sixteen))
        #expect(data(0x22).secureConnectionsConfirmation == hex(sixteen))
        #expect(data(0x23).secureConnectionsRandom == hex(sixteen))
        #expect(data(0x24).uris == ["https://linble.jp"])
        #expect(data(0x25).indoorPositioning == hex("01020304"))
        #expect(data(0x26).transportDiscoveryData.map(\.organization) == [1, 2])
        #expect(data(0x27).leSupportedFeatures?.contains(8) == true)
        #expect(data(0x28).channelMapUpdateIndication?.instant == 0x1234)
        #expect(data(0x29).pbADV == hex("010203"))
        #expect(data(0x2A).meshMessage == hex("010203"))
        #expect(data(0x2B).meshBeacon == hex("010203"))
        #expect(data(0x2C).bigInfo == hex("010203"))
        #expect(data(0x2D).broadcastCode == hex(sixteen))
        #expect(data(0x2E).resolvableSetIdentifier?.hash == 0x0D_FBAA)
        #expect(data(0x30).broadcastName == "News")
        #expect(data(0x31).encryptedAdvertisingData.map(\.ciphertext) == [hex("AABB")])
        #expect(data(0x32).periodicAdvertisingResponseTiming?.subeventCount == 4)
        #expect(data(0x34).electronicShelfLabel == hex("010203"))
        #expect(data(0x3D).information3D == hex("010203"))
        #expect(data(0xFF).manufacturerData(for: .musenConnect) == hex("0102"))
    }

    @Test func severalManufacturersAndServicesAreKeptInOrder() {
        let data = AdvertisementData(
            advertising: hex("05FFA6070102 05FFA6070304 04FF4C00AA 04160F185A 0416 0F185B"),
            scanResponse: hex("05FFA6070506 03FFFFFF 0516AAFE0102"))
        #expect(
            data.manufacturerData == [
                ManufacturerData(company: .musenConnect, data: hex("0102")),
                ManufacturerData(company: .musenConnect, data: hex("0304")),
                ManufacturerData(company: .apple, data: hex("AA")),
                ManufacturerData(company: .musenConnect, data: hex("0506")),
                ManufacturerData(company: .internalTest, data: []),
            ])
        #expect(data.manufacturerData(for: .musenConnect) == hex("0102"))
        #expect(data.manufacturerData(for: .google) == nil)
        #expect(
            data.serviceData == [
                ServiceData(service: 0x180F, data: hex("5A")), ServiceData(service: 0x180F, data: hex("5B")),
                ServiceData(service: 0xFEAA, data: hex("0102")),
            ])
        #expect(data.serviceData(for: 0x180F) == hex("5A"))
        #expect(data.serviceData(for: 0xFEAA) == hex("0102"))
        #expect(data.serviceData(for: 0x180D) == nil)
    }

    @Test func listsOfAllWidthsBecomeOneAndNameEachServiceOnce() {
        let data = AdvertisementData(
            advertising: hex("05020D180F18 1107\(linbleServiceOnTheAir) 0505 0D180000"),
            scanResponse: hex("05030F180A18"))
        #expect(data.services == [0x180D, 0x180F, linbleService, 0x180A])
        #expect(iterated(data) == [0x180D, 0x180F, linbleService, 0x180D, 0x180F, 0x180A])
        #expect(data.hasMoreServices)
    }

    private func iterated(_ data: AdvertisementData) -> [BluetoothUUID] {
        var services = data.serviceUUIDs
        var all: [BluetoothUUID] = []
        while let service = services.next() { all.append(service) }
        return all
    }

    @Test(arguments: ["", "020106", "04020D18FF", "0103 05020D180D18 05020D180F18", "0502 0D18", "0302"])
    func theIterationHasTheElementsOfTheArray(_ text: String) {
        let data = AdvertisementData(advertising: hex("0303 0F18") + hex(text), scanResponse: hex(text))
        let once = iterated(data).reduce(into: [BluetoothUUID]()) { if !$0.contains($1) { $0.append($1) } }
        #expect(once == data.services)
    }

    @Test func payloadsOfEveryLengthKeepTheirBytes() {
        for count in Array(0...70) + [254, 255, 256, 1650] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) }
            for scanResponse in [[], hex("020106"), bytes] {
                let data = AdvertisementData(advertising: bytes, scanResponse: scanResponse)
                let isKept = data.advertising == bytes && data.scanResponse == scanResponse
                #expect(isKept, "\(count) bytes, \(scanResponse.count)")
                let isEmpty = data.isEmpty
                #expect(isEmpty == (count == 0 && scanResponse.isEmpty))
                let same = AdvertisementData(advertising: bytes, scanResponse: scanResponse)
                #expect(Set([data, same]).count == 1)
                let moved = AdvertisementData(advertising: bytes + scanResponse)
                #expect((data == moved) == scanResponse.isEmpty)
            }
        }
    }

    @Test(arguments: [
        ("0308 4C49", "0509 4C494E45", "LINE", false), ("0509 4C494E45", "0308 4C49", "LINE", false),
        ("0109", "0308 4C49", "LI", true), ("0308 4C49", "0109", "LI", true), ("0109", "", "", false),
        ("0308 4C49", "0408 4C494E", "LI", true), ("0309 4142", "0309 4344", "AB", false),
    ])
    func aWholeNameIsPreferred(_ advertising: String, _ scanResponse: String, _ name: String, _ shortened: Bool) {
        let data = AdvertisementData(advertising: hex(advertising), scanResponse: hex(scanResponse))
        #expect(data.localName == name)
        #expect(data.isLocalNameShortened == shortened)
    }

    @Test func theFirstFieldWithAValueCounts() {
        let data = AdvertisementData(advertising: hex("010A 020A05 020A06"), scanResponse: hex("020A07"))
        #expect(data.txPowerLevel == 5)
        #expect(AdvertisementData(advertising: hex("010A"), scanResponse: hex("020A07")).txPowerLevel == 7)
    }

    @Test func aZeroLengthEndsThePayload() {
        let padded = AdvertisementData(advertising: hex("020106 00000000"))
        #expect(padded.structures.count == 1)
        #expect(padded.problems == [])
        let hidden = AdvertisementData(advertising: hex("020106 00 020A05"))
        #expect(hidden.txPowerLevel == nil)
        #expect(hidden.problems == [ADProblem(offset: 4, type: nil, fault: .bytesAfterEnd(3))])
    }

    @Test(arguments: [
        ("020106 0D09 4C49", ADType.completeLocalName as ADType?, 13, 3), ("020106 02", nil, 2, 0),
        ("020106 FF09", .completeLocalName, 255, 1),
    ])
    func aStructureThatRunsPastTheEndIsReportedOnce(_ text: String, _ type: ADType?, _ declared: Int, _ available: Int)
    {
        let fault = ADFault.runsPastEnd(declared: declared, available: available)
        let data = AdvertisementData(advertising: hex(text), scanResponse: hex(text))
        #expect(data.structures.count == 2)
        #expect(
            data.problems == [
                ADProblem(payload: .advertising, offset: 3, type: type, fault: fault),
                ADProblem(payload: .scanResponse, offset: 3, type: type, fault: fault),
            ])
        #expect(data.localName == nil)
    }

    @Test func theBorrowedWalkGivesTypesOffsetsAndBytes() {
        let bytes = hex("020106 0303 0D18 0D09")
        var structures = ADStructures(bytes.span.bytes)
        var seen: [ADStructure] = []
        var offsets: [Int] = []
        while let structure = structures.next() {
            seen.append(ADStructure(structure))
            offsets.append(structure.offset)
        }
        #expect(
            seen == [ADStructure(type: .flags, data: [6]), ADStructure(type: .completeServices16, data: hex("0D18"))])
        #expect(offsets == [0, 3])
        let problem = structures.problem
        #expect(
            problem
                == ADProblem(
                    offset: 7, type: .completeLocalName, fault: .runsPastEnd(declared: 13, available: 1)))
        let isOver = structures.next() == nil
        #expect(isOver)
        let again = structures.problem
        #expect(again == problem)
    }

    @Test func borrowedQuestionsAreAnswered() {
        let bytes = hex(
            "05020D180F18 1107\(linbleServiceOnTheAir) 0A094C494E424C452D5A31 05FFA6070102 0416 0F185B 0314AAFE")
        let structures = ADStructures(bytes.span.bytes)
        let answers = [
            structures.containsService(0x180F), structures.containsService(linbleService),
            structures.containsServiceData(of: 0x180F), structures.containsManufacturerData(of: .musenConnect),
            structures.localName(equals: "LINBLE-Z1"), structures.localName(hasPrefix: "LINBLE"),
            structures.localName(hasPrefix: ""), structures.solicitsService(0xFEAA),
        ]
        #expect(answers.allSatisfy { $0 })
        let others = [
            structures.containsService(0x180A), structures.containsService(0xFEAA),
            structures.containsServiceData(of: linbleService), structures.containsManufacturerData(of: .apple),
            structures.localName(equals: "LINBLE-Z"), structures.localName(equals: "LINBLE-Z12"),
            structures.localName(equals: ""), structures.localName(hasPrefix: "linble"),
            structures.localName(hasPrefix: "LINBLE-Z12"), structures.solicitsService(0x180F),
        ]
        #expect(!others.contains(true))
        let serviceData = hex("0316 4C00")
        let isManufacturerData = ADStructures(serviceData.span.bytes).containsManufacturerData(of: .apple)
        #expect(!isManufacturerData)
        let padded = hex("0609 4C494E0000")
        let paddedIsEqual = ADStructures(padded.span.bytes).localName(equals: "LIN")
        #expect(paddedIsEqual)
    }

    @Test func equalityIsThatOfTheBytes() {
        let one = AdvertisementData(advertising: hex("020106"))
        #expect(one == AdvertisementData(advertising: hex("020106")))
        #expect(one != AdvertisementData(advertising: [], scanResponse: hex("020106")))
        #expect(Set([one, one]).count == 1)
    }

    @Test(arguments: vectors.map(\.bytes) + payloads) func noBytesTrap(_ vector: [UInt8]) {
        for (index, bytes) in mutations(of: vector).enumerated() {
            let data = AdvertisementData(advertising: bytes)
            _ = data.fields
            _ = (data.problems, data.localName, data.services, data.solicitedServices)
            // Descriptions and queries read no further than decoding; a part of the changes suffices.
            if index < vector.count || index % 16 == 0 { readEverything(bytes) }
        }
    }

    @Test(.seeded) func randomBytesDoNotTrap() {
        var generator = SeededGenerator()
        for _ in 0..<2000 {
            let count = Int.random(in: 0...80, using: &generator)
            readEverything((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
        }
    }

    private func readEverything(_ bytes: [UInt8]) {
        let data = AdvertisementData(advertising: bytes)
        let fields = data.fields
        for field in fields { _ = (field.description, try? field.structures()) }
        for problem in data.problems { _ = problem.description }
        _ = (
            data.flags, data.localName, data.services, data.solicitedServices, data.serviceData,
            data.beacon(IBeacon.self)
        )
        _ = (
            data.manufacturerData, data.beacon(Eddystone.self), data.advertisingInterval, data.uris,
            data.targetAddresses
        )
        _ = (data.containsService(0x180D), data.solicitsService(linbleService), data.serviceData(for: linbleService))
        let structures = data.advertisingStructures
        _ = (structures.localName(equals: "LINBLE"), structures.localName(hasPrefix: "L"))
        _ = (structures.containsServiceData(of: 0x180D), structures.containsManufacturerData(of: .apple))
    }
}
