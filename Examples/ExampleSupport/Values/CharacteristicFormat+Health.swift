extension CharacteristicFormat {
    private static let temperatureTypes: [UInt8: String] = [
        1: "armpit", 2: "body", 3: "ear", 4: "finger", 5: "gastro-intestinal tract", 6: "mouth", 7: "rectum", 8: "toe",
        9: "tympanum",
    ]

    /// Health Thermometer Service §3.1: a measurement, also an intermediate one.
    private static let temperature = ValueLayout(
        flags: 1,
        [
            .number(nil, .medicalFloat, .one, "°C", when: .clear(0)),
            .number(nil, .medicalFloat, .one, "°F", when: .set(0)),
            .dateTime("at", when: .set(1)), .names("type", temperatureTypes, when: .set(2)),
        ])

    private static let pressureStatus: [Int: String] = [
        0: "body movement", 1: "loose cuff", 2: "irregular pulse", 3: "pulse rate above its range",
        4: "pulse rate below its range", 5: "improper position",
    ]

    /// Blood Pressure Service §3.1: a measurement, or the cuff's pressure during one.
    private static func pressure(_ first: String?, others: Bool) -> ValueLayout {
        let units = [("mmHg", ValueLayout.Condition.clear(0)), ("kPa", .set(0))]
        let names: [String?] = others ? [first, "diastolic", "mean"] : [first]
        let numbers = names.flatMap { name in
            units.map { ValueLayout.Item.number(name, .sfloat, .one, $0.0, when: $0.1) }
        }
        return ValueLayout(
            flags: 1,
            numbers + (others ? [] : [.skipped(4)]) + [
                .dateTime("at", when: .set(1)), .number("pulse", .sfloat, .one, "beats/min", when: .set(2)),
                .number("user", .u8, unknown: 0xFF, when: .set(3)), .bits("status", 2, pressureStatus, when: .set(4)),
            ])
    }

    /// Glucose Service §3.1. The unit on the air is kg/L or mol/L.
    private static let glucose = ValueLayout(
        flags: 1,
        [
            .number("sequence", .u16), .dateTime("at"), .number("offset", .i16, .one, "min", when: .set(0)),
            .number(nil, .sfloat, .ten(5), "mg/dL", when: .both(1, clear: 2)),
            .number(nil, .sfloat, .ten(3), "mmol/L", when: .both(1, set: 2)),
            .identifier("sample", 1, when: .set(1)),
            .bits("status", 2, [0: "battery low", 1: "sensor malfunction"], when: .set(3)),
            .mark("context follows", when: .set(4)),
        ])

    /// Pulse Oximeter Service §3.1 and §3.2.
    private static let spotCheck = ValueLayout(
        flags: 1,
        [
            .number("SpO2", .sfloat, .one, "%"), .number("pulse", .sfloat, .one, "beats/min"),
            .dateTime("at", when: .set(0)), .bits("status", 2, [:], when: .set(1)),
            .bits("device status", 3, [:], when: .set(2)),
            .number("pulse amplitude", .sfloat, .one, "%", when: .set(3)), .mark("clock not set", when: .set(4)),
        ])
    private static let continuous = ValueLayout(
        flags: 1,
        [
            .number("SpO2", .sfloat, .one, "%"), .number("pulse", .sfloat, .one, "beats/min"),
            .number("SpO2 fast", .sfloat, .one, "%", when: .set(0)),
            .number("pulse fast", .sfloat, .one, "beats/min", when: .set(0)),
            .number("SpO2 slow", .sfloat, .one, "%", when: .set(1)),
            .number("pulse slow", .sfloat, .one, "beats/min", when: .set(1)),
            .bits("status", 2, [:], when: .set(2)), .bits("device status", 3, [:], when: .set(3)),
            .number("pulse amplitude", .sfloat, .one, "%", when: .set(4)),
        ])

    /// The Health Thermometer, Blood Pressure, Heart Rate, Glucose and Pulse Oximeter services.
    static let health: [UInt16: CharacteristicFormat] = [
        0x2A18: .layout(glucose),
        0x2A1C: .layout(temperature),
        0x2A1D: .names(temperatureTypes),
        0x2A1E: .layout(temperature),
        0x2A21: .number(.u16, .one, "s"),
        0x2A35: .layout(pressure("systolic", others: true)),
        0x2A36: .layout(pressure(nil, others: false)),
        // Heart Rate Service §3.1: flags 1 and 2 are the sensor contact.
        0x2A37: .layout(
            ValueLayout(
                flags: 1,
                [
                    .number(nil, .u8, .one, "beats/min", when: .clear(0)),
                    .number(nil, .u16, .one, "beats/min", when: .set(0)),
                    .mark("contact", when: .both(2, set: 1)), .mark("no contact", when: .both(2, clear: 1)),
                    .number("energy", .u16, .one, "kJ", when: .set(3)),
                    .number("RR", .u16, .over(1024, digits: 3), "s", when: .set(4), repeats: true),
                ])),
        0x2A38: .names([0: "other", 1: "chest", 2: "wrist", 3: "finger", 4: "hand", 5: "ear lobe", 6: "foot"]),
        0x2A49: .bits(
            2,
            [
                0: "body movement detection", 1: "cuff fit detection", 2: "irregular pulse detection",
                3: "pulse rate range detection", 4: "position detection", 5: "multiple bonds",
            ]),
        0x2A51: .bits(
            2,
            [
                0: "low battery detection", 1: "malfunction detection", 2: "sample size", 3: "strip insertion error",
                4: "strip type error", 5: "result high-low", 6: "temperature high-low", 7: "read interrupt",
                8: "general fault", 9: "time fault", 10: "multiple bonds",
            ]),
        0x2A5E: .layout(spotCheck),
        0x2A5F: .layout(continuous),
    ]
}
