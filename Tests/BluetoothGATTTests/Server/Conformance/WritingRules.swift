private let twentyOne = String(repeating: "41", count: 21)

/// The rules of writing values (Core Vol 3 Part F §3.4.5, §3.4.6; Part G §3.3.3.3).
///
/// ``PreparedWriteTests`` covers sequences of requests.
enum WritingRules {
    static let all = write + configuration + writeCommand + signedWriteCommand + prepareWrite + executeWrite

    static let write = rules(
        "F §3.4.5.1 Write Request",
        [
            Rule("a value", "12 0300 4E6577", "13"),
            Rule("a value of no bytes", "12 0300", "13"),
            Rule("fewer bytes than a value of fixed length has", "12 4200 AABB", "13"),
            Rule("no bytes of a value of fixed length", "12 4200", "13"),
            Rule("more bytes than a value of fixed length has", "12 4200 0102030405", "01 12 4200 0D"),
            Rule(
                "more bytes than the ATT_MTU: Invalid PDU", "12 0300 \(twentyOne)", "01 12 0000 04", large: "13"),
            Rule("handle 0: Invalid Handle", "12 0000 00", "01 12 0000 01"),
            Rule("a handle in a gap", "12 0800 00", "01 12 0800 01"),
            Rule("a declaration: Write Not Permitted", "12 0100 00", "01 12 0100 03"),
            Rule("a value that may only be read", "12 0600 00", "01 12 0600 03"),
            Rule("Write Not Permitted comes before the length", "12 3E00 010203", "01 12 3E00 03"),
        ])

    static let configuration = rules(
        "G §3.3.3.3 Client Characteristic Configuration",
        [
            Rule("notifications of what has the property", "12 0700 0100", "13"),
            Rule("indications of what has the property", "12 FFFF 0200", "13"),
            Rule("bits for later versions are passed over", "12 0700 01F0", "13"),
            Rule("one byte leaves the other as it is (F §3.4.5.1)", "12 0700 01", "13"),
            Rule("no byte leaves all as it is", "12 0700", "13"),
            Rule("three bytes: Invalid Attribute Value Length", "12 0700 010000", "01 12 0700 0D"),
            Rule("indications of what has only notifications: Value Not Allowed", "12 0700 0200", "01 12 0700 13"),
            Rule("both where there is one", "12 0700 0300", "01 12 0700 13"),
            Rule("notifications of what has only indications", "12 FFFF 0100", "01 12 FFFF 13"),
        ])

    static let writeCommand = rules(
        "F §3.4.5.3 Write Command: never answered",
        [
            Rule("a value", "52 0300 4E6577", ""), Rule("a dynamic value", "52 1500 00", ""),
            Rule("handle 0", "52 0000 00", ""), Rule("a handle in a gap", "52 0800 00", ""),
            Rule("a value that may only be read", "52 0600 00", ""), Rule("too many bytes", "52 4200 0102030405", ""),
            Rule("a value not allowed", "52 0700 0200", ""), Rule("a value protected by encryption", "52 3500 00", ""),
            Rule("more bytes than the ATT_MTU", "52 0300 \(twentyOne)", ""), Rule("too short", "52 03", ""),
        ])

    static let signedWriteCommand = rules(
        "F §3.4.5.4 Signed Write Command: never answered",
        [
            Rule("an unverifiable signature", "D2 0300 41 0000000000000000000000 00", ""),
            Rule("a handle in a gap", "D2 0800 41 0000000000000000000000 00", ""), Rule("too short", "D2 0300 00", ""),
        ])

    static let prepareWrite = rules(
        "F §3.4.6.1 Prepare Write Request",
        [
            Rule("is echoed", "16 0300 0000 4142", "17 0300 0000 4142"),
            Rule("no bytes", "16 0300 0000", "17 0300 0000"),
            Rule("offset and length are looked at when it is executed", "16 4200 FFFF 00", "17 4200 FFFF 00"),
            Rule("a configuration", "16 0700 0000 0100", "17 0700 0000 0100"),
            Rule("handle 0xFFFF", "16 FFFF 0000 0200", "17 FFFF 0000 0200"),
            Rule("handle 0: Invalid Handle", "16 0000 0000 00", "01 16 0000 01"),
            Rule("a handle in a gap", "16 0800 0000 00", "01 16 0800 01"),
            Rule("a value that may only be read: Write Not Permitted", "16 0600 0000 00", "01 16 0600 03"),
            Rule("a declaration", "16 0200 0000 00", "01 16 0200 03"),
        ])

    static let executeWrite = rules(
        "F §3.4.6.3 Execute Write Request",
        [
            Rule("with nothing prepared", "18 01", "19"), Rule("cancels nothing", "18 00", "19"),
            Rule("flags that mean nothing: Invalid PDU", "18 02", "01 18 0000 04"),
            Rule("flags with a bit too many", "18 81", "01 18 0000 04"),
        ])
}
