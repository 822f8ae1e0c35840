private let linble = "E8F37690FFB854915A46EB35CAC9AD27"
private let fromPeripheral = "E8F37690FFB854915A46EB35CBC9AD27"
private let toPeripheral = "E8F37690FFB854915A46EB35CCC9AD27"
/// 2803 and 2800 in their 128-bit form.
private let long2803 = "FB349B5F800000800010000003280000"
private let long2800 = "FB349B5F800000800010000000280000"
private let includeOfUnknownLength = "0228 0000"

/// The rules of discovery (Core Vol 3 Part F §3.4.3, §3.4.4.1, §3.4.4.9; Part G §4.4 to §4.7).
enum DiscoveryRules {
    static let all = findInformation + findByTypeValue + readByType + readByTypeOfDeclarations + readByGroupType

    static let findInformation = rules(
        "F §3.4.3.1 Find Information Request",
        [
            Rule(
                "attributes with short types, as many as fit", "04 0100 FFFF",
                "05 01 0100 0028 0200 0328 0300 002A 0400 0028 0500 0328",
                large: """
                    05 01 0100 0028 0200 0328 0300 002A 0400 0028 0500 0328 0600 192A 0700 0229 1000 0028 1100 0328
                    """),
            Rule("the end of the range ends the list", "04 0600 0700", "05 01 0600 192A 0700 0229"),
            Rule("unused handles are skipped", "04 0700 0F00", "05 01 0700 0229"),
            Rule("a gap before the first attribute", "04 0800 1100", "05 01 1000 0028 1100 0328"),
            Rule("a type of the other length ends the list", "04 0800 1200", "05 01 1000 0028 1100 0328"),
            Rule("attributes with long types", "04 1200 FFFF", "05 02 1200 \(fromPeripheral)"),
            Rule("one long type in a range of short ones", "04 1500 3000", "05 02 1500 \(toPeripheral)"),
            Rule("up to handle 0xFFFF", "04 FEFF FFFF", "05 01 FEFF 052A FFFF 0229"),
            Rule("handle 0xFFFF alone", "04 FFFF FFFF", "05 01 FFFF 0229"),
            Rule("types of unreadable attributes are included", "04 3500 3500", "05 01 3500 F1FF"),
            Rule("nothing in the range: Attribute Not Found", "04 0800 0F00", "01 04 0800 0A"),
            Rule("nothing behind the last of a service", "04 4300 FBFF", "01 04 4300 0A"),
            Rule("start 0: Invalid Handle", "04 0000 FFFF", "01 04 0000 01"),
            Rule("start and end 0", "04 0000 0000", "01 04 0000 01"),
            Rule("start behind end: Invalid Handle", "04 0200 0100", "01 04 0200 01"),
        ])

    static let findByTypeValue = rules(
        "F §3.4.3.3 Find By Type Value Request",
        [
            Rule("a service by its short UUID, with its end", "06 0100 FFFF 0028 0F18", "07 0400 0700"),
            Rule("a service by its long UUID", "06 0100 FFFF 0028 \(linble)", "07 1000 1500"),
            Rule("the service that ends at 0xFFFF", "06 0100 FFFF 0028 0118", "07 FCFF FFFF"),
            Rule("a service that begins the range", "06 FCFF FFFF 0028 0118", "07 FCFF FFFF"),
            Rule("a service that begins before the range", "06 FDFF FFFF 0028 0118", "01 06 FDFF 0A"),
            Rule("a service that begins behind the range", "06 0100 0300 0028 0F18", "01 06 0100 0A"),
            Rule("a secondary service is no primary one", "06 0100 FFFF 0028 3412", "01 06 0100 0A"),
            Rule("a secondary service", "06 0100 FFFF 0128 3412", "07 2000 2000"),
            Rule("a value of no bytes", "06 0100 FFFF 0028", "01 06 0100 0A"),
            Rule(
                "values are compared in length as well: 32 bits of a 16-bit UUID", "06 0100 FFFF 0028 0F180000",
                "01 06 0100 0A"),
            Rule(
                "values are compared byte by byte: a short UUID written out in 128 bits",
                "06 0100 FFFF 0028 FB349B5F80000080001000000F180000", "01 06 0100 0A"),
            Rule("an attribute that is no group is its own end", "06 0100 FFFF 002A 54657374", "07 0300 0300"),
            Rule("a characteristic is a group (G §2.5.3)", "06 0100 FFFF 0328 12 0600 192A", "07 0500 0700"),
            Rule("configurations, this client's own", "06 0100 FFFF 0229 0000", "07 0700 0700 1300 1300 FFFF FFFF"),
            Rule("what may not be read is not found", "06 0100 FFFF F1FF A1", "01 06 0100 0A"),
            Rule("an unused type", "06 0100 FFFF 0BAD 00", "01 06 0100 0A"),
            Rule("start 0: Invalid Handle", "06 0000 FFFF 0028 0F18", "01 06 0000 01"),
            Rule("start behind end: Invalid Handle", "06 0500 0400 0028 0F18", "01 06 0500 01"),
        ])

    static let readByType = rules(
        "F §3.4.4.1 Read By Type Request",
        [
            Rule("a value by its short type", "08 0100 FFFF 002A", "09 06 0300 54657374"),
            Rule(
                "a short type written out in 128 bits is the same", "08 0100 FFFF FB349B5F8000008000100000002A0000",
                "09 06 0300 54657374"),
            Rule(
                "a value by its long type, which may not be read", "08 0100 FFFF \(toPeripheral)", "01 08 1500 02"),
            Rule(
                "a value that is longer than the room is cut to ATT_MTU − 4", "08 0100 FFFF F5FF",
                "09 15 3D00 000102030405060708090A0B0C0D0E0F101112",
                large: "09 20 3D00 000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D"),
            Rule("several values of one length", "08 0100 FFFF 0229", "09 04 0700 0000 1300 0000 FFFF 0000"),
            Rule("handle 0xFFFF alone", "08 FFFF FFFF 0229", "09 04 FFFF 0000"),
            Rule("one value", "08 0100 FFFF 0029", "09 04 3E00 0100"),
            Rule(
                "the first that may not be read refuses the request, with its handle", "08 0100 FFFF F1FF",
                "01 08 3500 05"),
            Rule("an unused type: Attribute Not Found", "08 0100 FFFF 0BAD", "01 08 0100 0A"),
            Rule("a type of 4 bytes: Invalid PDU", "08 0100 FFFF \(includeOfUnknownLength)", "01 08 0000 04"),
            Rule("start 0: Invalid Handle", "08 0000 FFFF 0328", "01 08 0000 01"),
            Rule("start behind end: Invalid Handle", "08 0300 0200 0328", "01 08 0300 01"),
        ])

    static let readByTypeOfDeclarations = rules(
        "G §4.5.1, §4.6.1 Find Included Services, Discover All Characteristics",
        [
            Rule(
                "characteristics with short UUIDs", "08 0100 FFFF 0328", "09 07 0200 0A 0300 002A 0500 12 0600 192A"),
            Rule(
                "the type written out in 128 bits", "08 0100 FFFF \(long2803)",
                "09 07 0200 0A 0300 002A 0500 12 0600 192A"),
            Rule(
                "characteristics with long UUIDs", "08 0600 FFFF 0328", "09 15 1100 10 1200 \(fromPeripheral)",
                large: "09 15 1100 10 1200 \(fromPeripheral) 1400 04 1500 \(toPeripheral)"),
            Rule(
                "characteristics that may not be read are declared all the same", "08 3400 FFFF 0328",
                "09 07 3400 0A 3500 F1FF 3600 0A 3700 F2FF 3800 0A 3900 F3FF",
                large: """
                    09 07 3400 0A 3500 F1FF 3600 0A 3700 F2FF 3800 0A 3900 F3FF 3A00 0A 3B00 F4FF 3C00 8A 3D00 F5FF
                    3F00 0A 4000 F6FF 4100 0A 4200 F7FF FDFF 20 FEFF 052A
                    """),
            Rule("the last characteristic", "08 FDFF FFFF 0328", "09 07 FDFF 20 FEFF 052A"),
            Rule("none behind it", "08 FEFF FFFF 0328", "01 08 FEFF 0A"),
            Rule("an included service with a short UUID declares it", "08 0100 FFFF 0228", "09 08 3100 0400 0700 0F18"),
            Rule("one with a long UUID does not", "08 3200 FFFF 0228", "09 06 3200 1000 1500"),
            Rule("a secondary service that is included", "08 3300 FFFF 0228", "09 08 3300 2000 2000 3412"),
            Rule("no more included services", "08 3400 FFFF 0228", "01 08 3400 0A"),
        ])

    static let readByGroupType = rules(
        "F §3.4.4.9 Read By Group Type Request, G §4.4.1 Discover All Primary Services",
        [
            Rule(
                "services of one length of UUID", "10 0100 FFFF 0028", "11 06 0100 0300 0018 0400 0700 0F18"),
            Rule("a service with a long UUID", "10 0800 FFFF 0028", "11 14 1000 1500 \(linble)"),
            Rule("secondary services are passed over", "10 1600 FFFF 0028", "11 06 3000 4200 F0FF FCFF FFFF 0118"),
            Rule(
                "the type written out in 128 bits", "10 1600 FFFF \(long2800)",
                "11 06 3000 4200 F0FF FCFF FFFF 0118"),
            Rule("the service that ends at 0xFFFF", "10 FCFF FFFF 0028", "11 06 FCFF FFFF 0118"),
            Rule("nothing at its end: Attribute Not Found", "10 FFFF FFFF 0028", "01 10 FFFF 0A"),
            Rule("secondary services", "10 0100 FFFF 0128", "11 06 2000 2000 3412"),
            Rule(
                "the group Characteristic cannot be asked for: Unsupported Group Type", "10 0100 FFFF 0328",
                "01 10 0100 10"),
            Rule("nor can any other type", "10 0100 FFFF \(linble)", "01 10 0100 10"),
            Rule("start 0: Invalid Handle", "10 0000 FFFF 0028", "01 10 0000 01"),
            Rule("handles are looked at before the type", "10 0200 0100 0328", "01 10 0200 01"),
        ])
}
