import ATT
import BluetoothPrimitives
import TestSupport
import Testing

@testable import GATT

private let linble = "E8F37690FFB854915A46EB35CAC9AD27"
private let fromPeripheral = "E8F37690FFB854915A46EB35CBC9AD27"
private let toPeripheral = "E8F37690FFB854915A46EB35CCC9AD27"
/// 2803 and 2800 written out in 128 bits.
private let long2803 = "FB349B5F800000800010000003280000"
private let long2800 = "FB349B5F800000800010000000280000"

@Suite struct DiscoveryTests {
    static let exchanges: [(mtu: Int, request: String, response: String)] = [
        // Find Information, Core Vol 3 Part F §3.4.3.1.
        (23, "04 0100 0700", "05 01 0100 0028 0200 0328 0300 002A 0400 0028 0500 0328"),
        (23, "04 0600 0700", "05 01 0600 192A 0700 0229"),
        (23, "04 0700 0F00", "05 01 0700 0229"),
        (23, "04 0800 1200", "05 01 1000 0028 1100 0328"),
        (23, "04 1200 FFFF", "05 02 1200 \(fromPeripheral)"),
        (247, "04 1500 3000", "05 02 1500 \(toPeripheral)"),
        (247, "04 3E00 4100", "05 01 3E00 0029 3F00 0328 4000 F6FF 4100 0328"),
        (23, "04 FEFF FFFF", "05 01 FEFF 052A FFFF 0229"),
        (23, "04 FFFF FFFF", "05 01 FFFF 0229"),
        (23, "04 0800 0F00", "01 04 0800 0A"),
        (23, "04 4300 FBFF", "01 04 4300 0A"),
        (23, "04 0000 FFFF", "01 04 0000 01"),
        (23, "04 0200 0100", "01 04 0200 01"),
        (23, "04 0000 0000", "01 04 0000 01"),

        // Find By Type Value, §3.4.3.3.
        (23, "06 0100 FFFF 0028 0F18", "07 0400 0700"),
        (23, "06 0100 FFFF 0028 \(linble)", "07 1000 1500"),
        (23, "06 0100 FFFF 0028 0118", "07 FCFF FFFF"),
        (23, "06 FCFF FFFF 0028 0118", "07 FCFF FFFF"),
        (23, "06 FDFF FFFF 0028 0118", "01 06 FDFF 0A"),
        (23, "06 0100 FFFF 0028 3412", "01 06 0100 0A"),
        (23, "06 0100 FFFF 0128 3412", "07 2000 2000"),
        (23, "06 0100 0300 0028 0F18", "01 06 0100 0A"),
        (23, "06 0100 FFFF 0028", "01 06 0100 0A"),
        (23, "06 0100 FFFF 0028 0F180000", "01 06 0100 0A"),
        (23, "06 0100 FFFF 002A 54657374", "07 0300 0300"),
        (23, "06 0100 FFFF 0328 12 0600 192A", "07 0500 0700"),
        (23, "06 0100 FFFF F1FF A1", "01 06 0100 0A"),  // not readable over this link
        (23, "06 0000 FFFF 0028 0F18", "01 06 0000 01"),
        (23, "06 0500 0400 0028 0F18", "01 06 0500 01"),

        // Read By Type, §3.4.4.1.
        (23, "08 0100 FFFF 0328", "09 07 0200 0A 0300 002A 0500 12 0600 192A"),
        (23, "08 0100 FFFF \(long2803)", "09 07 0200 0A 0300 002A 0500 12 0600 192A"),
        (23, "08 0600 FFFF 0328", "09 15 1100 10 1200 \(fromPeripheral)"),
        (247, "08 0600 FFFF 0328", "09 15 1100 10 1200 \(fromPeripheral) 1400 04 1500 \(toPeripheral)"),
        (
            247, "08 3400 FFFF 0328",
            """
            09 07 3400 0A 3500 F1FF 3600 0A 3700 F2FF 3800 0A 3900 F3FF 3A00 0A 3B00 F4FF 3C00 8A 3D00 F5FF
            3F00 0A 4000 F6FF 4100 0A 4200 F7FF FDFF 20 FEFF 052A
            """
        ),
        (23, "08 FDFF FFFF 0328", "09 07 FDFF 20 FEFF 052A"),
        (23, "08 FEFF FFFF 0328", "01 08 FEFF 0A"),
        (23, "08 0100 FFFF 0228", "09 08 3100 0400 0700 0F18"),
        (23, "08 3200 FFFF 0228", "09 06 3200 1000 1500"),
        (23, "08 3300 FFFF 0228", "09 08 3300 2000 2000 3412"),
        (23, "08 0100 FFFF 0228 0000", "01 08 0000 04"),  // a type has 2 or 16 bytes
        (23, "08 0100 FFFF 002A", "09 06 0300 54657374"),
        (23, "08 0100 FFFF F5FF", "09 15 3D00 000102030405060708090A0B0C0D0E0F101112"),
        (247, "08 0100 FFFF 0229", "09 04 0700 0000 1300 0000 FFFF 0000"),
        (23, "08 0100 FFFF 0029", "09 04 3E00 0100"),
        (23, "08 0100 FFFF F1FF", "01 08 3500 05"),
        (23, "08 0100 FFFF 0BAD", "01 08 0100 0A"),
        (23, "08 0000 FFFF 0328", "01 08 0000 01"),
        (23, "08 0300 0200 0328", "01 08 0300 01"),

        // Read By Group Type, §3.4.4.9.
        (23, "10 0100 FFFF 0028", "11 06 0100 0300 0018 0400 0700 0F18"),
        (247, "10 0100 FFFF 0028", "11 06 0100 0300 0018 0400 0700 0F18"),
        (23, "10 0800 FFFF 0028", "11 14 1000 1500 \(linble)"),
        (23, "10 1600 FFFF 0028", "11 06 3000 4200 F0FF FCFF FFFF 0118"),
        (23, "10 1600 FFFF \(long2800)", "11 06 3000 4200 F0FF FCFF FFFF 0118"),
        (23, "10 FCFF FFFF 0028", "11 06 FCFF FFFF 0118"),
        (23, "10 FFFF FFFF 0028", "01 10 FFFF 0A"),
        (23, "10 0100 FFFF 0128", "11 06 2000 2000 3412"),
        (23, "10 0100 FFFF 0328", "01 10 0100 10"),
        (23, "10 0100 FFFF \(linble)", "01 10 0100 10"),
        (23, "10 0000 FFFF 0028", "01 10 0000 01"),
        (23, "10 0200 0100 0328", "01 10 0200 01"),
    ]

    @Test("every discovery request is answered by the book", arguments: exchanges)
    func exchange(mtu: Int, request: String, response: String) throws {
        var fixture = try ServerFixture(mtu: mtu)
        #expect(fixture.send(request) == hex(response).hexadecimal)
        #expect(fixture.events.isEmpty)
    }

    @Test("a whole database is found in as few PDUs as the ATT_MTU allows", arguments: [(23, 11, 51), (247, 2, 6)])
    func pduCounts(mtu: Int, serviceRequests: Int, characteristicRequests: Int) throws {
        var fixture = try ServerFixture(ServerFixture.tenByFive, mtu: mtu)

        /// Asks from handle to handle until nothing is found.
        func walk(_ opcode: UInt8, _ parameters: String, entry: (borrowing ATTServerPDU) -> (Int, UInt16)?) throws
            -> (requests: Int, found: Int)
        {
            var start: UInt16 = 1
            var (requests, found) = (0, 0)
            while true {
                let range = [UInt8(start & 0xFF), UInt8(start >> 8), 0xFF, 0xFF]
                let response = fixture.send([opcode] + range + hex(parameters))
                requests += 1
                #expect(response.count <= mtu)
                let pdu = try ATTServerPDU(decoding: response.span.bytes)
                guard let (count, last) = entry(pdu) else { break }
                found += count
                start = last + 1
            }
            return (requests, found)
        }

        let services = try walk(0x10, "0028") { pdu in
            guard case .readByGroupTypeResponse(var list) = copy pdu else { return nil }
            var (count, last) = (0, UInt16(0))
            while let entry = list.next() {
                count += 1
                last = entry.range.end.rawValue
            }
            return (count, last)
        }
        #expect(services.found == 10)
        #expect(services.requests == serviceRequests)

        let characteristics = try walk(0x08, "0328") { pdu in
            guard case .readByTypeResponse(var list) = copy pdu else { return nil }
            var (count, last) = (0, UInt16(0))
            while let entry = list.next() {
                count += 1
                last = entry.handle.rawValue
            }
            return (count, last)
        }
        #expect(characteristics.found == 50)
        #expect(characteristics.requests == characteristicRequests)

        let attributes = try walk(0x04, "") { pdu in
            guard case .findInformationResponse(var list) = copy pdu else { return nil }
            var (count, last) = (0, UInt16(0))
            while let entry = list.next() {
                count += 1
                last = entry.handle.rawValue
            }
            return (count, last)
        }
        #expect(attributes.found == 160)
    }

    @Test("a list ends before the first attribute that may not be read or has another length")
    func listEnds() throws {
        let characteristics = [
            GATTCharacteristic(0xAAAA, properties: .read, value: .stored([1, 2])),
            GATTCharacteristic(0xAAAA, properties: .read, value: .stored([3, 4])),
            GATTCharacteristic(0xAAAA, properties: .read, permissions: [], value: .stored([5, 6])),
            GATTCharacteristic(0xAAAA, properties: .read, value: .stored([7, 8])),
            GATTCharacteristic(0xAAAA, properties: .read, value: .stored([9])),
        ]
        var fixture = try ServerFixture([GATTService(0x1111, characteristics: characteristics)])
        #expect(fixture.send("08 0100 FFFF AAAA") == "0904" + "03000102" + "05000304")
        #expect(fixture.send("08 0600 FFFF AAAA") == "0108070002")
        #expect(fixture.send("08 0800 FFFF AAAA") == "0904" + "09000708")
        #expect(fixture.send("08 0A00 FFFF AAAA") == "0903" + "0B0009")
    }

    @Test("the values of one response can come from the program, one after the other")
    func dynamicList() throws {
        let characteristics = (0..<4).map { _ in GATTCharacteristic(0xAAAA, properties: .read) }
        var fixture = try ServerFixture([GATTService(0x1111, characteristics: characteristics)])
        #expect(fixture.send("08 0100 FFFF AAAA") == "")
        #expect(try fixture.answer("01020304") == "")
        #expect(try fixture.answer("05060708") == "")
        #expect(try fixture.answer("090A0B0C") == "0906" + "030001020304" + "050005060708" + "0700090A0B0C")
        #expect(fixture.events.isEmpty)  // the fourth has no room and is not asked for

        #expect(fixture.send("08 0100 FFFF AAAA") == "")
        #expect(try fixture.answer("0102") == "")
        #expect(try fixture.refuse(ATTErrorCode(0x80)) == "0904" + "03000102")

        #expect(fixture.send("08 0100 FFFF AAAA") == "")
        #expect(try fixture.refuse(ATTErrorCode(0x80)) == "0108030080")

        #expect(fixture.send("06 0100 FFFF AAAA 0102") == "")
        #expect(try fixture.answer("0102") == "")
        #expect(try fixture.answer("01") == "")
        #expect(try fixture.refuse(.unlikelyError) == "")
        #expect(try fixture.answer("0102") == "07" + "03000300" + "09000900")
    }
}
