import BluetoothATT
import BluetoothGATT
import Testing

/// Invalid declarations in the discovery of a whole database, and its limit.
@Suite struct DatabaseProblemTests {
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
        let reasons = DatabaseProblem.Reason.Kind.allCases.map { DatabaseProblem.Reason($0) }
        let texts = reasons.map {
            "\(DatabaseProblem($0, .characteristic, at: 5, declared: AttributeHandleRange(start: 0, end: 0), uuid: 0x2A19))"
        }
        #expect(Set(texts).count == reasons.count)
        #expect("\(DatabaseProblem.Reason.valueOutside)" == "valueOutside")
        #expect(
            texts[3] == "characteristic 2A19 at 0x0005: its value handle 0x0000 does not follow the declaration")
    }
}
