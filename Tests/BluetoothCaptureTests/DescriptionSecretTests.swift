import BluetoothHCI
import BluetoothManagement
import TestSupport
import Testing

/// Descriptions of packets in logs: readable, and without keys.
@Suite struct DescriptionSecretTests {
    private static let key = "A1A2A3A4A5A6A7A8A9AAABACADAEAFB0"

    @Test(
        arguments: [
            "01 1920 1C 4000 0102030405060708 0908 \(key)", "01 1A20 12 4000 \(key)", "01 1720 20 \(key) \(key)",
            "01 2720 27 01 563412E598C0 \(key) \(key)", "01 0B04 16 563412E598C0 \(key)",
            "04 0E 14 01 1720 00 \(key)", "04 18 17 563412E598C0 \(key) 04", "04 3E 22 09 00 \(key) \(key)",
            "02 4020 1500 1100 0600 06 \(key)",
        ])
    func noKeyOfAnHCIPacketIsPrinted(packet: String) {
        let text = HCIPacketType.description(of: hex(packet).span.bytes)
        #expect(!text.contains("A1A2"), "\(text)")
    }

    @Test(
        arguments: [
            (true, "1300 0000 2600 0100 563412E598C0 02 00 01 10 0000 0000000000000000 \(key)"),
            (true, "3000 0000 1900 0100 563412E598C0 02 \(key)"), (true, "2F00 0000 1100 01 \(key)"),
            (true, "1200 0000 1D00 00 0100 563412E598C0 00 04 \(key) 00"),
            (true, "1E00 0000 0B00 563412E598C0 02 A1A20000"),
            (false, "0A00 0000 2500 01 563412E598C0 02 00 01 10 0000 0000000000000000 \(key)"),
            (false, "1800 0000 1E00 01 563412E598C0 563412E598C0 02 \(key)"),
            (false, "1900 0000 1900 01 563412E598C0 02 00 \(key)"),
            (false, "0F00 0000 0C00 563412E598C0 02 00 A1A20000"),
            (false, "1700 0000 0C00 563412E598C0 02 A1A20000 00"),
            (false, "0100 0000 2300 2000 00 \(key) \(key)"),
        ])
    func noKeyAndNoPasskeyOfAManagementPacketIsPrinted(isSent: Bool, packet: String) {
        let bytes = hex(packet)
        let texts = ([bytes] + (0..<bytes.count).map { Array(bytes.prefix($0)) }).map {
            ManagementPacket.description(of: $0.span.bytes, isSent: isSent)
        }
        for text in texts {
            #expect(!text.contains("A1A2") && !text.contains("41633"), "\(text)")
        }
    }

    @Test(
        arguments: [
            ("01 0C20 02 01 00", "LE Set Scan Enable: on"),
            ("04 0E 04 01 0C20 00", "Command Complete: LE Set Scan Enable"),
            ("04 66 01 07", "event 0x66: 07"), ("02 4020 0700 0300 0400 0A1200", "ACL data: handle 0x0040, 7 bytes"),
            ("", "empty packet"), ("04 3E 05", "malformed event"), ("09 00", "packet type 0x09"),
        ])
    func otherPacketsAreReadable(packet: String, beginning: String) {
        let text = HCIPacketType.description(of: hex(packet).span.bytes)
        #expect(text.hasPrefix(beginning), "\(text)")
    }
}
