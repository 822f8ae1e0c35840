extension CharacteristicFormat {
    /// The Location and Navigation service.
    static let sports: [UInt16: CharacteristicFormat] = [
        // Location and Navigation Service §3.2.
        0x2A67: .layout(
            ValueLayout(
                flags: 2,
                [
                    .number("speed", .u16, .ten(-2), "m/s", when: .set(0)),
                    .number("distance", .u24, .ten(-1), "m", when: .set(1)),
                    .number("latitude", .i32, .ten(-7), "°", when: .set(2)),
                    .number("longitude", .i32, .ten(-7), "°", when: .set(2)),
                    .number("elevation", .i24, .ten(-2), "m", when: .set(3)),
                    .number("heading", .u16, .ten(-2), "°", when: .set(4)),
                    .number("rolling time", .u8, .one, "s", when: .set(5)), .dateTime("UTC", when: .set(6)),
                ]))
    ]
}
