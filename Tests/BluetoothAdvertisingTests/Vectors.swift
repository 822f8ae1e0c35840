import BluetoothAdvertising
import BluetoothPrimitives
import TestSupport
import Testing

/// The bytes of an AD structure and its field; encoding the field results in the same bytes.
struct Vector: Sendable, CustomTestStringConvertible {
    var bytes: [UInt8]
    var field: ADField
    var testDescription: String { "\(field)" }

    init(_ text: String, _ field: ADField) {
        bytes = hex(text)
        self.field = field
    }
}

let linbleService: BluetoothUUID = "27ADC9CA-35EB-465A-9154-B8FF9076F3E8"
let linbleServiceOnTheAir = "E8F37690FFB854915A46EB35CAC9AD27"
let sixteen = "000102030405060708090A0B0C0D0E0F"

/// Every assigned type (Assigned Numbers §2.3, CSS Part A §1).
let vectors: [Vector] = [
    Vector("02 01 06", .flags([.leGeneralDiscoverable, .brEDRNotSupported])),
    Vector("05 02 0D18 0F18", .services([0x180D, 0x180F], complete: false)),
    Vector("05 03 0D18 0F18", .services([0x180D, 0x180F])),
    Vector("05 04 78563412", .services([0x1234_5678], complete: false)),
    Vector("05 05 78563412", .services([0x1234_5678])),
    Vector("11 06 \(linbleServiceOnTheAir)", .services([linbleService], complete: false)),
    Vector("11 07 \(linbleServiceOnTheAir)", .services([linbleService])),
    Vector("07 08 4C494E424C45", .localName("LINBLE", complete: false)),
    Vector("0A 09 4C494E424C452D5A31", .localName("LINBLE-Z1")),
    Vector("02 0A F4", .txPowerLevel(-12)),
    Vector("04 0D 0C025A", .classOfDevice(ClassOfDevice(rawValue: 0x5A_020C))),
    Vector("11 0E \(sixteen)", .simplePairingHash192(hex(sixteen))),
    Vector("11 0F \(sixteen)", .simplePairingRandomizer192(hex(sixteen))),
    Vector(
        "09 10 0100 A607 3412 1002",
        .deviceID(DeviceID(vendorSource: 1, vendor: 0x07A6, product: 0x1234, version: 0x0210))),
    Vector("11 10 \(sixteen)", .securityManagerTK(hex(sixteen))),
    Vector("02 11 0B", .securityManagerOutOfBandFlags([.dataPresent, .leSupported, .randomAddress])),
    Vector(
        "05 12 0600 800C", .peripheralConnectionIntervalRange(ConnectionIntervalRange(minimum: 6, maximum: 3200))),
    Vector("05 14 0D18 0F18", .solicitedServices([0x180D, 0x180F])),
    Vector("11 15 \(linbleServiceOnTheAir)", .solicitedServices([linbleService])),
    Vector("05 1F 78563412", .solicitedServices([0x1234_5678])),
    Vector("05 16 0F18 5A01", .serviceData(0x180F, hex("5A01"))),
    Vector("07 20 78563412 5A01", .serviceData(0x1234_5678, hex("5A01"))),
    Vector("13 21 \(linbleServiceOnTheAir) 5A01", .serviceData(linbleService, hex("5A01"))),
    Vector(
        "0D 17 010203040506 111213141516",
        .targetAddresses([
            BluetoothAddress(0x0605_0403_0201, kind: .public), BluetoothAddress(0x1615_1413_1211, kind: .public),
        ])),
    Vector("07 18 0102030405C6", .targetAddresses([BluetoothAddress(0xC605_0403_0201, kind: .random)])),
    Vector("03 19 C103", .appearance(.keyboard)),
    Vector("03 1A A000", .advertisingInterval(AdvertisingInterval(rawValue: 160))),
    Vector("04 2F 000001", .advertisingInterval(AdvertisingInterval(rawValue: 0x01_0000))),
    Vector("05 2F 00000001", .advertisingInterval(AdvertisingInterval(rawValue: 0x0100_0000))),
    Vector("08 1B 0102030405C6 01", .leBluetoothDeviceAddress(BluetoothAddress(0xC605_0403_0201, kind: .random))),
    Vector("08 1B 010203040506 00", .leBluetoothDeviceAddress(BluetoothAddress(0x0605_0403_0201, kind: .public))),
    Vector("02 1C 02", .leRole(.peripheralPreferred)),
    Vector("02 1C 7F", .leRole(LERole(rawValue: 0x7F))),
    Vector("11 1D \(sixteen)", .simplePairingHash256(hex(sixteen))),
    Vector("11 1E \(sixteen)", .simplePairingRandomizer256(hex(sixteen))),
    Vector("11 22 \(sixteen)", .secureConnectionsConfirmation(hex(sixteen))),
    Vector("11 23 \(sixteen)", .secureConnectionsRandom(hex(sixteen))),
    Vector("0D 24 17 2F2F6C696E626C652E6A70", .uri("https://linble.jp")),
    Vector("09 24 C2BA 7061676573 30", .uri("ms-settings-cloudstorage:pages0")),
    Vector("07 24 01 6162633A64", .uri("abc:d")),
    Vector("05 25 01020304", .indoorPositioning(hex("01020304"))),
    Vector(
        "0A 26 01 06 02 AABB 02 00 01 CC",
        .transportDiscoveryData([
            TransportDiscoveryBlock(organization: 1, flags: 6, data: hex("AABB")),
            TransportDiscoveryBlock(organization: 2, flags: 0, data: hex("CC")),
        ])),
    Vector("03 27 2101", .leSupportedFeatures(LESupportedFeatures(bytes: [0x21, 0x01]))),
    Vector(
        "08 28 FFFFFFFF1F 3412",
        .channelMapUpdateIndication(ChannelMapUpdate(channelMap: 0x1F_FFFF_FFFF, instant: 0x1234))),
    Vector("04 29 010203", .pbADV(hex("010203"))),
    Vector("04 2A 010203", .meshMessage(hex("010203"))),
    Vector("04 2B 010203", .meshBeacon(hex("010203"))),
    Vector("04 2C 010203", .bigInfo(hex("010203"))),
    Vector("11 2D \(sixteen)", .broadcastCode(hex(sixteen))),
    Vector(
        "07 2E AAFB0D 948170",
        .resolvableSetIdentifier(ResolvableSetIdentifier(hash: 0x0D_FBAA, random: 0x70_8194))),
    Vector("05 30 4E657773", .broadcastName("News")),
    Vector(
        "0C 31 0102030405 AABB 11121314",
        .encryptedAdvertisingData(
            EncryptedAdvertisingData(
                randomizer: hex("0102030405"), ciphertext: hex("AABB"), messageIntegrityCheck: hex("11121314")))),
    Vector(
        "09 32 D6BE898E 04 08 02 10",
        .periodicAdvertisingResponseTiming(
            PeriodicAdvertisingResponseTiming(
                responseAccessAddress: 0x8E89_BED6, subeventCount: 4, subeventInterval: 8, responseSlotDelay: 2,
                responseSlotSpacing: 16))),
    Vector("04 34 010203", .electronicShelfLabel(hex("010203"))),
    Vector("04 3D 010203", .information3D(hex("010203"))),
    Vector("05 FF A607 0102", .manufacturerData(.musenConnect, hex("0102"))),
    Vector("04 3C 010203", .other(ADType(rawValue: 0x3C), hex("010203"))),
]

/// Complete payloads of devices, and malformed ones.
let payloads: [[UInt8]] = [
    hex("020106 1107\(linbleServiceOnTheAir) 0A094C494E424C452D5A31"),
    hex("02011A 1AFF4C000215 00112233445566778899AABBCCDDEEFF 0001 0002 C5"),
    hex("0201060303AAFE1116AAFE10EB036C696E626C650008090A"),
    hex("020106 05FFA6070102 05FFA6070304 0416 0F185A 0416 0F185B 00000000"),
    hex("0201060D09"), hex("00"), hex(""), hex("01"), hex("FF"), hex("0109"), hex("03030D"),
]
