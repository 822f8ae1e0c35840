import BluetoothATT
import Testing

/// Malformed PDUs (Core Vol 3 Part F §3.3.1, §3.4.1.1, §3.4.8, §3.4.9).
@Suite struct MalformedTests {
    /// The valid lengths of requests, opcode included.
    static let requests: [(opcode: UInt8, isWellFormed: @Sendable (Int) -> Bool)] = [
        (0x02, { $0 == 3 }), (0x04, { $0 == 5 }), (0x06, { $0 >= 7 }), (0x08, { $0 == 7 || $0 == 21 }),
        (0x0A, { $0 == 3 }), (0x0C, { $0 == 5 }), (0x0E, { $0 >= 5 && $0 % 2 == 1 }),
        (0x10, { $0 == 7 || $0 == 21 }), (0x12, { $0 >= 3 }), (0x16, { $0 >= 5 }), (0x18, { $0 == 2 }),
        (0x20, { $0 >= 5 && $0 % 2 == 1 }),
    ]

    @Test("F §3.4.9: a request of invalid length is Invalid PDU, with handle 0", arguments: Rule.mtus)
    func lengths(mtu: Int) throws {
        for (opcode, isWellFormed) in Self.requests {
            for length in 1...mtu + 10 {
                var fixture = try ServerFixture(mtu: mtu)
                // The handle 0x0101 is unused.
                let answer = fixture.send([opcode] + [UInt8](repeating: 1, count: length - 1)).hexadecimal
                let isMalformed = answer == "01\([opcode].hexadecimal)000004"
                #expect(
                    isMalformed == !(isWellFormed(length) && length <= mtu), "\(opcode), \(length) bytes: \(answer)")
                #expect(!answer.isEmpty)
            }
        }
    }

    @Test("F §3.4.9: a command or a confirmation of any length has no response", arguments: Rule.mtus)
    func commands(mtu: Int) throws {
        var fixture = try ServerFixture(mtu: mtu)
        for opcode: UInt8 in [0x52, 0xD2, 0x1E] {
            for length in 1...mtu + 10 {
                #expect(fixture.send([opcode] + [UInt8](repeating: 1, count: length - 1)).isEmpty)
                #expect(fixture.events.isEmpty)
            }
        }
    }
}
