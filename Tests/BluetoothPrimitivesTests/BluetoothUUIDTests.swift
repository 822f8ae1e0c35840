import BluetoothPrimitives
import Testing

@Suite struct BluetoothUUIDTests {
    @Test func everyWidthOfTheSameIdentifierIsEqualAndHashesAlike() {
        let forms: [BluetoothUUID] = [
            0x180D, "180D", "180d", "0000180D", "0000180D-0000-1000-8000-00805F9B34FB",
            "0000180d00001000800000805f9b34fb", BluetoothUUID(0x180D as UInt16), BluetoothUUID(0x180D as UInt32),
            BluetoothUUID(high: 0x0000_180D_0000_1000, low: 0x8000_0080_5F9B_34FB),
        ]
        #expect(Set(forms).count == 1)
        #expect(BluetoothUUID(0x180D as UInt16) != BluetoothUUID(0x0001_180D as UInt32))
        #expect(BluetoothUUID(0x180D as UInt16) != "0000180D-0000-1000-8000-00805F9B34FC")
    }

    @Test(arguments: [
        ("180D", "180D", BluetoothUUID.Width.bits16, "0000180D-0000-1000-8000-00805F9B34FB"),
        ("12345678", "12345678", .bits32, "12345678-0000-1000-8000-00805F9B34FB"),
        ("00010000", "00010000", .bits32, "00010000-0000-1000-8000-00805F9B34FB"),
        (
            "27adc9ca-35eb-465a-9154-b8ff9076f3e8", "27ADC9CA-35EB-465A-9154-B8FF9076F3E8", .bits128,
            "27ADC9CA-35EB-465A-9154-B8FF9076F3E8"
        ),
        (
            "0000180D-0000-1000-8000-00805F9B34FC", "0000180D-0000-1000-8000-00805F9B34FC", .bits128,
            "0000180D-0000-1000-8000-00805F9B34FC"
        ),
        (
            "0000180D-0000-1001-8000-00805F9B34FB", "0000180D-0000-1001-8000-00805F9B34FB", .bits128,
            "0000180D-0000-1001-8000-00805F9B34FB"
        ),
    ])
    func textIsReadAndPrintedInTheShortestForm(
        _ text: String, _ printed: String, _ width: BluetoothUUID.Width, _ full: String
    ) throws {
        let uuid = try #require(BluetoothUUID(text))
        #expect(uuid.description == printed)
        #expect(uuid.fullDescription == full)
        #expect(uuid.shortestWidth == width)
        #expect(BluetoothUUID(uuid.description) == uuid)
        #expect(BluetoothUUID(uuid.fullDescription) == uuid)
        #expect(uuid.bytes == [UInt8](hexadecimal: full.filter { $0 != "-" }))
    }

    @Test(arguments: [
        "", "1", "18", "180", "180DG", "180G", "18-0D", "-180D", "180D-", "0x180D", " 180D", "180D ", "1234567",
        "123456789", "0000-180D", "----", "27ADC9CA-35EB-465A-9154-B8FF9076F3E",
        "27ADC9CA-35EB-465A-9154-B8FF9076F3E88",
        "27ADC9CA35EB-465A-9154-B8FF9076F3E8", "27ADC9C-A35EB-465A-9154-B8FF9076F3E8",
        "{27ADC9CA-35EB-465A-9154-B8FF9076F3E8}", "27ADC9CA--35EB465A-9154-B8FF9076F3E8",
        "27ADC9CA-35EB-465A-9154-B8FF9076F3E8-", "180Ｄ", "１８０Ｄ",
    ])
    func otherTextIsNoIdentifier(_ text: String) {
        #expect(BluetoothUUID(text) == nil)
    }

    @Test func the16BitFormExistsOnlyWhereThereIsOne() {
        #expect((0x180D as BluetoothUUID).uint16 == 0x180D)
        #expect((0x0000 as BluetoothUUID).uint16 == 0)
        #expect((0x0001_180D as BluetoothUUID).uint16 == nil)
        #expect(("27ADC9CA-35EB-465A-9154-B8FF9076F3E8" as BluetoothUUID).uint16 == nil)
    }

    @Test func widthsHaveByteCounts() {
        #expect(BluetoothUUID.Width.allCases.map(\.byteCount) == [2, 4, 16])
    }
}
