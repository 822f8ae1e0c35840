import BluetoothAdvertising
import BluetoothLE
import BluetoothPrimitives
import Glibc
import Testing

@testable import ExampleSupport

/// The decoders of advertised data, and the table and JSON lines of a scan.
@Suite struct AdvertisementDecoderTests {
    private static let beacon = "0215F7826DA64FA24E988024BC5B71E0893E0007002AC5"

    /// A company or service, the data, its text, and its JSON.
    @Test(
        arguments: [
            (
                "m004C", beacon, "iBeacon 7/42|F7826DA6-4FA2-4E98-8024-BC5B71E0893E|-59 dBm at 1 m",
                #"{"type":"iBeacon","uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":7,"minor":42,"measuredPower":-59}"#
            ),
            (
                "m0118", "BEAC" + String(repeating: "11", count: 20) + "C500",
                "AltBeacon Radius Networks|" + String(repeating: "11", count: 20) + "|-59 dBm at 1 m",
                #"{"type":"AltBeacon","company":"0x0118","identifier":"\#(String(repeating: "11", count: 20))","referenceRSSI":-59,"reserved":0}"#
            ),
            (
                "sFEAA", "00EE000102030405060708090A0B0C0D0E0F0000",
                "Eddystone-UID 00010203040506070809 0A0B0C0D0E0F|-18 dBm at 0 m",
                #"{"type":"Eddystone-UID","namespace":"00010203040506070809","instance":"0A0B0C0D0E0F","txPower":-18}"#
            ),
            (
                "sFEAA", "10EB03737769667408", "Eddystone-URL https://swift.org|-21 dBm at 0 m",
                #"{"type":"Eddystone-URL","url":"https://swift.org","txPower":-21}"#
            ),
            (
                "sFEAA", "20000BB81580000000640000012C", "Eddystone-TLM 3000 mV|21.5 °C|100 packets|up 30.0 s",
                #"{"type":"Eddystone-TLM","batteryVoltage":3000,"temperature":21.5,"packetCount":100,"uptime":30.0}"#
            ),
            (
                "sFEAA", "200000008000000000640000012C", "Eddystone-TLM 100 packets|up 30.0 s",
                #"{"type":"Eddystone-TLM","batteryVoltage":null,"temperature":null,"packetCount":100,"uptime":30.0}"#
            ),
            (
                "sFEAA", "30EE0102030405060708", "Eddystone-EID 0102030405060708|-18 dBm at 0 m",
                #"{"type":"Eddystone-EID","identifier":"0102030405060708","txPower":-18}"#
            ),
            (
                "sFEAA", "4001", "Eddystone frame 0x40|01",
                #"{"type":"Eddystone","frameType":64,"data":"01"}"#
            ),
        ] as [(String, String, String, String)])
    func aBeaconIsDecoded(_ source: String, _ data: String, _ text: String, _ json: String) throws {
        let decoded = try #require(AdvertisementDecoder.decode(try Self.field(source, data)))
        #expect(decoded.text.joined(separator: "|") == text)
        #expect("\(decoded.json)" == json)
    }

    // MARK: Sensors

    private static let sensor = BluetoothAddress(0x5448_E68F_80A5, kind: .random)
    private static let encrypted = "41A47266C95F730011223378237214"

    /// A service or company, the data, the sensor's key, its text and its JSON.
    @Test(
        arguments: [
            (
                "sFCD2", "4002CA093A02", nil, "BTHome temperature 25.06 °C|button doublePress",
                #"{"type":"BTHome","encrypted":false,"values":[{"quantity":"temperature","value":25.06,"unit":"°C"},{"quantity":"button","value":"doublePress"}]}"#
            ),
            (
                "sFCD2", "400F015302686954023C0F3C0203", nil, "BTHome generic|text hi|raw 3C0F|dimmer rotateRight 3",
                #"{"type":"BTHome","encrypted":false,"values":[{"quantity":"generic","value":true},{"quantity":"text","value":"hi"},{"quantity":"raw","value":"3C0F"},{"quantity":"dimmer","value":"rotateRight","arguments":"03"}]}"#
            ),
            (
                "sFCD2", encrypted, nil, "BTHome encrypted",
                #"{"type":"BTHome","encrypted":true,"counter":857870592,"values":[]}"#
            ),
            (
                "sFCD2", encrypted, "231d39c1d7cc1ab1aee224cd096db932", "BTHome temperature 25.06 °C|humidity 50.55 %",
                #"{"type":"BTHome","encrypted":true,"counter":857870592,"values":[{"quantity":"temperature","value":25.06,"unit":"°C"},{"quantity":"humidity","value":50.55,"unit":"%"}]}"#
            ),
            (
                "sFCD2", encrypted, "231d39c1d7cc1ab1aee224cd096db933", "BTHome the key is wrong or the data damaged",
                #"{"type":"BTHome","encrypted":true,"counter":857870592,"problem":"the key is wrong or the data damaged","values":[]}"#
            ),
            // Anybody can send values that are not encrypted.
            (
                "sFCD2", "4002CA09", "231d39c1d7cc1ab1aee224cd096db932", "BTHome the values are not encrypted",
                #"{"type":"BTHome","encrypted":false,"problem":"the values are not encrypted","values":[]}"#
            ),
            (
                "sFE95", "5020AA01DA21933534 2D580D1004FE004802", nil, "MiBeacon temperature 25.4 °C|humidity 58.4 %",
                #"{"type":"MiBeacon","encrypted":false,"values":[{"quantity":"temperature","value":25.4,"unit":"°C"},{"quantity":"humidity","value":58.4,"unit":"%"}]}"#
            ),
            (
                "m0499", "03291A1E000000000000000000 00", nil,
                "RuuviTag humidity 20.5 %|temperature 26.3 °C|pressure 500 hPa|acceleration x 0 g|acceleration y 0 g|acceleration z 0 g|voltage 0 V",
                nil
            ),
        ] as [(String, String, String?, String, String?)])
    func aSensorIsDecoded(
        _ source: String, _ data: String, _ key: String?, _ text: String, _ json: String?
    ) async throws {
        let keys = try await SensorKeys(key.map { ["54:48:E6:8F:80:A5=\($0)"] } ?? [])
        let decoded = try #require(
            AdvertisementDecoder.decode(try Self.field(source, data), of: Self.sensor, keys))
        #expect(decoded.text.joined(separator: "|") == text)
        if let json { #expect("\(decoded.json)" == json) }
    }

    @Test(
        arguments: [
            ("=231d39c1d7cc1ab1aee224cd096db932", "--key: The text is no address, '=' and a key."),
            ("54:48:E6:8F:80=231d39c1d7cc1ab1aee224cd096db932", "--key: The text is no address, '=' and a key."),
            ("54:48:E6:8F:80:A5=231d39c1d7cc1ab1aee224cd096db9=", "--key: The text is no address, '=' and a key."),
            ("54:48:E6:8F:80:A5=231d39", "--key: The key of 54:48:E6:8F:80:A5 is not 32 hexadecimal digits."),
            ("54:48:E6:8F:80:A5=", "--key: The key of 54:48:E6:8F:80:A5 is not 32 hexadecimal digits."),
            ("231d39c1d7cc1ab1aee224cd096db932", "--key takes ADDRESS=KEY or a file, and there is no such file."),
        ])
    func aWrongKeyIsAnError(_ argument: String, _ message: String) async throws {
        let error = await #expect(throws: ProgramError.self) { try await SensorKeys([argument]) }
        #expect(error?.status == .usage && error?.message == message)
    }

    /// The path has a `=`, as an address with a key.
    @Test(arguments: ["\n", "\r\n"])
    func aFileOfKeysIsRead(_ lineEnd: String) async throws {
        var template = Array("/tmp/keys=XXXXXX".utf8CString)
        let path = try #require(mkdtemp(&template).map { String(cString: $0) }) + "/keys"
        defer {
            unlink(path)
            rmdir(template)
        }
        let lines = ["# at the door", "54:48:E6:8F:80:A5 = 231d39c1d7cc1ab1aee224cd096db932", ""]
        try NewFile(path, replacesExisting: false).write(Array(lines.joined(separator: lineEnd).utf8))
        let keys = try await SensorKeys([path])
        #expect(keys.key(of: Self.sensor) != nil)
    }

    private static func field(_ source: String, _ data: String) throws -> AdvertisedField {
        let number = try #require(UInt16(source.dropFirst(), radix: 16))
        let bytes = try #require([UInt8](hexadecimal: data))
        return source.first == "m"
            ? .manufacturer(ManufacturerData(company: CompanyIdentifier(number), data: bytes))
            : .service(ServiceData(service: BluetoothUUID(number), data: bytes))
    }

    @Test(
        arguments: [
            ("m004C", "0215F7826D"), ("m004C", "1005"), ("m004C", ""), ("m0006", beacon), ("m0118", "BEAC11"),
            ("sFEAA", ""), ("sFEAA", "00EE00"), ("sFEAA", "10EB"), ("sFEAA", "10EB7F41"), ("sFEAA", "2000"),
            ("sFEAA", "30EE01"), ("s180F", "10EB03737769667408"),
        ])
    func otherDataIsNotDecoded(_ source: String, _ data: String) throws {
        #expect(AdvertisementDecoder.decode(try Self.field(source, data)) == nil)
    }

    // MARK: Names

    private static func data(_ fields: [ADField]) -> AdvertisementData {
        var builder = AdvertisementDataBuilder(capacity: 255)
        for field in fields { try? builder.add(field) }
        return AdvertisementData(advertising: builder.bytes)
    }

    @Test(
        arguments: [
            ([.services(["180D", "180F"])], "180D Heart Rate|180F Battery"),
            ([.services(["27ADC9CA-35EB-465A-9154-B8FF9076F3E8"])], "LINBLE"),
            ([.services(["6E400001-B5A3-F393-E0A9-E50E24DCCA9E", "FFE0"])], "FFE0 HM-10|Nordic UART"),
            ([.services(["CA010001-1234-5678-9ABC-DEF012345678"])], "CA010001-1234-5678-9ABC-DEF012345678"),
            ([.manufacturerData(ManufacturerData(company: .apple, data: [0x10, 0x05]))], "Apple: 1005"),
            ([.manufacturerData(ManufacturerData(company: 0x1234, data: [1]))], "0x1234: 01"),
            ([.serviceData(ServiceData(service: "180F", data: [0x61]))], "180F Battery: 61"),
            // The list of services says nothing more than the decoded data.
            (
                [.services(["FEAA"]), .serviceData(ServiceData(service: "FEAA", data: [0x10, 0, 3, 0x61, 7]))],
                "Eddystone-URL https://a.com|0 dBm at 0 m"
            ),
            // Nothing of a device reaches the terminal unescaped.
            (
                [.serviceData(ServiceData(service: "FEAA", data: [0x10, 0, 3, 0x1B, 0x9B]))],
                "Eddystone-URL https://\\u{1B}\\u{9B}|0 dBm at 0 m"
            ),
        ] as [([ADField], String)])
    func servicesAndCompaniesHaveNames(_ fields: [ADField], _ text: String) {
        #expect(Self.data(fields).contents().joined(separator: "|") == text)
    }

    @Test func theJSONHasNamesAndTheBeacon() {
        let data = Self.data([
            .services(["180D", "CA010001-1234-5678-9ABC-DEF012345678"]),
            .manufacturerData(ManufacturerData(company: .apple, data: [1])),
            .serviceData(ServiceData(service: "FEAA", data: [0x10, 0, 3, 0x61])),
        ])
        #expect(
            JSONValue.object(data.nameFields()).description
                == #"{"serviceNames":{"180D":"Heart Rate","FEAA":"Eddystone"},"companyNames":{"0x004C":"Apple"},"beacon":{"type":"Eddystone-URL","url":"https://a","txPower":0}}"#
        )
    }

    // MARK: Table

    private static func devices() -> DeviceTable {
        var devices = DeviceTable()
        let contents: [[ADField]] = [
            [.localName("Pulse-Z1"), .services(["180D", "1809", "180F"])],
            [.localName("Own"), .services(["CA010001-1234-5678-9ABC-DEF012345678"])],
            [.manufacturerData(ManufacturerData(company: .apple, data: [UInt8](hexadecimal: beacon) ?? []))],
            [.manufacturerData(ManufacturerData(company: .apple, data: Array(repeating: 0x10, count: 27)))],
        ]
        for (index, fields) in contents.enumerated() {
            devices.record(
                Advertisement(
                    address: BluetoothAddress(UInt64(0xC098_E512_3450 + index), kind: .random), data: data(fields),
                    rssi: -50 - index, time: KernelInstant(nanoseconds: 0)))
        }
        return devices
    }

    @Test(arguments: [40, 64, 80, 100, 120, 200])
    func noUUIDIsCut(_ width: Int) {
        let table = Table(of: Self.devices().all, width: width)
        let uuids = [
            "CA010001-1234-5678-9ABC-DEF012345678", "F7826DA6-4FA2-4E98-8024-BC5B71E0893E", "180D", "1809", "180F",
        ]
        let words = table.lines(fitting: width).flatMap { $0.split(separator: " ") }
        for line in table.lines(fitting: width) { #expect(cellWidth(line) <= width) }
        for word in words where word.contains("-") && word.count > 10 {
            #expect(uuids.contains(String(word.last == "," ? word.dropLast() : word)), "\(word)")
        }
        #expect(table.lines(fitting: width).contains { $0.contains("Pulse-Z1") })
        #expect(width < 80 || words.contains { $0.hasPrefix(uuids[0]) })
        // The final table has everything, and breaks lines between words.
        let all = table.wholeLines(fitting: width)
        let text = all.joined(separator: " ")
        #expect(uuids.allSatisfy { text.contains($0) })
        #expect(all.allSatisfy { cellWidth($0) <= width || $0.contains(String(repeating: "10", count: 27)) })
    }

    @Test(
        arguments: [
            ("180D Heart Rate, 1809 Health", 40, "180D Heart Rate, 1809 Health"),
            ("180D Heart Rate, 1809 Health", 20, "180D Heart Rate …"), ("180D Heart Rate", 12, "180D Heart …"),
            ("180D Heart Rate", 3, "…"), ("CA010001-1234-5678-9ABC-DEF012345678", 30, "…"),
            ("Apple: " + String(repeating: "0", count: 50), 20, "Apple: 000000000000…"), ("180D", 0, ""),
        ] as [(String, Int, String)])
    func aTextIsCutBetweenWords(_ text: String, _ width: Int, _ shorter: String) {
        #expect(shortened(text, toCells: width, keepingWordsOf: 37) == shorter)
        #expect(cellWidth(shorter) <= width)
    }

    @Test func uartCharacteristicsHaveNames() {
        #expect(("27ADC9CC-35EB-465A-9154-B8FF9076F3E8" as BluetoothUUID).knownName == "LINBLE data to device")
        #expect(("27ADC9CB-35EB-465A-9154-B8FF9076F3E8" as BluetoothUUID).knownName == "LINBLE data from device")
        #expect((0xFFE1 as BluetoothUUID).knownName == "HM-10 data")
        #expect((0xFF00 as BluetoothUUID).knownName == "UART")
        #expect((0x180D as BluetoothUUID).knownName == "Heart Rate")
        #expect((0xFFFF as BluetoothUUID).knownName == nil)
    }
}
