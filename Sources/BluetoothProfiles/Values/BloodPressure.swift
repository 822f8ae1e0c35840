import BluetoothGATT
import BluetoothPrimitives

// Blood Pressure Service 1.0.

/// A Blood Pressure Measurement (Blood Pressure Service §3.1). A pressure that could not be measured is NaN.
public struct BloodPressureMeasurement: Hashable, Sendable, FieldValue {
    /// The systolic pressure in the ``unit``.
    public var systolic: Double
    /// The diastolic pressure in the ``unit``.
    public var diastolic: Double
    /// The mean arterial pressure in the ``unit``.
    public var mean: Double
    /// The unit of the device.
    public var unit: PressureUnit
    /// The time and the circumstances.
    public var context = BloodPressureContext()

    /// A measurement of these values.
    public init(systolic: Double, diastolic: Double, mean: Double, unit: PressureUnit = .millimetersOfMercury) {
        (self.systolic, self.diastolic, self.mean, self.unit) = (systolic, diastolic, mean, unit)
    }

    static let initial = Self(systolic: 0, diastolic: 0, mean: 0)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 1)
        value.unit = fields.isPresent(flag: 0, value.unit == .kilopascals) ? .kilopascals : .millimetersOfMercury
        try fields.number("systolic", &value.systolic, .sfloat, unit: value.unit.symbol)
        try fields.number("diastolic", &value.diastolic, .sfloat, unit: value.unit.symbol)
        try fields.number("mean", &value.mean, .sfloat, unit: value.unit.symbol)
        try value.context.code(&fields)
    }
}

/// The pressure in the cuff during a measurement (Blood Pressure Service §3.3).
public struct IntermediateCuffPressure: Hashable, Sendable, FieldValue {
    /// The pressure in the ``unit``.
    public var pressure: Double
    /// The unit of the device.
    public var unit: PressureUnit
    /// The time and the circumstances.
    public var context = BloodPressureContext()

    /// A pressure.
    public init(_ pressure: Double, unit: PressureUnit = .millimetersOfMercury) {
        (self.pressure, self.unit) = (pressure, unit)
    }

    static let initial = Self(0)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 1)
        value.unit = fields.isPresent(flag: 0, value.unit == .kilopascals) ? .kilopascals : .millimetersOfMercury
        try fields.number(nil, &value.pressure, .sfloat, unit: value.unit.symbol)
        // The diastolic and the mean pressure are NaN.
        try fields.reserved(4, sending: [0xFF, 0x07, 0xFF, 0x07])
        try value.context.code(&fields)
    }
}

/// The unit of a blood pressure.
public enum PressureUnit: Hashable, Sendable {
    /// Millimeters of mercury.
    case millimetersOfMercury
    /// Kilopascals.
    case kilopascals

    /// `mmHg` or `kPa`.
    public var symbol: String { self == .kilopascals ? "kPa" : "mmHg" }
}

/// What a blood pressure monitor says beside a pressure; nil is not sent.
public struct BloodPressureContext: Hashable, Sendable {
    /// The time of the measurement.
    public var time: DateTime?
    /// The pulse in beats per minute.
    public var pulseRate: Double?
    /// The number of the user, 0 to 254; nil also for an unknown user.
    public var userID: Int?
    /// The circumstances that may have changed the result.
    public var status: BloodPressureStatus?

    /// No circumstances.
    public init() {}

    mutating func code(_ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.dateTime("at", &time, flag: 1)
        try fields.number("pulse", &pulseRate, .sfloat, unit: "beats/min", flag: 2)
        try fields.number("user", &userID, .u8, flag: 3, unknown: 0xFF)
        try fields.code("status", &status, flag: 4)
    }
}

/// The circumstances of a blood pressure measurement.
public struct BloodPressureStatus: OptionSet, Hashable, Sendable, CustomStringConvertible, NamedBits {
    /// The bits.
    public var rawValue: UInt16

    /// Circumstances by their bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The body moved.
    public static let bodyMovement = Self(rawValue: 1 << 0)
    /// The cuff is too loose.
    public static let looseCuff = Self(rawValue: 1 << 1)
    /// The pulse is irregular.
    public static let irregularPulse = Self(rawValue: 1 << 2)
    /// The pulse is faster than the device can measure.
    public static let pulseAboveRange = Self(rawValue: 1 << 3)
    /// The pulse is slower than the device can measure.
    public static let pulseBelowRange = Self(rawValue: 1 << 4)
    /// The device is in an improper position.
    public static let improperPosition = Self(rawValue: 1 << 5)

    /// The names of the bits.
    static let names = [
        "body movement", "loose cuff", "irregular pulse", "pulse rate above its range", "pulse rate below its range",
        "improper position",
    ]
}

/// What a blood pressure monitor detects (Blood Pressure Service §3.4).
public struct BloodPressureFeature: OptionSet, Hashable, Sendable, CustomStringConvertible, NamedBits {
    /// The bits.
    public var rawValue: UInt16

    /// Features by their bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Movement of the body.
    public static let bodyMovementDetection = Self(rawValue: 1 << 0)
    /// The fit of the cuff.
    public static let cuffFitDetection = Self(rawValue: 1 << 1)
    /// An irregular pulse.
    public static let irregularPulseDetection = Self(rawValue: 1 << 2)
    /// A pulse out of range.
    public static let pulseRateRangeDetection = Self(rawValue: 1 << 3)
    /// The position of the device.
    public static let positionDetection = Self(rawValue: 1 << 4)
    /// Bonds with several devices.
    public static let multipleBonds = Self(rawValue: 1 << 5)

    /// The names of the bits.
    static let names = [
        "body movement detection", "cuff fit detection", "irregular pulse detection", "pulse rate range detection",
        "position detection", "multiple bonds",
    ]
}

extension Characteristic where Value == BloodPressureMeasurement {
    /// Blood Pressure Measurement, which is indicated.
    public static var bloodPressureMeasurement: Self {
        Self(.bloodPressureMeasurement, in: .bloodPressure, properties: .indicate)
    }
}

extension Characteristic where Value == IntermediateCuffPressure {
    /// Intermediate Cuff Pressure, which is notified during a measurement.
    public static var intermediateCuffPressure: Self { Self(0x2A36, in: .bloodPressure, properties: .notify) }
}

extension Characteristic where Value == BloodPressureFeature {
    /// Blood Pressure Feature: what the monitor detects.
    public static var bloodPressureFeature: Self {
        Self(.bloodPressureFeature, in: .bloodPressure, initial: [])
    }
}
