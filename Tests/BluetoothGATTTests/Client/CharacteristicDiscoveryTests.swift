import BluetoothATT
import BluetoothGATT
import Testing

@Suite struct CharacteristicDiscoveryTests {
    private static func within(_ start: AttributeHandle, _ end: AttributeHandle) -> CharacteristicDiscovery {
        CharacteristicDiscovery(in: AttributeHandleRange(start: start, end: end))
    }

    private static func descriptors(_ start: AttributeHandle, _ end: AttributeHandle) -> DescriptorDiscovery {
        DescriptorDiscovery(in: AttributeHandleRange(start: start, end: end))
    }

    /// Discover All Characteristics of a Service, Core Vol 3 Part G §4.6.1.
    static let characteristics: [Transcript] = [
        Transcript(
            "characteristics reach to the next declaration, the last to the end of the range", within(0x0001, 0x0014),
            [
                "08 0100 1400 0328": "09 07 0200 02 0300 002A 0400 12 0500 192A",
                "08 0500 1400 0328": "09 15 0700 08 0800 \(longUUID)",
                "08 0800 1400 0328": "01 08 0800 0A",
            ],
            "2A00@0002/0003-0003[read] 2A19@0004/0005-0006[read, notify] \(longName)@0007/0008-0014[write]"),
        Transcript(
            "a larger ATT_MTU brings more in an answer", mtu: 247, within(0x0001, 0x0020),
            [
                "08 0100 2000 0328": "09 15 0200 02 0300 \(longUUID) 0400 04 0500 \(longUUID2)",
                "08 0500 2000 0328": "09 07 0800 20 0900 052A 0B00 90 0C00 182A",
                "08 0C00 2000 0328": "01 08 0C00 0A",
            ],
            "\(longName)@0002/0003-0003[read] \(longName2)@0004/0005-0007[writeWithoutResponse] "
                + "2A05@0008/0009-000A[indicate] 2A18@000B/000C-0020[notify, extendedProperties]"),
        Transcript(
            "a single handle at the end cannot hold another", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 07 0200 02 0300 002A 0700 08 0800 012A"],
            "2A00@0002/0003-0006[read] 2A01@0007/0008-0009[write]"),
        Transcript(
            "two handles at the end can", within(0x0001, 0x000A),
            ["08 0100 0A00 0328": "09 07 0700 08 0800 012A", "08 0800 0A00 0328": "09 07 0900 02 0A00 002A"],
            "2A01@0007/0008-0008[write] 2A00@0009/000A-000A[read]"),
        Transcript(
            "a value can be at 0xFFFF", within(0x0001, 0xFFFF),
            ["08 0100 FFFF 0328": "09 07 FEFF 02 FFFF 002A"], "2A00@FFFE/FFFF-FFFF[read]"),
        Transcript(
            "a value need not follow its declaration at once", within(0x0001, 0x0010),
            ["08 0100 1000 0328": "09 07 0200 02 0500 002A", "08 0300 1000 0328": "01 08 0300 0A"],
            "2A00@0002/0005-0010[read]"),
        Transcript(
            "no characteristics is a result", within(0x0001, 0x0005), ["08 0100 0500 0328": "01 08 0100 0A"], ""),
        Transcript(
            "a refusal is handed on", within(0x0001, 0x0005), ["08 0100 0500 0328": "01 08 0200 05"], "refused 05"),
        Transcript(
            "a refusal in the middle is handed on", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 07 0200 02 0300 002A", "08 0300 0900 0328": "01 08 0300 0E"], "refused 0E"),
        Transcript(
            "the same answer again leads nowhere", within(0x0001, 0x0009),
            [
                "08 0100 0900 0328": "09 07 0200 02 0300 002A",
                "08 0300 0900 0328": "09 07 0200 02 0300 002A",
            ], "2A00@0002/0003-0009[read] !unexpectedHandle 2803@0002"),
        Transcript(
            "a declaration where the value of the one before is", within(0x0001, 0x0009),
            [
                "08 0100 0900 0328": "09 07 0200 02 0300 002A 0300 02 0400 012A",
                "08 0400 0900 0328": "01 08 0400 0A",
            ], "2A01@0003/0004-0009[read] !valueOutside 2803@0002/0003-0003 2A00"),
        Transcript(
            "declarations in the wrong order", within(0x0001, 0x0009),
            [
                "08 0100 0900 0328": "09 07 0400 02 0500 002A 0200 02 0300 012A",
                "08 0500 0900 0328": "01 08 0500 0A",
            ], "2A00@0004/0005-0009[read] !unexpectedHandle 2803@0002"),
        Transcript(
            "a declaration before the range", within(0x0004, 0x0009),
            ["08 0400 0900 0328": "09 07 0300 02 0400 002A"], "!unexpectedHandle 2803@0003"),
        Transcript(
            "a declaration behind the range", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 07 0A00 02 0B00 002A"], "!unexpectedHandle 2803@000A"),
        Transcript(
            "a declaration behind the end", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 07 0800 02 0900 002A 0900 02 0A00 012A"],
            "!valueOutside 2803@0008/0009-0009 2A00 !valueOutside 2803@0009/000A-000A 2A01"),
        Transcript(
            "a declaration at no handle", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 07 0000 02 0100 002A"], "!unexpectedHandle 2803@0000"),
        Transcript(
            "a value in its own declaration", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 07 0200 02 0200 002A 0400 02 0500 012A", "08 0500 0900 0328": "01 08 0500 0A"],
            "2A01@0004/0005-0009[read] !invalidValueHandle 2803@0002/0002-0002 2A00"),
        Transcript(
            "a value before its declaration", within(0x0001, 0x0009),
            [
                "08 0100 0900 0328": "09 07 0300 02 0200 002A", "08 0400 0900 0328": "09 07 0600 02 0700 012A",
                "08 0700 0900 0328": "01 08 0700 0A",
            ], "2A01@0006/0007-0009[read] !invalidValueHandle 2803@0003/0002-0002 2A00"),
        Transcript(
            "a value at no handle", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 07 0200 02 0000 002A", "08 0300 0900 0328": "01 08 0300 0A"],
            "!invalidValueHandle 2803@0002/0000-0000 2A00"),
        Transcript(
            "a declaration that cannot be true ends the characteristic before it", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 07 0200 12 0300 002A 0500 02 0000 012A", "08 0600 0900 0328": "01 08 0600 0A"],
            "2A00@0002/0003-0004[read, notify] !invalidValueHandle 2803@0005/0000-0000 2A01"),
        Transcript(
            "a value at the end of the range hides no declaration", within(0x0001, 0x0009),
            [
                "08 0100 0900 0328": "09 07 0200 02 0900 002A",
                "08 0300 0900 0328": "09 07 0400 02 0500 012A", "08 0500 0900 0328": "01 08 0500 0A",
            ], "2A01@0004/0005-0009[read] !valueOutside 2803@0002/0009-0009 2A00"),
        Transcript(
            "a value behind the range", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 07 0200 02 0A00 002A", "08 0300 0900 0328": "01 08 0300 0A"],
            "!valueOutside 2803@0002/000A-000A 2A00"),
        Transcript(
            "a UUID of four bytes", within(0x0001, 0x0009),
            [
                "08 0100 0900 0328": "09 09 0200 02 0300 002A0000", "08 0300 0900 0328": "09 07 0400 02 0500 012A",
                "08 0500 0900 0328": "01 08 0500 0A",
            ], "2A01@0004/0005-0009[read] !malformedValue 2803@0002"),
        Transcript(
            "a declaration without a UUID", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 05 0200 02 0300", "08 0300 0900 0328": "01 08 0300 0A"],
            "!malformedValue 2803@0002"),
        Transcript(
            "a declaration that is too short", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 04 0200 02 03", "08 0300 0900 0328": "01 08 0300 0A"], "!malformedValue 2803@0002"
        ),
        Transcript(
            "a declaration without a value", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "09 02 0200", "08 0300 0900 0328": "01 08 0300 0A"], "!malformedValue 2803@0002"),
        Transcript(
            "an answer of another kind", within(0x0001, 0x0009),
            ["08 0100 0900 0328": "05 01 0200 0328"], "violation"),
        Transcript("a range that holds nothing is not asked about", within(0x0009, 0x0008), [:], "invalid"),
        Transcript("a range that begins at no handle is not asked about", within(0x0000, 0x0008), [:], "invalid"),
    ]

    /// Discover All Characteristic Descriptors, Core Vol 3 Part G §4.7.1.
    static let descriptors: [Transcript] = [
        Transcript(
            "descriptors of both widths are found until the range ends", descriptors(0x0004, 0x0007),
            [
                "04 0400 0700": "05 01 0400 0029 0500 0229",
                "04 0600 0700": "05 02 0600 \(longUUID)",
                "04 0700 0700": "05 01 0700 0129",
            ], "2900@0004 2902@0005 \(longName)@0006 2901@0007"),
        Transcript(
            "gaps are passed over until the server knows no more", mtu: 247, descriptors(0x0004, 0x0010),
            ["04 0400 1000": "05 01 0600 0229 0900 0129", "04 0A00 1000": "01 04 0A00 0A"], "2902@0006 2901@0009"),
        Transcript(
            "the last handle of all", descriptors(0xFFFE, 0xFFFF),
            ["04 FEFF FFFF": "05 01 FEFF 0129", "04 FFFF FFFF": "05 01 FFFF 0229"], "2901@FFFE 2902@FFFF"),
        Transcript("no descriptors is a result", descriptors(0x0004, 0x0010), ["04 0400 1000": "01 04 0400 0A"], ""),
        Transcript(
            "a refusal is handed on", descriptors(0x0004, 0x0010), ["04 0400 1000": "01 04 0400 06"], "refused 06"),
        Transcript(
            "a refusal in the middle is handed on", descriptors(0x0004, 0x0010),
            ["04 0400 1000": "05 01 0400 0229", "04 0500 1000": "01 04 0500 0E"], "refused 0E"),
        Transcript(
            "the same answer again leads nowhere", descriptors(0x0004, 0x0010),
            ["04 0400 1000": "05 01 0400 0229", "04 0500 1000": "05 01 0400 0229"],
            "2902@0004 !unexpectedHandle 2902@0004"),
        Transcript(
            "a handle twice", descriptors(0x0004, 0x0010),
            ["04 0400 1000": "05 01 0400 0229 0400 0129", "04 0500 1000": "01 04 0500 0A"],
            "2902@0004 !unexpectedHandle 2901@0004"),
        Transcript(
            "handles in the wrong order", descriptors(0x0004, 0x0010),
            ["04 0400 1000": "05 01 0500 0229 0400 0129", "04 0600 1000": "01 04 0600 0A"],
            "2902@0005 !unexpectedHandle 2901@0004"),
        Transcript(
            "a handle before the range", descriptors(0x0004, 0x0010), ["04 0400 1000": "05 01 0300 0229"],
            "!unexpectedHandle 2902@0003"),
        Transcript(
            "a handle behind the range", descriptors(0x0004, 0x0010), ["04 0400 1000": "05 01 1100 0229"],
            "!unexpectedHandle 2902@0011"),
        Transcript(
            "a handle behind the end", descriptors(0x0004, 0x0010),
            ["04 0400 1000": "05 01 1000 0229 1100 0129"], "2902@0010 !unexpectedHandle 2901@0011"),
        Transcript(
            "no handle", descriptors(0x0004, 0x0010), ["04 0400 1000": "05 01 0000 0229"], "!unexpectedHandle 2902@0000"
        ),
        Transcript(
            "an answer of another kind", descriptors(0x0004, 0x0010), ["04 0400 1000": "0B 01 0400 0229"], "violation"),
        Transcript("a range that holds nothing is not asked about", descriptors(0x0009, 0x0008), [:], "invalid"),
    ]

    @Test("characteristics of a range, Core Vol 3 Part G §4.6.1", arguments: characteristics)
    func discoverCharacteristics(_ transcript: Transcript) { transcript.check() }

    @Test("descriptors of a characteristic, Core Vol 3 Part G §4.7.1", arguments: descriptors)
    func discoverDescriptors(_ transcript: Transcript) { transcript.check() }
}
