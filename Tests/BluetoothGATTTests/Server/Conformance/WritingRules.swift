private let twentyOne = String(repeating: "41", count: 21)

/// The rules of writing values (Core Vol 3 Part F §3.4.5, §3.4.6; Part G §3.3.3.3).
///
/// ``PreparedWriteTests`` covers sequences of requests.
enum WritingRules {
    static let all = write + configuration + writeCommand + signedWriteCommand + prepareWrite + executeWrite

    static let write = rules(
        "F §3.4.5.1 Write Request",
        [
            Row("a value", "12 0300 4E6577", "13"),
            Row("a value of no bytes", "12 0300", "13"),
            Row("fewer bytes than a value of fixed length has", "12 4200 AABB", "13"),
            Row("no bytes of a value of fixed length", "12 4200", "13"),
            Row("more bytes than a value of fixed length has", "12 4200 0102030405", "01 12 4200 0D"),
            Row(
                "more bytes than the ATT_MTU: Invalid PDU", "12 0300 \(twentyOne)", "01 12 0000 04", large: "13"),
            Row("handle 0: Invalid Handle", "12 0000 00", "01 12 0000 01"),
            Row("a handle in a gap", "12 0800 00", "01 12 0800 01"),
            Row("a declaration: Write Not Permitted", "12 0100 00", "01 12 0100 03"),
            Row("a value that may only be read", "12 0600 00", "01 12 0600 03"),
            Row("Write Not Permitted comes before the length", "12 3E00 010203", "01 12 3E00 03"),
        ])

    static let configuration = rules(
        "G §3.3.3.3 Client Characteristic Configuration",
        [
            Row("notifications of what has the property", "12 0700 0100", "13"),
            Row("indications of what has the property", "12 FFFF 0200", "13"),
            Row("bits for later versions are passed over", "12 0700 01F0", "13"),
            Row("one byte leaves the other as it is (F §3.4.5.1)", "12 0700 01", "13"),
            Row("no byte leaves all as it is", "12 0700", "13"),
            Row("three bytes: Invalid Attribute Value Length", "12 0700 010000", "01 12 0700 0D"),
            Row("indications of what has only notifications: Value Not Allowed", "12 0700 0200", "01 12 0700 13"),
            Row("both where there is one", "12 0700 0300", "01 12 0700 13"),
            Row("notifications of what has only indications", "12 FFFF 0100", "01 12 FFFF 13"),
        ])

    static let writeCommand = rules(
        "F §3.4.5.3 Write Command: never answered",
        [
            Row("a value", "52 0300 4E6577", ""), Row("a dynamic value", "52 1500 00", ""),
            Row("handle 0", "52 0000 00", ""), Row("a handle in a gap", "52 0800 00", ""),
            Row("a value that may only be read", "52 0600 00", ""), Row("too many bytes", "52 4200 0102030405", ""),
            Row("a value not allowed", "52 0700 0200", ""), Row("a value protected by encryption", "52 3500 00", ""),
            Row("more bytes than the ATT_MTU", "52 0300 \(twentyOne)", ""), Row("too short", "52 03", ""),
        ])

    static let signedWriteCommand = rules(
        "F §3.4.5.4 Signed Write Command: never answered",
        [
            Row("an unverifiable signature", "D2 0300 41 0000000000000000000000 00", ""),
            Row("a handle in a gap", "D2 0800 41 0000000000000000000000 00", ""), Row("too short", "D2 0300 00", ""),
        ])

    static let prepareWrite = rules(
        "F §3.4.6.1 Prepare Write Request",
        [
            Row("is echoed", "16 0300 0000 4142", "17 0300 0000 4142"),
            Row("no bytes", "16 0300 0000", "17 0300 0000"),
            Row("offset and length are looked at when it is executed", "16 4200 FFFF 00", "17 4200 FFFF 00"),
            Row("a configuration", "16 0700 0000 0100", "17 0700 0000 0100"),
            Row("handle 0xFFFF", "16 FFFF 0000 0200", "17 FFFF 0000 0200"),
            Row("handle 0: Invalid Handle", "16 0000 0000 00", "01 16 0000 01"),
            Row("a handle in a gap", "16 0800 0000 00", "01 16 0800 01"),
            Row("a value that may only be read: Write Not Permitted", "16 0600 0000 00", "01 16 0600 03"),
            Row("a declaration", "16 0200 0000 00", "01 16 0200 03"),
        ])

    static let executeWrite = rules(
        "F §3.4.6.3 Execute Write Request",
        [
            Row("with nothing prepared", "18 01", "19"), Row("cancels nothing", "18 00", "19"),
            Row("flags that mean nothing: Invalid PDU", "18 02", "01 18 0000 04"),
            Row("flags with a bit too many", "18 81", "01 18 0000 04"),
        ])
}
