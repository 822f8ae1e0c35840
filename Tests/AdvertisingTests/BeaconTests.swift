import Advertising
import BluetoothPrimitives
import TestSupport
import Testing

@Suite struct BeaconTests {
    let beacon = IBeacon(
        proximityUUID: "00112233-4455-6677-8899-AABBCCDDEEFF", major: 0x0102, minor: 0x0304, measuredPower: -59)
    let bytes = hex("1AFF4C000215 00112233445566778899AABBCCDDEEFF 0102 0304 C5")

    @Test func anIBeaconIsReadAndWritten() throws {
        #expect(AdvertisementData(advertising: bytes).iBeacon == beacon)
        var builder = AdvertisementDataBuilder()
        try builder.add(.manufacturerData(beacon.manufacturerData))
        #expect(builder.bytes == bytes)
        #expect(beacon.description == "iBeacon 00112233-4455-6677-8899-AABBCCDDEEFF 258/772 -59 dBm")
    }

    @Test func otherManufacturerDataIsNoIBeacon() {
        #expect(AdvertisementData(advertising: hex("1AFF4D00") + bytes.dropFirst(4)).iBeacon == nil)
        #expect(AdvertisementData(advertising: hex("1AFF4C0003") + bytes.dropFirst(5)).iBeacon == nil)
        #expect(AdvertisementData(advertising: hex("1AFF4C000214") + bytes.dropFirst(6)).iBeacon == nil)
        #expect(AdvertisementData(advertising: [0x19] + bytes.dropFirst().dropLast()).iBeacon == nil)
    }

    @Test func anIBeaconBehindOtherAppleDataIsFound() {
        #expect(AdvertisementData(advertising: hex("05FF4C001005"), scanResponse: bytes).iBeacon == beacon)
    }

    @Test(arguments: [
        (
            "00 EB 00112233445566778899 AABBCCDDEEFF 0000",
            Eddystone.uid(namespace: hex("00112233445566778899"), instance: hex("AABBCCDDEEFF"), txPower: -21)
        ),
        ("10 EB 03 6C696E626C65 00 61", .url("https://linble.com/a", txPower: -21)),
        ("10 EB 00 61 07", .url("http://www.a.com", txPower: -21)),
        (
            "20 00 0BB8 1980 00000102 00000304",
            .telemetry(batteryVoltage: 3000, temperature: 0x1980, packetCount: 0x102, uptime: 0x304)
        ),
        (
            "20 00 0000 8000 00000000 00000000",
            .telemetry(batteryVoltage: 0, temperature: nil, packetCount: 0, uptime: 0)
        ),
        ("20 01 0102", .other(frameType: 0x20, hex("010102"))),
        ("30 EB 0102030405060708", .ephemeralIdentifier(hex("0102030405060708"), txPower: -21)),
        ("40 01", .other(frameType: 0x40, [1])),
    ])
    func eddystoneFramesAreRead(_ text: String, _ frame: Eddystone) throws {
        let data = hex(text)
        var builder = AdvertisementDataBuilder()
        try builder.add(.serviceData(Eddystone.service, data))
        #expect(builder.data.eddystone == frame)
    }

    @Test func otherServiceDataIsNoEddystone() {
        #expect(Eddystone(ServiceData(service: 0x180F, data: hex("10EB0361"))) == nil)
        for text in ["", "00", "00EB0011", "10", "10EB", "10EB04", "20", "2000", "20000BB8", "30EB01"] {
            #expect(Eddystone(ServiceData(service: 0xFEAA, data: hex(text))) == nil)
        }
    }
}
