extension CharacteristicFormat {
    /// The Environmental Sensing Service.
    static let environment: [UInt16: CharacteristicFormat] = [
        0x2A2C: .number(.u16, .ten(-2), "°"),
        0x2A6C: .number(.i24, .ten(-2), "m"),
        0x2A6D: .number(.u32, .ten(-1), "Pa"),
        0x2A6E: .number(.i16, .ten(-2), "°C", unknown: 0x8000),
        0x2A6F: .number(.u16, .ten(-2), "%", unknown: 0xFFFF),
        0x2A70: .number(.u16, .ten(-2), "m/s"),
        0x2A71: .number(.u16, .ten(-2), "°"),
        0x2A72: .number(.u16, .ten(-2), "m/s"),
        0x2A73: .number(.u16, .ten(-2), "°"),
        0x2A74: .number(.u8, .ten(-1)),
        0x2A75: .number(.u24, .one, "/m³"),
        0x2A76: .number(.u8),
        0x2A77: .number(.u16, .ten(-1), "W/m²"),
        0x2A78: .number(.u16, .one, "mm"),
        0x2A79: .number(.i8, .one, "°C"),
        0x2A7A: .number(.i8, .one, "°C"),
        0x2A7B: .number(.i8, .one, "°C"),
        0x2AA3: .names([
            0: "unknown", 1: "continuously falling", 2: "continuously rising", 3: "falling, then steady",
            4: "rising, then steady", 5: "falling before a lesser rise", 6: "falling before a greater rise",
            7: "rising before a greater fall", 8: "rising before a lesser fall", 9: "steady",
        ]),
    ]
}
