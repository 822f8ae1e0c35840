import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

@Suite struct BearerTests {
    static let exchanges: [(client: String, server: UInt16, response: String, mtu: Int)] = [
        ("0502", 517, "030502", 517), ("F700", 517, "030502", 247), ("FFFF", 517, "030502", 517),
        ("0502", 23, "031700", 23), ("0000", 517, "030502", 23), ("1600", 517, "030502", 23),
        ("0502", 5, "031700", 23), ("FFFF", .max, "03FFFF", 65535),
    ]

    @Test("the exchanged ATT_MTU is in force from the response on", arguments: exchanges)
    func exchangeMTU(client: String, server: UInt16, response: String, mtu: Int) throws {
        var fixture = try ServerFixture(limits: .init(receiveMTU: server))
        #expect(fixture.send("02\(client)") == response)
        #expect(fixture.events == [.mtuExchanged(mtu)])
        #expect(fixture.server.mtu == mtu)
        #expect(fixture.send("0A 3D00").count == 2 * min(mtu, 31))
    }

    @Test("unknown requests are refused with handle 0, and PDUs of servers are ignored")
    func unknown() throws {
        var fixture = try ServerFixture()
        for opcode in UInt8.min...UInt8.max where !ATTOpcode(opcode).isKnown {
            let response = fixture.send([opcode, 1, 2, 3]).hexadecimal
            #expect(response == (opcode & 0x40 != 0 ? "" : "01\([opcode].hexadecimal)000006"))
            #expect(fixture.events.isEmpty)
        }
        for opcode in UInt8.min...UInt8.max where !ATTOpcode(opcode).isSentByClient {
            #expect(fixture.send([opcode, 1, 2, 3]).isEmpty)
        }
        #expect(fixture.send("") == "")
    }

    @Test("a notification goes to a subscribed client, truncated at the ATT_MTU")
    func notification() throws {
        var fixture = try ServerFixture()
        let value = [UInt8](0..<30)
        #expect(throws: GATTServerError.notSubscribed(0x12)) { try fixture.encodeNotification(of: 0x12, value) }
        _ = fixture.send("12 1300 0100")
        #expect(try fixture.encodeNotification(of: 0x12, value) == [0x1B, 0x12, 0] + value.prefix(20))
        fixture.server.mtu = 247
        #expect(try fixture.encodeNotification(of: 0x12, value) == [0x1B, 0x12, 0] + value)
        #expect(throws: GATTServerError.notSubscribed(0x12)) { try fixture.encodeIndication(of: 0x12, value) }
        #expect(throws: GATTServerError.notSubscribed(6)) { try fixture.encodeNotification(of: 6, value) }
        _ = fixture.send("12 1300 0000")
        #expect(throws: GATTServerError.notSubscribed(0x12)) { try fixture.encodeNotification(of: 0x12, value) }
        #expect(fixture.written.isEmpty)
    }

    @Test("an indication is written again until it is sent, and a confirmation is left to the owner of the bearer")
    func indication() throws {
        var fixture = try ServerFixture()
        #expect(fixture.send("1E") == "")
        #expect(fixture.events.isEmpty)
        _ = fixture.send("12 FFFF 0200")
        for _ in 0..<2 { #expect(try fixture.encodeIndication(of: 0xFFFE, [1]) == hex("1D FEFF 01")) }
    }

    @Test("the ATT_MTU of the client side's exchange limits responses, and is never below 23")
    func sharedMTU() throws {
        var fixture = try ServerFixture()
        fixture.server.mtu = 26
        #expect(fixture.send("0A 3D00").count == 2 * 26)
        fixture.server.mtu = 0
        #expect(fixture.send("0A 3D00").count == 2 * 23)
    }

    @Test("events and errors have descriptions")
    func descriptions() throws {
        var fixture = try ServerFixture()
        _ = fixture.send("12 4000 0102")
        #expect(fixture.events.first?.description == "write of 0x0040[0]: 0102 requested")
        #expect(
            GATTServerEvent.configurationChanged(6, .notification).description
                == "configuration of 0x0006: [notification]")
        #expect(GATTServerError.notSubscribed(6).description == "the client has not subscribed to 0x0006")
    }
}
