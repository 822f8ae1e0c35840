extension CharacteristicFormat {
    /// A mass in one of the two units that flag 0 selects.
    private static func mass(_ name: String, when bit: Int) -> [ValueLayout.Item] {
        [
            .number(name, .u16, .times(5, ten: -3), "kg", when: .both(bit, clear: 0)),
            .number(name, .u16, .ten(-2), "lb", when: .both(bit, set: 0)),
        ]
    }

    /// A height in one of the two units that flag 0 selects.
    private static func height(when bit: Int) -> [ValueLayout.Item] {
        [
            .number("height", .u16, .ten(-3), "m", when: .both(bit, clear: 0)),
            .number("height", .u16, .ten(-1), "in", when: .both(bit, set: 0)),
        ]
    }

    /// The Body Composition and User Data services.
    static let bodies: [UInt16: CharacteristicFormat] = [
        0x2A7E: .number(.u8, .one, "beats/min"),
        0x2A80: .number(.u8, .one, "years"),
        0x2A85: .layout(ValueLayout(.date())),
        0x2A8C: .names([0: "male", 1: "female", 2: "unspecified"]),
        0x2A8E: .number(.u16, .ten(-2), "m"),
        0x2A98: .number(.u16, .times(5, ten: -3), "kg"),
        0x2A9A: .number(.u8, unknown: 0xFF),
        // Body Composition Service §3.2.
        0x2A9C: .layout(
            ValueLayout(
                flags: 2,
                [
                    .number("body fat", .u16, .ten(-1), "%", unknown: 0xFFFF), .dateTime("at", when: .set(1)),
                    .number("user", .u8, unknown: 0xFF, when: .set(2)),
                    .number("basal metabolism", .u16, .one, "kJ", when: .set(3)),
                    .number("muscle", .u16, .ten(-1), "%", when: .set(4)),
                ] + mass("muscle mass", when: 5) + mass("fat free mass", when: 6) + mass("soft lean mass", when: 7)
                    + mass("body water mass", when: 8)
                    + [.number("impedance", .u16, .ten(-1), "Ω", when: .set(9))] + mass("weight", when: 10)
                    + height(when: 11) + [.mark("more follows", when: .set(12))])),
    ]
}
