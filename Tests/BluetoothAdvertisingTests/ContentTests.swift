import BluetoothAdvertising
import TestSupport
import Testing

/// The placement of content within a budget.
@Suite struct ContentTests {
    private let full = AdvertisementContent(
        localName: "LINBLE-Z1", services: [linbleService, 0x180D],
        manufacturerData: [ManufacturerData(company: .apple, data: [1, 2])],
        serviceData: [ServiceData(service: 0x180F, data: [9])], appearance: .keyboard, solicitedServices: [0x1812])

    @Test func servicesHavePriorityAndTheRestGoesIntoTheScanResponse() throws {
        let payloads = try full.payloads(capacity: 28, scanResponseCapacity: 31)
        #expect(payloads.advertising == hex("03030D18 1107\(linbleServiceOnTheAir) 04160F1809"))
        #expect(payloads.scanResponse == hex("05FF4C000102 0A094C494E424C452D5A31 0319C103 03141218"))
        #expect(payloads.leftOver == [])
        #expect(full.automaticByteCount == 3)
    }

    @Test func theOrderIsTheProgramsOwn() throws {
        var content = AdvertisementContent(fields: [.localName("LINBLE-Z1"), .services([linbleService])])
        #expect(
            try content.payloads(capacity: 28, scanResponseCapacity: 31)
                == AdvertisingPayloads(
                    [.localName("LINBLE-Z1"), .services([linbleService])], capacity: 28))
        content.discoverability = .none
        content.includesTransmitPower = true
        #expect(content.automaticByteCount == 3)
        content.includesTransmitPower = false
        #expect(content.automaticByteCount == 0)
    }

    @Test func scanResponseFieldsArePlacedFirst() throws {
        var content = AdvertisementContent(
            fields: [.services([linbleService]), .localName("LINBLE-Z1")],
            scanResponse: [.manufacturerData(.apple, [UInt8](repeating: 1, count: 20))])
        let payloads = try content.payloads(capacity: 28, scanResponseCapacity: 31)
        #expect(payloads.scanResponse.prefix(4) == hex("17FF4C00")[...])
        // Seven bytes remain there and ten here, so that the name is shortened here.
        #expect(payloads.data.localName == "LINBLE-Z" && payloads.data.isLocalNameShortened)
        content.arrangement = []
        #expect(throws: AdvertisementDataError.doesNotFit(.completeLocalName, needed: 11, left: 10)) {
            try content.payloads(capacity: 28, scanResponseCapacity: 31)
        }
        content.fields.removeLast()
        #expect(try content.payloads(capacity: 28, scanResponseCapacity: 31).scanResponse == payloads.scanResponse)
    }

    @Test func fieldsWithoutRoomAreAnErrorOrLeftOver() throws {
        var content = AdvertisementContent(
            fields: [.services([linbleService]), .solicitedServices([linbleService]), .appearance(.keyboard)])
        #expect(throws: AdvertisementDataError.doesNotFit(.solicitedServices128, needed: 18, left: 10)) {
            try content.payloads(capacity: 28, scanResponseCapacity: 17)
        }
        content.overflow = .leaveOut
        let payloads = try content.payloads(capacity: 28, scanResponseCapacity: 17)
        #expect(payloads.leftOver.map(\.field) == [.solicitedServices([linbleService])])
        #expect(payloads.data.appearance == .keyboard)
    }

    @Test func automaticFieldsMustNotBeGiven() {
        var content = AdvertisementContent(fields: [.flags(.brEDRNotSupported)])
        content.overflow = .leaveOut
        #expect(throws: AdvertisementDataError.alreadyPresent(.flags)) {
            try content.payloads(capacity: 31, scanResponseCapacity: 31)
        }
        content.fields = [.txPowerLevel(4)]
        #expect(throws: Never.self) { try content.payloads(capacity: 31, scanResponseCapacity: 31) }
        content.includesTransmitPower = true
        #expect(throws: AdvertisementDataError.alreadyPresent(.txPowerLevel)) {
            try content.payloads(capacity: 31, scanResponseCapacity: 31)
        }
        content.fields = [.appearance(.keyboard), .appearance(.mouse)]
        #expect(throws: AdvertisementDataError.alreadyPresent(.appearance)) {
            try content.payloads(capacity: 31, scanResponseCapacity: 31)
        }
    }

    @Test func tooSmallPayloadsDoNotTrap() {
        for capacity in [-3, 0, 1, 2] {
            #expect(throws: AdvertisementDataError.self) {
                try full.payloads(capacity: capacity, scanResponseCapacity: capacity)
            }
        }
    }
}
