import BluetoothATT
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

    /// Core Vol 3 Part G §4.5.1 within a complete discovery.
    static let includes: [Transcript] = [
        Transcript(
            "an include of a primary service takes one request, as its UUID is known", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0400 0018 0500 FFFF 0F18",
                "08 0100 FFFF 0328": "09 07 0300 02 0400 002A 0600 02 0700 192A",
                "08 0700 FFFF 0328": "01 08 0700 0A",
                "08 0200 0200 0228": "09 08 0200 0500 FFFF 0F18",
                "04 0800 FFFF": "01 04 0800 0A",
            ], "1800 0001-0004 →180F@0002/0005-FFFF 2A00@0003/0004-0004[read]; 180F 0005-FFFF 2A19@0006/0007-FFFF[read]"
        ),
        Transcript(
            "a primary service with a UUID of 128 bits need not be read", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0400 0018", "10 0500 FFFF 0028": "11 14 0500 FFFF \(longUUID)",
                "08 0100 FFFF 0328": "09 07 0300 02 0400 002A 0600 02 0700 192A",
                "08 0700 FFFF 0328": "01 08 0700 0A",
                // The include has another end handle than the service declaration, whose end applies.
                "08 0200 0200 0228": "09 06 0200 0500 0700",
                "04 0800 FFFF": "01 04 0800 0A",
            ],
            "1800 0001-0004 →\(longName)@0002/0005-0007 2A00@0003/0004-0004[read]; "
                + "\(longName) 0005-FFFF 2A19@0006/0007-FFFF[read]"
        ),
        Transcript(
            "handles that are free between declaration and first characteristic are asked about in one pass", mtu: 247,
            DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0500 0018 1000 1200 0118 2000 FFFF 0F18",
                "08 0100 FFFF 0328": "09 07 0400 02 0500 002A 1100 02 1200 052A 2300 02 FFFF 192A",
                // The value does not follow its declaration directly, so that its handle may be wrong.
                "08 2400 FFFF 0328": "01 08 2400 0A",
                "08 0200 2200 0228": "09 08 0200 1000 1200 0118",
                "08 0300 2200 0228": "09 08 2200 1000 1200 0118",
            ],
            "1800 0001-0005 →1801@0002/0010-0012 2A00@0004/0005-0005[read]; 1801 0010-0012 2A05@0011/0012-0012[read]; "
                + "180F 0020-FFFF →1801@0022/0010-0012 2A19@0023/FFFF-FFFF[read]"
        ),
        Transcript(
            "a walk goes on at the next place with room for an include", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0400 0018 2000 FFFF 0F18",
                "08 0100 FFFF 0328": "09 07 0300 02 0400 002A 2200 02 FFFF 192A",
                "08 2300 FFFF 0328": "01 08 2300 0A",
                "08 0200 2100 0228": "09 08 0200 2000 FFFF 0F18",
                "08 2100 2100 0228": "01 08 2100 0A",
            ], "1800 0001-0004 →180F@0002/0020-FFFF 2A00@0003/0004-0004[read]; 180F 0020-FFFF 2A19@0022/FFFF-FFFF[read]"
        ),
        Transcript(
            "secondary services between, before and behind the primary ones, one of which includes another", mtu: 247,
            DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 1000 1400 0018 2000 2200 0F18",
                "10 2300 FFFF 0028": "01 10 2300 0A",
                "08 1000 2200 0328": "09 07 1300 02 1400 002A 1900 02 1A00 342A 2100 02 2200 192A",
                "08 1100 1200 0228": "09 08 1100 1800 1A00 3412", "08 1200 1200 0228": "09 08 1200 3000 3300 3512",
                "08 2300 3300 0328": "09 07 3200 02 3300 352A",
                // The service in between has been searched already; the one after it has room for an include.
                "08 3100 3100 0228": "09 06 3100 0100 0300", "0A 0100": "0B \(longUUID)",
                "08 0100 0F00 0328": "09 07 0200 10 0300 362A", "08 0300 0F00 0328": "01 08 0300 0A",
            ],
            "secondary \(longName) 0001-0003 2A36@0002/0003-0003[notify]; "
                + "1800 0010-0014 →1234@0011/0018-001A →1235@0012/0030-0033 2A00@0013/0014-0014[read]; "
                + "secondary 1234 0018-001A 2A34@0019/001A-001A[read]; 180F 0020-0022 2A19@0021/0022-0022[read]; "
                + "secondary 1235 0030-0033 →\(longName)@0031/0001-0003 2A35@0032/0033-0033[read]"),
        Transcript(
            "secondary services of primary ones that have no characteristic", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0200 0018 FFFF FFFF 0F18",
                "08 0200 0200 0228": "09 08 0200 1000 1200 3412", "08 1000 1200 0328": "09 07 1100 02 1200 342A",
            ], "1800 0001-0002 →1234@0002/0010-0012; secondary 1234 0010-0012 2A34@0011/0012-0012[read]; 180F FFFF-FFFF"
        ),
        Transcript(
            "an include of itself, and two of one another", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0300 0018 FFFF FFFF 0F18",
                "08 0100 0300 0328": "01 08 0100 0A",
                "08 0200 0300 0228": "09 08 0200 0100 0300 0018 0300 1000 1100 3412",
                "08 1100 1100 0228": "09 08 1100 0100 0300 0018",
            ],
            "1800 0001-0003 →1800@0002/0001-0003 →1234@0003/0010-0011; secondary 1234 0010-0011 →1800@0011/0001-0003; "
                + "180F FFFF-FFFF"),
        Transcript(
            "includes of what overlaps a service, or lies in none, are left out", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0200 0900 0018 2000 2200 0F18",
                "10 2300 FFFF 0028": "01 10 2300 0A",
                "08 0200 2200 0328": "09 07 0800 02 0900 002A 2100 02 2200 192A",
                // Into a service, around one, around the end of a secondary one, and outside all services.
                "08 0300 0700 0228":
                    "09 08 0300 0400 0600 3412 0400 1F00 2400 3412 0500 1000 1200 3512 0600 1200 1300 3612",
                "08 0700 0700 0228": "01 08 0700 0A", "08 1100 1200 0228": "01 08 1100 0A",
            ],
            "1800 0002-0009 →1235@0005/0010-0012 2A00@0008/0009-0009[read]; secondary 1235 0010-0012; "
                + "180F 0020-0022 2A19@0021/0022-0022[read] !overlap 2802@0003/0004-0006 1234 "
                + "!overlap 2802@0004/001F-0024 1234 !overlap 2802@0006/0012-0013 1236"),
        Transcript(
            "a secondary service that cannot be read is left out", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0400 0018 FFFF FFFF 0F18",
                "08 0100 0400 0328": "01 08 0100 0A",
                "08 0200 0400 0228": "09 06 0200 1000 1200 0300 1000 1200 0400 2000 2100",
                "0A 1000": "01 0A 1000 0F", "0A 2000": "0B 010203",
            ],
            "1800 0001-0004; 180F FFFF-FFFF !unreadable 2802@0002/0010-0012 !unreadable 2802@0003/0010-0012 "
                + "!unreadable 2802@0004/0020-0021"),
        Transcript(
            "a refusal of the includes", DatabaseDiscovery(),
            ["10 0100 FFFF 0028": "11 06 FEFF FFFF 0018", "08 FFFF FFFF 0228": "01 08 FFFF 0E"], "refused 0E"),
        Transcript(
            "an include that cannot be", DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 FEFF FFFF 0018", "08 FFFF FFFF 0228": "09 08 FFFF 0500 0400 0018",
                "08 FEFF FFFF 0328": "01 08 FEFF 0A",
            ],
            "1800 FFFE-FFFF !invalidRange 2802@FFFF/0005-0004 1800"),
    ]

    /// A heart rate sensor with frequent firmware defects: one declaration is invalid, and everything else is found.
    static let problems: [Transcript] = [
        Transcript(
            "a value at no handle", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0300 0018 0400 0800 0D18", "10 0900 FFFF 0028": "01 10 0900 0A",
                "08 0100 0800 0328": "09 07 0200 02 0300 002A 0500 02 0000 372A 0700 02 0800 382A",
                // The place of the declaration left out may be an include's.
                "08 0500 0600 0228": "01 08 0500 0A",
            ],
            "1800 0001-0003 2A00@0002/0003-0003[read]; 180D 0004-0008 2A38@0007/0008-0008[read] "
                + "!invalidValueHandle 2803@0005/0000-0000 2A37"),
        Transcript(
            "a value in its own declaration", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0300 0018 0400 0800 0D18", "10 0900 FFFF 0028": "01 10 0900 0A",
                "08 0100 0800 0328": "09 07 0200 02 0200 002A 0500 12 0600 372A 0700 02 0800 382A",
                "08 0200 0300 0228": "01 08 0200 0A",
            ],
            "1800 0001-0003; 180D 0004-0008 2A37@0005/0006-0006[read, notify] 2A38@0007/0008-0008[read] "
                + "!invalidValueHandle 2803@0002/0002-0002 2A00"),
        Transcript(
            "the end of the last group is one too low", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0300 0018 0400 0700 0D18", "10 0800 FFFF 0028": "01 10 0800 0A",
                "08 0100 0700 0328": "09 07 0200 02 0300 002A 0500 02 0600 372A 0700 02 0800 382A",
            ],
            "1800 0001-0003 2A00@0002/0003-0003[read]; 180D 0004-0007 2A37@0005/0006-0006[read] "
                + "!valueOutside 2803@0007/0008-0008 2A38"),
        Transcript(
            "a value in the next service, one declaration an answer", DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0300 0018 0400 0800 0D18", "10 0900 FFFF 0028": "01 10 0900 0A",
                "08 0100 0800 0328": "09 07 0200 02 0800 002A", "08 0300 0800 0328": "09 07 0500 02 0600 372A",
                "08 0600 0800 0328": "09 07 0700 02 0800 382A", "08 0200 0300 0228": "01 08 0200 0A",
            ],
            "1800 0001-0003; 180D 0004-0008 2A37@0005/0006-0006[read] 2A38@0007/0008-0008[read] "
                + "!valueOutside 2803@0002/0008-0008 2A00"),
        Transcript(
            "services that overlap, with a characteristic each", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0600 0018 0400 FFFF 0D18",
                "08 0100 FFFF 0328": "09 07 0200 02 0300 002A 0500 02 FFFF 372A", "08 0600 FFFF 0328": "01 08 0600 0A",
            ],
            "1800 0001-0003 2A00@0002/0003-0003[read]; 180D 0004-FFFF 2A37@0005/FFFF-FFFF[read] "
                + "!overlap 2800@0001/0001-0006 1800"),
        Transcript(
            "a server that answers with its last service for ever", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0300 0018", "10 0400 FFFF 0028": "11 06 0100 0300 0018",
                "08 0100 0300 0328": "09 07 0200 02 0300 002A",
            ], "1800 0001-0003 2A00@0002/0003-0003[read] !unexpectedHandle 2800@0001/0001-0003 1800"),
        Transcript(
            "a server that answers with its last characteristic and descriptor for ever", mtu: 247,
            DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0800 0018", "10 0900 FFFF 0028": "01 10 0900 0A",
                "08 0100 0800 0328": "09 07 0200 02 0300 002A", "08 0300 0800 0328": "09 07 0200 02 0300 002A",
                "04 0400 0800": "05 01 0400 0129", "04 0500 0800": "05 01 0400 0129",
            ],
            "1800 0001-0008 2A00@0002/0003-0008[read](2901@0004) !unexpectedHandle 2803@0002 "
                + "!unexpectedHandle 2901@0004"),
        Transcript(
            "a declaration without a UUID, and one with half of one", mtu: 247, DatabaseDiscovery(),
            [
                "10 0100 FFFF 0028": "11 04 0100 0300", "10 0400 FFFF 0028": "11 06 0400 0800 0D18",
                "10 0900 FFFF 0028": "01 10 0900 0A",
                "08 0400 0800 0328": "09 0D 0500 02 0600 0102030405060708",
                "08 0600 0800 0328": "09 07 0700 02 0800 382A",
                "08 0500 0600 0228": "01 08 0500 0A",
            ],
            "180D 0004-0008 2A38@0007/0008-0008[read] !malformedValue 2800@0001/0001-0003 !malformedValue 2803@0005"),
    ]

    /// With too few requests the results so far are returned, with a problem.
    static let limits: [Transcript] = [
        Transcript(
            "among the services", DatabaseDiscovery(requestLimit: 1), ["10 0100 FFFF 0028": "11 06 0100 0300 0018"],
            "1800 0001-0003 !tooManyRequests 2800@0004"),
        Transcript(
            "before the characteristics", DatabaseDiscovery(requestLimit: 1),
            ["10 0100 FFFF 0028": "11 06 0100 FFFF 0018"], "1800 0001-FFFF !tooManyRequests 2803@0001"),
        Transcript(
            "among the characteristics", DatabaseDiscovery(requestLimit: 2),
            [
                "10 0100 FFFF 0028": "11 06 0100 FFFF 0018",
                "08 0100 FFFF 0328": "09 07 0200 12 0300 002A 0500 02 0600 012A",
            ],
            "1800 0001-FFFF 2A00@0002/0003-0004[read, notify] 2A01@0005/0006-FFFF[read] "
                + "!tooManyRequests 2803@0006"),
        Transcript(
            "among the includes", DatabaseDiscovery(requestLimit: 2),
            ["10 0100 FFFF 0028": "11 06 FDFF FFFF 0018", "08 FDFF FFFF 0328": "01 08 FDFF 0A"],
            "1800 FFFD-FFFF !tooManyRequests 2802@FFFE"),
        Transcript(
            "before what an include leads to", DatabaseDiscovery(requestLimit: 2),
            ["10 0100 FFFF 0028": "11 06 FEFF FFFF 0018", "08 FFFF FFFF 0228": "09 08 FFFF 0100 0300 3412"],
            "secondary 1234 0001-0003; 1800 FFFE-FFFF →1234@FFFF/0001-0003 !tooManyRequests 2803@0001"),
        Transcript(
            "among the configurations", DatabaseDiscovery(requestLimit: 3),
            [
                "10 0100 FFFF 0028": "11 06 F9FF FFFF 0018",
                "08 F9FF FFFF 0328": "09 07 FAFF 10 FBFF 002A FDFF 10 FEFF 012A",
                "08 FCFF FFFF 0229": "09 04 FCFF 0000",
            ],
            "1800 FFF9-FFFF 2A00@FFFA/FFFB-FFFC[notify](2902@FFFC) 2A01@FFFD/FFFE-FFFF[notify] "
                + "!tooManyRequests 2902@FFFD"),
        Transcript(
            "among the descriptors", DatabaseDiscovery(requestLimit: 3),
            [
                "10 0100 FFFF 0028": "11 06 F4FF FFFF 0018",
                "08 F4FF FFFF 0328": "09 07 F5FF 02 F6FF 002A FAFF 12 FBFF 012A FDFF 02 FEFF 022A",
                "04 F7FF F9FF": "05 01 F7FF 0129",
            ],
            "1800 FFF4-FFFF 2A00@FFF5/FFF6-FFF9[read](2901@FFF7) 2A01@FFFA/FFFB-FFFC[read, notify] "
                + "2A02@FFFD/FFFE-FFFF[read] !tooManyRequests 2803@FFF8"),
    ]

    @Test("invalid declarations are problems, and the valid ones are found", arguments: problems)
    func problem(_ transcript: Transcript) { transcript.check() }

    @Test("a discovery ends at its limit with the results so far", arguments: limits)
    func limit(_ transcript: Transcript) { transcript.check() }

    @Test("every kind of problem has a description of its own")
    func words() {
        let reasons = DatabaseProblem.Reason.allCases
        let texts = reasons.map {
            "\(DatabaseProblem($0, .characteristic, at: 5, declared: AttributeHandleRange(start: 0, end: 0), uuid: 0x2A19))"
        }
        #expect(Set(texts).count == reasons.count)
        #expect(
            texts[3] == "characteristic 2A19 at 0x0005: its value handle 0x0000 does not follow the declaration")
    }

    @Test("included and secondary services are discovered, Core Vol 3 Part G §4.5.1", arguments: includes)
    func includeDiscovery(_ transcript: Transcript) { transcript.check() }

    @Test("a whole database is discovered", arguments: transcripts)
    func discovery(_ transcript: Transcript) { transcript.check() }
}
