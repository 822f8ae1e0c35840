import BluetoothPrimitives
import Capture
import TestSupport
import Testing

/// What is written in place of `payload`, packet by packet.
private func shown(_ packets: [(CapturedPacketKind, String)]) -> [String] {
    var filter = SecretFilter()
    return packets.map { kind, payload in
        let bytes = hex(payload)
        let packet = CapturedPacket(adapter: 0, kind: kind, payload: bytes.span.bytes)
        guard let count = filter.visibleByteCount(of: packet) else { return bytes.hexadecimal }
        return (bytes.prefix(count) + bytes.dropFirst(count).map { _ in 0 }).hexadecimal
    }
}

@Suite struct SecretFilterTests {
    private static let key = "A1A2A3A4A5A6A7A8A9AAABACADAEAFB0"

    @Test(
        arguments: [
            ("LE Encrypt", .command, "1720 20 \(key) \(key)"),
            ("LE Enable Encryption", .command, "1920 1C 4000 0102030405060708 0908 \(key)"),
            ("LE Long Term Key Request Reply", .command, "1A20 12 4000 \(key)"),
            ("LE Add Device To Resolving List", .command, "2720 27 01 563412E598C0 \(key) \(key)"),
            ("Link Key Request Reply", .command, "0B04 16 563412E598C0 \(key)"),
            ("PIN Code Request Reply", .command, "0D04 17 563412E598C0 10 \(key)"),
            ("User Passkey Request Reply", .command, "2E04 0A 563412E598C0 A1A2A300"),
            ("Remote OOB Data Request Reply", .command, "3004 26 563412E598C0 \(key) \(key)"),
            ("what LE Encrypt returns", .event, "0E 14 01 1720 00 \(key)"),
            ("what LE Rand returns", .event, "0E 0C 01 1820 00 A1A2A3A4A5A6A7A8"),
            ("Link Key Notification", .event, "18 17 563412E598C0 \(key) 04"),
            ("User Confirmation Request", .event, "33 0A 563412E598C0 A1A2A300"),
            ("User Passkey Notification", .event, "3B 0A 563412E598C0 A1A2A300"),
            ("LE Generate DHKey Complete", .event, "3E 22 09 00 \(key) \(key)"),
            ("Load Link Keys", .controlCommand, "01000000 1200 00 0100 563412E598C0 00 04 \(key) 00"),
            (
                "Load Long Term Keys", .controlCommand,
                "01000000 1300 0100 563412E598C0 02 00 01 10 0000 0000000000000000 \(key)"
            ),
            ("Load Identity Resolving Keys", .controlCommand, "01000000 3000 0100 563412E598C0 02 \(key)"),
            ("Set Privacy", .controlCommand, "01000000 2F00 01 \(key)"),
            ("PIN Code Reply", .controlCommand, "01000000 1600 563412E598C0 00 10 \(key)"),
            ("User Passkey Reply", .controlCommand, "01000000 1E00 563412E598C0 02 A1A2A300"),
            ("Add Remote Out Of Band Data", .controlCommand, "01000000 2100 563412E598C0 02 \(key) \(key)"),
            ("what Read Local Out Of Band Data returns", .controlEvent, "01000000 0100 2000 00 \(key) \(key)"),
            ("New Link Key", .controlEvent, "01000000 0900 01 563412E598C0 00 04 \(key) 00"),
            (
                "New Long Term Key", .controlEvent,
                "01000000 0A00 01 563412E598C0 02 00 01 10 0000 0000000000000000 \(key)"
            ),
            ("User Confirmation Request", .controlEvent, "01000000 0F00 563412E598C0 02 00 A1A2A300"),
            ("Passkey Notify", .controlEvent, "01000000 1700 563412E598C0 02 A1A2A300 00"),
            ("New Identity Resolving Key", .controlEvent, "01000000 1800 01 563412E598C0 563412E598C0 02 \(key)"),
            ("New Signature Resolving Key", .controlEvent, "01000000 1900 01 563412E598C0 02 00 \(key)"),
            ("Encryption Information", .aclReceived, "4020 1500 1100 0600 06 \(key)"),
            ("Identity Information", .aclSent, "4000 1500 1100 0600 08 \(key)"),
            ("Signing Information", .aclReceived, "4020 1500 1100 0600 0A \(key)"),
            ("Encryption Information on BR/EDR", .aclReceived, "4020 1500 1100 0700 06 \(key)"),
        ] as [(String, CapturedPacketKind, String)])
    func noKeyAndNoPasskeyIsLeft(name: String, kind: CapturedPacketKind, payload: String) throws {
        let result = try #require(shown([(kind, payload)]).first)
        #expect(!result.contains("A1A2A3"), "\(name)")
        #expect(result.count == hex(payload).count * 2)
        // The reader of the capture still sees what it was.
        #expect(result.prefix(2) == hex(payload).hexadecimal.prefix(2))
    }

    @Test(
        arguments: [
            (.command, "0C20 02 01 00"), (.event, "3E 04 0A 00 40 00"), (.event, "0E 04 01 0C20 00"),
            (.aclReceived, "4020 0700 0300 0400 0A1200"), (.aclReceived, "4020 0B00 0700 0600 01 0300 00 10 01 01"),
            (.controlCommand, "01000000 0500 01"), (.controlEvent, "01000000 0100 0500 00 01020000"),
            (.systemNote, "1720"), (.command, "17"), (.event, "18"), (.aclSent, "40"), (.controlEvent, "0100"),
        ] as [(CapturedPacketKind, String)])
    func everythingElseIsShown(kind: CapturedPacketKind, payload: String) {
        #expect(shown([(kind, payload)]) == [hex(payload).hexadecimal])
    }

    @Test func aKeyInSeveralPacketsIsHiddenToItsEnd() {
        let packets: [(CapturedPacketKind, String)] = [
            (.aclReceived, "4020 0900 1100 0600 06 A1A2A3A4"),
            (.aclReceived, "4120 0700 0300 0400 0A1200"),  // of another link, in between
            (.aclReceived, "4010 0600 A1A2A3A4A5A6"),
            (.aclReceived, "4010 0600 A1A2A3A4A5A6"),
            (.aclReceived, "4010 0200 1234"),  // of something else
            (.aclReceived, "4020 0700 0300 0400 0A1200"),
        ]
        #expect(
            shown(packets) == [
                "40200900110006000600000000", "41200700030004000A1200", "40100600000000000000",
                "40100600000000000000", "401002001234", "40200700030004000A1200",
            ])
    }

    @Test func aCodeThatComesInTheNextPacketIsHiddenWithItsKey() {
        let packets: [(CapturedPacketKind, String)] = [
            (.aclReceived, "4020 0400 1100 0600"), (.aclReceived, "4010 1100 06 A1A2A3A4A5A6A7A8A9AAABACADAEAFB0"),
        ]
        #expect(
            shown(packets) == [
                "4020040011000600", "40101100" + String(repeating: "00", count: 17),
            ])
    }

    @Test func aKeyBehindACutHeadIsHidden() {
        let key = "06 A1A2A3A4A5A6A7A8A9AAABACADAEAFB0"
        let hidden = String(repeating: "00", count: 17)
        for (first, rest) in [("", "1100 0600"), ("11", "00 0600"), ("1100", "0600"), ("1100 06", "00")] {
            let head = first.isEmpty ? 0 : hex(first).count
            let count = 4 - head + 17
            let shownPackets = shown([
                (.aclReceived, "4020 0\(head)00 \(first)"),
                (.aclReceived, "4010 \([UInt8(count)].hexadecimal)00 \(rest) \(key)"),
                (.aclReceived, "4020 0700 0300 0400 0A1200"),
            ])
            #expect(shownPackets.count == 3)
            #expect(shownPackets[1].hasSuffix(hidden), "\(shownPackets[1])")
            #expect(shownPackets[2] == "40200700030004000A1200")
        }
    }
}
