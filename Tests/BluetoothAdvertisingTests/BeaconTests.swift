import BluetoothAdvertising
import BluetoothPrimitives
import TestSupport
import Testing

@Suite struct BeaconTests {
    let beacon = IBeacon(
        proximityUUID: "00112233-4455-6677-8899-AABBCCDDEEFF", major: 0x0102, minor: 0x0304, measuredPower: -59)
    let bytes = hex("1AFF4C000215 00112233445566778899AABBCCDDEEFF 0102 0304 C5")

    @Test func anIBeaconIsReadAndWritten() throws {
        #expect(AdvertisementData(advertising: bytes).beacon(IBeacon.self) == beacon)
        var builder = AdvertisementDataBuilder()
        try builder.add(.manufacturerData(beacon.manufacturerData))
        #expect(builder.bytes == bytes)
        #expect(beacon.description == "iBeacon 00112233-4455-6677-8899-AABBCCDDEEFF 258/772 -59 dBm")
    }

    @Test func otherManufacturerDataIsNoIBeacon() {
        #expect(AdvertisementData(advertising: hex("1AFF4D00") + bytes.dropFirst(4)).beacon(IBeacon.self) == nil)
        #expect(AdvertisementData(advertising: hex("1AFF4C0003") + bytes.dropFirst(5)).beacon(IBeacon.self) == nil)
        #expect(AdvertisementData(advertising: hex("1AFF4C000214") + bytes.dropFirst(6)).beacon(IBeacon.self) == nil)
        #expect(AdvertisementData(advertising: [0x19] + bytes.dropFirst().dropLast()).beacon(IBeacon.self) == nil)
    }

    @Test func anIBeaconBehindOtherAppleDataIsFound() {
        #expect(AdvertisementData(advertising: hex("05FF4C001005"), scanResponse: bytes).beacon(IBeacon.self) == beacon)
    }

    /// Frames in wire order, with the two reserved bytes of the first.
    private static let frames: [(String, Eddystone)] = [
        (
            "00 EB 00112233445566778899 AABBCCDDEEFF 0000",
            .uid(namespace: hex("00112233445566778899"), instance: hex("AABBCCDDEEFF"), txPower: -21)
        ),
        ("10 EB 03 6C696E626C65 00 61", .url("https://linble.com/a", txPower: -21)),
        ("10 12 00 61 07", .url("http://www.a.com", txPower: 18)),
        ("10 EE 02 67 6F 6F 2E 67 6C 2F 41", .url("http://goo.gl/A", txPower: -18)),
        ("10 00 01 61 0B 78 06 62 0D", .url("https://www.a.infox.gov/b.gov", txPower: 0)),
        (
            "20 00 0BB8 1980 00000102 00000304",
            .telemetry(batteryVoltage: 3000, temperature: 0x1980, packetCount: 0x102, uptime: 0x304)
        ),
        (
            "20 00 0000 8000 FFFFFFFF 00000000",
            .telemetry(batteryVoltage: 0, temperature: nil, packetCount: .max, uptime: 0)
        ),
        (
            "20 00 0000 FE80 00000000 00000000",
            .telemetry(batteryVoltage: 0, temperature: -384, packetCount: 0, uptime: 0)
        ),
        ("20 01 0102", .other(frameType: 0x20, hex("010102"))),
        ("30 EB 0102030405060708", .ephemeralIdentifier(hex("0102030405060708"), txPower: -21)),
        ("40 01", .other(frameType: 0x40, [1])),
    ]

    @Test(arguments: frames) func eddystoneFramesAreReadAndWritten(_ text: String, _ frame: Eddystone) throws {
        let data = hex(text)
        var builder = AdvertisementDataBuilder()
        try builder.add(.serviceData(Eddystone.service, data))
        #expect(builder.data.beacon(Eddystone.self) == frame)
        #expect(try frame.serviceData() == ServiceData(service: 0xFEAA, data: data))
        #expect(
            try AdvertisementContent.eddystone(frame).payloads(capacity: 28, scanResponseCapacity: 0).leftOver == [])
    }

    @Test(
        arguments: [
            (.uid(namespace: [1], instance: hex("AABBCCDDEEFF"), txPower: 0), .wrongLength(expected: 10, actual: 1)),
            (
                .uid(namespace: hex("00112233445566778899"), instance: [], txPower: 0),
                .wrongLength(expected: 6, actual: 0)
            ),
            (.ephemeralIdentifier([1, 2], txPower: 0), .wrongLength(expected: 8, actual: 2)),
            (.url("ftp://a.com", txPower: 0), .unknownScheme("ftp://a.com")),
            (.url("https://a b", txPower: 0), .invalidCharacter(" ")),
            (.url("https://é", txPower: 0), .invalidCharacter("é")),
            (.url("https://", txPower: 0), .wrongAddressLength(byteCount: 0)),
            (.url("https://a23456789012345678", txPower: 0), .wrongAddressLength(byteCount: 18)),
        ] as [(Eddystone, BeaconError)])
    func valuesWithoutAFrameAreRefused(_ frame: Eddystone, _ error: BeaconError) {
        #expect(throws: error) { try frame.serviceData() }
    }

    @Test func anAltBeaconIsReadAndWritten() throws {
        let identifier = hex("00112233445566778899AABBCCDDEEFF 01020304")
        let bytes = hex("1BFF1801 BEAC") + identifier + hex("C5 2A")
        let beacon = try AltBeacon(
            company: CompanyIdentifier(0x0118), identifier: identifier, referenceRSSI: -59, reserved: 0x2A)
        #expect(AdvertisementData(advertising: bytes).beacon(AltBeacon.self) == beacon)
        var builder = AdvertisementDataBuilder()
        try builder.add(.manufacturerData(beacon.manufacturerData))
        #expect(builder.bytes == bytes)
        #expect(throws: BeaconError.wrongLength(expected: 20, actual: 1)) {
            try AltBeacon(company: .apple, identifier: [1], referenceRSSI: 0)
        }
        #expect(AdvertisementData(advertising: hex("1BFF1801 BEAD") + bytes.dropFirst(6)).beacon(AltBeacon.self) == nil)
        #expect(AdvertisementData(advertising: [0x1A] + bytes.dropFirst().dropLast()).beacon(AltBeacon.self) == nil)
    }

    @Test func beaconsFitBesideTheFlags() throws {
        let alt = try AltBeacon(company: .apple, identifier: [UInt8](repeating: 1, count: 20), referenceRSSI: 0)
        for content in [AdvertisementContent.iBeacon(beacon), .altBeacon(alt)] {
            #expect(content.automaticByteCount == 3)
            #expect(try content.payloads(capacity: 28, scanResponseCapacity: 0).leftOver == [])
        }
    }

    /// A format of a program's own, in both kinds of data.
    private struct Doorbell: AdvertisedValue, Equatable {
        var pressCount: UInt8

        init?(_ data: ManufacturerData) {
            guard data.company == .internalTest, data.data.count == 2, data.data[0] == 0x0D else { return nil }
            pressCount = data.data[1]
        }

        init?(_ data: ServiceData) {
            guard data.service == 0x1234, let count = data.data.first else { return nil }
            pressCount = count
        }
    }

    @Test func aFormatOfOnesOwnIsFoundInEitherKindOfData() {
        for (text, count) in [
            ("05FFFFFF0D07", 7), ("05FFFFFF0E07 05FFFFFF0D08", 8), ("0416341209", 9), ("05FFFFFF0D07 0416341209", 7),
            ("05FFFFFF0E07", nil), ("0416351209", nil), ("03163412", nil), ("", nil),
        ] as [(String, UInt8?)] {
            let found = AdvertisementData(advertising: hex(text)).beacon(Doorbell.self)
            #expect(found?.pressCount == count, "\(text)")
        }
        #expect(IBeacon(ServiceData(service: 0xFEAA, data: beacon.manufacturerData.data)) == nil)
        #expect(Eddystone(ManufacturerData(company: .apple, data: hex("10EB0361"))) == nil)
    }

    @Test func otherServiceDataIsNoEddystone() {
        #expect(Eddystone(ServiceData(service: 0x180F, data: hex("10EB0361"))) == nil)
        for text in ["", "00", "00EB0011", "10", "10EB", "10EB04", "20", "2000", "20000BB8", "30EB01"] {
            #expect(Eddystone(ServiceData(service: 0xFEAA, data: hex(text))) == nil)
        }
    }
}
