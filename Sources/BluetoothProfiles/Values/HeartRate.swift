import BluetoothPrimitives

// Heart Rate Service 1.0.

/// A Heart Rate Measurement (Heart Rate Service §3.1).
public struct HeartRateMeasurement: Hashable, Sendable, FieldValue {
    /// The heart rate in beats per minute.
    public var rate: Int
    /// Whether the sensor touches the skin; nil from a sensor that does not detect it.
    public var hasContact: Bool?
    /// The energy expended since the last reset, in kilojoules.
    public var energyExpended: Int?
    /// The times between beats since the last measurement, in seconds, the oldest first.
    public var rrIntervals: [Double]

    /// A measurement of these values.
    public init(rate: Int, hasContact: Bool? = nil, energyExpended: Int? = nil, rrIntervals: [Double] = []) {
        self.rate = rate
        self.hasContact = hasContact
        self.energyExpended = energyExpended
        self.rrIntervals = rrIntervals
    }

    static let initial = Self(rate: 0)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 1)
        let isWide = fields.isPresent(flag: 0, value.rate > 0xFF)
        try fields.number(nil, &value.rate, isWide ? .u16 : .u8, unit: "beats/min")
        let isSupported = fields.isPresent(flag: 2, value.hasContact != nil)
        let hasContact = fields.isPresent(flag: 1, value.hasContact == true)
        value.hasContact = isSupported ? hasContact : nil
        fields.mark("contact", if: value.hasContact == true)
        fields.mark("no contact", if: value.hasContact == false)
        try fields.number("energy", &value.energyExpended, .u16, unit: "kJ", flag: 3)
        if fields.isPresent(flag: 4, !value.rrIntervals.isEmpty) {
            try fields.numbers("RR", &value.rrIntervals, .u16, .over(1024), unit: "s")
        }
    }
}

/// The place where a sensor is worn (Heart Rate Service §3.2). An open set: switch with a default.
public struct BodySensorLocation: RawRepresentable, Hashable, Sendable, CustomStringConvertible, NamedValue {
    /// The assigned value.
    public var rawValue: UInt8

    /// A place by its assigned value.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Another place.
    public static let other = Self(rawValue: 0)
    /// The chest.
    public static let chest = Self(rawValue: 1)
    /// The wrist.
    public static let wrist = Self(rawValue: 2)
    /// A finger.
    public static let finger = Self(rawValue: 3)
    /// The hand.
    public static let hand = Self(rawValue: 4)
    /// The ear lobe.
    public static let earLobe = Self(rawValue: 5)
    /// The foot.
    public static let foot = Self(rawValue: 6)

    /// The names of the places.
    static let names = ["other", "chest", "wrist", "finger", "hand", "ear lobe", "foot"]
}

/// A command to a heart rate sensor (Heart Rate Service §3.3). An open set: switch with a default.
public struct HeartRateControlPoint: RawRepresentable, Hashable, Sendable {
    /// The assigned value.
    public var rawValue: UInt8

    /// A command by its assigned value.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Sets the expended energy to zero. A sensor without this value refuses with the error 0x80.
    public static let resetEnergyExpended = Self(rawValue: 1)
}

extension Characteristic where Value == HeartRateMeasurement {
    /// Heart Rate Measurement, which is notified about once a second.
    public static var heartRateMeasurement: Self { Self(.heartRateMeasurement, in: .heartRate, properties: .notify) }
}

extension Characteristic where Value == BodySensorLocation {
    /// Body Sensor Location: the place where a heart rate sensor is worn.
    public static var bodySensorLocation: Self { Self(.bodySensorLocation, in: .heartRate, initial: .other) }
}

extension Characteristic where Value == HeartRateControlPoint {
    /// Heart Rate Control Point: commands to the sensor.
    public static var heartRateControlPoint: Self {
        Self(
            .heartRateControlPoint, in: .heartRate, properties: .write, initial: Value(rawValue: 0))
    }
}
