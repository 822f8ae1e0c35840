private let thirty = "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D"

/// The rules of reading values by handle (Core Vol 3 Part F §3.4.4.3 to §3.4.4.8, §3.4.4.11).
enum ReadingRules {
    static let all = read + readBlob + readMultiple + readMultipleVariable

    static let read = rules(
        "F §3.4.4.3 Read Request",
        [
            Row("a value", "0A 0300", "0B 54657374"),
            Row("a service", "0A 0100", "0B 0018"),
            Row(
                "a characteristic with a long UUID", "0A 1100", "0B 10 1200 E8F37690FFB854915A46EB35CBC9AD27"),
            Row("an included service", "0A 3200", "0B 1000 1500"),
            Row("a configuration, this client's own", "0A 0700", "0B 0000"),
            Row("handle 0xFFFF", "0A FFFF", "0B 0000"),
            Row(
                "a value is cut to ATT_MTU − 1", "0A 3D00", "0B 000102030405060708090A0B0C0D0E0F101112131415",
                large: "0B \(thirty)"),
            Row("handle 0: Invalid Handle", "0A 0000", "01 0A 0000 01"),
            Row("a handle in a gap: Invalid Handle", "0A 0800", "01 0A 0800 01"),
            Row("a value that is only notified: Read Not Permitted", "0A 1200", "01 0A 1200 02"),
            Row("a value that is only written: Read Not Permitted", "0A 1500", "01 0A 1500 02"),
        ])

    static let readBlob = rules(
        "F §3.4.4.5 Read Blob Request",
        [
            Row(
                "from the beginning", "0C 3D00 0000", "0D 000102030405060708090A0B0C0D0E0F101112131415",
                large: "0D \(thirty)"),
            Row("from where a read at ATT_MTU 23 ends", "0C 3D00 1600", "0D 161718191A1B1C1D"),
            Row("at the end: nothing", "0C 3D00 1E00", "0D"),
            Row("behind the end: Invalid Offset", "0C 3D00 1F00", "01 0C 3D00 07"),
            Row("far behind the end", "0C 3D00 FFFF", "01 0C 3D00 07"),
            Row("a short value, which need not be refused as Attribute Not Long", "0C 0300 0100", "0D 657374"),
            Row("a configuration", "0C 0700 0100", "0D 00"),
            Row("a configuration behind its end", "0C 0700 0300", "01 0C 0700 07"),
            Row("the declaration of a service", "0C 1000 0E00", "0D AD27"),
            Row("handle 0: Invalid Handle", "0C 0000 0000", "01 0C 0000 01"),
            Row("a handle in a gap", "0C 0800 0000", "01 0C 0800 01"),
            Row("Read Not Permitted comes before the offset", "0C 1200 FFFF", "01 0C 1200 02"),
        ])

    static let readMultiple = rules(
        "F §3.4.4.7 Read Multiple Request",
        [
            Row("values one after the other", "0E 0300 0600", "0F 54657374 64"),
            Row("a handle may come twice, and out of order", "0E 0600 0300 0600", "0F 64 54657374 64"),
            Row("values of no fixed length are given as they are", "0E 4200 0300", "0F 01020304 54657374"),
            Row(
                "what has no room is cut", "0E 0300 0300 0300 0300 0300 0300",
                "0F 54657374 54657374 54657374 54657374 54657374 5465",
                large: "0F 54657374 54657374 54657374 54657374 54657374 54657374"),
            Row("up to handle 0xFFFF", "0E FFFF 0300", "0F 0000 54657374"),
            Row("the first unused handle", "0E 3D00 0800", "01 0E 0800 01"),
            Row(
                "the first that is in the way counts, also where its value would be cut", "0E 3D00 1200 0800",
                "01 0E 1200 02"),
            Row("handle 0", "0E 0300 0000", "01 0E 0000 01"),
        ])

    static let readMultipleVariable = rules(
        "F §3.4.4.11 Read Multiple Variable Request",
        [
            Row("values with their lengths", "20 0300 0600", "21 0400 54657374 0100 64"),
            Row(
                "a value without room is cut, its length is not", "20 0300 3D00",
                "21 0400 54657374 1E00 000102030405060708090A0B0C0D", large: "21 0400 54657374 1E00 \(thirty)"),
            Row(
                "a length without room is cut as well", "20 0300 0300 0300 0600 0600",
                "21 0400 54657374 0400 54657374 0400 54657374 0100 64 01",
                large: "21 0400 54657374 0400 54657374 0400 54657374 0100 64 0100 64"),
            Row("the first unused handle", "20 0300 0800", "01 20 0800 01"),
            Row("the first that may not be read", "20 1500 0300", "01 20 1500 02"),
            Row("handle 0", "20 0000 0300", "01 20 0000 01"),
        ])
}
