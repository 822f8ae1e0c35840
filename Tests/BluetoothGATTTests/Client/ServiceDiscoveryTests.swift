import BluetoothGATT
import Testing

/// 27ADC9CA-35EB-465A-9154-B8FF9076F3E8 and its two neighbours in wire order.
let longUUID = "E8F37690FFB854915A46EB35CAC9AD27"
let longUUID2 = "E8F37690FFB854915A46EB35CBC9AD27"
let longName = "27ADC9CA-35EB-465A-9154-B8FF9076F3E8"
let longName2 = "27ADC9CB-35EB-465A-9154-B8FF9076F3E8"

@Suite struct ServiceDiscoveryTests {
    /// Discover All Primary Services, Core Vol 3 Part G §4.4.1.
    static let all: [Transcript] = [
        Transcript(
            "services of both widths are found until the server knows no more", ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0500 0018 0600 0900 0118 0A00 0E00 0D18",
                "10 0F00 FFFF 0028": "11 14 0F00 1400 \(longUUID)",
                "10 1500 FFFF 0028": "01 10 1500 0A",
            ], "1800 0001-0005; 1801 0006-0009; 180D 000A-000E; \(longName) 000F-0014"),
        Transcript(
            "the first answer is enough only for a UUID", ServiceDiscovery(isFirstOnly: true),
            [
                "10 0100 FFFF 0028": "11 06 0100 0500 0018",
                "10 0600 FFFF 0028": "11 14 0600 FFFF \(longUUID)",
            ], "1800 0001-0005; \(longName) 0006-FFFF"),
        Transcript(
            "a larger ATT_MTU brings more services in an answer", mtu: 247, ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": """
                11 06 0100 0100 0118 0200 0200 0218 0300 0300 0318 0400 0400 0418
                """,
                "10 0500 FFFF 0028": "11 14 0500 0600 \(longUUID) 0800 0900 \(longUUID2)",
                "10 0A00 FFFF 0028": "01 10 0A00 0A",
            ],
            "1801 0001-0001; 1802 0002-0002; 1803 0003-0003; 1804 0004-0004; \(longName) 0005-0006; "
                + "\(longName2) 0008-0009"),
        Transcript(
            "a group that ends at 0xFFFF ends it", ServiceDiscovery(),
            ["10 0100 FFFF 0028": "11 06 0100 0500 0018 1000 FFFF 0118"], "1800 0001-0005; 1801 0010-FFFF"),
        Transcript(
            "a service can be at 0xFFFF", ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 FEFF 0018",
                "10 FFFF FFFF 0028": "11 06 FFFF FFFF 0118",
            ], "1800 0001-FFFE; 1801 FFFF-FFFF"),
        Transcript(
            "0xFFFF is asked about when nothing has been found there", ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 FEFF 0018",
                "10 FFFF FFFF 0028": "01 10 FFFF 0A",
            ], "1800 0001-FFFE"),
        Transcript(
            "gaps are passed over", ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 2000 2500 0018 4000 4100 0118",
                "10 4200 FFFF 0028": "01 10 4200 0A",
            ], "1800 0020-0025; 1801 0040-0041"),
        Transcript("no services is a result", ServiceDiscovery(), ["10 0100 FFFF 0028": "01 10 0100 0A"], ""),
        Transcript(
            "every server knows primary services", ServiceDiscovery(), ["10 0100 FFFF 0028": "01 10 0100 10"],
            "refused 10"),
        Transcript(
            "a refusal is handed on", ServiceDiscovery(), ["10 0100 FFFF 0028": "01 10 0100 0E"], "refused 0E"),
        Transcript(
            "a refusal in the middle is handed on", ServiceDiscovery(),
            ["10 0100 FFFF 0028": "11 06 0100 0500 0018", "10 0600 FFFF 0028": "01 10 0600 11"], "refused 11"),
        Transcript(
            "the same answer again leads nowhere", ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0500 0018",
                "10 0600 FFFF 0028": "11 06 0100 0500 0018",
            ], "1800 0001-0005 !unexpectedHandle 2800@0001/0001-0005 1800"),
        Transcript(
            "services that overlap", ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0500 0018 0500 0900 0118",
                "10 0A00 FFFF 0028": "01 10 0A00 0A",
            ], "1800 0001-0004; 1801 0005-0009 !overlap 2800@0001/0001-0005 1800"),
        Transcript(
            "services that all reach to the end", ServiceDiscovery(),
            ["10 0100 FFFF 0028": "11 06 0100 FFFF 0018 0500 FFFF 0118 0900 FFFF 0F18"],
            "1800 0001-0004; 1801 0005-0008; 180F 0009-FFFF !overlap 2800@0001/0001-FFFF 1800 "
                + "!overlap 2800@0005/0005-FFFF 1801"),
        Transcript(
            "a service around another, which is followed by a third", ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 2000 0018 0500 0800 0118",
                "10 0900 FFFF 0028": "11 06 0900 FFFF 0F18",
            ], "1800 0001-0004; 1801 0005-0008; 180F 0009-FFFF !overlap 2800@0001/0001-0020 1800"),
        Transcript(
            "a service at the same handle as another", ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0500 0018 0100 0900 0118",
                "10 0600 FFFF 0028": "01 10 0600 0A",
            ], "1800 0001-0005 !unexpectedHandle 2800@0001/0001-0009 1801"),
        Transcript(
            "services in the wrong order", ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0600 0900 0118 0100 0500 0018",
                "10 0A00 FFFF 0028": "01 10 0A00 0A",
            ], "1801 0006-0009 !unexpectedHandle 2800@0001/0001-0005 1800"),
        Transcript(
            "a service that ends before it begins", ServiceDiscovery(),
            ["10 0100 FFFF 0028": "11 06 0500 0400 0018", "10 0600 FFFF 0028": "11 06 0600 FFFF 0118"],
            "1801 0006-FFFF !invalidRange 2800@0005/0005-0004 1800"),
        Transcript(
            "a service that ends at no handle, in one that reaches beyond it", ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 0900 0018 0500 0000 0118",
                "10 0600 FFFF 0028": "01 10 0600 0A",
            ], "1800 0001-0004 !overlap 2800@0001/0001-0009 1800 !invalidRange 2800@0005/0005-0000 1801"),
        Transcript(
            "a service at no handle", ServiceDiscovery(), ["10 0100 FFFF 0028": "11 06 0000 0400 0018"],
            "!unexpectedHandle 2800@0000/0000-0004 1800"),
        Transcript(
            "a service at no handle beside another", ServiceDiscovery(),
            ["10 0100 FFFF 0028": "11 06 0000 0400 0018 0500 FFFF 0118"],
            "1801 0005-FFFF !unexpectedHandle 2800@0000/0000-0004 1800"),
        Transcript(
            "a service behind the last handle", ServiceDiscovery(),
            [
                "10 0100 FFFF 0028": "11 06 0100 FFFF 0018 0200 0300 0118",
                "10 0400 FFFF 0028": "01 10 0400 0A",
            ], "1800 0001-0001; 1801 0002-0003 !overlap 2800@0001/0001-FFFF 1800"),
        Transcript(
            "a service without a UUID", ServiceDiscovery(),
            ["10 0100 FFFF 0028": "11 04 0100 0400", "10 0500 FFFF 0028": "11 06 0500 FFFF 0118"],
            "1801 0005-FFFF !malformedValue 2800@0001/0001-0004"),
        Transcript(
            "a UUID of four bytes", ServiceDiscovery(),
            ["10 0100 FFFF 0028": "11 08 0100 0400 0D180000", "10 0500 FFFF 0028": "01 10 0500 0A"],
            "!malformedValue 2800@0001/0001-0004"),
        Transcript(
            "an answer of another kind", ServiceDiscovery(), ["10 0100 FFFF 0028": "07 0100 0400"], "violation"),
        Transcript("an unknown PDU", ServiceDiscovery(), ["10 0100 FFFF 0028": "3F 0100"], "violation"),
        Transcript("a request that does not fit", mtu: 6, ServiceDiscovery(), [:], "invalid"),
    ]

    /// Discover Primary Service by Service UUID, Core Vol 3 Part G §4.4.2.
    static let byUUID: [Transcript] = [
        Transcript(
            "a 16-bit UUID is asked about in 16 bits", ServiceDiscovery(uuid: 0x180F),
            [
                "06 0100 FFFF 0028 0F18": "07 0400 0700 0B00 0E00",
                "06 0F00 FFFF 0028 0F18": "01 06 0F00 0A",
            ], "180F 0004-0007; 180F 000B-000E"),
        Transcript(
            "the first answer can be enough", ServiceDiscovery(uuid: 0x180F, isFirstOnly: true),
            ["06 0100 FFFF 0028 0F18": "07 0400 0700"], "180F 0004-0007"),
        Transcript(
            "a 128-bit UUID just fits into the least ATT_MTU",
            ServiceDiscovery(uuid: "27ADC9CA-35EB-465A-9154-B8FF9076F3E8"),
            [
                "06 0100 FFFF 0028 \(longUUID)": "07 1000 1500",
                "06 1600 FFFF 0028 \(longUUID)": "01 06 1600 0A",
            ], "\(longName) 0010-0015"),
        Transcript(
            "a 32-bit UUID is asked about in 128 bits", ServiceDiscovery(uuid: 0x1234_5678),
            ["06 0100 FFFF 0028 FB349B5F80000080 00100000 78563412": "07 1000 FFFF"], "12345678 0010-FFFF"),
        Transcript(
            "a UUID on the base is asked about in 16 bits however it is written",
            ServiceDiscovery(uuid: "0000180F-0000-1000-8000-00805F9B34FB"),
            ["06 0100 FFFF 0028 0F18": "07 FFFF FFFF"], "180F FFFF-FFFF"),
        Transcript(
            "no such service is a result", mtu: 247, ServiceDiscovery(uuid: 0x180F),
            ["06 0100 FFFF 0028 0F18": "01 06 0100 0A"], ""),
        Transcript(
            "a refusal is handed on", ServiceDiscovery(uuid: 0x180F),
            ["06 0100 FFFF 0028 0F18": "01 06 0100 06"], "refused 06"),
        Transcript(
            "the same answer again leads nowhere", ServiceDiscovery(uuid: 0x180F),
            ["06 0100 FFFF 0028 0F18": "07 0400 0700", "06 0800 FFFF 0028 0F18": "07 0400 0700"],
            "180F 0004-0007 !unexpectedHandle 2800@0004/0004-0007 180F"),
        Transcript(
            "services that overlap", ServiceDiscovery(uuid: 0x180F),
            ["06 0100 FFFF 0028 0F18": "07 0400 0700 0700 0900", "06 0A00 FFFF 0028 0F18": "01 06 0A00 0A"],
            "180F 0004-0006; 180F 0007-0009 !overlap 2800@0004/0004-0007 180F"),
        Transcript(
            "a service that ends before it begins", ServiceDiscovery(uuid: 0x180F),
            ["06 0100 FFFF 0028 0F18": "07 0400 0300", "06 0500 FFFF 0028 0F18": "01 06 0500 0A"],
            "!invalidRange 2800@0004/0004-0003 180F"),
        Transcript(
            "a service at no handle", ServiceDiscovery(uuid: 0x180F),
            ["06 0100 FFFF 0028 0F18": "07 0000 0300"], "!unexpectedHandle 2800@0000/0000-0003 180F"),
        Transcript(
            "an answer of another kind", ServiceDiscovery(uuid: 0x180F),
            ["06 0100 FFFF 0028 0F18": "11 06 0100 0500 0F18"], "violation"),
    ]

    @Test("all primary services, Core Vol 3 Part G §4.4.1", arguments: all)
    func discoverAll(_ transcript: Transcript) { transcript.check() }

    @Test("services by their UUID, Core Vol 3 Part G §4.4.2", arguments: byUUID)
    func discoverByUUID(_ transcript: Transcript) { transcript.check() }
}
