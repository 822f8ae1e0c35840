import BluetoothATT
import Testing

@testable import BluetoothGATT

/// The search for one characteristic, Core Vol 3 Part G §4.4.2 and §4.6.2.
@Suite struct CharacteristicSearchTests {
    private static let search = CharacteristicSearch(0xFFF1, in: 0xFFF0)

    static let transcripts: [Transcript] = [
        Transcript(
            "it ends where the characteristic is found", search,
            ["06 0100 FFFF 0028 F0FF": "07 0500 0A00", "08 0500 0A00 0328": "09 07 0600 12 0700 F1FF"],
            "FFF1@0006/0007-000A[read, notify]"),
        Transcript(
            "the next declaration in the same response ends it", mtu: 247, search,
            [
                "06 0100 FFFF 0028 F0FF": "07 0500 0C00",
                "08 0500 0C00 0328": "09 07 0600 02 0700 F2FF 0800 12 0900 F1FF 0B00 12 0C00 F1FF",
            ], "FFF1@0008/0009-000A[read, notify]"),
        Transcript(
            "characteristics before it take further requests", search,
            [
                "06 0100 FFFF 0028 F0FF": "07 0500 0A00", "08 0500 0A00 0328": "09 07 0600 02 0700 F2FF",
                "08 0700 0A00 0328": "09 07 0800 02 0900 F1FF",
            ], "FFF1@0008/0009-000A[read]"),
        Transcript(
            "services without it are passed over", mtu: 247, search,
            [
                "06 0100 FFFF 0028 F0FF": "07 0500 0700 1000 1200", "08 0500 0700 0328": "09 07 0600 02 0700 F2FF",
                "08 1000 1200 0328": "01 08 1000 0A", "06 1300 FFFF 0028 F0FF": "07 2000 2200",
                "08 2000 2200 0328": "09 07 2100 02 2200 F1FF",
            ], "FFF1@0021/0022-0022[read]"),
        Transcript(
            "secondary services come last", search,
            [
                "06 0100 FFFF 0028 F0FF": "01 06 0100 0A", "06 0100 FFFF 0128 F0FF": "07 0500 0700",
                "08 0500 0700 0328": "09 07 0600 02 0700 F1FF",
            ], "FFF1@0006/0007-0007[read]"),
        Transcript(
            "a server need not know secondary services", search,
            ["06 0100 FFFF 0028 F0FF": "01 06 0100 0A", "06 0100 FFFF 0128 F0FF": "01 06 0100 06"], "nil"),
        Transcript(
            "a value that does not follow its declaration counts once the next one is known", search,
            [
                "06 0100 FFFF 0028 F0FF": "07 0500 0F00", "08 0500 0F00 0328": "09 07 0600 02 0900 F1FF",
                "08 0700 0F00 0328": "09 07 0800 02 0900 F1FF",
            ], "FFF1@0008/0009-000F[read] !valueOutside 2803@0006/0009-0009 FFF1"),
        Transcript(
            "a value outside of the service is a problem", search,
            [
                "06 0100 FFFF 0028 F0FF": "07 0500 0700", "08 0500 0700 0328": "09 07 0600 02 0800 F1FF",
                "06 0800 FFFF 0028 F0FF": "01 06 0800 0A", "06 0100 FFFF 0128 F0FF": "01 06 0100 0A",
            ], "nil !valueOutside 2803@0006/0008-0008 FFF1"),
        Transcript(
            "a refusal of the services", search, ["06 0100 FFFF 0028 F0FF": "01 06 0100 0E"], "refused 0E"),
        Transcript(
            "an answer of the phase before", search,
            ["06 0100 FFFF 0028 F0FF": "07 0500 0700", "08 0500 0700 0328": "07 0500 0700"], "violation"),
    ]

    @Test("a characteristic is searched for by its name", arguments: transcripts)
    func search(_ transcript: Transcript) { transcript.check() }

    /// The descriptors up to the configuration, Core Vol 3 Part G §4.7.1.
    static let configurations: [Transcript] = [
        Transcript(
            "it ends with the configuration", mtu: 247, untilConfiguration,
            ["04 0400 FFFF": "05 01 0400 0129 0500 0229 0600 0429"], "2901@0004 2902@0005"),
        Transcript(
            "it ends at the next declaration", mtu: 247, untilConfiguration,
            ["04 0400 FFFF": "05 01 0400 0129 0500 0328 0600 F2FF 0700 0229"], "2901@0004"),
        Transcript(
            "other descriptors take further requests", untilConfiguration,
            ["04 0400 FFFF": "05 02 0400 \(longUUID)", "04 0500 FFFF": "05 01 0500 0229"],
            "\(longName)@0004 2902@0005"),
    ]

    private static var untilConfiguration: DescriptorDiscovery {
        DescriptorDiscovery(
            in: AttributeHandleRange(start: 4, end: .last), until: .clientCharacteristicConfiguration)
    }

    @Test("a configuration is searched for", arguments: configurations)
    func configuration(_ transcript: Transcript) { transcript.check() }
}
