import BluetoothGATT
import Testing

@Suite struct DatabaseDiscoveryTests {
    /// Core Vol 3 Part G §4.4.1, §4.6.1 and §4.7.1 combined.
    static let transcripts: [Transcript] = [
        Transcript("an empty database", DatabaseDiscovery(), ["10 0100 FFFF 0028": "01 10 0100 0A"], ""),
        Transcript(
            "services with no room for a declaration are not searched for one", DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0100 0018 0200 0300 0118 FFFF FFFF 0F18",
                // This gap may contain an include.
                "08 0300 0300 0228": "01 08 0300 0A",
                // Or a declaration whose value is outside.
                "08 0200 0300 0328": "01 08 0200 0A",
            ], "1800 0001-0001; 1801 0002-0003; 180F FFFF-FFFF"),
        Transcript(
            "services without room for a value are searched last", DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0200 0018 0300 0500 0118 0600 0700 0F18",
                "10 0800 FFFF 0028": "01 10 0800 0A",
                "08 0300 0500 0328": "09 07 0400 02 0500 052A",
                "08 0200 0700 0228": "01 08 0200 0A",
                "08 0600 0700 0328": "01 08 0600 0A",
                "08 0100 0200 0328": "01 08 0100 0A",
            ], "1800 0001-0002; 1801 0003-0005 2A05@0004/0005-0005[read]; 180F 0006-0007"),
        Transcript(
            "characteristics are found in one pass, and so are their configurations", DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0300 0018 0400 0700 0F18",
                "10 0800 FFFF 0028": "11 14 1000 1500 \(longUUID)",
                "10 1600 FFFF 0028": "01 10 1600 0A",
                "08 0100 1500 0328": "09 07 0200 0A 0300 002A 0500 12 0600 192A",
                "08 0600 1500 0328": "09 15 1100 20 1200 \(longUUID2)",
                "08 1200 1500 0328": "09 07 1400 04 1500 012A",
                "08 0700 1300 0229": "09 04 0700 0000 1300 0000",
            ],
            "1800 0001-0003 2A00@0002/0003-0003[read, write]; 180F 0004-0007 2A19@0005/0006-0007[read, notify]"
                + "(2902@0007); \(longName) 0010-0015 \(longName2)@0011/0012-0013[indicate](2902@0013) "
                + "2A01@0014/0015-0015[writeWithoutResponse]"),
        Transcript(
            "what does not follow from the declarations is asked for", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0F00 0018",
                "10 1000 FFFF 0028": "01 10 1000 0A",
                // One handle that is no CCCD, one that may be 2900, one that may be 2903, two handles.
                "08 0100 0F00 0328":
                    "09 07 0200 02 0300 002A 0500 90 0600 012A 0800 11 0900 022A 0B00 10 0C00 032A",
                "08 0C00 0F00 0328": "01 08 0C00 0A",
                "04 0400 0400": "05 01 0400 0129",
                "04 0700 0700": "05 01 0700 0029",
                "04 0A00 0A00": "05 01 0A00 0329",
                "04 0D00 0F00": "05 01 0D00 0229 0E00 0129",
                "04 0F00 0F00": "01 04 0F00 0A",
            ],
            "1800 0001-000F 2A00@0002/0003-0004[read](2901@0004) "
                + "2A01@0005/0006-0007[notify, extendedProperties](2900@0007) "
                + "2A02@0008/0009-000A[broadcast, notify](2903@000A) 2A03@000B/000C-000F[notify](2902@000D 2901@000E)"),
        Transcript(
            "the only descriptor of a characteristic that notifies is none that its properties require",
            DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0400 F0FF", "10 0500 FFFF 0028": "01 10 0500 0A",
                "08 0100 0400 0328": "09 07 0200 12 0300 F1FF", "04 0400 0400": "05 01 0400 0129",
            ], "FFF0 0001-0004 FFF1@0002/0003-0004[read, notify](2901@0004)"),
        Transcript(
            "where some configurations are missing, what is there instead is asked for", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0A00 F0FF", "10 0B00 FFFF 0028": "01 10 0B00 0A",
                "08 0100 0A00 0328": "09 07 0200 12 0300 F1FF 0500 12 0600 F2FF 0800 20 0900 F3FF",
                "08 0400 0A00 0229": "09 04 0700 0000", "08 0800 0A00 0229": "01 08 0800 0A",
                "04 0400 0400": "05 01 0400 0129", "04 0A00 0A00": "01 04 0A00 0A",
            ],
            "FFF0 0001-000A FFF1@0002/0003-0004[read, notify](2901@0004) FFF2@0005/0006-0007[read, notify](2902@0007) "
                + "FFF3@0008/0009-000A[indicate]"),
        Transcript(
            "configurations that may not be read are asked for one by one", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0700 F0FF", "10 0800 FFFF 0028": "01 10 0800 0A",
                "08 0100 0700 0328": "09 07 0200 12 0300 F1FF 0500 12 0600 F2FF",
                "08 0400 0700 0229": "01 08 0400 05", "04 0400 0400": "05 01 0400 0229",
                "04 0700 0700": "05 01 0700 0229",
            ],
            "FFF0 0001-0007 FFF1@0002/0003-0004[read, notify](2902@0004) FFF2@0005/0006-0007[read, notify](2902@0007)"),
        Transcript(
            "a last service without an end is asked about to the end", DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 FFFF 0018",
                "08 0100 FFFF 0328": "09 07 0200 02 0300 002A",
                "08 0300 FFFF 0328": "01 08 0300 0A",
                "04 0400 FFFF": "05 01 0500 0129",
                "04 0600 FFFF": "01 04 0600 0A",
            ], "1800 0001-FFFF 2A00@0002/0003-FFFF[read](2901@0005)"),
        Transcript(
            "characteristics in no primary service are dropped, and their descriptors not asked for", mtu: 247,
            DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0300 0018 2000 2300 0F18",
                "10 2400 FFFF 0028": "01 10 2400 0A",
                "08 0100 2300 0328": "09 07 0200 02 0300 002A 1100 02 1200 342A 1500 10 1600 352A 2100 10 2200 192A",
                "04 2300 2300": "05 01 2300 0229",
            ],
            "1800 0001-0003 2A00@0002/0003-0003[read]; 180F 0020-0023 2A19@0021/0022-0023[notify](2902@0023)"),
        Transcript(
            "a characteristic whose value lies behind the end of its service is dropped", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0400 0018 0500 0900 0F18",
                "10 0A00 FFFF 0028": "01 10 0A00 0A",
                "08 0100 0900 0328": "09 07 0200 02 0300 002A 0400 10 0600 012A 0700 02 0800 192A",
                "08 0600 0600 0228": "01 08 0600 0A",
                "04 0900 0900": "01 04 0900 0A",
            ],
            "1800 0001-0004 2A00@0002/0003-0003[read]; 180F 0005-0009 2A19@0007/0008-0009[read] "
                + "!valueOutside 2803@0004/0006-0006 2A01"),
        Transcript(
            "as the only one of a service of two handles it is reported as well", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0300 0018 0400 0500 0F18",
                "10 0600 FFFF 0028": "01 10 0600 0A",
                "08 0100 0300 0328": "09 07 0200 02 0300 002A",
                "08 0500 0500 0228": "01 08 0500 0A",
                "08 0400 0500 0328": "09 07 0500 02 0600 192A",
            ],
            "1800 0001-0003 2A00@0002/0003-0003[read]; 180F 0004-0005 !valueOutside 2803@0005/0006-0006 2A19"),
        Transcript(
            "in the only service, of two handles", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0400 0500 0F18",
                "10 0600 FFFF 0028": "01 10 0600 0A",
                "08 0500 0500 0228": "01 08 0500 0A",
                "08 0400 0500 0328": "09 07 0500 02 0600 192A",
            ], "180F 0004-0005 !valueOutside 2803@0005/0006-0006 2A19"),
        Transcript(
            "a characteristic declared where a service is declared is dropped with what it covers", mtu: 247,
            DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0300 0018 0600 0800 0F18",
                "10 0900 FFFF 0028": "01 10 0900 0A",
                "08 0100 0800 0328": "09 07 0200 02 0300 002A 0400 10 0600 012A",
                "08 0500 0800 0328": "09 07 0600 12 0700 022A",
                "08 0700 0800 0228": "01 08 0700 0A",
            ],
            "1800 0001-0003 2A00@0002/0003-0003[read]; 180F 0006-0008 !valueOutside 2803@0004/0006-0006 2A01 "
                + "!misplaced 2803@0006/0007-0007 2A02"),
        Transcript(
            "a refusal of the services", DatabaseDiscovery(), ["10 0100 FFFF 0028": "01 10 0100 0E"], "refused 0E"),
        Transcript(
            "a refusal of the characteristics", DatabaseDiscovery(),
            ["10 0100 FFFF 0028": "11 06 0100 FFFF 0018", "08 0100 FFFF 0328": "01 08 0100 0E"], "refused 0E"),
        Transcript(
            "a refusal of descriptors", DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 FCFF FFFF 0018", "08 FCFF FFFF 0328": "09 07 FDFF 02 FEFF 002A",
                "04 FFFF FFFF": "01 04 FFFF 0E",
            ], "refused 0E"),
        Transcript(
            "services that cannot be", DatabaseDiscovery(),
            ["10 0100 FFFF 0028": "11 06 0500 0400 0018", "10 0600 FFFF 0028": "01 10 0600 0A"],
            "!invalidRange 2800@0005/0005-0004 1800"),
        Transcript(
            "characteristics that cannot be", DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 FFFF 0018", "08 0100 FFFF 0328": "09 07 0200 02 0200 002A",
                "08 0300 FFFF 0328": "01 08 0300 0A", "08 0200 FFFF 0228": "01 08 0200 0A",
            ], "1800 0001-FFFF !invalidValueHandle 2803@0002/0002-0002 2A00"),
        Transcript(
            "descriptors that cannot be", DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 FCFF FFFF 0018", "08 FCFF FFFF 0328": "09 07 FDFF 02 FEFF 002A",
                "04 FFFF FFFF": "05 01 FEFF 0129",
            ], "1800 FFFC-FFFF 2A00@FFFD/FFFE-FFFF[read] !unexpectedHandle 2901@FFFE"),
        Transcript(
            "an answer of the phase before", DatabaseDiscovery(),
            ["10 0100 FFFF 0028": "11 06 0100 FFFF 0018", "08 0100 FFFF 0328": "11 06 0100 FFFF 0018"], "violation"),
    ]

    @Test("a whole database is discovered", arguments: transcripts)
    func discovery(_ transcript: Transcript) { transcript.check() }
}
