import BluetoothGATT
import Testing

/// Included and secondary services in the discovery of a whole database.
@Suite struct DatabaseIncludeTests {
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

    @Test("included and secondary services are discovered, Core Vol 3 Part G §4.5.1", arguments: includes)
    func includeDiscovery(_ transcript: Transcript) { transcript.check() }
}
