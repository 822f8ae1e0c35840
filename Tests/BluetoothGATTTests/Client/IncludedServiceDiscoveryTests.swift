import BluetoothATT
import BluetoothGATT
import Testing

@Suite struct IncludedServiceDiscoveryTests {
    private static let service = AttributeHandleRange(start: 0x0001, end: 0x0008)

    /// Find Included Services, Core Vol 3 Part G §4.5.1.
    static let transcripts: [Transcript] = [
        Transcript("none", IncludedServiceDiscovery(in: service), ["08 0100 0800 0228": "01 08 0100 0A"], ""),
        Transcript(
            "two in one answer, and no more", IncludedServiceDiscovery(in: service),
            [
                "08 0100 0800 0228": "09 08 0200 1000 1200 0F18 0300 2000 2200 0A18",
                "08 0400 0800 0228": "01 08 0400 0A",
            ], "→180F@0002/0010-0012 →180A@0003/0020-0022"),
        Transcript(
            "the last handle of the service ends it", IncludedServiceDiscovery(in: service),
            ["08 0100 0800 0228": "09 08 0800 1000 1200 0F18"], "→180F@0008/0010-0012"),
        Transcript(
            "a UUID of 128 bits is read", IncludedServiceDiscovery(in: service),
            [
                "08 0100 0800 0228": "09 06 0200 1000 1200", "08 0300 0800 0228": "09 08 0300 2000 2200 0A18",
                "08 0400 0800 0228": "01 08 0400 0A", "0A 1000": "0B \(longUUID)",
            ], "→\(longName)@0002/0010-0012 →180A@0003/0020-0022"),
        Transcript(
            "a UUID of 128 bits is read once", IncludedServiceDiscovery(in: service),
            [
                "08 0100 0800 0228": "09 06 0200 1000 1200 0300 2000 2200 0400 1000 1200",
                "08 0500 0800 0228": "01 08 0500 0A", "0A 1000": "0B \(longUUID)", "0A 2000": "0B \(longUUID2)",
            ], "→\(longName)@0002/0010-0012 →\(longName2)@0003/0020-0022 →\(longName)@0004/0010-0012"),
        Transcript(
            "a UUID that is known is not read",
            IncludedServiceDiscovery(
                in: service,
                knowing: [RemoteService(uuid: 0x1234_5678, handles: AttributeHandleRange(start: 0x10, end: 0x12))]),
            ["08 0100 0800 0228": "09 06 0800 1000 1200"], "→12345678@0008/0010-0012"),
        Transcript(
            "a service that the server does not let be read is left out, and not asked for again",
            IncludedServiceDiscovery(in: service),
            [
                "08 0100 0800 0228": "09 06 0200 1000 1200 0300 1000 1200 0800 2000 2200",
                "0A 1000": "01 0A 1000 02", "0A 2000": "0B \(longUUID)",
            ],
            "→\(longName)@0008/0020-0022 !unreadable 2802@0002/0010-0012 !unreadable 2802@0003/0010-0012"),
        Transcript(
            "a service whose declaration is none is left out", IncludedServiceDiscovery(in: service),
            ["08 0100 0800 0228": "09 06 0800 1000 1200", "0A 1000": "0B 010203"],
            "!unreadable 2802@0008/0010-0012"),
        Transcript(
            "a refusal is handed on", IncludedServiceDiscovery(in: service),
            ["08 0100 0800 0228": "01 08 0100 05"], "refused 05"),
        Transcript(
            "a range that holds nothing", IncludedServiceDiscovery(in: AttributeHandleRange(start: 2, end: 1)), [:],
            "invalid"),
        Transcript(
            "handles that go back", IncludedServiceDiscovery(in: service),
            [
                "08 0100 0800 0228": "09 08 0300 1000 1200 0F18 0200 2000 2200 0A18",
                "08 0400 0800 0228": "01 08 0400 0A",
            ], "→180F@0003/0010-0012 !unexpectedHandle 2802@0002"),
        Transcript(
            "the same answer again leads nowhere", IncludedServiceDiscovery(in: service),
            ["08 0100 0800 0228": "09 08 0300 1000 1200 0F18", "08 0400 0800 0228": "09 08 0300 1000 1200 0F18"],
            "→180F@0003/0010-0012 !unexpectedHandle 2802@0003"),
        Transcript(
            "a handle behind the service", IncludedServiceDiscovery(in: service),
            ["08 0100 0800 0228": "09 08 0900 1000 1200 0F18"], "!unexpectedHandle 2802@0009"),
        Transcript(
            "a service without a handle", IncludedServiceDiscovery(in: service),
            [
                "08 0100 0800 0228": "09 08 0200 0000 1200 0F18 0300 2000 2200 0A18",
                "08 0400 0800 0228": "01 08 0400 0A",
            ], "→180A@0003/0020-0022 !invalidRange 2802@0002/0000-0012 180F"),
        Transcript(
            "a service that ends before it begins", IncludedServiceDiscovery(in: service),
            ["08 0100 0800 0228": "09 08 0200 1200 1000 0F18", "08 0300 0800 0228": "01 08 0300 0A"],
            "!invalidRange 2802@0002/0012-0010 180F"),
        Transcript(
            "a declaration that is too short", IncludedServiceDiscovery(in: service),
            [
                "08 0100 0800 0228": "09 05 0200 1000 12", "08 0300 0800 0228": "09 08 0300 2000 2200 0A18",
                "08 0400 0800 0228": "01 08 0400 0A",
            ],
            "→180A@0003/0020-0022 !malformedValue 2802@0002"),
        Transcript(
            "a declaration with a UUID of three bytes", IncludedServiceDiscovery(in: service),
            ["08 0100 0800 0228": "09 09 0200 1000 1200 010203", "08 0300 0800 0228": "01 08 0300 0A"],
            "!malformedValue 2802@0002/0010-0012"),
        Transcript(
            "an answer of another kind", IncludedServiceDiscovery(in: service), ["08 0100 0800 0228": "0B 01"],
            "violation"),
        Transcript(
            "an answer of another kind to a read", IncludedServiceDiscovery(in: service),
            ["08 0100 0800 0228": "09 06 0800 1000 1200", "0A 1000": "0D 0F18"], "violation"),
    ]

    @Test("includes are found, Core Vol 3 Part G §4.5.1", arguments: transcripts)
    func discovery(_ transcript: Transcript) { transcript.check() }
}
