import LINBLESample
import TestSupport
import Testing

@Suite struct SampleProtocolTests {
    static let commands: [(String, SampleCommand)] = [
        ("01 00", .linkTest),
        ("02 01 02", .readRegister(2)),
        ("03 02 04 0F", .writeRegister(4, value: 0x0F)),
        ("01 03", .readVersion),
        ("02 04 05", .startSampling(seconds: 5)),
        ("01 05", .readName),
        (
            "1A 06 53616D706C652D55617274436F6E74726F6C6C65722D303031", .writeName("Sample-UartController-001")
        ),
    ]

    static let responses: [(String, SampleResponse)] = [
        ("01 40", .linkTest),
        ("03 41 02 FF", .register(2, value: 0xFF)),
        ("01 42", .registerWritten),
        ("0D 43 31 2E 32 2E 33 2E 39 38 37 36 35 34", .version("1.2.3.987654")),
        ("01 44", .samplingStarted),
        ("06 84 01 42 F7 D2 F1", .sample(123.911995)),
        ("06 84 01 42 F8 50 62", .sample(124.157)),
        ("02 84 00", .samplingEnded),
        (
            "1A 45 53 61 6D 70 6C 65 2D 55 61 72 74 43 6F 6E 74 72 6F 6C 6C 65 72 2D 30 30 31",
            .name("Sample-UartController-001")
        ),
        ("01 46", .nameWritten),
    ]

    @Test(arguments: commands) func commandsHaveTheBytesOfTheProtocol(bytes: String, command: SampleCommand) throws {
        #expect(try command.encoded() == hex(bytes))
        #expect(try SampleCommand(packet: Array(hex(bytes).dropFirst())) == command)
    }

    @Test(arguments: responses) func responsesHaveTheBytesOfTheProtocol(bytes: String, response: SampleResponse) throws
    {
        #expect(try response.encoded() == hex(bytes))
        #expect(try SampleResponse(packet: Array(hex(bytes).dropFirst())) == response)
    }

    @Test func everyResponseTypeIsItsCommandsTypeWithABitMore() {
        #expect(SampleMessageType.linkTest.response.rawValue == 0x40)
        #expect(SampleMessageType.writeName.response.rawValue == 0x46)
    }

    @Test func valuesThatTheProtocolDoesNotHaveAreRefusedBothWays() {
        #expect(throws: SampleProtocolError.invalidRegister(8)) { try SampleCommand.readRegister(8).encoded() }
        #expect(throws: SampleProtocolError.invalidDuration(0)) {
            try SampleCommand.startSampling(seconds: 0).encoded()
        }
        #expect(throws: SampleProtocolError.invalidDuration(61)) { try SampleCommand(packet: hex("04 3D")) }
        #expect(throws: SampleProtocolError.invalidRegister(9)) { try SampleCommand(packet: hex("01 09")) }
        #expect(throws: SampleProtocolError.invalidText) { try SampleCommand.writeName("ü").encoded() }
        #expect(throws: SampleProtocolError.invalidText) {
            try SampleCommand.writeName(String(repeating: "a", count: 255)).encoded()
        }
        #expect(throws: SampleProtocolError.invalidText) { try SampleResponse(packet: hex("45 41 FF")) }
        #expect(throws: SampleProtocolError.invalidState(2)) { try SampleResponse(packet: hex("84 02")) }
        #expect(throws: SampleProtocolError.invalidLength(4, .sampleEvent)) {
            try SampleResponse(packet: hex("84 01 42F7D2"))
        }
        #expect(throws: SampleProtocolError.invalidLength(1, .linkTest)) { try SampleCommand(packet: hex("00 00")) }
        #expect(throws: SampleProtocolError.unknownType(SampleMessageType(rawValue: 0x7F))) {
            try SampleResponse(packet: hex("7F"))
        }
        #expect(throws: SampleProtocolError.emptyPacket) { try SampleResponse(packet: []) }
    }

    @Test func noTruncationAndNoSingleByteChangeStopsTheDecoders() {
        for (bytes, _) in Self.commands {
            for packet in mutations(of: Array(hex(bytes).dropFirst())) { _ = try? SampleCommand(packet: packet) }
        }
        for (bytes, _) in Self.responses {
            for packet in mutations(of: Array(hex(bytes).dropFirst())) { _ = try? SampleResponse(packet: packet) }
        }
    }

    @Test(.seeded) func theReceiverFindsTheMessagesHoweverTheStreamIsCut() throws {
        let stream = Self.responses.flatMap { hex($0.0) }
        var generator = SeededGenerator()
        for _ in 0..<200 {
            var receiver = SampleReceiver<SampleResponse>()
            var found: [SampleReceiver<SampleResponse>.Element] = []
            for piece in splitAtRandom(stream, maximumLength: 20, using: &generator) {
                try receiver.append(piece)
                while let element = receiver.next() { found.append(element) }
            }
            #expect(found == Self.responses.map { .message($0.1) })
        }
    }

    @Test func theReceiverGoesOnAfterWhatIsNoMessage() throws {
        var receiver = SampleReceiver<SampleResponse>()
        try receiver.append(hex("00 02 99 01 03 41 08 00 01 40"))
        #expect(receiver.next() == .discarded([], .emptyPacket))
        #expect(
            receiver.next() == .discarded([0x99, 0x01], .unknownType(SampleMessageType(rawValue: 0x99))))
        #expect(receiver.next() == .discarded([0x41, 0x08, 0x00], .invalidRegister(8)))
        #expect(receiver.next() == .message(.linkTest))
        #expect(receiver.next() == nil)
    }

    @Test func afterAResetTheNextByteIsALength() throws {
        var receiver = SampleReceiver<SampleResponse>()
        try receiver.append(hex("0D 43 31"))
        #expect(receiver.next() == nil)
        receiver.reset()
        try receiver.append(hex("01 40"))
        #expect(receiver.next() == .message(.linkTest))
    }
}
