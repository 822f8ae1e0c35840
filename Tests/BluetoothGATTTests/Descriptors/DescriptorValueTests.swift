import BluetoothPrimitives
import BluetoothGATT
import TestSupport
import Testing

@Suite struct DescriptorValueTests {
    /// The descriptor UUID, its value, and the description.
    static let vectors: [(uuid: UInt16, bytes: String, text: String)] = [
        // Core Vol 3 Part G §3.3.3.1 to §3.3.3.6.
        (0x2900, "0100", "[reliableWrite]"), (0x2900, "0300", "[reliableWrite, writableAuxiliaries]"),
        (0x2900, "0480", "[0x8004]"), (0x2900, "01", "2900: 01"), (0x2900, "0200 FF", "[writableAuxiliaries]"),
        (0x2901, "54C3A9", "\"Té\""), (0x2901, "", "\"\""), (0x2901, "FF41", "\"\u{FFFD}A\""),
        (0x2902, "0100", "[notification]"), (0x2902, "", "2902: -"),
        (0x2903, "0100", "[broadcast]"), (0x2903, "00", "2903: 00"),
        (0x2904, "0E FE 2F27 01 0C01", "sint16 × 10^-2 degree Celsius, outside"),
        (0x2904, "04 00 AD27 01 0000", "uint8 percent"), (0x2904, "06 00 0027 01 0200", "uint16, no. 2"),
        (0x2904, "FF 7F 0128 02 0100", "0xFF × 10^127 unit 2801, name space 0x02 0x0001"),
        (0x2904, "19 00 0027 01 1101", "utf8s, description 0x0111"), (0x2904, "04 00 AD27 01 00", "2904: 0400AD270100"),
        (0x2905, "0500 0900", "formats at 0x0005, 0x0009"), (0x2905, "", "formats at "),
        (0x2905, "050009", "2905: 050009"),
        // Descriptors defined by services.
        (0x2906, "0A00 6400", "0A00 to 6400"), (0x2906, "0A", "2906: 0A"), (0x2906, "", "2906: -"),
        (0x2907, "192A", "report of 2A19"), (0x2907, "192A00", "2907: 192A00"),
        (0x2907, "E8F37690FFB854915A46EB35CAC9AD27", "report of 27ADC9CA-35EB-465A-9154-B8FF9076F3E8"),
        (0x2908, "0101", "input report 1"), (0x2908, "0002", "output report 0"), (0x2908, "0703", "feature report 7"),
        (0x2908, "0109", "kind 0x09 report 1"), (0x2908, "01", "2908: 01"),
        (0x2909, "08", "8 digitals"), (0x2909, "", "2909: -"),
        (0x290A, "00", "when it changes"), (0x290A, "01 6400", "when it crosses 100"),
        (0x290A, "02 6400", "when it reaches 100"), (0x290A, "03 0A00", "when it changes by more than 10"),
        (0x290A, "04 03C0", "when a value in the mask 03C0 changes"),
        (0x290A, "05 0A00 1400", "when it enters or leaves 10 to 20"),
        (0x290A, "06 0A00 1400", "when it reaches 10 or 20"), (0x290A, "07", "never"),
        (0x290A, "08 01", "condition 0x08 01"), (0x290A, "01 64", "290A: 0164"),
        (0x290B, "00", "all triggers"), (0x290B, "01", "any trigger"), (0x290B, "02", "0x02"),
        (0x290C, "0000 02 0A0000 3C0000 13 01", "arithmetic mean over 10 s, every 60 s, application 0x13, ± 0.5 %"),
        (0x290C, "0000 00 000000 000000 00 FF", "measured"),
        (0x290C, "0000 08 000000 000000 00 FF", "sampling function 0x08"),
        (0x290C, "0000 00 000000 000000 00", "290C: 00000000000000000000"),
        (0x290D, "00", "inactive"), (0x290D, "01 0A0000", "every 10 s"),
        (0x290D, "02 0A0000", "when it changes, at most every 10 s"), (0x290D, "03", "when it changes"),
        (0x290D, "07 6400", "while greaterOrEqual 6400"), (0x290D, "0A", "condition 0x0A"),
        (0x290D, "01 0A", "290D: 010A"),
        (0x290E, "00", "no time trigger"), (0x290E, "01 0A0000", "every 10 s"),
        (0x290E, "02 0A0000", "at most every 10 s"), (0x290E, "03 0500", "every 5 changes"),
        (0x290E, "09 05", "condition 0x09 05"), (0x290E, "", "290E: -"),
        (0x290F, "010203", "transport block 010203"), (0x2910, "0102", "2910: 0102"), (0x2911, "", "2911: -"),
        (0x2A19, "64", "2A19: 64"),
    ]

    @Test("a descriptor's value is decoded according to its UUID", arguments: vectors)
    func value(uuid: UInt16, bytes: String, text: String) {
        let value = DescriptorValue(hex(bytes), of: BluetoothUUID(uuid))
        #expect(value.description == text)
        #expect(value.uuid == BluetoothUUID(uuid))
    }

    /// The properties that have a value.
    private static func properties(_ value: DescriptorValue) -> [String] {
        let all: [(String, Any?)] = [
            ("2900", value.extendedProperties), ("2901", value.userDescription), ("2902", value.clientConfiguration),
            ("2903", value.serverConfiguration), ("2904", value.presentationFormat), ("2905", value.aggregateFormat),
            ("2906", value.validRange), ("2907", value.externalReportReference), ("2908", value.reportReference),
            ("2909", value.numberOfDigitals), ("290A", value.valueTrigger),
            ("290B", value.environmentalSensingConfiguration), ("290C", value.environmentalSensingMeasurement),
            ("290D", value.environmentalSensingTrigger), ("290E", value.timeTrigger),
            ("290F", value.transportBlockData),
        ]
        return all.filter { $0.1 != nil }.map(\.0)
    }

    @Test("the property of the descriptor has the value, and no other", arguments: vectors)
    func property(uuid: UInt16, bytes: String, text: String) {
        let value = DescriptorValue(hex(bytes), of: BluetoothUUID(uuid))
        // Without the format of its descriptor a value is shown as the UUID and the bytes.
        let isOther = text.hasPrefix("\(BluetoothUUID(uuid)): ")
        #expect(Self.properties(value) == (isOther ? [] : ["\(BluetoothUUID(uuid))"]))
        #expect(value.isDecoded == !isOther && value.bytes == hex(bytes))
    }

    @Test("no truncation and no single-byte change does harm", arguments: vectors)
    func mutated(uuid: UInt16, bytes: String, text: String) {
        for mutation in mutations(of: hex(bytes)) {
            #expect(DescriptorValue(mutation, of: BluetoothUUID(uuid)).uuid == BluetoothUUID(uuid))
            _ = DescriptorValue(mutation, of: BluetoothUUID(uuid)).description
        }
    }

    static let numbers: [(format: PresentationFormat.Format, exponent: Int8, bytes: String, number: Double?)] = [
        (.boolean, 0, "01", 1), (.uint8, 0, "FF", 255), (.sint8, 0, "FF", -1), (.uint16, 2, "0100", 100),
        (.sint16, -2, "18FC", -10), (.uint24, 0, "FFFFFF", 16_777_215), (.sint24, 0, "FFFFFF", -1),
        (.uint32, 0, "00000080", 2_147_483_648), (.sint32, 0, "00000080", -2_147_483_648),
        (.uint64, 0, "0000000000000080", 9_223_372_036_854_775_808),
        (.sint64, 0, "0000000000000080", -9_223_372_036_854_775_808),
        (.float32, 5, "0000C03F", 1.5), (.float64, 0, "000000000000F8BF", -1.5), (.uint16, 0, "01", nil),
        (.float32, 0, "0000C0", nil), (.utf8, 0, "31", nil), (.medicalFloat16, 0, "0100", nil),
        (.uint8, 127, "01", 1e127), (.uint8, -128, "01", 1e-128), (.init(rawValue: 0xFF), 0, "01", nil),
    ]

    @Test("a format converts a value into a number", arguments: numbers)
    func number(format: PresentationFormat.Format, exponent: Int8, bytes: String, number: Double?) {
        let value = PresentationFormat(format: format, exponent: exponent).number(hex(bytes))
        guard let number, let value else {
            #expect(value == number)
            return
        }
        #expect(abs(value - number) <= abs(number) * 1e-12)
    }

    @Test("a format converts a value into text")
    func text() {
        #expect(PresentationFormat(format: .utf8).text(hex("54C3A9")) == "Té")
        #expect(PresentationFormat(format: .utf16).text(hex("5400E900 41")) == "Té")
        #expect(PresentationFormat(format: .uint8).text(hex("54")) == nil)
    }

    @Test("encoding a format is the inverse of decoding")
    func bytes() {
        let format = PresentationFormat(
            format: .sint16, exponent: -2, unit: 0x272F, namespace: .bluetoothSIG, valueDescription: 0x010C)
        #expect(format.bytes == hex("0E FE 2F27 01 0C01"))
        #expect(DescriptorValue(format.bytes, of: .characteristicPresentationFormat).presentationFormat == format)
        #expect(PresentationFormat(format: .uint8, unit: "27ADC9CA-35EB-465A-9154-B8FF9076F3E8").unitName == nil)
        #expect(PresentationFormat(format: .uint8, unit: 0x26FF).unitName == nil)
        #expect(PresentationFormat(format: .uint8, unit: 0x27BB).unitName == nil)
        #expect(PresentationFormat(format: .uint8, unit: 0x2735).unitName == "katal")
    }
}
