import BluetoothATT
import Testing

import BluetoothGATT

/// Values that the client reads from and writes to the server, in memory.
@Suite struct OwnServerValueTests {
    static let lengths = [0, 1, 18, 19, 20, 21, 22, 23, 36, 43, 44, 45, 66, 245, 246, 247, 492, 511, 512]

    /// A service with one stored value (handle 3) and one dynamic value (handle 5).
    private func values(_ mtu: Int, _ value: [UInt8] = [], lengths: ClosedRange<Int> = 0...512) throws -> ServerFixture
    {
        try ServerFixture(
            [
                GATTService(
                    0xFFF0,
                    characteristics: [
                        GATTCharacteristic(
                            0xFFF1, properties: [.read, .write], value: .stored(value), valueLengths: lengths),
                        GATTCharacteristic(0xFFF2, properties: [.read, .write]),
                        GATTCharacteristic(0xFFF3, properties: .notify),
                    ])
            ], mtu: mtu)
    }

    @Test("a value of any length is read completely", arguments: lengths, [23, 247, 517])
    func read(count: Int, mtu: Int) throws {
        let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 3) }
        var fixture = try values(mtu, value)
        #expect(try fixture.perform(ValueRead(0x0003)).output == value)
        #expect(try fixture.perform(ValueRead(0x0005), value: value).output == value)
    }

    @Test("a value of any length is written completely", arguments: lengths, [23, 247, 517])
    func write(count: Int, mtu: Int) throws {
        let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 5) }
        var fixture = try values(mtu, [9, 9])
        _ = try fixture.perform(ReliableWrite(value, to: 0x0003))
        #expect(fixture.database.attribute(at: 0x0003)?.storedValue == value)
        if count <= ATTValueLimits(mtu: mtu).write {
            #expect(try fixture.perform(ValueWrite(value.reversed(), to: 0x0003)).requests == 1)
            #expect(fixture.database.attribute(at: 0x0003)?.storedValue == value.reversed())
        }
        _ = try fixture.perform(ReliableWrite(value, to: 0x0005))
    }

    @Test("512 bytes at the minimum ATT_MTU take 24 requests to read and 30 to write")
    func longestValue() throws {
        let value = (0..<512).map { UInt8(truncatingIfNeeded: $0 / 3) }
        var fixture = try values(23)
        #expect(try fixture.perform(ReliableWrite(value, to: 0x0003)).requests == 30)
        let read = try fixture.perform(ValueRead(0x0003))
        #expect(read.output == value)
        #expect(read.requests == 24)
    }

    @Test("both sides agree on the ATT_MTU")
    func mtu() throws {
        for (offer, agreed) in [(0, 23), (22, 23), (23, 23), (100, 100), (517, 517), (65535, 517)] {
            var fixture = try values(23)
            #expect(try fixture.perform(MTUExchange(offering: UInt16(offer))).output == agreed)
            #expect(fixture.server.mtu == agreed)
        }
    }

    @Test("a server's refusals are reported")
    func refusals() throws {
        var fixture = try values(23, [1, 2], lengths: 0...30)
        #expect(try fixture.failure(of: ValueRead(0x0007)) == "refused 02")
        #expect(try fixture.failure(of: ValueRead(0x0099)) == "refused 01")
        #expect(try fixture.failure(of: ValueWrite([1], to: 0x0007)) == "refused 03")
        #expect(try fixture.failure(of: ReliableWrite([1], to: 0x0007)) == "refused 03")
        #expect(try fixture.failure(of: ReliableWrite([UInt8](repeating: 0, count: 31), to: 0x0003)) == "refused 0D")
        #expect(fixture.database.attribute(at: 0x0003)?.storedValue == [1, 2])
    }
}
