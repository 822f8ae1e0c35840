import BluetoothPrimitives
import Testing

@Suite struct AssignedNumberTests {
    @Test func companiesPrintTheirNameOrTheirNumber() {
        #expect(CompanyIdentifier.musenConnect.rawValue == 0x07A6)
        #expect(CompanyIdentifier.musenConnect.description == "Musen Connect")
        #expect((0x0492 as CompanyIdentifier).description == "ADC Technology")
        #expect((0x004C as CompanyIdentifier) == .apple)
        #expect((0x0059 as CompanyIdentifier).name == "Nordic Semiconductor")
        #expect((0x0006 as CompanyIdentifier).name == "Microsoft")
        #expect(CompanyIdentifier(rawValue: 0x0ABC).name == nil)
        #expect(CompanyIdentifier(rawValue: 0x0ABC).description == "0x0ABC")
        #expect(CompanyIdentifier.internalTest.description == "Internal test")
    }

    @Test func everyCompanyPrintsSomething() {
        #expect((UInt16.min...UInt16.max).allSatisfy { !CompanyIdentifier($0).description.isEmpty })
    }

    @Test(arguments: [
        (0x0000, 0, 0, "Unknown"), (0x0040, 1, 0, "Phone"), (0x0087, 2, 7, "Tablet"), (0x00C1, 3, 1, "Sports Watch"),
        (0x03C0, 15, 0, "Human Interface Device"), (0x03C1, 15, 1, "Keyboard"), (0x03C4, 15, 4, "Gamepad"),
        (0x0540, 21, 0, "Sensor"), (0x0ABF, 42, 63, "Gaming (0x0ABF)"), (0x0AC0, 43, 0, "Signage"),
        (0x0C40, 0x31, 0, "Pulse Oximeter"), (0x1440, 0x51, 0, "Outdoor Sports Activity"),
        (0x0B00, 0x2C, 0, "category 0x02C"), (0xFFFF, 0x3FF, 63, "category 0x3FF (0xFFFF)"),
    ])
    func appearanceIsTenBitsOfCategoryAndSixOfSubcategory(
        _ number: UInt16, _ category: UInt16, _ subcategory: UInt8, _ printed: String
    ) {
        let appearance = Appearance(rawValue: number)
        #expect(appearance.category.rawValue == category)
        #expect(appearance.subcategory == subcategory)
        #expect(appearance.description == printed)
        #expect(Appearance(category: .init(rawValue: category), subcategory: subcategory) == appearance)
    }

    @Test func bitsBeyondTheFieldsAreLeftOut() {
        #expect(Appearance(category: .init(rawValue: 0x0401), subcategory: 0x41).rawValue == 0x0041)
    }

    @Test func uuidsHaveNamesAndMembers() {
        #expect(BluetoothUUID.battery == 0x180F && BluetoothUUID.batteryLevel == "2A19")
        #expect(BluetoothUUID.battery.assignedName == "Battery")
        #expect(BluetoothUUID.heartRateMeasurement.assignedName == "Heart Rate Measurement")
        #expect(BluetoothUUID.clientCharacteristicConfiguration == 0x2902)
        #expect(BluetoothUUID.currentTimeService.assignedName == BluetoothUUID.currentTimeCharacteristic.assignedName)
        #expect((0xFEAA as BluetoothUUID).assignedName == "Eddystone")
        #expect((0x27FF as BluetoothUUID).assignedName == nil)
        #expect(("6E400001-B5A3-F393-E0A9-E50E24DCCA9E" as BluetoothUUID).assignedName == nil)
    }

    @Test func everyAppearancePrintsSomething() {
        #expect((UInt16.min...UInt16.max).allSatisfy { !Appearance(rawValue: $0).description.isEmpty })
    }
}
