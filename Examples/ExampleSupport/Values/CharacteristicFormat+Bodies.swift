import BluetoothProfiles

extension CharacteristicFormat {
    /// The Body Composition, User Data, and Location and Navigation services.
    static let bodies: [UInt16: CharacteristicFormat] = [
        0x2A67: .fields(location),
        0x2A7E: .number(.u8, .one, "beats/min"),
        0x2A80: .number(.u8, .one, "years"),
        0x2A85: .custom(date),
        0x2A8C: .names([0: "male", 1: "female", 2: "unspecified"]),
        0x2A8E: .number(.u16, .ten(-2), "m"),
        0x2A98: .number(.u16, .times(5, ten: -3), "kg"),
        0x2A9A: .number(.u8, unknown: 0xFF),
        0x2A9C: .fields(bodyComposition),
    ]

    /// Year, month and day; unknown ones are 0.
    private static func date(_ value: [UInt8]) -> DecodedValue? {
        guard value.count == 4 else { return nil }
        let date = DateTime(year: Int(value[0]) | Int(value[1]) << 8, month: Int(value[2]), day: Int(value[3]))
        let text = String("\(date)".prefix { $0 != "T" })
        return DecodedValue([.init(nil, text, .string(text))])
    }

    /// Location and Navigation Service §3.2.
    private static func location(_ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 2)
        try fields.number("speed", .u16, .ten(-2), "m/s", flag: 0)
        try fields.number("distance", .u24, .ten(-1), "m", flag: 1)
        try fields.number("latitude", .i32, .ten(-7), "°", flag: 2)
        try fields.number("longitude", .i32, .ten(-7), "°", flag: 2)
        try fields.number("elevation", .i24, .ten(-2), "m", flag: 3)
        try fields.number("heading", .u16, .ten(-2), "°", flag: 4)
        try fields.number("rolling time", .u8, .one, "s", flag: 5)
        var time: DateTime?
        try fields.dateTime("UTC", &time, flag: 6)
    }

    /// Body Composition Service §3.2.
    private static func bodyComposition(_ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 2)
        let isImperial = fields.isPresent(flag: 0, false)
        try fields.number("body fat", .u16, .ten(-1), "%", unknown: 0xFFFF)
        var time: DateTime?
        try fields.dateTime("at", &time, flag: 1)
        try fields.number("user", .u8, flag: 2, unknown: 0xFF)
        try fields.number("basal metabolism", .u16, .one, "kJ", flag: 3)
        try fields.number("muscle", .u16, .ten(-1), "%", flag: 4)
        try fields.mass("muscle mass", isImperial: isImperial, flag: 5)
        try fields.mass("fat free mass", isImperial: isImperial, flag: 6)
        try fields.mass("soft lean mass", isImperial: isImperial, flag: 7)
        try fields.mass("body water mass", isImperial: isImperial, flag: 8)
        try fields.number("impedance", .u16, .ten(-1), "Ω", flag: 9)
        try fields.mass("weight", isImperial: isImperial, flag: 10)
        try fields.number("height", .u16, isImperial ? .ten(-1) : .ten(-3), isImperial ? "in" : "m", flag: 11)
        var isFollowed = false
        fields.flag(12, &isFollowed, name: "more follows")
    }
}
