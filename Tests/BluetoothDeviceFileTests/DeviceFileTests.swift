import BluetoothATT
import BluetoothDeviceFile
import BluetoothPrimitives
import TestSupport
import Testing

@Suite struct DeviceFileTests {
    private static func problem(_ text: String) -> String? {
        let found = #expect(throws: DeviceFile.Problem.self) { try DeviceFile(reading: Array(text.utf8)) }
        return found?.description
    }

    @Test(
        arguments: [
            ("", "line 1: a value is missing"), ("7", "it is not an object"), ("{}", "devices: it is missing"),
            (#"{"devices":{}}"#, "devices: it is not an array"),
            (#"{"devices":[1]}"#, "devices[0]: it is not an object"),
            (#"{"seed":-1,"devices":[]}"#, "seed: it is not a whole number of at least 0"),
            (#"{"devices":[{"address":"nothing"}]}"#, #"devices[0].address: "nothing" is not an address"#),
            (
                #"{"devices":[{},{"linble":"teapot"}]}"#,
                #"devices[1].linble: "loopback" or "nothing" is expected, not "teapot""#
            ),
            (#"{"advertisedServices":["x"]}"#, #"advertisedServices[0]: "x" is not a UUID"#),
            (#"{"services":[{}]}"#, "services[0].uuid: it is missing"),
            ("{\n\"name\": 1,\n}", "line 3: a quoted name is missing"),
            (#"{"name":"a","name":"b"}"#, "name: it is there twice"), (#"{"name":7}"#, "name: it is not a text"),
            (
                #"{"colour":"red"}"#,
                "colour: an unknown key; known are name, address, addressType, rssi, appearance, advertisements, services, advertisedServices, linble, recorded"
            ),
            (#"{"seed":1,"devices":[],"name":"a"}"#, "name: an unknown key; known are seed, adapters, devices"),
            (#"{"adapters":[]}"#, "devices: it is missing"),
            (
                #"{"adapters":[{"on":true}],"devices":[]}"#,
                "adapters[0].on: an unknown key; known are legacy, powered, events"
            ),
            (#"{"adapters":[{"events":[{"after":1}]}],"devices":[]}"#, "adapters[0].events[0].event: it is missing"),
            (
                #"{"adapters":[{"events":[{"event":"burns"}]}],"devices":[]}"#,
                #"adapters[0].events[0].event: "burns" is not one of hangs, hearsNothing, hardwareError, unplugged, plugged, poweredOff, poweredOn"#
            ),
            (
                #"{"adapters":[{"events":[{"event":"plugged","until":"reset"}]}],"devices":[]}"#,
                "adapters[0].events[0].until: only hangs and hearsNothing have it"
            ),
            (
                #"{"adapters":[{"events":[{"event":"plugged","after":2},{"event":"plugged","after":1}]}],"devices":[]}"#,
                "adapters[0].events: their times do not ascend"
            ),
            (#"{"addressType":"secret"}"#, #"addressType: "secret" is neither public nor random"#),
            (#"{"rssi":21}"#, "rssi: it is not a whole number of at least -127 and at most 20"),
            (#"{"appearance":65536}"#, "appearance: it is not a whole number of at least 0 and at most 65535"),
            (#"{"recorded":{}}"#, "recorded.t: it is missing"),
            (#"{"recorded":{"t":"","seconds":-1}}"#, "recorded.seconds: it is not 0 to 86400 seconds"),
            (#"{"services":[{"uuid":"180F"},{"uuid":"180F"}]}"#, "services[1].uuid: 180F is in the device already"),
            (#"{"services":[{"uuid":"180F","primary":1}]}"#, "services[0].primary: it is neither true nor false"),
            (
                #"{"services":[{"uuid":"180F","includes":["180D"]}]}"#,
                "the included service 180D is not in the database"
            ),
            (#"{"services":[{"uuid":"180F","handle":2}]}"#, "handle 0x0002 is not free"),
            (
                #"{"services":[{"uuid":"180F","includes":[{"uuid":"x"}]}]}"#,
                #"services[0].includes[0].uuid: "x" is not a UUID"#
            ),
            (
                #"{"devices":[{"address":"C0:00:00:00:00:01"},{"address":"C0:00:00:00:00:01"}]}"#,
                "devices[1].address: C0:00:00:00:00:01 is another device's already"
            ),
        ])
    func aWrongFileIsRefusedWithPlaceAndReason(_ text: String, _ problem: String) {
        #expect(Self.problem(text) == problem)
    }

    @Test(
        arguments: [
            (#""hex":"00","value":"00""#, "value: there is a hex as well"),
            (#""hex":"00","text":"a""#, "hex: there is a text as well"), (#""hex":7"#, "hex: it is not a text"),
            (#""hex":"\#(String(repeating: "00", count: 513))""#, "hex: 513 bytes; at most 512 are possible"),
            (#""text":"\#(String(repeating: "a", count: 513))""#, "text: at most 512 bytes are possible"),
            (
                #""error":"no""#,
                #"error: "no" is not an ATT error such as Insufficient Authentication (0x05)"#
            ),
            (#""error":"Invalid Handle (0x01)","hex":"""#, "error: there is a value as well"),
            (#""properties":7"#, "properties: it is not an array"),
            (#""value":"0g""#, #"value: "0g" is not hexadecimal"#),
            (#""value":"00","text":"a""#, "value: there is a text as well"),
            (#""every":0"#, "every: it is not 0.001 to 86400 seconds"), (#""every":"1""#, "every: it is not a number"),
            (#""echo":"2A38""#, "echo: 2A38 is not a characteristic of the service"),
            (#""handle":1"#, "handle: it is not a whole number of at least 2 and at most 65535"),
            (#""properties":["read",1]"#, "properties[1]: 1 is not one of \(properties)"),
            (#""permissions":["look"]"#, #"permissions[0]: "look" is not one of \#(permissions)"#),
            (#""descriptors":[{}]"#, "descriptors[0].uuid: it is missing"),
            (
                #""description":"a","descriptors":[{"uuid":"2901"}]"#,
                "description: there is a descriptor 2901 as well"
            ),
            (#""notifications":[{"hex":""}]"#, "notifications[0].after: it is missing"),
            (#""notifications":[{"after":1}]"#, "notifications[0].hex: it is missing"),
            (
                #""notifications":[{"after":1,"hex":""}]"#,
                "notifications: the properties have neither notify nor indicate"
            ),
            (
                #""properties":["notify"],"notifications":[{"after":1,"hex":""},{"after":0,"hex":""}]"#,
                "notifications[1].after: it is before the one of the last notification"
            ),
            (
                #""every":1,"properties":["notify"],"notifications":[{"after":1,"hex":""}]"#,
                #"notifications: there is "every" as well"#
            ),
        ])
    func aWrongCharacteristicIsRefusedWithPlaceAndReason(_ fields: String, _ problem: String) {
        let text = #"{"services":[{"uuid":"180D","characteristics":[{"uuid":"2A37",\#(fields)}]}]}"#
        #expect(Self.problem(text) == "services[0].characteristics[0].\(problem)")
    }

    @Test(
        arguments: [
            (#""raw":"0""#, #"raw: "0" is not hexadecimal"#),
            (#""raw":"\#(String(repeating: "00", count: 32))""#, "raw: 32 bytes; at most 31 are possible"),
            (#""rawScanResponse":"00""#, "raw: it is missing"),
            (#""raw":"020106","name":"a""#, "name: it is null in the raw data"),
            (#""mfr":[{"id":"4C","data":""}]"#, "mfr[0].id: it is not a company identifier such as 0x004C"),
            (#""mfr":[{"id":"0x004C"}]"#, "mfr[0].data: it is missing"),
            (#""serviceData":[]"#, "serviceData: it is not an object"),
            (#""serviceData":{"x":""}"#, #"serviceData.x: "x" is not a UUID"#),
            (#""legacy":false,"scannable":true"#, "scannable: extended advertising is not connectable as well"),
            (#""every":0.001"#, "every: it is not 0.02 to 86400 seconds"),
        ])
    func aWrongAdvertisementIsRefusedWithPlaceAndReason(_ fields: String, _ problem: String) {
        #expect(Self.problem(#"{"advertisements":[{\#(fields)}]}"#) == "advertisements[0].\(problem)")
    }

    @Test func tooMuchIsRefused() {
        let services = Array(repeating: #"{"uuid":"180F"}"#, count: 1001).joined(separator: ",")
        #expect(Self.problem(#"{"services":[\#(services)]}"#) == "services: it has more than 1000 elements")
        let devices = Array(repeating: "{}", count: 257).joined(separator: ",")
        #expect(Self.problem(#"{"devices":[\#(devices)]}"#) == "devices: it has more than 256 elements")
        let deep = String(repeating: "[", count: 100)
        #expect(Self.problem(#"{"name":\#(deep)"#) == "line 1: more than 64 levels of nesting")
    }

    /// A device with one of everything.
    private static let whole = """
        {
          "name": "Pulse", "address": "C0:98:E5:12:34:58", "addressType": "random", "rssi": -58, "appearance": 833,
          "recorded": {"t": "2026-01-01T00:00:00.000Z", "seconds": 2.5},
          "advertisements": [
            {"name": "Pulse", "services": ["180D"], "mfr": [{"id": "0x004C", "data": "0102"}], "every": 0.1, "rssi": -60},
            {"connectable": false, "scannable": false, "raw": "020104"}
          ],
          "services": [
            {"uuid": "180D", "handle": 32, "end": 48, "includes": ["180F", {"uuid": "180F", "handle": 64}], "characteristics": [
              {"uuid": "2A37", "handle": 40, "properties": ["notify"], "notifications": [{"after": 0.5, "hex": "0048"}, {"after": 1, "text": "x"}]},
              {"uuid": "2A38", "properties": ["read"], "value": "02", "description": "worn"}
            ]},
            {"uuid": "180F", "primary": false, "handle": 64, "characteristics": [
              {"uuid": "2A19", "properties": ["read", "notify"], "permissions": ["read", "readEncrypted"], "hex": "61", "every": 1,
               "descriptors": [{"uuid": "2904", "hex": "0400AD27010000"}]},
              {"uuid": "2A1A", "properties": ["read"], "error": "Insufficient Authentication (0x05)"},
              {"uuid": "FFF1", "properties": ["write"], "echo": "2A19"}
            ]}
          ]
        }
        """

    @Test func whatIsWrittenIsReadTheSame() throws {
        let file = try DeviceFile(reading: Array(Self.whole.utf8))
        let device = try #require(file.devices.first)
        #expect(device.services[0].characteristics[0].notifications.map(\.time) == [.milliseconds(500), .seconds(1)])
        #expect(device.services[1].characteristics[1].value.error == .insufficientAuthentication)
        #expect(device.notificationPeriod == .milliseconds(2500))
        let again = try DeviceFile(reading: device.file)
        #expect(again.devices == [device])
        #expect(again.devices[0].file == device.file)
    }

    @Test func aPartialFileIsRefused() throws {
        let bytes = Array(Self.whole.utf8)
        for count in bytes.indices {
            #expect(throws: DeviceFile.Problem.self) { try DeviceFile(reading: Array(bytes.prefix(count))) }
        }
    }

    @Test(.seeded) func aChangedFileIsReadOrRefused() throws {
        var generator = SeededGenerator()
        let bytes = Array(Self.whole.utf8)
        for _ in 0..<3000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                changed[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(
                    in: .min ... .max, using: &generator)
            }
            guard let file = try? DeviceFile(reading: changed) else { continue }
            // What is read can be written and read again.
            for device in file.devices { _ = try DeviceFile(reading: device.file) }
        }
    }
}

private let properties =
    "authenticatedSignedWrites, broadcast, extendedProperties, indicate, notify, read, write, writeWithoutResponse"
private let permissions =
    "read, readAuthenticated, readAuthorized, readBonded, readEncrypted, write, writeAuthenticated, writeAuthorized, "
    + "writeBonded, writeEncrypted"
