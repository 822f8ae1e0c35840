import BluetoothLE
import ExampleSupport
import Testing

/// The decoding of values whose format is declared or assigned.
@Suite struct ValueDecoderTests {
    private static func fields(_ value: [UInt8], _ decoder: ValueDecoder) -> String {
        JSONValue.object(decoder.decode(value)?.jsonFields ?? []).description
    }

    /// A characteristic, a value, its meaning, and its JSON fields.
    @Test(
        arguments: [
            ("2A07", [0xEC], "-20 dBm", #"{"value":-20,"unit":"dBm"}"#),
            ("2A08", [0xEA, 0x07, 11, 24, 9, 5, 3], "2026-11-24T09:05:03", #"{"value":"2026-11-24T09:05:03"}"#),
            ("2A19", [97], "97 %", #"{"value":97,"unit":"%"}"#),
            ("2A1C", [0, 0x6D, 1, 0, 0xFF], "36.5 °C", #"{"value":36.5,"unit":"°C"}"#),
            ("2A1C", [0, 0xFF, 0xFF, 0x7F, 0], "NaN °C", #"{}"#),
            (
                "2A1E", [7, 0xCF, 3, 0, 0xFF, 0xEA, 0x07, 1, 2, 3, 4, 5, 6],
                "97.5 °F, at 2026-01-02T03:04:05, type mouth",
                #"{"value":97.5,"unit":"°F","fields":{"at":{"value":"2026-01-02T03:04:05"},"type":{"value":6}}}"#
            ),
            ("2A6C", [0xFF, 0xFF, 0xFF], "-0.01 m", #"{"value":-0.01,"unit":"m"}"#),
            ("2A6D", [0x4D, 0x76, 0x0F, 0], "101332.5 Pa", #"{"value":101332.5,"unit":"Pa"}"#),
            ("2A6E", [0xC4, 0x09], "25.00 °C", #"{"value":25.0,"unit":"°C"}"#), ("2A6E", [0, 0x80], "unknown", "{}"),
            ("2A6F", [0xFF, 0xFF], "unknown", "{}"),
            ("2A6F", [0x10, 0x27], "100.00 %", #"{"value":100.0,"unit":"%"}"#),
            ("2A98", [0x70, 0x3F], "81.200 kg", #"{"value":81.2,"unit":"kg"}"#),
            ("2A9D", [0, 0x70, 0x3F], "81.200 kg", #"{"value":81.2,"unit":"kg"}"#),
            (
                "2A9D", [0x0D, 0x10, 0x27, 2, 0xFA, 0, 0xBC, 2], "100.00 lb, user 2, BMI 25.0, height 70.0 in",
                #"{"value":100.0,"unit":"lb","fields":{"user":{"value":2},"bmi":{"value":25.0},"height":{"value":70.0,"unit":"in"}}}"#
            ),
            (
                "2A37", [0x06, 72], "72 beats/min, contact",
                #"{"value":72,"unit":"beats/min","fields":{"contact":true}}"#
            ),
            ("2A37", [0x04, 72], "72 beats/min, no contact", nil),
            (
                "2A37", [0x18, 72, 12, 0, 0, 4, 0, 2], "72 beats/min, energy 12 kJ, RR 1.000 0.500 s",
                #"{"value":72,"unit":"beats/min","fields":{"energy":{"value":12,"unit":"kJ"},"rr":{"value":[1.0,0.5],"unit":"s"}}}"#
            ),
            (
                "2A5B", [3, 1, 0, 0, 0, 0, 4, 2, 0, 0, 2],
                "wheel 1 revolutions, wheel time 1.000 s, crank 2 revolutions, crank time 0.500 s", nil
            ),
            ("2A53", [0x04, 0x80, 1, 90], "speed 1.50 m/s, cadence 90 steps/min, running", nil),
            ("2A63", [0, 0, 0xFA, 0], "250 W", #"{"value":250,"unit":"W"}"#),
            ("2A63", [0x01, 0x08, 0xFA, 0, 99, 7, 0], "250 W, balance 49.5 %, energy 7 kJ", nil),
            (
                "2A35", [0x04, 120, 0, 80, 0, 93, 0, 60, 0],
                "systolic 120 mmHg, diastolic 80 mmHg, mean 93 mmHg, pulse 60 beats/min",
                #"{"fields":{"systolic":{"value":120,"unit":"mmHg"},"diastolic":{"value":80,"unit":"mmHg"},"mean":{"value":93,"unit":"mmHg"},"pulse":{"value":60,"unit":"beats/min"}}}"#
            ),
            ("2A36", [0x01, 0xA0, 0xF0, 0xFF, 7, 0xFF, 7], "16.0 kPa", #"{"value":16.0,"unit":"kPa"}"#),
            (
                "2A18", [0x02, 5, 0, 0xEA, 0x07, 1, 2, 3, 4, 5, 100, 0xB0, 0x11],
                "sequence 5, at 2026-01-02T03:04:05, 100 mg/dL, sample 0x11", nil
            ),
            (
                "2A18", [0x06, 5, 0, 0xEA, 0x07, 1, 2, 3, 4, 5, 55, 0xC0, 0x11],
                "sequence 5, at 2026-01-02T03:04:05, 5.5 mmol/L, sample 0x11", nil
            ),
            ("2A5F", [0, 98, 0, 60, 0], "SpO2 98 %, pulse 60 beats/min", nil),
            (
                "2A2B", [0xEA, 0x07, 11, 24, 9, 5, 3, 2, 128, 1],
                "2026-11-24T09:05:03, day Tuesday, fractions 0.500 s, adjusted by manual update", nil
            ),
            (
                "2A50", [1, 0x4C, 0, 1, 0, 0x10, 1],
                "source Bluetooth SIG, vendor 0x004C Apple, product 0x0001, version 0x0110", nil
            ),
            ("2A50", [2, 0x4C, 0, 1, 0, 0x10, 1], "source USB, vendor 0x004C, product 0x0001, version 0x0110", nil),
            ("2A4A", [0x11, 0x01, 0, 2], "version 1.11, country 0, flags normally connectable", nil),
            (
                "2A04", [6, 0, 40, 0, 0, 0, 0xF4, 1], "interval 7.50 to 50.00 ms, latency 0, timeout 5000 ms",
                #"{"fields":{"shortest":{"value":7.5,"unit":"ms"},"longest":{"value":50.0,"unit":"ms"},"latency":{"value":0},"timeout":{"value":5000,"unit":"ms"}}}"#
            ),
            ("2A05", [1, 0, 0xFF, 0xFF], "0x0001 to 0xFFFF", nil),
            ("2A01", [0x41, 3], "Heart Rate Belt", #"{"value":833}"#),
            ("2A38", [2], "wrist", #"{"value":2}"#), ("2A38", [9], "0x09", #"{"value":9}"#),
            ("2A5C", [5, 0], "wheel revolutions, multiple sensor locations", #"{"value":5}"#),
            ("2A5C", [0, 0], "none", #"{"value":0}"#), ("2A5C", [0, 0x80], "bit 15", nil),
            ("2A0F", [4, 4], "time zone 60 min, offset DST +1:00", nil),
            ("2A23", [1, 2, 3, 4, 5, 6, 7, 8], "manufacturer 0x0504030201, organization 0x080706", nil),
            ("2A85", [0xD0, 0x07, 2, 29], "2000-02-29", nil), ("2A78", [5, 0], "5 mm", nil),
            (
                "2A67", [0x04, 0, 0x80, 0x96, 0x98, 0, 0x80, 0x69, 0x67, 0xFF],
                "latitude 1.0000000 °, longitude -1.0000000 °", nil
            ),
            ("2902", [1, 0], "notification", nil), ("2902", [0, 0], "off", nil),
            ("2900", [1, 0], "reliableWrite", nil),
            ("2903", [1, 0], "broadcast", nil),
            ("2904", [0x0E, 0xFE, 0x2F, 0x27, 1, 0x0C, 1], "sint16 × 10^-2 degree Celsius, outside", nil),
            ("2905", [5, 0, 6, 0], "formats at 0x0005, 0x0006", nil), ("2906", [1, 2], "01 to 02", nil),
            ("2908", [1, 2], "output report 1", nil), ("2909", [3], "3 digitals", nil),
        ] as [(BluetoothUUID, [UInt8], String, String?)])
    func anAssignedFormatIsDecoded(_ uuid: BluetoothUUID, _ value: [UInt8], _ meaning: String, _ json: String?) {
        let decoder = ValueDecoder(of: uuid)
        #expect(decoder.decode(value)?.text == meaning)
        if let json { #expect(Self.fields(value, decoder) == json) }
    }

    /// Neither a truncated value nor one of another length is decoded, and nothing traps.
    @Test func everyTruncatedValueIsShownAsBytes() {
        for number in UInt16(0x2A00)...0x2B3A {
            let decoder = ValueDecoder(of: BluetoothUUID(number))
            #expect(decoder.decode([]) == nil)
            for byte in [0x00, 0x7F, 0x80, 0xFF] as [UInt8] {
                for count in 1...24 { _ = decoder.decode(Array(repeating: byte, count: count))?.text }
            }
        }
        for (uuid, value) in [
            ("2A19", [1, 2]), ("2A19", [101]), ("2A6E", [1]), ("2A6D", [1, 2, 3]), ("2A37", [0]), ("2A37", [1, 1]),
            ("2A37", [0x10, 60, 1]),
        ] as [(BluetoothUUID, [UInt8])] {
            #expect(ValueDecoder(of: uuid).decode(value) == nil)
        }
        // With flags, a value may be longer.
        #expect(ValueDecoder(of: "2A37").decode([0, 60, 9, 9])?.text == "60 beats/min")
    }

    // MARK: Declared formats

    @Test(
        arguments: [
            (
                PresentationFormat(format: .sint16, exponent: -2, unit: 0x272F), [0xC4, 0x09], "25.00 °C",
                #"{"value":25.0,"unit":"°C"}"#
            ),
            (
                PresentationFormat(format: .uint16, exponent: 2, unit: 0x2701), [5, 0], "500 m",
                #"{"value":500,"unit":"m"}"#
            ),
            (PresentationFormat(format: .boolean), [1], "true", #"{"value":true}"#),
            (PresentationFormat(format: .boolean), [0], "false", #"{"value":false}"#),
            (PresentationFormat(format: .float32, unit: 0x27A8), [0, 0, 0xC0, 0x3F], "1.5 rpm", nil),
            (PresentationFormat(format: .float64, exponent: 3), [0, 0, 0, 0, 0, 0, 0xF8, 0x3F], "1.5", nil),
            (PresentationFormat(format: .medicalFloat16, unit: 0x27AD), [98, 0], "98 %", nil),
            (PresentationFormat(format: .medicalFloat32), [0xFF, 0xFF, 0x7F, 0], "NaN", "{}"),
            (PresentationFormat(format: .uint24), [1, 0, 0], "1", nil),
            (PresentationFormat(format: .sint64), Array(repeating: 0xFF, count: 8), "-1", nil),
            (PresentationFormat(format: .utf8), Array("hi\u{1B}".utf8), "\"hi\\u{1B}\"", nil),
            (PresentationFormat(format: .utf16), [0x68, 0, 0x69, 0], "\"hi\"", #"{"value":"hi"}"#),
            (PresentationFormat(format: .uint8, unit: 0x27AD, valueDescription: 0x010C), [5], "5 % (outside)", nil),
            (PresentationFormat(format: .uint8, unit: 0x2799), [5], "5 unit 2799", nil),
            (PresentationFormat(format: .structure), [5], nil, nil),
            (PresentationFormat(format: .uint16), [5], nil, nil),
            (PresentationFormat(format: .init(rawValue: 0xFF)), [5], nil, nil),
        ] as [(PresentationFormat, [UInt8], String?, String?)])
    func aDeclaredFormatIsDecoded(
        _ format: PresentationFormat, _ value: [UInt8], _ meaning: String?, _ json: String?
    ) {
        let decoder = ValueDecoder(of: "CA010001-1234-5678-9ABC-DEF012345678", declared: [format])
        #expect(decoder.decode(value)?.text == meaning)
        if let json { #expect(Self.fields(value, decoder) == json) }
    }

    @Test func theDeclaredFormatComesFirst() {
        let kelvin = PresentationFormat(format: .uint16, unit: 0x2705)
        #expect(ValueDecoder(of: "2A6E", declared: [kelvin]).decode([0x2C, 1])?.text == "300 K")
        // If the value does not have it, the assigned one counts.
        #expect(ValueDecoder(of: "2A19", declared: [kelvin]).decode([50])?.text == "50 %")
        let chosen = ValueDecoder(of: "2A6E", declared: [kelvin], format: ValueFormat("u8"))
        #expect(chosen.decode([0x2C, 1])?.text == "44 1")
        #expect(Self.fields([0x2C, 1], chosen) == #"{"value":[44,1]}"#)
        #expect(chosen.decode([]) == nil)
        #expect(chosen.describe([0x2C, 1]) == "2C 01  44 1")
    }

    @Test func aValidRangeHasTheFormatOfItsCharacteristic() {
        let temperature = ValueDecoder(of: .validRange, in: "2A6E")
        #expect(temperature.decode([0x60, 0xF0, 0xA0, 0x0F])?.text == "-40.00 to 40.00 °C")
        #expect(Self.fields([0x60, 0xF0, 0xA0, 0x0F], temperature) == #"{"value":[-40.0,40.0],"unit":"°C"}"#)
        let declared = ValueDecoder(of: .validRange, in: "2A6E", declared: [PresentationFormat(format: .uint8)])
        #expect(declared.decode([0, 100])?.text == "0 to 100")
        // Bounds without the format are shown as bytes.
        #expect(temperature.decode([0, 100])?.text == "00 to 64")
    }

    @Test func anAggregateIsDecodedPieceByPiece() {
        let formats = [
            PresentationFormat(format: .sint16, exponent: -1, unit: 0x272F, valueDescription: 0x010B),
            PresentationFormat(format: .uint8, unit: 0x27AD),
        ]
        let decoder = ValueDecoder(of: nil, declared: formats)
        #expect(decoder.decode([215, 0, 40])?.text == "inside 21.5 °C, 40 %")
        #expect(
            Self.fields([215, 0, 40], decoder)
                == #"{"value":40,"unit":"%","fields":{"inside":{"value":21.5,"unit":"°C"}}}"#)
        #expect(decoder.decode([215, 0]) == nil)
        #expect(decoder.decode([215, 0, 40, 1]) == nil)
    }

    @Test func theFormatsOfACharacteristicAreRead() async throws {
        func characteristic(_ descriptors: [RemoteDescriptor]) -> RemoteCharacteristic {
            RemoteCharacteristic(
                uuid: "2A19", properties: [.read], declarationHandle: 2, valueHandle: 3, endHandle: 9,
                descriptors: descriptors)
        }
        let percent = PresentationFormat(format: .uint8, unit: 0x27AD)
        let metre = PresentationFormat(format: .uint16, unit: 0x2701)
        let values: [AttributeHandle: [UInt8]] = [4: percent.bytes, 5: metre.bytes, 6: [5, 0, 4, 0], 7: [1]]
        let (one, two) = (RemoteDescriptor(uuid: "2904", handle: 4), RemoteDescriptor(uuid: "2904", handle: 5))
        let aggregate = RemoteDescriptor(uuid: "2905", handle: 6)
        func formats(_ descriptors: [RemoteDescriptor]) async throws -> [PresentationFormat] {
            try await characteristic(descriptors).presentationFormats { values[$0.handle] }
        }
        #expect(try await formats([]).isEmpty)
        #expect(try await formats([one]) == [percent])
        #expect(try await formats([one, two, aggregate]) == [metre, percent])
        // Two formats without an order; a refused and a truncated descriptor.
        #expect(try await formats([one, two]).isEmpty)
        #expect(try await formats([RemoteDescriptor(uuid: "2904", handle: 8)]).isEmpty)
        #expect(try await formats([RemoteDescriptor(uuid: "2904", handle: 7)]).isEmpty)
    }
}
