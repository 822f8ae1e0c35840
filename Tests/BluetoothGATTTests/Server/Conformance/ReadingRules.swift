private let thirty = "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D"

/// The rules of reading values by handle (Core Vol 3 Part F §3.4.4.3 to §3.4.4.8, §3.4.4.11).
enum ReadingRules {
    static let all = read + readBlob + readMultiple + readMultipleVariable

    static let read = rules(
        "F §3.4.4.3 Read Request",
        [
            Rule("a value", "0A 0300", "0B 54657374"),
            Rule("a service", "0A 0100", "0B 0018"),
            Rule(
                "a characteristic with a long UUID", "0A 1100", "0B 10 1200 E8F37690FFB854915A46EB35CBC9AD27"),
            Rule("an included service", "0A 3200", "0B 1000 1500"),
            Rule("a configuration, this client's own", "0A 0700", "0B 0000"),
            Rule("handle 0xFFFF", "0A FFFF", "0B 0000"),
            Rule(
                "a value is cut to ATT_MTU − 1", "0A 3D00", "0B 000102030405060708090A0B0C0D0E0F101112131415",
                large: "0B \(thirty)"),
            Rule("handle 0: Invalid Handle", "0A 0000", "01 0A 0000 01"),
            Rule("a handle in a gap: Invalid Handle", "0A 0800", "01 0A 0800 01"),
            Rule("a value that is only notified: Read Not Permitted", "0A 1200", "01 0A 1200 02"),
            Rule("a value that is only written: Read Not Permitted", "0A 1500", "01 0A 1500 02"),
        ])

    static let readBlob = rules(
        "F §3.4.4.5 Read Blob Request",
        [
            Rule(
                "from the beginning", "0C 3D00 0000", "0D 000102030405060708090A0B0C0D0E0F101112131415",
                large: "0D \(thirty)"),
            Rule("from where a read at ATT_MTU 23 ends", "0C 3D00 1600", "0D 161718191A1B1C1D"),
            Rule("at the end: nothing", "0C 3D00 1E00", "0D"),
            Rule("behind the end: Invalid Offset", "0C 3D00 1F00", "01 0C 3D00 07"),
            Rule("far behind the end", "0C 3D00 FFFF", "01 0C 3D00 07"),
            Rule("a short value, which need not be refused as Attribute Not Long", "0C 0300 0100", "0D 657374"),
            Rule("a configuration", "0C 0700 0100", "0D 00"),
            Rule("a configuration behind its end", "0C 0700 0300", "01 0C 0700 07"),
            Rule("the declaration of a service", "0C 1000 0E00", "0D AD27"),
            Rule("handle 0: Invalid Handle", "0C 0000 0000", "01 0C 0000 01"),
            Rule("a handle in a gap", "0C 0800 0000", "01 0C 0800 01"),
            Rule("Read Not Permitted comes before the offset", "0C 1200 FFFF", "01 0C 1200 02"),
        ])

    static let readMultiple = rules(
        "F §3.4.4.7 Read Multiple Request",
        [
            Rule("values one after the other", "0E 0300 0600", "0F 54657374 64"),
            Rule("a handle may come twice, and out of order", "0E 0600 0300 0600", "0F 64 54657374 64"),
            Rule("values of no fixed length are given as they are", "0E 4200 0300", "0F 01020304 54657374"),
            Rule(
                "what has no room is cut", "0E 0300 0300 0300 0300 0300 0300",
                "0F 54657374 54657374 54657374 54657374 54657374 5465",
                large: "0F 54657374 54657374 54657374 54657374 54657374 54657374"),
            Rule("up to handle 0xFFFF", "0E FFFF 0300", "0F 0000 54657374"),
            Rule("the first unused handle", "0E 3D00 0800", "01 0E 0800 01"),
            Rule(
                "the first that is in the way counts, also where its value would be cut", "0E 3D00 1200 0800",
                "01 0E 1200 02"),
            Rule("handle 0", "0E 0300 0000", "01 0E 0000 01"),
        ])

    static let readMultipleVariable = rules(
        "F §3.4.4.11 Read Multiple Variable Request",
        [
            Rule("values with their lengths", "20 0300 0600", "21 0400 54657374 0100 64"),
            Rule(
                "a value without room is cut, its length is not", "20 0300 3D00",
                "21 0400 54657374 1E00 000102030405060708090A0B0C0D", large: "21 0400 54657374 1E00 \(thirty)"),
            Rule(
                "a length without room is cut as well", "20 0300 0300 0300 0600 0600",
                "21 0400 54657374 0400 54657374 0400 54657374 0100 64 01",
                large: "21 0400 54657374 0400 54657374 0400 54657374 0100 64 0100 64"),
            Rule("the first unused handle", "20 0300 0800", "01 20 0800 01"),
            Rule("the first that may not be read", "20 1500 0300", "01 20 1500 02"),
            Rule("handle 0", "20 0000 0300", "01 20 0000 01"),
        ])
}
