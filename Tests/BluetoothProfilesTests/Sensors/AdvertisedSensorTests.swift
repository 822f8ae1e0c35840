import BluetoothAdvertising
import BluetoothLE
import BluetoothPrimitives
import BluetoothProfiles
import TestSupport
import Testing

/// What the tables of the sensors' formats do not show: keys, counters, and data that is damaged.
@Suite struct AdvertisedSensorTests {
    private static let address = BluetoothAddress(0x5448_E68F_80A5, kind: .public)
    private static let encrypted = hex("41A47266C95F730011223378237214")

    private static func key(_ digits: String = "231d39c1d7cc1ab1aee224cd096db932") throws -> BindKey {
        try #require(BindKey(digits))
    }

    private static func bthome(_ text: String) -> BTHome? {
        BTHome(ServiceData(service: BTHome.service, data: hex(text)))
    }

    private static func mibeacon(_ text: String) -> MiBeacon? {
        MiBeacon(ServiceData(service: MiBeacon.service, data: hex(text)))
    }

    private static func ruuvi(_ text: String) -> RuuviTag? {
        RuuviTag(ManufacturerData(company: 0x0499, data: hex(text)))
    }

    // MARK: Keys

    @Test func aKeyIsThirtyTwoDigitsAndDoesNotPrintItself() throws {
        let digits = "00ff10D7cc1ab1aee224cd096db93200"
        let key = try #require(BindKey(digits))
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped, "\(Optional(key) as Any)"] {
            #expect(!text.lowercased().contains("cc1ab1ae") && !text.contains("4720"), "\(text)")
        }
        for wrong in [
            "", "00", digits + "00", "+" + digits.dropFirst(), "-" + digits.dropFirst(), "g" + digits.dropFirst(),
        ] {
            #expect(BindKey(wrong) == nil, "\(wrong)")
        }
        #expect(BindKey(bytes: [1, 2]) == nil)
    }

    @Test func aKeyOfBytesIsThatOfItsDigits() throws {
        let key = try #require(BindKey(bytes: hex("231d39c1d7cc1ab1aee224cd096db932")))
        let beacon = try #require(BTHome(ServiceData(service: BTHome.service, data: Self.encrypted)))
        #expect(try beacon.decrypted(with: key, from: Self.address)[.temperature]?.number == 25.06)
    }

    @Test func anAdvertisementIsDecryptedWithItsAddress() throws {
        var builder = AdvertisementDataBuilder(capacity: 31)
        try builder.add(.serviceData(BTHome.service, Self.encrypted))
        var advertisement = Advertisement(
            address: Self.address, data: builder.data, rssi: -50, time: KernelInstant(nanoseconds: 0))
        let reading = try #require(try advertisement.beacon(BTHome.self, key: Self.key()))
        #expect(reading.values.map(\.description) == ["temperature 25.06 °C", "humidity 50.55 %"])
        #expect(reading.counter == 0x3322_1100 && !reading.isEncrypted && !reading.isTriggerBased)
        // Without a key it says that it is encrypted, and has no values.
        let sealed = try #require(advertisement.beacon(BTHome.self))
        #expect(sealed.isEncrypted && sealed.values.isEmpty && sealed.counter == 0x3322_1100)
        #expect(throws: SensorDecryptionError.wrongKey) {
            try advertisement.beacon(BTHome.self, key: Self.key("231d39c1d7cc1ab1aee224cd096db933"))
        }
        #expect(try advertisement.beacon(MiBeacon.self, key: Self.key()) == nil)
        advertisement.address = BluetoothAddress(0x5448_E68F_80A6, kind: .public)
        #expect(throws: SensorDecryptionError.wrongKey) { try advertisement.beacon(BTHome.self, key: Self.key()) }
        advertisement.address = nil
        #expect(throws: SensorDecryptionError.missingAddress) { try advertisement.beacon(BTHome.self, key: Self.key()) }
    }

    @Test func whatAnybodyCanSendIsNoEncryptedValue() throws {
        #expect(throws: SensorDecryptionError.notEncrypted) {
            try Self.bthome("4002CA09")?.decrypted(with: Self.key(), from: Self.address)
        }
        #expect(throws: SensorDecryptionError.notEncrypted) {
            try Self.mibeacon("5020AA01DA219335342D580D1004FE004802")?.decrypted(with: Self.key(), from: Self.address)
        }
        #expect(throws: SensorDecryptionError.notEncrypted) {
            try Self.ruuvi("03291A1ECE1E02DEF94202CA0B53")?.decrypted(with: Self.key(), from: Self.address)
        }
        // An advertisement without objects, and one of a version whose encryption has no integrity check.
        let empty = try Self.mibeacon("30585B0501F4830238C1A408")?.decrypted(with: Self.key(), from: Self.address)
        #expect(empty?.product == 0x055B && empty?.values == [])
        #expect(throws: SensorDecryptionError.unsupported) {
            try Self.mibeacon("5830B603D28B98C54124F8C34914767E00000099")?.decrypted(
                with: Self.key(), from: Self.address)
        }
    }

    // MARK: BTHome

    @Test func whatFollowsAnUnknownObjectIsKept() {
        for (text, values, remainder) in [
            ("4002CA09", ["temperature 25.06 °C"], ""), ("4002CA", [], "02CA"),
            ("40015DFE5D", ["battery 93 %"], "FE5D"),
            ("40", [], ""), ("40540201FF", ["raw 01FF"], ""), ("405402 01", [], "540201"), ("4054", [], "54"),
            ("40540001 5D", ["battery 93 %"], ""), ("4053026F6B", ["text ok"], ""), ("403B", [], "3B"),
            ("403A003A02", ["button idle", "button doublePress"], ""), ("403A07", ["button 7"], ""),
            ("403C0203", ["dimmer rotateRight 3"], ""), ("403BE10209", ["command toggle 9"], ""),
            ("40F00102F104010203F2000106", ["deviceType 513", "firmwareVersion 3.2.1.4", "firmwareVersion 6.1.0"], ""),
            ("402D00", ["no window"], ""), ("402D01", ["window"], ""), ("405D02EA", ["current -5.63 A"], ""),
        ] as [(String, [String], String)] {
            let reading = Self.bthome(text)
            let found = reading?.values.map { $0.description.replacing("device type", with: "deviceType") } ?? ["none"]
            #expect(found.map { $0.replacing("firmware version", with: "firmwareVersion") } == values, "\(text)")
            #expect(reading?.remainder == hex(remainder), "\(text)")
        }
    }

    @Test func otherDataIsNoBTHome() {
        for text in ["", "60015D", "20015D", "42A1A2A3A4A5", "4111223344556677"] {
            #expect(Self.bthome(text) == nil, "\(text)")
        }
        #expect(BTHome(ServiceData(service: 0x181C, data: hex("4002CA09"))) == nil)
        #expect(Self.bthome("4402CA09")?.isTriggerBased == true)
    }

    // MARK: MiBeacon

    @Test func theFieldsOfAMiBeaconAreRead() throws {
        let beacon = try #require(Self.mibeacon("5020AA01DA21933534 2D580D1004FE004802"))
        #expect(beacon.version == 2 && beacon.product == 0x01AA && beacon.packetNumber == 0xDA && beacon.counter == nil)
        #expect(beacon.objects.map(\.code) == [0x100D] && beacon.objects.first?.content == hex("FE004802"))
        // Capabilities with and without those of input and output before the object.
        #expect(Self.mibeacon("60209800AA 08 0810 01 40")?.values.map(\.description) == ["moisture 64 %"])
        #expect(Self.mibeacon("60209800AA 2801 0810 01 40")?.values.map(\.description) == ["moisture 64 %"])
        // Two products say 100 for light, and others lux.
        #expect(Self.mibeacon("4050F607AA 0710 03 640000")?.values.map(\.description) == ["light"])
        #expect(Self.mibeacon("40508B09AA 0710 03 010000")?.values.map(\.description) == ["no light"])
        #expect(Self.mibeacon("40509800AA 0710 03 640000")?.values.map(\.description) == ["illuminance 100 lx"])
        // An unknown object and one of another length stay as they are.
        let unknown = try #require(Self.mibeacon("40509800AA 7777 01 05 0410 01 00 0810 01 40 0A10"))
        #expect(unknown.objects.map(\.code) == [0x7777, 0x1004, 0x1008])
        #expect(unknown.values.map(\.description) == ["moisture 64 %"])
        #expect(Self.mibeacon("40509800AA 0148 04 CDCCD041")?.values.map(\.description) == ["temperature 26.1 °C"])
        #expect(Self.mibeacon("40509800AA 0148 04 0000C07F")?.values == [])
    }

    @Test func otherDataIsNoMiBeacon() {
        // Too short, an old version, a mesh device, an incomplete address, and no room for the integrity check.
        for text in ["", "5020AA01", "4010AA01DA", "C050AA01DA", "5050AA01DA2193", "4858AA01DA010203040506"] {
            #expect(Self.mibeacon(text) == nil, "\(text)")
        }
        #expect(MiBeacon(ServiceData(service: 0xFE96, data: hex("4050F607AA 0710 03 640000"))) == nil)
    }

    @Test func theCounterOfAMiBeaconHasItsPacketNumberLast() {
        #expect(Self.mibeacon("58585B0550F4830238C1A495EF58763C26000097E2ABB5")?.counter == 0x0000_2650)
    }

    // MARK: RuuviTag

    /// The vectors of docs.ruuvi.com for data format 5: the highest, the lowest and the unavailable values.
    @Test func theLimitsOfARuuviTagAreRead() throws {
        let highest = try #require(Self.ruuvi("057FFFFFFEFFFE7FFF7FFF7FFFFFDEFEFFFECBB8334C884F"))
        #expect(
            highest.values.map(\.description) == [
                "temperature 163.835 °C", "humidity 163.835 %", "pressure 1155.34 hPa", "acceleration x 32.767 g",
                "acceleration y 32.767 g", "acceleration z 32.767 g", "voltage 3.646 V", "transmit power 20 dBm",
                "movement count 254", "sequence number 65534",
            ])
        #expect(highest.addressBytes == hex("CBB8334C884F") && highest.dataFormat == 5)
        let lowest = try #require(Self.ruuvi("058001000000008001800180010000000000CBB8334C884F"))
        #expect(lowest[.temperature]?.number == -163.835 && lowest[.pressure]?.number == 500)
        #expect(lowest[.accelerationX]?.number == -32.767 && lowest[.transmitPower]?.number == -40)
        let missing = try #require(Self.ruuvi("058000FFFFFFFF800080008000FFFFFFFFFFFFFFFFFFFFFF"))
        #expect(missing.values.isEmpty)
        #expect(Self.ruuvi("06170C5668C79E007000C90501D9FFCD004C884F")?.addressBytes == hex("4C884F"))
        // The highest illuminance of the logarithmic scale.
        let bright = try #require(Self.ruuvi("06170C5668C79E007000C90501FEFFCD004C884F")?[.illuminance]?.number)
        #expect(abs(bright - 65_535) < 0.001)
    }

    @Test func otherDataIsNoRuuviTag() {
        for text in [
            "", "05", "0412FC5394C37C0004FFFC040CAC364200CDCBB8334C884F", "06170C5668C79E007000C90501D9FFCD004C88",
            "E1170C5668C79E0065007004BD11CA00C90A0213E0AC000000DECDEE110000000000CBB8334C884F",
        ] {
            #expect(Self.ruuvi(text) == nil, "\(text)")
        }
        #expect(RuuviTag(ManufacturerData(company: .apple, data: hex("03291A1ECE1E02DEF94202CA0B53"))) == nil)
    }

    // MARK: Damaged data

    /// Every truncation and every changed byte is decoded or refused, with a key and without.
    @Test func damagedDataNeverTraps() throws {
        let key = try Self.key()
        for vector in [
            "41A47266C95F730011223378237214", "43A5808FE64854F196C06FFB4900112233F08ECBDE",
            "4400093A003B02015302C3A93C010254020102F100010203",
        ] {
            for data in mutations(of: hex(vector)) {
                let beacon = BTHome(ServiceData(service: BTHome.service, data: data))
                _ = (beacon?.values, try? beacon?.decrypted(with: key, from: Self.address))
            }
        }
        for vector in [
            "5859970966BC9CE344EF5401081205000000715EBE90", "60209800AA28010810014001100300000207100100",
            "40509800AA0510021401191001011710040000000018481E0000",
        ] {
            for data in mutations(of: hex(vector)) {
                let beacon = MiBeacon(ServiceData(service: MiBeacon.service, data: data))
                _ = (beacon?.values, try? beacon?.decrypted(with: key, from: Self.address))
            }
        }
        for vector in [
            "03291A1ECE1E02DEF94202CA0B53", "0512FC5394C37C0004FFFC040CAC364200CDCBB8334C884F",
            "06170C5668C79E007000C90501D9FFCD004C884F",
        ] {
            for data in mutations(of: hex(vector)) { _ = RuuviTag(ManufacturerData(company: 0x0499, data: data)) }
        }
    }
}
