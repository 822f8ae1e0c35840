extension CharacteristicFormat {
    private static let sensorLocations: [UInt8: String] = [
        0: "other", 1: "top of shoe", 2: "in shoe", 3: "hip", 4: "front wheel", 5: "left crank", 6: "right crank",
        7: "left pedal", 8: "right pedal", 9: "front hub", 10: "rear dropout", 11: "chainstay", 12: "rear wheel",
        13: "rear hub", 14: "chest", 15: "spider", 16: "chain ring",
    ]

    /// Cycling Power Service §3.2, up to the extremes; the rest of the fields need no decoding to be skipped.
    private static let cyclingPower = ValueLayout(
        flags: 2,
        [
            .number(nil, .i16, .one, "W"), .number("balance", .u8, .times(5, ten: -1), "%", when: .set(0)),
            .number("torque", .u16, .over(32, digits: 3), "N·m", when: .set(2)),
            .number("wheel", .u32, .one, "revolutions", when: .set(4)),
            .number("wheel time", .u16, .over(2048, digits: 3), "s", when: .set(4)),
            .number("crank", .u16, .one, "revolutions", when: .set(5)),
            .number("crank time", .u16, .over(1024, digits: 3), "s", when: .set(5)),
            .number("greatest force", .i16, .one, "N", when: .set(6)),
            .number("least force", .i16, .one, "N", when: .set(6)),
            .number("greatest torque", .i16, .over(32, digits: 3), "N·m", when: .set(7)),
            .number("least torque", .i16, .over(32, digits: 3), "N·m", when: .set(7)),
            // Two angles of 12 bits each.
            .skipped(3, when: .set(8)), .number("top dead spot", .u16, .one, "°", when: .set(9)),
            .number("bottom dead spot", .u16, .one, "°", when: .set(10)),
            .number("energy", .u16, .one, "kJ", when: .set(11)),
        ])

    /// The Cycling Speed and Cadence, Running Speed and Cadence, Cycling Power, and Location and Navigation services.
    static let sports: [UInt16: CharacteristicFormat] = [
        // Running Speed and Cadence Service §3.1.
        0x2A53: .layout(
            ValueLayout(
                flags: 1,
                [
                    .number("speed", .u16, .over(256, digits: 2), "m/s"), .number("cadence", .u8, .one, "steps/min"),
                    .number("stride", .u16, .one, "cm", when: .set(0)),
                    .number("distance", .u32, .ten(-1), "m", when: .set(1)),
                    .mark("walking", when: .clear(2)), .mark("running", when: .set(2)),
                ])),
        0x2A54: .bits(
            2,
            [
                0: "stride length", 1: "total distance", 2: "walking or running", 3: "calibration",
                4: "multiple sensor locations",
            ]),
        // Cycling Speed and Cadence Service §3.1.
        0x2A5B: .layout(
            ValueLayout(
                flags: 1,
                [
                    .number("wheel", .u32, .one, "revolutions", when: .set(0)),
                    .number("wheel time", .u16, .over(1024, digits: 3), "s", when: .set(0)),
                    .number("crank", .u16, .one, "revolutions", when: .set(1)),
                    .number("crank time", .u16, .over(1024, digits: 3), "s", when: .set(1)),
                ])),
        0x2A5C: .bits(2, [0: "wheel revolutions", 1: "crank revolutions", 2: "multiple sensor locations"]),
        0x2A5D: .names(sensorLocations),
        0x2A63: .layout(cyclingPower),
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
                ])),
    ]
}
