import BluetoothGATT
import BluetoothPrimitives

// Glucose Service 1.0.

/// A Glucose Measurement: a record of a glucose meter (Glucose Service §3.1).
public struct GlucoseMeasurement: Hashable, Sendable, FieldValue {
    /// The number of the record, 0 to 65,535.
    public var sequenceNumber: Int
    /// The time of the measurement by the clock as it was first set.
    public var baseTime: DateTime
    /// The minutes to add to ``baseTime`` for the time that the user sees.
    public var timeOffset: Int?
    /// The concentration; nil in a record without one.
    public var sample: GlucoseSample?
    /// What the sensor reports; nil if it reports nothing.
    public var status: GlucoseSensorStatus?
    /// Whether a ``GlucoseMeasurementContext`` with the same number follows.
    public var isContextFollowing = false

    /// A record of these values.
    public init(sequenceNumber: Int, baseTime: DateTime, sample: GlucoseSample? = nil) {
        (self.sequenceNumber, self.baseTime, self.sample) = (sequenceNumber, baseTime, sample)
    }

    static let initial = Self(sequenceNumber: 0, baseTime: DateTime())

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 1)
        try fields.number("sequence", &value.sequenceNumber, .u16)
        try fields.dateTime("at", &value.baseTime)
        try fields.number("offset", &value.timeOffset, .i16, unit: "min", flag: 0)
        let unknown = GlucoseSample(0, fluid: .undeterminedWholeBlood, location: .notAvailable)
        try fields.group(&value.sample, flag: 1, initial: unknown) { (sample, fields) throws(MalformedValue) in
            try sample.code(&fields)
        }
        try fields.code("status", &value.status, flag: 3)
        fields.flag(4, &value.isContextFollowing, name: "context follows")
    }
}

/// The glucose in a sample.
public struct GlucoseSample: Hashable, Sendable {
    /// The unit of a concentration.
    public enum Unit: Hashable, Sendable {
        /// Milligrams per deciliter, which devices send as kilograms per liter.
        case milligramsPerDeciliter
        /// Millimoles per liter.
        case millimolesPerLiter
    }

    /// The fluid that was measured. An open set: switch with a default.
    public struct Fluid: RawRepresentable, Hashable, Sendable {
        /// The assigned value, 0 to 15.
        public var rawValue: UInt8

        /// A fluid by its assigned value.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Capillary whole blood.
        public static let capillaryWholeBlood = Self(rawValue: 1)
        /// Capillary plasma.
        public static let capillaryPlasma = Self(rawValue: 2)
        /// Venous whole blood.
        public static let venousWholeBlood = Self(rawValue: 3)
        /// Venous plasma.
        public static let venousPlasma = Self(rawValue: 4)
        /// Arterial whole blood.
        public static let arterialWholeBlood = Self(rawValue: 5)
        /// Arterial plasma.
        public static let arterialPlasma = Self(rawValue: 6)
        /// Whole blood of an undetermined kind.
        public static let undeterminedWholeBlood = Self(rawValue: 7)
        /// Plasma of an undetermined kind.
        public static let undeterminedPlasma = Self(rawValue: 8)
        /// Interstitial fluid.
        public static let interstitialFluid = Self(rawValue: 9)
        /// A control solution.
        public static let controlSolution = Self(rawValue: 10)
    }

    /// The place where the sample was taken. An open set: switch with a default.
    public struct Location: RawRepresentable, Hashable, Sendable {
        /// The assigned value, 0 to 15.
        public var rawValue: UInt8

        /// A place by its assigned value.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A finger.
        public static let finger = Self(rawValue: 1)
        /// An alternate site.
        public static let alternateSite = Self(rawValue: 2)
        /// An ear lobe.
        public static let earLobe = Self(rawValue: 3)
        /// A control solution.
        public static let controlSolution = Self(rawValue: 4)
        /// Not available.
        public static let notAvailable = Self(rawValue: 15)
    }

    /// The concentration in the ``unit``.
    public var concentration: Double
    /// The unit of the device.
    public var unit: Unit
    /// The fluid that was measured.
    public var fluid: Fluid
    /// The place where the sample was taken.
    public var location: Location

    /// A concentration with its origin.
    public init(_ concentration: Double, unit: Unit = .milligramsPerDeciliter, fluid: Fluid, location: Location) {
        (self.concentration, self.unit, self.fluid, self.location) = (concentration, unit, fluid, location)
    }

    mutating func code(_ fields: inout FieldCoder) throws(MalformedValue) {
        let isMolar = fields.isPresent(flag: 2, unit == .millimolesPerLiter)
        unit = isMolar ? .millimolesPerLiter : .milligramsPerDeciliter
        // On the air it is mol/L or kg/L.
        try fields.number(nil, &concentration, .sfloat, .ten(isMolar ? 3 : 5), unit: isMolar ? "mmol/L" : "mg/dL")
        (fluid.rawValue, location.rawValue) = try fields.nibbles("sample", fluid.rawValue, location.rawValue)
    }
}

/// What the sensor of a glucose meter reports.
public struct GlucoseSensorStatus: OptionSet, Hashable, Sendable, CustomStringConvertible, NamedBits {
    /// The bits.
    public var rawValue: UInt16

    /// Reports by their bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The battery of the device is low.
    public static let batteryLow = Self(rawValue: 1 << 0)
    /// The sensor malfunctions.
    public static let sensorMalfunction = Self(rawValue: 1 << 1)
    /// There is too little blood or solution.
    public static let insufficientSample = Self(rawValue: 1 << 2)
    /// The strip was not inserted correctly.
    public static let stripInsertionError = Self(rawValue: 1 << 3)
    /// The strip is not one for the device.
    public static let stripTypeError = Self(rawValue: 1 << 4)
    /// The result is higher than the device can measure.
    public static let resultTooHigh = Self(rawValue: 1 << 5)
    /// The result is lower than the device can measure.
    public static let resultTooLow = Self(rawValue: 1 << 6)
    /// It is too warm for the device.
    public static let temperatureTooHigh = Self(rawValue: 1 << 7)
    /// It is too cold for the device.
    public static let temperatureTooLow = Self(rawValue: 1 << 8)
    /// The strip was pulled too soon.
    public static let readInterrupted = Self(rawValue: 1 << 9)
    /// The device has a general fault.
    public static let generalFault = Self(rawValue: 1 << 10)
    /// The clock may be wrong.
    public static let timeFault = Self(rawValue: 1 << 11)

    /// The names of the bits.
    static let names = [
        "battery low", "sensor malfunction", "insufficient sample", "strip insertion error", "strip type error",
        "result too high", "result too low", "temperature too high", "temperature too low", "read interrupted",
        "general fault", "time fault",
    ]
}

/// What a glucose meter detects (Glucose Service §3.3).
public struct GlucoseFeature: OptionSet, Hashable, Sendable, CustomStringConvertible, NamedBits {
    /// The bits.
    public var rawValue: UInt16

    /// Features by their bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// A low battery.
    public static let lowBatteryDetection = Self(rawValue: 1 << 0)
    /// A malfunction of the sensor.
    public static let malfunctionDetection = Self(rawValue: 1 << 1)
    /// The size of the sample.
    public static let sampleSizeDetection = Self(rawValue: 1 << 2)
    /// Errors of the insertion of a strip.
    public static let stripInsertionErrorDetection = Self(rawValue: 1 << 3)
    /// Strips for another device.
    public static let stripTypeErrorDetection = Self(rawValue: 1 << 4)
    /// Results out of range.
    public static let resultHighLowDetection = Self(rawValue: 1 << 5)
    /// Temperatures out of range.
    public static let temperatureHighLowDetection = Self(rawValue: 1 << 6)
    /// Strips that are pulled too soon.
    public static let readInterruptDetection = Self(rawValue: 1 << 7)
    /// General faults.
    public static let generalFaultDetection = Self(rawValue: 1 << 8)
    /// Faults of the clock.
    public static let timeFaultDetection = Self(rawValue: 1 << 9)
    /// Bonds with several devices.
    public static let multipleBonds = Self(rawValue: 1 << 10)

    /// The names of the bits.
    static let names = [
        "low battery detection", "malfunction detection", "sample size", "strip insertion error", "strip type error",
        "result high-low", "temperature high-low", "read interrupt", "general fault", "time fault", "multiple bonds",
    ]
}

extension Characteristic where Value == GlucoseMeasurement {
    /// Glucose Measurement: the records, each notified once it is requested by the ``recordAccessControlPoint``.
    public static var glucoseMeasurement: Self { Self(.glucoseMeasurement, in: .glucose, properties: .notify) }
}

extension Characteristic where Value == GlucoseFeature {
    /// Glucose Feature: what the meter detects.
    public static var glucoseFeature: Self { Self(0x2A51, in: .glucose, initial: []) }
}
