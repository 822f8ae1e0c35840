import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

/// The effects of writes; ``WritingRules`` covers the responses to single requests.
@Suite struct WritingTests {
    @Test("a stored value is written immediately and reported")
    func stored() throws {
        var fixture = try ServerFixture()
        #expect(fixture.send("12 0300 4E6577") == "13")
        #expect(fixture.events == [.storedValueChanged(3)])
        #expect(fixture.send("0A 0300") == "0B4E6577")
        #expect(fixture.send("52 0300 4F") == "")
        #expect(fixture.events == [.storedValueChanged(3)])
        #expect(fixture.database.attribute(at: 3)?.storedValue == [0x4F])
    }

    @Test("a short write changes only the beginning of a value of fixed length")
    func fixedLength() throws {
        var fixture = try ServerFixture()
        #expect(fixture.send("12 4200 AABB") == "13")
        #expect(fixture.send("0A 4200") == "0BAABB0304")
        #expect(fixture.send("12 0700 01") == "13")
        #expect(fixture.events == [.configurationChanged(6, .notification)])
        #expect(fixture.send("12 0700") == "13")
        #expect(fixture.send("0A 0700") == "0B0100")
    }

    @Test("a value longer than 512 bytes is refused at any ATT_MTU")
    func tooLong() throws {
        var fixture = try ServerFixture(mtu: 600)
        #expect(fixture.send([0x12, 0x03, 0x00] + [UInt8](repeating: 1, count: 512)).hexadecimal == "13")
        #expect(fixture.send([0x12, 0x03, 0x00] + [UInt8](repeating: 1, count: 513)).hexadecimal == "011203000D")
        #expect(fixture.send([0x12, 0x40, 0x00] + [UInt8](repeating: 1, count: 101)).hexadecimal == "011240000D")
    }

    @Test("commands that cannot be performed change nothing and are not reported")
    func commands() throws {
        var fixture = try ServerFixture()
        let before = fixture.database.attributes
        let refused = WritingRules.writeCommand.filter { !["52 0300 4E6577", "52 1500 00"].contains($0.request) }
        for rule in refused + WritingRules.signedWriteCommand {
            _ = fixture.send(rule.request)
            #expect(fixture.events.isEmpty, "\(rule.name)")
        }
        #expect(fixture.database.attributes == before)
        #expect(fixture.server.configurations.isEmpty)
    }

    @Test("the program accepts or refuses a write")
    func dynamic() throws {
        var fixture = try ServerFixture()
        #expect(fixture.send("12 4000 0102") == "")
        #expect(try fixture.requestedWrites() == [AttributeWrite(0x40, value: [1, 2])])
        let request = fixture.events
        #expect(try fixture.accept() == "13")
        fixture.events = request
        #expect(try fixture.accept() == "")
        fixture.events = request
        #expect(try fixture.refuse(.unlikelyError) == "")

        #expect(fixture.send("12 4000 0102") == "")
        #expect(try fixture.refuse(.valueNotAllowed) == "0112400013")
        #expect(!fixture.server.isWaitingForProgram)
    }

    @Test("each client has its own configuration, and only changes are reported")
    func configuration() throws {
        var fixture = try ServerFixture()
        let other = try ServerFixture()
        #expect(fixture.send("12 0700 0100") == "13")
        #expect(fixture.events == [.configurationChanged(6, .notification)])
        #expect(fixture.send("0A 0700") == "0B0100")
        #expect(fixture.send("12 0700 0100") == "13")
        #expect(fixture.events.isEmpty)
        #expect(other.server.configurations.isEmpty)
        #expect(fixture.server.configurations == [6: .notification])
        #expect(fixture.send("52 0700 0000") == "")
        #expect(fixture.events == [.configurationChanged(6, [])])
        #expect(fixture.server.configurations.isEmpty)
        #expect(fixture.send("12 FFFF 0200") == "13")
        #expect(fixture.events == [.configurationChanged(0xFFFE, .indication)])
        #expect(fixture.send("12 0700 0180") == "13")  // reserved bits are ignored
        #expect(fixture.send("0A 0700") == "0B0100")
    }

    @Test("configurations of a bonded client can be restored")
    func restoredConfigurations() throws {
        var fixture = try ServerFixture()
        fixture.server = GATTServer(configurations: [0x0012: .notification])
        #expect(try fixture.encodeNotification(of: 0x0012, [1]).hexadecimal == "1B120001")
    }
}

@Suite struct PreparedWriteTests {
    @Test("parts are echoed, written together on execute, and dropped on cancel")
    func longWrite() throws {
        var fixture = try ServerFixture()
        let first = "3D00 0000" + String(repeating: "AA", count: 18)
        let second = "3D00 1200" + "BBBBBB"
        #expect(fixture.send("16 \(first)") == hex("17 \(first)").hexadecimal)
        #expect(fixture.send("16 \(second)") == hex("17 \(second)").hexadecimal)
        #expect(fixture.database.attribute(at: 0x3D)?.storedValue?.count == 30)
        #expect(fixture.send("18 00") == "19")
        #expect(fixture.send("18 01") == "19")
        #expect(fixture.events.isEmpty)
        #expect(fixture.database.attribute(at: 0x3D)?.storedValue?.count == 30)

        _ = fixture.send("16 \(first)")
        _ = fixture.send("16 \(second)")
        #expect(fixture.send("18 01") == "19")
        #expect(fixture.events == [.storedValueChanged(0x3D)])
        #expect(
            fixture.database.attribute(at: 0x3D)?.storedValue
                == [UInt8](repeating: 0xAA, count: 18) + [0xBB, 0xBB, 0xBB])
    }

    @Test("a part at an offset within the value truncates the rest of it")
    func withinValue() throws {
        var fixture = try ServerFixture()
        _ = fixture.send("16 3D00 0200 FFFF")
        _ = fixture.send("16 4200 0300 EE")
        #expect(fixture.send("18 01") == "19")
        let value = fixture.database.attribute(at: 0x3D)?.storedValue
        #expect(value == [0, 1, 0xFF, 0xFF] + [UInt8](4..<30))
        #expect(fixture.send("0A 4200") == "0B010203EE")
        _ = fixture.send("16 4200 0000 99")
        _ = fixture.send("16 0700 0000 01")
        #expect(fixture.send("18 01") == "19")
        #expect(fixture.events == [.storedValueChanged(0x42), .configurationChanged(6, .notification)])
        #expect(fixture.send("0A 4200") == "0B990203EE")
    }

    static let failures: [(parts: [String], response: String)] = [
        (["0300 0000 41", "3D00 1F00 00"], "01 18 3D00 07"),
        (["0300 0000 41", "3D00 FFFF"], "01 18 3D00 07"),
        (["0300 0000 41", "3D00 1E00 \(String(repeating: "00", count: 11))"], "01 18 3D00 0D"),
        (["0300 0000 41", "4200 0300 0000"], "01 18 4200 0D"),
        (["0300 0000 41", "4000 6500 00"], "01 18 4000 07"),
        (["0300 0000 41", "4000 6400 00"], "01 18 4000 0D"),
        (["0300 0000 41", "0700 0000 02"], "01 18 0700 13"),
        (["0300 0000 41", "0300 0200 41"], "01 18 0300 07"),
    ]

    @Test("one part that cannot be written leaves all values unchanged", arguments: failures)
    func atomic(parts: [String], response: String) throws {
        var fixture = try ServerFixture()
        let before = fixture.database.attributes
        for part in parts { #expect(fixture.send("16 \(part)").hasPrefix("17")) }
        #expect(fixture.send("18 01") == hex(response).hexadecimal)
        #expect(fixture.events.isEmpty)
        #expect(fixture.database.attributes == before)
        #expect(fixture.server.configurations.isEmpty)
        #expect(fixture.send("18 01") == "19")  // the queue is empty
        #expect(fixture.database.attributes == before)
    }

    @Test("the program receives joined parts in order, and decides all writes together")
    func dynamic() throws {
        var fixture = try ServerFixture()
        let before = fixture.database.attributes
        func prepare() {
            for part in ["4000 0000 0102", "4000 0200 03", "0300 0000 58", "4000 0A00 04", "4000 0B00 05"] {
                #expect(fixture.send("16 \(part)").hasPrefix("17"))
            }
            #expect(fixture.send("18 01") == "")
        }
        prepare()
        #expect(
            try fixture.requestedWrites()
                == [AttributeWrite(0x40, value: [1, 2, 3]), AttributeWrite(0x40, offset: 10, value: [4, 5])])
        #expect(try fixture.refuse(ATTErrorCode(0x80)) == "0118400080")
        #expect(fixture.database.attributes == before)
        prepare()
        #expect(try fixture.accept() == "19")
        #expect(fixture.events == [.storedValueChanged(3)])
        #expect(fixture.send("0A 0300") == "0B58")
    }

    @Test("the queue accepts as many writes and bytes as its limits permit")
    func limits() throws {
        var fixture = try ServerFixture(limits: .init(preparedWrites: 3, preparedBytes: 20))
        #expect(fixture.send("16 0300 0000 41").hasPrefix("17"))
        #expect(fixture.send("16 0300 0100 \(String(repeating: "42", count: 18))").hasPrefix("17"))
        #expect(fixture.send("16 0300 1300 4344") == "0116030009")
        #expect(fixture.send("16 0300 1300 43").hasPrefix("17"))
        #expect(fixture.send("16 0300 1400") == "0116030009")
        #expect(fixture.send("18 02") == "0118000004")
        #expect(fixture.send("18 01") == "19")
        #expect(fixture.database.attribute(at: 3)?.storedValue?.count == 20)
        #expect(fixture.send("16 0300 0000 41").hasPrefix("17"))
    }
}
