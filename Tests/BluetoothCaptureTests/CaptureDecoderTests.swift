import BluetoothPrimitives
import TestSupport
import Testing

@testable import BluetoothCapture

/// The meaning of records: links, frames, attributes, pairing, signalling.
@Suite struct CaptureDecoderTests {
    private static let peer = BluetoothAddress(0xC098_E512_3456, kind: .random)
    private static let connected = (
        CapturedPacketKind.event, "3E13 01 00 4000 00 01 563412E598C0 1800 0000 2A00 00"
    )

    private func decode(_ packets: [(CapturedPacketKind, String)], missing: Int = 0) -> [CapturedMessage] {
        var decoder = CaptureDecoder()
        return packets.enumerated().flatMap { index, packet in
            decoder.decode(
                CaptureRecord(
                    number: index, time: 0, adapter: 0, kind: .packet(packet.0), payload: hex(packet.1),
                    missingByteCount: index == packets.count - 1 ? missing : 0))
        }
    }

    @Test func aLinkIsNamedByItsPeerUntilItEnds() {
        let messages = decode([
            Self.connected, (.event, "3E0A 03 00 4000 0600 0000 F401"), (.event, "0504 00 4000 13"),
            (.aclSent, "4000 0700 0300 0400 0A1200"),
        ])
        #expect(messages.map(\.kind) == [.link, .link, .link, .attribute])
        #expect(messages.map(\.peer) == [Self.peer, Self.peer, Self.peer, nil])
        #expect(
            messages.map(\.text).prefix(2) == [
                "connected as central, interval 30 ms, latency 0, supervision timeout 420 ms",
                "parameters changed: interval 7.5 ms, latency 0, supervision timeout 5000 ms",
            ])
        #expect(messages[2].text.hasPrefix("disconnected: "))
        #expect(messages[3].handle == 0x40)
    }

    @Test func attributesHaveTheNamesOfTheirDiscovery() throws {
        let messages = decode([
            Self.connected,
            // Read By Type Request 2803 and its response: 2A19 at 0x0012, read and notify.
            (.aclSent, "4000 0B00 0700 0400 08 0100 FFFF 0328"),
            (.aclReceived, "4020 0D00 0900 0400 09 07 1100 12 1200 192A"),
            (.aclSent, "4000 0700 0300 0400 0A 1200"), (.aclReceived, "4020 0600 0200 0400 0B 61"),
            (.aclSent, "4000 0900 0500 0400 12 1300 0100"), (.aclReceived, "4020 0500 0100 0400 13"),
            (.aclReceived, "4020 0800 0400 0400 1B 1200 60"),
            (.aclSent, "4000 0700 0300 0400 0A 2000"), (.aclReceived, "4020 0900 0500 0400 01 0A 2000 01"),
        ])
        let pdus = messages.compactMap(\.attribute)
        let level = AttributeNames.Name(uuid: "2A19")
        let configuration = AttributeNames.Name(uuid: "2902", characteristic: "2A19")
        #expect(pdus.count == 9)
        #expect(pdus[1].detail == "2A19 Battery Level 0x0012")
        #expect(pdus[2].values == [.init(handle: 0x0012, name: level)])
        #expect(pdus[3].values == [.init(handle: 0x0012, name: level, bytes: [0x61])])
        #expect(pdus[4].values == [.init(handle: 0x0013, name: configuration, bytes: [1, 0])])
        #expect(pdus[5].values == [.init(handle: 0x0013, name: configuration)])
        #expect(pdus[6].values == [.init(handle: 0x0012, name: level, bytes: [0x60])])
        #expect(pdus[8].values == [.init(handle: 0x0020)])
        #expect(pdus[8].detail.hasPrefix("Read Request: "))
        #expect(pdus.allSatisfy { $0.problem == nil })
    }

    @Test func fragmentsOfBothDirectionsAreJoined() {
        let messages = decode([
            (.aclSent, "4000 0500 0700 0400 12"), (.aclReceived, "4020 0300 0200 04"),
            (.aclSent, "4010 0600 1200 01020304"), (.aclReceived, "4010 0300 00 0B 61"),
        ])
        #expect(messages.compactMap(\.attribute?.opcode) == [.writeRequest, .readResponse])
        #expect(messages.first?.attribute?.values.first?.bytes == [1, 2, 3, 4])
    }

    @Test(
        arguments: [
            ([(.aclSent, "4010 0100 00")], "continuation of a frame whose beginning is missing"),
            ([(.aclSent, "40")], "ACL packet of 1 bytes without a complete header"),
            (
                [(.aclSent, "4000 0500 0700 0400 12"), (.aclSent, "4000 0700 0300 0400 0A1200")],
                "incomplete frame: 5 of 11 bytes"
            ),
            ([(.aclSent, "4000 0800 0300 0400 0A120000")], "frame of 8 bytes with a length of 7 bytes"),
            ([(.aclSent, "4000 0700 0300 0400 0A1200 FF")], "1 bytes after the end of an ACL packet"),
            ([(.event, "3E1301")], "malformed event of 4 bytes"),
            ([(.aclSent, "4000 0500 0100 0400 0A")], "Read Request"),
            ([(.aclSent, "4000 0400 0000 0400")], "an empty PDU"),
            ([(.aclSent, "4000 0600 0200 0600 0304")], "2 bytes instead of 17"),
            ([(.aclReceived, "4020 0800 0400 0500 12 01 0800")], "0 of 8 bytes of parameters"),
        ] as [([(CapturedPacketKind, String)], String)])
    func malformedPacketsAreProblems(packets: [(CapturedPacketKind, String)], problem: String) {
        let problems = decode(packets).compactMap(\.problem)
        #expect(problems.contains { $0.contains(problem) }, "\(problems)")
    }

    @Test func aPacketOfWhichTheCaptureHasTheBeginningIsShown() throws {
        // A Write Request of 100 bytes, of which the capture has the first five.
        // Of an ATT PDU without its opcode, nothing else is known.
        let empty = try #require(decode([(.aclSent, "4000 6800 6400 0400")], missing: 100).first)
        #expect(empty.kind == .attribute && empty.attribute == nil)
        #expect(empty.problem == "the capture has only its beginning" && empty.missingByteCount == 100)
        let nothing = try #require(decode([(.aclSent, "4000 1400 1000 0500")], missing: 16).first)
        #expect(nothing.kind == .l2cap && nothing.problem == "the capture has only its beginning")
        let signal = try #require(decode([(.aclSent, "4000 1400 1000 0500 12 01")], missing: 14).first)
        #expect(signal.problem == "the capture has only its beginning")
        let message = try #require(decode([(.aclSent, "4000 6800 6400 0400 12 1200 0102")], missing: 95).first)
        #expect(message.missingByteCount == 95)
        #expect(message.attribute?.values.first?.bytes == [1, 2])
        #expect(message.problem == nil)
    }

    @Test(
        arguments: [
            (
                "01 03 00 0D 10 0303",
                "Pairing Request: no input, no output, bonding, MITM, Secure Connections, key size 16, "
                    + "keys of initiator encryption+identity, of responder encryption+identity"
            ),
            ("05 0B", "Pairing Failed: DHKey check failed"), ("0B 01", "Security Request: bonding"),
            ("09 01 563412E598C0", "Identity Address Information: C0:98:E5:12:34:56 (random)"),
            ("06 11111111111111111111111111111111", "Encryption Information"),
            ("03 11111111111111111111111111111111", "Pairing Confirm"),
        ])
    func pairingIsNamedWithoutKeys(pdu: String, text: String) {
        #expect(PairingText.describe(hex(pdu)).text == text)
        #expect(PairingText.describe(hex(pdu)).problem == nil)
        for changed in mutations(of: hex(pdu)) { #expect(!PairingText.describe(changed).text.contains("1111")) }
    }

    @Test(
        arguments: [
            (
                "12 01 0800 0600 0C00 0000 F401",
                "Connection Parameter Update Request: interval 7.5 to 15 ms, latency 0, supervision timeout 5000 ms"
            ),
            ("13 01 0200 0100", "Connection Parameter Update Response: rejected"),
            (
                "14 01 0A00 8000 4000 0002 F700 0A00",
                "LE Credit Based Connection Request: PSM 0x0080, channel 0x0040, MTU 512, MPS 247, credits 10"
            ),
            ("15 01 0A00 0000 0000 0000 0000 0200", "LE Credit Based Connection Response: PSM not supported"),
            ("16 02 0400 4000 0500", "Flow Control Credit: channel 0x0040, credits 5"),
        ])
    func signallingIsText(command: String, text: String) {
        #expect(SignallingText.describe(hex(command)).map(\.text) == [text])
        for changed in mutations(of: hex(command)) { _ = SignallingText.describe(changed) }
    }

    @Test func theFramesOfAChannelHaveItsPSM() {
        let messages = decode([
            (.aclSent, "4000 1200 0E00 0500 14 01 0A00 8000 4000 0002 F700 0A00"),
            (.aclReceived, "4020 1200 0E00 0500 15 01 0A00 4100 0002 F700 0A00 0000"),
            (.aclSent, "4000 0700 0300 4100 010061"), (.aclReceived, "4020 0700 0300 4000 010061"),
        ])
        #expect(
            messages.suffix(2).map(\.text) == [
                "channel 0x0041 (PSM 0x0080): frame of 3 bytes", "channel 0x0040 (PSM 0x0080): frame of 3 bytes",
            ])
    }

    @Test(
        arguments: [
            (
                .controlCommand, "01000000 1E00 000000000000 00 00000000",
                "User Passkey Reply: not recorded, since it is secret"
            ),
            (
                .controlEvent, "01000000 1700 000000000000 00 00000000 00",
                "Passkey Notify: not recorded, since it is secret"
            ),
            (.controlCommand, "01000000 1300 0000", "Load Long Term Keys: 0"),
        ] as [(CapturedPacketKind, String, String)])
    func zerosInPlaceOfASecretAreNotDescribed(kind: CapturedPacketKind, packet: String, text: String) {
        #expect(decode([(kind, packet)]).map(\.text) == [text])
    }

    @Test func manyLinksAndFramesStayBounded() {
        var (decoder, joiner) = (CaptureDecoder(), FrameJoiner())
        for handle in 0..<0x0F00 as Range<UInt16> {
            let head = [UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8)]
            let packet = head + hex("0500 0700 0400 12")
            let isProblem = joiner.receive(packet, adapter: 0, isSent: true).outcomes.isEmpty == false
            #expect(isProblem == (Int(handle) >= FrameJoiner.capacity))
            _ = decoder.decode(
                CaptureRecord(number: 1, time: 0, adapter: 0, kind: .packet(.aclSent), payload: packet))
        }
        #expect(joiner.partials.count == FrameJoiner.capacity)
    }

    @Test func noChangedByteStopsTheProgram() {
        for packet in [
            Self.connected, (.aclReceived, "4020 0D00 0900 0400 09 07 1100 12 1200 192A"),
            (.event, "3E0C 02 01 00 01 563412E598C0 00 C0"),
            (.controlEvent, "01000000 0B00 563412E598C0 01 00000000 0000"),
            (.controlOpened, "01000000 0200 01 1600 00000000 03 626C65"), (.indexInformation, "563412E598C0 0200"),
            (.userLogging, "06 03 626C65 6869 00"), (.newIndex, "00 01 563412E598C0 6863693000000000"),
        ] as [(CapturedPacketKind, String)] {
            for changed in mutations(of: hex(packet.1)) {
                var decoder = CaptureDecoder()
                _ = decoder.decode(
                    CaptureRecord(number: 1, time: 0, adapter: 0, kind: .packet(packet.0), payload: changed))
            }
        }
    }
}
