import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT
import TestSupport
import Testing

@Suite struct ValueProcedureTests {
    /// `count` bytes from `offset` of a sequence whose period matches no part length.
    private static func bytes(_ count: Int, from offset: Int = 0) -> [UInt8] {
        (offset..<(offset + count)).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    }

    private static func text(_ count: Int, from offset: Int = 0) -> String { bytes(count, from: offset).hexadecimal }

    private static func littleEndian(_ value: Int) -> String {
        hexadecimal(value & 0xFF, digits: 2) + hexadecimal(value >> 8 & 0xFF, digits: 2)
    }

    /// Exchange MTU, Core Vol 3 Part G §4.3.1.
    static let mtus: [Transcript] = [
        Transcript("the server's offer is smaller", MTUExchange(offering: 517), ["02 0502": "03 F700"], "247"),
        Transcript("ours is smaller", MTUExchange(offering: 100), ["02 6400": "03 F700"], "100"),
        Transcript("both offer the same", MTUExchange(offering: 247), ["02 F700": "03 F700"], "247"),
        Transcript("the largest", MTUExchange(offering: 0xFFFF), ["02 FFFF": "03 FFFF"], "65535"),
        Transcript("an offer below 23 counts as 23", MTUExchange(offering: 517), ["02 0502": "03 1600"], "23"),
        Transcript("an offer of nothing counts as 23", MTUExchange(offering: 517), ["02 0502": "03 0000"], "23"),
        Transcript("we offer no less than 23", MTUExchange(offering: 0), ["02 1700": "03 0502"], "23"),
        Transcript(
            "a server that does not support the request stays at 23", MTUExchange(offering: 517),
            ["02 0502": "01 02 0000 06"], "23"),
        Transcript(
            "another refusal is handed on", MTUExchange(offering: 517), ["02 0502": "01 02 0000 0E"], "refused 0E"),
        Transcript("an answer of another kind", MTUExchange(offering: 517), ["02 0502": "13"], "violation"),
    ]

    /// Read Characteristic Value, Core Vol 3 Part G §4.8.1, and Read Long Characteristic Values, §4.8.3.
    static let reads: [Transcript] = [
        Transcript("a short value", ValueRead(0x0003), ["0A 0300": "0B 0102"], "value 0102"),
        Transcript("an empty value", ValueRead(0x0003), ["0A 0300": "0B"], "value "),
        Transcript(
            "a value one byte short of filling the answer is whole", ValueRead(0x0003),
            ["0A 0300": "0B" + text(21)], "value " + text(21)),
        Transcript(
            "a value that fills the answer, and an empty part", ValueRead(0x0003),
            ["0A 0300": "0B" + text(22), "0C 0300 1600": "0D"], "value " + text(22)),
        Transcript(
            "a value that fills the answer, and Invalid Offset", ValueRead(0x0003),
            ["0A 0300": "0B" + text(22), "0C 0300 1600": "01 0C 0300 07"], "value " + text(22)),
        Transcript(
            "a value that fills the answer, and Attribute Not Long", ValueRead(0x0003),
            ["0A 0300": "0B" + text(22), "0C 0300 1600": "01 0C 0300 0B"], "value " + text(22)),
        Transcript(
            "a value that fills the answer of a server without long values", ValueRead(0x0003),
            ["0A 0300": "0B" + text(22), "0C 0300 1600": "01 0C 0300 06"], "value " + text(22)),
        Transcript(
            "a value that fills the answer under a larger ATT_MTU", mtu: 247, ValueRead(0xFFFF),
            ["0A FFFF": "0B" + text(246), "0C FFFF F600": "01 0C FFFF 07"], "value " + text(246)),
        Transcript(
            "a value in three parts", ValueRead(0x0003),
            [
                "0A 0300": "0B" + text(22), "0C 0300 1600": "0D" + text(22, from: 22),
                "0C 0300 2C00": "0D" + text(5, from: 44),
            ], "value " + text(49)),
        Transcript(
            "a value that fills two answers", ValueRead(0x0003),
            [
                "0A 0300": "0B" + text(22), "0C 0300 1600": "0D" + text(22, from: 22), "0C 0300 2C00": "0D",
            ], "value " + text(44)),
        Transcript("512 bytes", ValueRead(0x0003), parts(of: 512, mtu: 23), "value " + text(512)),
        Transcript("512 bytes", mtu: 247, ValueRead(0x0003), parts(of: 512, mtu: 247), "value " + text(512)),
        Transcript(
            "512 bytes that fill all answers need no further one", mtu: 65, ValueRead(0x0003),
            parts(of: 512, mtu: 65), "value " + text(512)),
        Transcript(
            "512 bytes that fill one answer need no further one", mtu: 513, ValueRead(0x0003),
            ["0A 0300": "0B" + text(512)], "value " + text(512)),
        Transcript(
            "512 bytes in one answer", mtu: 517, ValueRead(0x0003), ["0A 0300": "0B" + text(512)],
            "value " + text(512)),
        Transcript(
            "no value has 513 bytes", mtu: 517, ValueRead(0x0003), ["0A 0300": "0B" + text(513)], "violation"),
        Transcript("a value without an end", ValueRead(0x0003), parts(of: 528, mtu: 23), "violation"),
        Transcript("a refusal is handed on", ValueRead(0x0003), ["0A 0300": "01 0A 0300 02"], "refused 02"),
        Transcript(
            "Invalid Offset is no end where no offset was given", ValueRead(0x0003),
            ["0A 0300": "01 0A 0300 07"], "refused 07"),
        Transcript(
            "a server that does not know how to read", ValueRead(0x0003),
            ["0A 0300": "01 0A 0300 06"], "refused 06"),
        Transcript(
            "a refusal in the middle is handed on", ValueRead(0x0003),
            ["0A 0300": "0B" + text(22), "0C 0300 1600": "01 0C 0300 0F"], "refused 0F"),
        Transcript("an answer of another kind", ValueRead(0x0003), ["0A 0300": "0F 0102"], "violation"),
        Transcript("a part where the whole was asked for", ValueRead(0x0003), ["0A 0300": "0D 0102"], "violation"),
        Transcript(
            "the whole where a part was asked for", ValueRead(0x0003),
            ["0A 0300": "0B" + text(22), "0C 0300 1600": "0B 0102"], "violation"),
        Transcript("a request that does not fit", mtu: 2, ValueRead(0x0003), [:], "invalid"),
        Transcript(
            "a further request that does not fit", mtu: 3, ValueRead(0x0003), ["0A 0300": "0B 0102"], "invalid"),
    ]

    /// The requests for a value, with parts of maximum length.
    private static func parts(of count: Int, mtu: Int) -> [(String, String)] {
        stride(from: 0, to: count, by: mtu - 1).map { offset in
            let part = text(min(mtu - 1, count - offset), from: offset)
            return offset == 0 ? ("0A0300", "0B" + part) : ("0C0300" + littleEndian(offset), "0D" + part)
        }
    }

    /// Write Characteristic Value, Core Vol 3 Part G §4.9.3.
    static let writes: [Transcript] = [
        Transcript("a value", ValueWrite([1, 2], to: 0x0003), ["12 0300 0102": "13"], "done"),
        Transcript("an empty value", ValueWrite([], to: 0x0003), ["12 0300": "13"], "done"),
        Transcript(
            "a value that fills the request", ValueWrite(bytes(20), to: 0x0003),
            ["12 0300" + text(20): "13"], "done"),
        Transcript(
            "a value that fills the request under a larger ATT_MTU", mtu: 247, ValueWrite(bytes(244), to: 0xFFFF),
            ["12 FFFF" + text(244): "13"], "done"),
        Transcript("a value that does not fit", ValueWrite(bytes(21), to: 0x0003), [:], "invalid"),
        Transcript(
            "a refusal is handed on", ValueWrite([1], to: 0x0003), ["12 0300 01": "01 12 0300 03"], "refused 03"),
        Transcript(
            "an application's refusal is handed on", ValueWrite([1], to: 0x0003),
            ["12 0300 01": "01 12 0300 80"], "refused 80"),
        Transcript(
            "an answer of another kind", ValueWrite([1], to: 0x0003), ["12 0300 01": "19"], "violation"),
    ]

    /// Write Long Characteristic Values, Core Vol 3 Part G §4.9.4.
    static let longWrites: [Transcript] = [
        Transcript(
            "a value in three parts", ReliableWrite(bytes(40), to: 0x0003),
            prepared(40, mtu: 23) + [("1801", "19")], "done"),
        Transcript(
            "a value that fills two parts", ReliableWrite(bytes(36), to: 0x0003),
            prepared(36, mtu: 23) + [("1801", "19")], "done"),
        Transcript(
            "a value in one part", ReliableWrite([1, 2], to: 0x0003),
            ["16 0300 0000 0102": "17 0300 0000 0102", "18 01": "19"], "done"),
        Transcript(
            "an empty value", ReliableWrite([], to: 0x0003),
            ["16 0300 0000": "17 0300 0000", "18 01": "19"], "done"),
        Transcript(
            "a larger ATT_MTU", mtu: 247, ReliableWrite(bytes(300), to: 0x0003),
            prepared(300, mtu: 247) + [("1801", "19")], "done"),
        Transcript(
            "512 bytes", ReliableWrite(bytes(512), to: 0x0003), prepared(512, mtu: 23) + [("1801", "19")], "done"),
        Transcript(
            "512 bytes in one part", mtu: 517, ReliableWrite(bytes(512), to: 0x0003),
            prepared(512, mtu: 517) + [("1801", "19")], "done"),
        Transcript("no value has 513 bytes", ReliableWrite(bytes(513), to: 0x0003), [:], "invalid"),
        Transcript(
            "the echo has another handle: nothing is written", ReliableWrite([1, 2], to: 0x0003),
            ["16 0300 0000 0102": "17 0400 0000 0102", "18 00": "19"], "violation"),
        Transcript(
            "the echo has another offset: nothing is written", ReliableWrite([1, 2], to: 0x0003),
            ["16 0300 0000 0102": "17 0300 0100 0102", "18 00": "19"], "violation"),
        Transcript(
            "the echo has another value: nothing is written", ReliableWrite([1, 2], to: 0x0003),
            ["16 0300 0000 0102": "17 0300 0000 0103", "18 00": "19"], "violation"),
        Transcript(
            "the echo is too short: nothing is written", ReliableWrite([1, 2], to: 0x0003),
            ["16 0300 0000 0102": "17 0300 0000 01", "18 00": "19"], "violation"),
        Transcript(
            "the echo is too long: nothing is written", ReliableWrite([1, 2], to: 0x0003),
            ["16 0300 0000 0102": "17 0300 0000 010200", "18 00": "19"], "violation"),
        Transcript(
            "the echo of a later part differs: nothing is written", ReliableWrite(bytes(40), to: 0x0003),
            prepared(36, mtu: 23) + [
                ("16 0300 2400" + text(4, from: 36), "17 0300 1200" + text(4, from: 36)), ("18 00", "19"),
            ], "violation"),
        Transcript(
            "a server that does not want to forget changes nothing", ReliableWrite([1, 2], to: 0x0003),
            ["16 0300 0000 0102": "17 0300 0000 0103", "18 00": "01 18 0300 0E"], "violation"),
        Transcript(
            "a refusal of the first part leaves nothing behind", ReliableWrite([1, 2], to: 0x0003),
            ["16 0300 0000 0102": "01 16 0300 03"], "refused 03"),
        Transcript(
            "a refusal in the middle: nothing is written", ReliableWrite(bytes(40), to: 0x0003),
            prepared(36, mtu: 23) + [
                ("16 0300 2400" + text(4, from: 36), "01 16 0300 09"), ("18 00", "19"),
            ], "refused 09"),
        Transcript(
            "an answer of another kind to a part: nothing is written", ReliableWrite([1, 2], to: 0x0003),
            ["16 0300 0000 0102": "13", "18 00": "19"], "violation"),
        Transcript(
            "the server cannot write what it holds", ReliableWrite([1, 2], to: 0x0003),
            ["16 0300 0000 0102": "17 0300 0000 0102", "18 01": "01 18 0300 0D"], "refused 0D"),
        Transcript(
            "an answer of another kind to the last request", ReliableWrite([1, 2], to: 0x0003),
            ["16 0300 0000 0102": "17 0300 0000 0102", "18 01": "13"], "violation"),
    ]

    /// The Prepare Write Requests for the value's first `count` bytes, each echoed.
    private static func prepared(_ count: Int, mtu: Int) -> [(String, String)] {
        stride(from: 0, to: count, by: mtu - 5).map { offset in
            let part = "0300" + littleEndian(offset) + text(min(mtu - 5, count - offset), from: offset)
            return ("16" + part, "17" + part)
        }
    }

    @Test("Exchange MTU, Core Vol 3 Part G §4.3.1", arguments: mtus)
    func mtu(_ transcript: Transcript) { transcript.check() }

    @Test("reading a value of any length, Core Vol 3 Part G §4.8.1, §4.8.3", arguments: reads)
    func read(_ transcript: Transcript) { transcript.check() }

    @Test("writing a value, Core Vol 3 Part G §4.9.3", arguments: writes)
    func write(_ transcript: Transcript) { transcript.check() }

    @Test("writing a long value, all or nothing, Core Vol 3 Part G §4.9.4", arguments: longWrites)
    func longWrite(_ transcript: Transcript) { transcript.check() }

    @Test("a long write cancelled between requests cancels its prepared writes", arguments: [1, 2])
    func stop(answered: Int) {
        let transcript = Transcript(
            "", ReliableWrite(Self.bytes(20), to: 0x0003), Self.prepared(20, mtu: 23), "")
        var conversation = Conversation(transcript.procedure, mtu: 23)
        for exchange in transcript.exchanges.prefix(answered) {
            conversation.answer(hex(exchange.answer))
        }
        let goesOn = conversation.stop()
        #expect(goesOn)
        #expect(conversation.request?.hexadecimal == "1800")
        conversation.answer(hex("19"))
        #expect(conversation.ending == "closed")
    }

    @Test("a long write cancelled during its cleanup completes it, and reports the original failure")
    func stopWhileCancelling() {
        var conversation = Conversation(ReliableWrite([1, 2], to: 0x0003), mtu: 23)
        conversation.answer(hex("17 0300 0000 0103"))
        let goesOn = conversation.stop()
        #expect(goesOn)
        #expect(conversation.request?.hexadecimal == "1800")
        conversation.answer(hex("19"))
        #expect(conversation.ending == "violation")
    }

    @Test("a procedure that only reads needs no cleanup")
    func stopOthers() {
        for procedure: any ClientProcedure in [
            ServiceDiscovery(), ServiceDiscovery(uuid: 0x180F), CharacteristicDiscovery(in: .all),
            DescriptorDiscovery(in: .all), DatabaseDiscovery(), MTUExchange(offering: 517), ValueRead(0x0003),
            ValueWrite([1], to: 0x0003), IncludedServiceDiscovery(in: .all), ValueReadByUUID(0x2A19),
            MultipleValueRead([3, 5]),
        ] {
            var conversation = Conversation(procedure, mtu: 23)
            let goesOn = conversation.stop()
            #expect(!goesOn)
        }
    }
}
