import BluetoothPrimitives

// Pulse Oximeter Service 1.0.

/// The oxygen saturation of the blood and the pulse. A value that could not be measured is NaN.
public struct PulseOximetry: Hashable, Sendable {
    /// The peripheral oxygen saturation SpO2 in percent.
    public var saturation: Double
    /// The pulse in beats per minute.
    public var pulseRate: Double

    /// A pair of values.
    public init(saturation: Double, pulseRate: Double) { (self.saturation, self.pulseRate) = (saturation, pulseRate) }

    mutating func code(_ suffix: String, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.number("SpO2" + suffix, &saturation, .sfloat, unit: "%")
        try fields.number("pulse" + suffix, &pulseRate, .sfloat, unit: "beats/min")
    }

    fileprivate static let zero = PulseOximetry(saturation: 0, pulseRate: 0)
}

/// A PLX Spot-Check Measurement: one result of a pulse oximeter (Pulse Oximeter Service §3.1); nil is not sent.
public struct PulseOximeterSpotCheck: Hashable, Sendable, FieldValue {
    /// The result.
    public var value: PulseOximetry
    /// The time of the measurement.
    public var time: DateTime?
    /// The status of the measurement.
    public var status: PulseOximeterStatus?
    /// The status of the device and its sensor.
    public var deviceStatus: PulseOximeterDeviceStatus?
    /// The pulse amplitude index in percent.
    public var pulseAmplitudeIndex: Double?
    /// Whether the clock of the device has not been set, so that ``time`` is of no use.
    public var isClockNotSet = false

    /// A result.
    public init(_ value: PulseOximetry) { self.value = value }

    static let initial = Self(.zero)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 1)
        try value.value.code("", &fields)
        try fields.dateTime("at", &value.time, flag: 0)
        try fields.code("status", &value.status, flag: 1)
        try fields.code("device status", &value.deviceStatus, flag: 2, byteCount: 3)
        try fields.number("pulse amplitude", &value.pulseAmplitudeIndex, .sfloat, unit: "%", flag: 3)
        fields.flag(4, &value.isClockNotSet, name: "clock not set")
    }
}

/// A PLX Continuous Measurement of a pulse oximeter (Pulse Oximeter Service §3.2); nil is not sent.
public struct PulseOximeterContinuous: Hashable, Sendable, FieldValue {
    /// The values with the normal averaging.
    public var normal: PulseOximetry
    /// The values with fast averaging.
    public var fast: PulseOximetry?
    /// The values with slow averaging.
    public var slow: PulseOximetry?
    /// The status of the measurement.
    public var status: PulseOximeterStatus?
    /// The status of the device and its sensor.
    public var deviceStatus: PulseOximeterDeviceStatus?
    /// The pulse amplitude index in percent.
    public var pulseAmplitudeIndex: Double?

    /// A measurement of these values.
    public init(normal: PulseOximetry) { self.normal = normal }

    static let initial = Self(normal: .zero)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 1)
        try value.normal.code("", &fields)
        try fields.group(&value.fast, flag: 0, initial: .zero) { (pair, fields) throws(MalformedValue) in
            try pair.code(" fast", &fields)
        }
        try fields.group(&value.slow, flag: 1, initial: .zero) { (pair, fields) throws(MalformedValue) in
            try pair.code(" slow", &fields)
        }
        try fields.code("status", &value.status, flag: 2)
        try fields.code("device status", &value.deviceStatus, flag: 3, byteCount: 3)
        try fields.number("pulse amplitude", &value.pulseAmplitudeIndex, .sfloat, unit: "%", flag: 4)
    }
}

/// The status of a pulse oximeter's measurement.
public struct PulseOximeterStatus: OptionSet, Hashable, Sendable, CustomStringConvertible, NamedBits {
    /// The bits.
    public var rawValue: UInt16

    /// A status by its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The measurement goes on.
    public static let ongoing = Self(rawValue: 1 << 5)
    /// An early estimate.
    public static let earlyEstimate = Self(rawValue: 1 << 6)
    /// Validated.
    public static let validated = Self(rawValue: 1 << 7)
    /// Fully qualified.
    public static let fullyQualified = Self(rawValue: 1 << 8)
    /// From the memory of the device.
    public static let stored = Self(rawValue: 1 << 9)
    /// A demonstration.
    public static let demonstration = Self(rawValue: 1 << 10)
    /// A test.
    public static let testing = Self(rawValue: 1 << 11)
    /// The device calibrates itself.
    public static let calibrating = Self(rawValue: 1 << 12)
    /// Nothing could be measured.
    public static let unavailable = Self(rawValue: 1 << 13)
    /// Questionable.
    public static let questionable = Self(rawValue: 1 << 14)
    /// Invalid.
    public static let invalid = Self(rawValue: 1 << 15)

    /// The names of the bits.
    static let names = [
        "ongoing", "early estimate", "validated", "fully qualified", "stored", "demonstration", "testing",
        "calibrating", "unavailable", "questionable", "invalid",
    ]
    static let firstName = 5
}

/// The status of a pulse oximeter and its sensor.
public struct PulseOximeterDeviceStatus: OptionSet, Hashable, Sendable, CustomStringConvertible, NamedBits {
    /// The bits, 24 of them.
    public var rawValue: UInt32

    /// A status by its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The display is updated less often.
    public static let extendedDisplayUpdate = Self(rawValue: 1 << 0)
    /// The equipment malfunctions.
    public static let equipmentMalfunction = Self(rawValue: 1 << 1)
    /// The processing of the signal is irregular.
    public static let signalProcessingIrregularity = Self(rawValue: 1 << 2)
    /// The signal is inadequate.
    public static let inadequateSignal = Self(rawValue: 1 << 3)
    /// The signal is poor.
    public static let poorSignal = Self(rawValue: 1 << 4)
    /// The perfusion is low.
    public static let lowPerfusion = Self(rawValue: 1 << 5)
    /// The signal is erratic.
    public static let erraticSignal = Self(rawValue: 1 << 6)
    /// The signal does not pulsate.
    public static let nonpulsatileSignal = Self(rawValue: 1 << 7)
    /// The pulse is questionable.
    public static let questionablePulse = Self(rawValue: 1 << 8)
    /// The signal is being analyzed.
    public static let signalAnalysis = Self(rawValue: 1 << 9)
    /// Something interferes with the sensor.
    public static let sensorInterference = Self(rawValue: 1 << 10)
    /// The sensor is not on the user.
    public static let sensorUnconnected = Self(rawValue: 1 << 11)
    /// The sensor is not known.
    public static let unknownSensor = Self(rawValue: 1 << 12)
    /// The sensor is displaced.
    public static let sensorDisplaced = Self(rawValue: 1 << 13)
    /// The sensor malfunctions.
    public static let sensorMalfunction = Self(rawValue: 1 << 14)
    /// The sensor is disconnected from the device.
    public static let sensorDisconnected = Self(rawValue: 1 << 15)

    /// The names of the bits.
    static let names = [
        "extended display update", "equipment malfunction", "signal processing irregularity", "inadequate signal",
        "poor signal", "low perfusion", "erratic signal", "nonpulsatile signal", "questionable pulse",
        "signal analysis", "sensor interference", "sensor unconnected", "unknown sensor", "sensor displaced",
        "sensor malfunction", "sensor disconnected",
    ]
}

/// PLX Features: what a pulse oximeter supports (Pulse Oximeter Service §3.3).
public struct PulseOximeterFeatures: Hashable, Sendable, FieldValue {
    /// The bits that its measurements may have in their status; nil without a status.
    public var status: PulseOximeterStatus?
    /// The bits that its measurements may have in the status of the device; nil without one.
    public var deviceStatus: PulseOximeterDeviceStatus?
    /// Whether it stores spot-check measurements.
    public var storesMeasurements = false
    /// Whether spot-check measurements have a time.
    public var hasTime = false
    /// Whether continuous measurements have fast values.
    public var hasFastValues = false
    /// Whether continuous measurements have slow values.
    public var hasSlowValues = false
    /// Whether measurements have a pulse amplitude index.
    public var hasPulseAmplitudeIndex = false
    /// Whether it bonds with several devices.
    public var supportsMultipleBonds = false

    /// No features.
    public init() {}

    static let initial = Self()

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 2)
        fields.flag(2, &value.storesMeasurements, name: "measurement storage")
        fields.flag(3, &value.hasTime, name: "time")
        fields.flag(4, &value.hasFastValues, name: "fast values")
        fields.flag(5, &value.hasSlowValues, name: "slow values")
        fields.flag(6, &value.hasPulseAmplitudeIndex, name: "pulse amplitude")
        fields.flag(7, &value.supportsMultipleBonds, name: "multiple bonds")
        try fields.code("status", &value.status, flag: 0)
        try fields.code("device status", &value.deviceStatus, flag: 1, byteCount: 3)
    }
}

extension Characteristic where Value == PulseOximeterSpotCheck {
    /// PLX Spot-Check Measurement, which is indicated.
    public static var plxSpotCheckMeasurement: Self {
        Self(.plxSpotCheckMeasurement, in: .pulseOximeter, properties: .indicate)
    }
}

extension Characteristic where Value == PulseOximeterContinuous {
    /// PLX Continuous Measurement, which is notified about once a second.
    public static var plxContinuousMeasurement: Self {
        Self(.plxContinuousMeasurement, in: .pulseOximeter, properties: .notify)
    }
}

extension Characteristic where Value == PulseOximeterFeatures {
    /// PLX Features: what the oximeter supports.
    public static var plxFeatures: Self { Self(0x2A60, in: .pulseOximeter) }
}
