import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

/// Discovery with several requests and values; ``DiscoveryRules`` covers single requests.
@Suite struct DiscoveryTests {
    @Test("a complete database takes as few PDUs as the ATT_MTU permits", arguments: [(23, 11, 51), (247, 2, 6)])
    func pduCounts(mtu: Int, serviceRequests: Int, characteristicRequests: Int) throws {
        var fixture = try ServerFixture(ServerFixture.tenByFive, mtu: mtu)

        /// Sends requests from handle to handle until no attribute is found; `lastHandle` is the offset of the last handle
        /// in an entry of the responses.
        func walk(_ opcode: UInt8, _ parameters: String, lastHandle: Int) -> (requests: Int, found: Int) {
            var start: UInt16 = 1
            var (requests, found) = (0, 0)
            while true {
                let range = [UInt8(start & 0xFF), UInt8(start >> 8), 0xFF, 0xFF]
                let response = fixture.send([opcode] + range + hex(parameters))
                requests += 1
                #expect(response.count <= mtu)
                guard response[0] != 0x01 else { return (requests, found) }
                // The format of a Find Information Response stands for a length.
                let length = opcode != 0x04 ? Int(response[1]) : response[1] == 1 ? 4 : 18
                found += (response.count - 2) / length
                let last = response.count - length + lastHandle
                start = (UInt16(response[last]) | UInt16(response[last + 1]) << 8) + 1
            }
        }

        let services = walk(0x10, "0028", lastHandle: 2)
        #expect(services.found == 10)
        #expect(services.requests == serviceRequests)
        let characteristics = walk(0x08, "0328", lastHandle: 0)
        #expect(characteristics.found == 50)
        #expect(characteristics.requests == characteristicRequests)
        #expect(walk(0x04, "", lastHandle: 0).found == 160)
    }

    @Test("a characteristic's value that is a service's UUID declares no service")
    func valueLikeADeclaration() throws {
        var fixture = try ServerFixture([
            GATTService(
                0x1111, characteristics: [GATTCharacteristic(0xAAAA, properties: .read, value: .stored(hex("0F18")))])
        ])
        #expect(fixture.send("06 0100 FFFF 0028 0F18") == "010601000A")
        #expect(fixture.send("06 0100 FFFF 0028 1111") == "0701000300")
    }

    @Test("a comparison with thousands of dynamic values processes each of them once")
    func manyDynamicValues() throws {
        let count = 1500
        var fixture = try ServerFixture([
            GATTService(
                0x1111, characteristics: (0..<count).map { _ in GATTCharacteristic(0xAAAA, properties: .read) })
        ])
        var answer = fixture.send("06 0100 FFFF AAAA 0102")
        var asked = 0
        while fixture.server.isWaitingForProgram {
            asked += 1
            answer = try fixture.answer(asked == count ? "0102" : "01")
        }
        #expect(asked == count)
        let last = UInt16(1 + 2 * count)
        let bytes = [UInt8(last & 0xFF), UInt8(last >> 8)].hexadecimal
        #expect(answer == "07" + bytes + bytes)
    }

    @Test("a list ends before the first attribute that is refused or has another length")
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

    @Test("the program can supply the values of one response one after the other")
    func dynamicList() throws {
        let characteristics = (0..<4).map { _ in GATTCharacteristic(0xAAAA, properties: .read) }
        var fixture = try ServerFixture([GATTService(0x1111, characteristics: characteristics)])
        #expect(fixture.send("08 0100 FFFF AAAA") == "")
        #expect(try fixture.answer("01020304") == "")
        #expect(try fixture.answer("05060708") == "")
        #expect(try fixture.answer("090A0B0C") == "0906" + "030001020304" + "050005060708" + "0700090A0B0C")
        #expect(fixture.events.isEmpty)  // the fourth does not fit and is not requested

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
