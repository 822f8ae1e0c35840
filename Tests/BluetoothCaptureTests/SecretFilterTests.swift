import BluetoothPrimitives
import TestSupport
import Testing

@testable import BluetoothCapture

/// The filtered packets.
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
    static let key = "A1A2A3A4A5A6A7A8A9AAABACADAEAFB0"

    @Test(
        arguments: [
            ("Create Physical Link", .command, "3504 14 41 10 01 \(key)"),
            ("Accept Physical Link", .command, "3604 14 41 10 01 \(key)"),
            (
                "LE Create BIG", .command,
                "6820 1F 01 00 02 102700 7800 1400 02 02 00 00 01 \(key)"
            ),
            (
                "LE Create BIG Test", .command,
                "6920 24 01 00 02 102700 0800 01 7800 78 02 00 00 01 01 00 01 \(key)"
            ),
            ("LE BIG Create Sync", .command, "6B20 1A 01 4000 01 \(key) 00 6400 02 01 02"),
            (
                "Send HCI Command And Wait For Event", .controlCommand,
                "01000000 5B00 1A20 00 02 1200 4000 \(key)"
            ),
            ("what Send HCI Command And Wait For Event returns", .controlEvent, "01000000 0100 5B00 00 00 \(key)"),
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
        // The packet's code remains visible.
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
            (.aclReceived, "4120 0700 0300 0400 0A1200"),  // a packet of another link in between
            (.aclReceived, "4010 0600 A1A2A3A4A5A6"),
            (.aclReceived, "4010 0600 A1A2A3A4A5A6"),
            (.aclReceived, "4020 0600 0300 0400 0A12"),
            (.aclReceived, "4010 0100 34"),  // a packet of another PDU
        ]
        #expect(
            shown(packets) == [
                "40200900110006000600000000", "41200700030004000A1200", "40100600000000000000",
                "40100600000000000000", "40200600030004000A12", "4010010034",
            ])
    }

    @Test func aCodeInTheNextPacketIsHiddenWithItsKey() {
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

    @Test func aFragmentWithoutABeginningIsHidden() {
        // The capture began within the PDU, or its beginning was lost.
        #expect(shown([(.aclReceived, "4010 0200 1234")]) == ["401002000000"])
    }

    // MARK: Interleaving

    /// A path of PDUs, one of them with a key: all bytes of the key are at least A0, all others less.
    struct Path: CustomStringConvertible {
        var adapter: UInt16
        var handle: UInt8
        var isSent: Bool
        static let pdu = hex("1100 0600 06 \(SecretFilterTests.key)")
        /// A PDU without a key.
        static let other = hex("0A00 0400 1B 0300 01020304050607")

        var description: String { "hci\(adapter) \(handle) \(isSent ? "sent" : "received")" }

        static let all = [UInt16(0), 1].flatMap { adapter in
            [UInt8(0x40), 0x41].flatMap { handle in
                [true, false].map { Path(adapter: adapter, handle: handle, isSent: $0) }
            }
        }

        /// The PDU fragmented at the given positions.
        func fragments(cutAt cuts: [Int], of pdu: [UInt8] = pdu) -> [(Path, [UInt8])] {
            zip([0] + cuts, cuts + [pdu.count]).map { start, end in
                let flags: UInt8 = start > 0 ? 0x10 : isSent ? 0x00 : 0x20
                return (self, [handle, flags, UInt8(end - start), 0] + pdu[start..<end])
            }
        }
    }

    /// The filtered packet.
    private func visible(by filter: inout SecretFilter, _ path: Path, _ packet: [UInt8]) -> [UInt8] {
        let captured = CapturedPacket(
            adapter: path.adapter, kind: path.isSent ? .aclSent : .aclReceived, payload: packet.span.bytes)
        return Array(packet.prefix(filter.visibleByteCount(of: captured) ?? .max))
    }

    /// All interleavings of two fragments each of two PDUs that preserve the order within each PDU.
    private static let merges = [
        [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 1, 0], [1, 1, 0, 0],
    ]

    @Test func noKeyIsShownHoweverTwoAreCutAndInterleaved() {
        let all = Path.all
        for (index, one) in all.enumerated() {
            for other in all[(index + 1)...] {
                for (cut, otherCut) in (1..<21).flatMap({ cut in (1..<21).map { (cut, $0) } }) {
                    for merge in Self.merges {
                        var queues = [one.fragments(cutAt: [cut]), other.fragments(cutAt: [otherCut])]
                        var filter = SecretFilter()
                        let isShown = merge.contains { next in
                            let (path, packet) = queues[next].removeFirst()
                            return visible(by: &filter, path, packet).contains { $0 >= 0xA0 }
                        }
                        guard !isShown, filter.unfinished.count == 0 else {
                            Issue.record("\(one) cut at \(cut), \(other) at \(otherCut), \(merge)")
                            return
                        }
                    }
                }
            }
        }
    }

    @Test(.seeded) func noKeyIsShownAmongOtherPacketsOfAllPaths() {
        for seed in SeededGenerator.seeds(200) {
            var generator = SeededGenerator(seed: seed)
            var queues = Path.all.map { path in
                (0..<4).flatMap { _ in
                    let pdu = Bool.random(using: &generator) ? Path.pdu : Path.other
                    let cuts = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                        Int.random(in: 1..<pdu.count, using: &generator)
                    }
                    return path.fragments(cutAt: Set(cuts).sorted(), of: pdu)
                }
            }
            var filter = SecretFilter()
            while let next = queues.indices.filter({ !queues[$0].isEmpty }).randomElement(using: &generator) {
                let (path, packet) = queues[next].removeFirst()
                let isShown = visible(by: &filter, path, packet).contains { $0 >= 0xA0 }
                #expect(!isShown, "seed \(seed), \(path), \(packet.hexadecimal)")
            }
            #expect(filter.unfinished.count == 0)
        }
    }

    @Test func otherPDUsAreShownInFullDespiteInterleaving() {
        let path = Path.all[0]
        // The first fragment contains the channel identifier.
        for (cut, other) in (4..<Path.other.count).flatMap({ cut in Path.all.dropFirst().map { (cut, $0) } }) {
            let fragments = path.fragments(cutAt: [cut], of: Path.other)
            let key = other.fragments(cutAt: [8])
            var filter = SecretFilter()
            let result = [fragments[0], key[0], fragments[1], key[1]].map { visible(by: &filter, $0.0, $0.1) }
            #expect(result[0] == fragments[0].1)
            #expect(result[2] == fragments[1].1)
        }
    }

    @Test func aNewBeginningEndsWhatWasUnfinishedOnItsPathAlone() {
        let (one, other) = (Path.all[0], Path.all[1])
        let (key, otherKey) = (one.fragments(cutAt: [9]), other.fragments(cutAt: [9]))
        let attribute = one.fragments(cutAt: [8], of: Path.other)
        var filter = SecretFilter()
        for (path, packet) in [key[0], otherKey[0]] { _ = visible(by: &filter, path, packet) }
        for (path, packet) in attribute { #expect(visible(by: &filter, path, packet) == packet) }
        #expect(!visible(by: &filter, otherKey[1].0, otherKey[1].1).contains { $0 >= 0xA0 })
    }

    // MARK: Bounds

    @Test(arguments: [Path.pdu, Path.other]) func incompletePDUsTakeBoundedMemory(pdu: [UInt8]) {
        var filter = SecretFilter()
        let begun = (0..<20_000).map { number -> (UInt16, [UInt8]) in
            // A PDU without its last byte on every handle of several adapters.
            let handle = UInt16(number & 0x0FFF)
            let head = [UInt8(handle & 0xFF), UInt8(handle >> 8) | 0x20, UInt8(pdu.count - 1), 0]
            return (UInt16(number >> 12), head + pdu.dropLast())
        }
        for (adapter, packet) in begun {
            _ = filter.visibleByteCount(
                of: CapturedPacket(adapter: adapter, kind: .aclReceived, payload: packet.span.bytes))
        }
        let remembered = pdu == Path.pdu ? 0 : SecretFilter.capacity
        #expect(filter.unfinished.count == remembered)
        // The rest of a dropped PDU is hidden.
        var shownCount = 0
        for (adapter, packet) in begun {
            let rest = [packet[0], packet[1] & 0x0F | 0x10, 1, 0, 0xB0]
            let visible = filter.visibleByteCount(
                of: CapturedPacket(adapter: adapter, kind: .aclReceived, payload: rest.span.bytes))
            if visible == nil { shownCount += 1 } else { #expect(visible == 4) }
        }
        #expect(shownCount == remembered)
        #expect(filter.unfinished.count == 0)
    }

    @Test func theEndOfALinkAndOfAnAdapterEndWhatWasUnfinished() {
        func filter(after kind: CapturedPacketKind, _ payload: String, adapter: UInt16 = 0) -> SecretFilter {
            var filter = SecretFilter()
            for path in Path.all { _ = visible(by: &filter, path, path.fragments(cutAt: [9], of: Path.other)[0].1) }
            let bytes = hex(payload)
            _ = filter.visibleByteCount(of: CapturedPacket(adapter: adapter, kind: kind, payload: bytes.span.bytes))
            return filter
        }
        #expect(filter(after: .event, "0504 00 4000 13").unfinished.count == 6)
        // The disconnection failed.
        #expect(filter(after: .event, "0504 02 4000 13").unfinished.count == 8)
        #expect(filter(after: .event, "0504 00 4000 13", adapter: 2).unfinished.count == 8)
        #expect(filter(after: .closedIndex, "", adapter: 1).unfinished.count == 4)
        #expect(filter(after: .deletedIndex, "", adapter: 1).unfinished.count == 4)
    }

    @Test func noCutPacketStopsTheFilter() {
        for (kind, payload) in [
            (.command, "6820 1F 01 00 02"), (.event, "0504 00 4000 13"), (.event, "0E 14 01 1720 00 A1"),
            (.controlEvent, "01000000 0100 5B00 00"), (.aclSent, "4000 0500 0100 0600 06"),
        ] as [(CapturedPacketKind, String)] {
            let bytes = hex(payload)
            for count in 0...bytes.count { _ = shown([(kind, Array(bytes.prefix(count)).hexadecimal)]) }
        }
    }
}
