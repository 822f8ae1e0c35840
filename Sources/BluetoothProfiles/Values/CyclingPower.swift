import BluetoothPrimitives

// Cycling Power Service 1.1.

/// A measurement of a cycling power sensor (Cycling Power Measurement).
///
/// Angles are those of the crank: 0° is up, 90° points to the front wheel.
public struct CyclingPowerMeasurement: Hashable, Sendable, FieldValue {
    /// The smallest and the largest value of a revolution.
    public struct Extremes: Hashable, Sendable {
        /// The largest value.
        public var maximum: Double
        /// The smallest value.
        public var minimum: Double

        /// The extremes of a revolution.
        public init(maximum: Double, minimum: Double) {
            (self.maximum, self.minimum) = (maximum, minimum)
        }

        fileprivate static let zero = Extremes(maximum: 0, minimum: 0)
    }

    /// The part of one pedal in the power.
    public struct PedalBalance: Hashable, Sendable {
        /// Percent, in steps of 0.5.
        public var percent: Double
        /// Whether it is the left pedal's part; otherwise the pedal is unknown.
        public var isLeft: Bool

        /// The part of one pedal.
        public init(percent: Double, isLeft: Bool = false) {
            (self.percent, self.isLeft) = (percent, isLeft)
        }
    }

    /// The sum of torques over the revolutions.
    public struct AccumulatedTorque: Hashable, Sendable {
        /// Newton meters, in steps of 1/32; starts again at 0 after 2,047.97.
        public var newtonMeters: Double
        /// Whether the torque is measured at the crank; otherwise at the wheel.
        public var isAtCrank: Bool

        /// A sum of torques.
        public init(newtonMeters: Double, isAtCrank: Bool = false) {
            (self.newtonMeters, self.isAtCrank) = (newtonMeters, isAtCrank)
        }
    }

    /// The power in watts; negative against the drive.
    public var power: Int
    /// The part of one pedal in the power.
    public var balance: PedalBalance?
    /// The sum of torques so far.
    public var accumulatedTorque: AccumulatedTorque?
    /// The revolutions of the wheel.
    public var wheel: CyclingRevolutions?
    /// The revolutions of the crank.
    public var crank: CyclingRevolutions?
    /// The extreme forces in newtons.
    public var forces: Extremes?
    /// The extreme torques in newton meters, in steps of 1/32.
    public var torques: Extremes?
    /// The angles of the extremes in whole degrees, each 0 to 4,095.
    public var angles: Extremes?
    /// The angle in degrees at which the force turns downwards.
    public var topDeadSpotAngle: Int?
    /// The angle in degrees at which the force turns upwards.
    public var bottomDeadSpotAngle: Int?
    /// The energy so far in kilojoules; it stays at 65,535.
    public var accumulatedEnergy: Int?
    /// Whether the sensor asks for a compensation of its offset: see `compensateOffset` of the control point.
    public var offsetCompensation = false

    /// A measurement of the power in watts; the other fields are absent until they are set.
    public init(power: Int) {
        self.power = power
    }

    /// The speed since an earlier measurement, in the unit of `circumference` per second.
    ///
    /// Nil if the wheel has not turned since then: a sensor repeats its last revolution while the bicycle stands. The
    /// measurements are less than 32 s apart. A wheel that turns backwards has a negative speed.
    /// - Parameters:
    ///   - earlier: the measurement before.
    ///   - circumference: the way of one revolution in metres; 2.096 for a wheel of 700C × 23.
    public func speed(since earlier: CyclingPowerMeasurement, circumference: Double) -> Double? {
        wheel?.rate(since: earlier.wheel, of: .wheel, clock: 32).map { $0 * circumference }
    }

    /// The revolutions of the crank in a minute since an earlier measurement, which is less than 64 s old; nil if it has not
    /// turned since then.
    public func cadence(since earlier: CyclingPowerMeasurement) -> Double? {
        crank?.rate(since: earlier.crank, of: .crank, clock: 64).map { $0 * 60 }
    }
}

extension CyclingPowerMeasurement {
    static let initial = Self(power: 0)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 2)
        try fields.number(nil, &value.power, .i16, unit: "W")
        try fields.group(&value.balance, flag: 0, initial: PedalBalance(percent: 0)) {
            (balance, fields) throws(MalformedValue) in
            try fields.number("balance", &balance.percent, .u8, .times(5, ten: -1), unit: "%")
            fields.flag(1, &balance.isLeft)
        }
        try fields.group(&value.accumulatedTorque, flag: 2, initial: AccumulatedTorque(newtonMeters: 0)) {
            (torque, fields) throws(MalformedValue) in
            try fields.number("torque", &torque.newtonMeters, .u16, .over(32), unit: "N·m")
            fields.flag(3, &torque.isAtCrank)
        }
        try fields.revolutions(.wheel, &value.wheel, ticks: 2048, flag: 4)
        try fields.revolutions(.crank, &value.crank, ticks: 1024, flag: 5)
        try fields.group(&value.forces, flag: 6, initial: .zero) { (forces, fields) throws(MalformedValue) in
            try fields.number("greatest force", &forces.maximum, .i16, unit: "N")
            try fields.number("least force", &forces.minimum, .i16, unit: "N")
        }
        try fields.group(&value.torques, flag: 7, initial: .zero) { (torques, fields) throws(MalformedValue) in
            try fields.number("greatest torque", &torques.maximum, .i16, .over(32), unit: "N·m")
            try fields.number("least torque", &torques.minimum, .i16, .over(32), unit: "N·m")
        }
        try fields.group(&value.angles, flag: 8, initial: .zero) { (angles, fields) throws(MalformedValue) in
            guard let maximum = UInt32(exactly: angles.maximum.rounded()), maximum < 0x1000,
                let minimum = UInt32(exactly: angles.minimum.rounded()), minimum < 0x1000
            else { throw MalformedValue("angles", "\(angles.minimum)° to \(angles.maximum)° are out of range") }
            // Two numbers of 12 bits: the larger angle is the low one.
            var bits = maximum | minimum << 12
            try fields.identifier("angles", &bits, byteCount: 3)
            angles = Extremes(maximum: Double(bits & 0xFFF), minimum: Double(bits >> 12))
        }
        try fields.number("top dead spot", &value.topDeadSpotAngle, .u16, unit: "°", flag: 9)
        try fields.number("bottom dead spot", &value.bottomDeadSpotAngle, .u16, unit: "°", flag: 10)
        try fields.number("energy", &value.accumulatedEnergy, .u16, unit: "kJ", flag: 11)
        fields.flag(12, &value.offsetCompensation)
    }
}

/// Forces or torques along a revolution of the crank (Cycling Power Vector).
public struct CyclingPowerVector: Hashable, Sendable, FieldValue {
    /// The direction of the magnitudes.
    public enum Direction: UInt8, Hashable, Sendable {
        /// Unknown.
        case unknown
        /// Along the way of the pedal.
        case tangential
        /// Towards the axle.
        case radial
        /// Along the axle.
        case lateral
    }

    /// The revolutions of the crank.
    public var crank: CyclingRevolutions?
    /// The angle of the crank at the first magnitude, in degrees.
    public var firstAngle: Int?
    /// The forces in newtons; nil from a sensor of torques.
    public var forces: [Double]?
    /// The torques in newton meters, in steps of 1/32; nil from a sensor of forces.
    public var torques: [Double]?
    /// The direction of the magnitudes.
    public var direction: Direction

    /// Magnitudes along a revolution: forces or torques.
    public init(
        crank: CyclingRevolutions? = nil, firstAngle: Int? = nil, forces: [Double]? = nil, torques: [Double]? = nil,
        direction: Direction = .unknown
    ) {
        (self.crank, self.firstAngle, self.direction) = (crank, firstAngle, direction)
        (self.forces, self.torques) = (forces, torques)
    }

    static let initial = Self()

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 1)
        try fields.revolutions(.crank, &value.crank, ticks: 1024, flag: 0)
        try fields.number("first angle", &value.firstAngle, .u16, unit: "°", flag: 1)
        let (hasForces, hasTorques) = (
            fields.isPresent(flag: 2, value.forces != nil), fields.isPresent(flag: 3, value.torques != nil)
        )
        guard !hasForces || !hasTorques else { throw MalformedValue("flags", "forces and torques at once") }
        try fields.group(&value.forces, flag: 2, initial: []) { (forces, fields) throws(MalformedValue) in
            try fields.numbers("force", &forces, .i16, unit: "N")
        }
        try fields.group(&value.torques, flag: 3, initial: []) { (torques, fields) throws(MalformedValue) in
            try fields.numbers("torque", &torques, .i16, .over(32), unit: "N·m")
        }
        var (low, high) = (value.direction.rawValue & 1 == 1, value.direction.rawValue & 2 == 2)
        fields.flag(4, &low)
        fields.flag(5, &high)
        value.direction = Direction(rawValue: (low ? 1 : 0) + (high ? 2 : 0)) ?? .unknown
    }
}

/// The features of a cycling power sensor (Cycling Power Feature).
public struct CyclingPowerFeature: OptionSet, Hashable, Sendable, CustomStringConvertible, NamedBits {
    /// The bits of the value.
    public let rawValue: UInt32

    /// The features with these bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The balance of the pedals.
    public static let pedalBalance = Self(rawValue: 1 << 0)
    /// The accumulated torque.
    public static let accumulatedTorque = Self(rawValue: 1 << 1)
    /// Revolutions of the wheel.
    public static let wheelRevolutions = Self(rawValue: 1 << 2)
    /// Revolutions of the crank.
    public static let crankRevolutions = Self(rawValue: 1 << 3)
    /// Extreme forces or torques.
    public static let extremeMagnitudes = Self(rawValue: 1 << 4)
    /// The angles of the extremes.
    public static let extremeAngles = Self(rawValue: 1 << 5)
    /// The angles of the dead spots.
    public static let deadSpotAngles = Self(rawValue: 1 << 6)
    /// The accumulated energy.
    public static let accumulatedEnergy = Self(rawValue: 1 << 7)
    /// The flag that asks for a compensation of the offset.
    public static let offsetCompensationIndicator = Self(rawValue: 1 << 8)
    /// The compensation of the offset.
    public static let offsetCompensation = Self(rawValue: 1 << 9)
    /// The choice of the fields of measurements.
    public static let contentMasking = Self(rawValue: 1 << 10)
    /// A choice of locations for the sensor.
    public static let multipleSensorLocations = Self(rawValue: 1 << 11)
    /// A setting of the length of the crank.
    public static let crankLength = Self(rawValue: 1 << 12)
    /// A setting of the length of the chain.
    public static let chainLength = Self(rawValue: 1 << 13)
    /// A setting of the weight of the chain.
    public static let chainWeight = Self(rawValue: 1 << 14)
    /// A setting of the span.
    public static let spanLength = Self(rawValue: 1 << 15)
    /// Magnitudes are torques; otherwise forces.
    public static let measuresTorque = Self(rawValue: 1 << 16)
    /// The direction of magnitudes.
    public static let direction = Self(rawValue: 1 << 17)
    /// The date of the factory's calibration.
    public static let factoryCalibrationDate = Self(rawValue: 1 << 18)
    /// The enhanced compensation of the offset.
    public static let enhancedOffsetCompensation = Self(rawValue: 1 << 19)
    /// The sensor measures alone, not as one of several on a bicycle.
    public static let notDistributed = Self(rawValue: 1 << 20)
    /// The sensor is one of several on a bicycle.
    public static let distributed = Self(rawValue: 1 << 21)

    /// The names of the features.
    static let names = [
        "pedal balance", "accumulated torque", "wheel revolutions", "crank revolutions", "extreme magnitudes",
        "extreme angles", "dead spot angles", "accumulated energy", "offset compensation indicator",
        "offset compensation", "content masking", "multiple sensor locations", "crank length", "chain length",
        "chain weight", "span length", "measures torque", "direction", "factory calibration date",
        "enhanced offset compensation", "not distributed", "distributed",
    ]
}

/// A message of the Cycling Power Control Point.
public struct CyclingPowerControlPoint: ControlPointMessage {
    /// The op code of responses.
    public static let responseCode: UInt8 = 0x20
    /// The op code.
    public var opcode: UInt8
    /// The bytes after the op code.
    public var parameter: [UInt8]

    /// A message.
    public init(opcode: UInt8, parameter: [UInt8] = []) {
        (self.opcode, self.parameter) = (opcode, parameter)
    }
}

extension ControlPointProcedure where Message == CyclingPowerControlPoint, Result == Void {
    /// Sets the revolutions of the wheel.
    public static func setCumulativeValue(_ value: UInt32) -> Self { Self(0x01, parameter: littleEndian(value)) }
    /// Chooses the location of the sensor.
    public static func updateLocation(_ location: SensorLocation) -> Self { Self(0x02, parameter: [location.rawValue]) }
    /// Sets the length of the crank in half millimeters.
    public static func setCrankLength(halfMillimeters: UInt16) -> Self {
        Self(0x04, parameter: littleEndian(halfMillimeters))
    }
    /// Sets the length of the chain.
    public static func setChainLength(millimeters: UInt16) -> Self { Self(0x06, parameter: littleEndian(millimeters)) }
    /// Sets the weight of the chain.
    public static func setChainWeight(grams: UInt16) -> Self { Self(0x08, parameter: littleEndian(grams)) }
    /// Sets the span.
    public static func setSpanLength(millimeters: UInt16) -> Self { Self(0x0A, parameter: littleEndian(millimeters)) }
}

extension ControlPointProcedure where Message == CyclingPowerControlPoint, Result == [SensorLocation] {
    /// Requests the locations that the sensor supports.
    public static var supportedLocations: Self { Self(0x03) { $0.sensorLocations() } }
}

extension ControlPointProcedure where Message == CyclingPowerControlPoint, Result == Double {
    /// Requests the length of the crank in millimeters, in steps of 0.5.
    public static var crankLength: Self { .number(0x05, "crank length", .u16, .times(5, ten: -1)) }
    /// Requests the length of the chain in millimeters.
    public static var chainLength: Self { .number(0x07, "chain length", .u16) }
    /// Requests the weight of the chain in grams.
    public static var chainWeight: Self { .number(0x09, "chain weight", .u16) }
    /// Requests the span in millimeters.
    public static var spanLength: Self { .number(0x0B, "span length", .u16) }
    /// Requests the samples in a second.
    public static var samplingRate: Self { .number(0x0E, "sampling rate", .u8) }

    private static func number(
        _ opcode: UInt8, _ name: String, _ format: NumberFormat, _ scale: NumberScale = .one
    ) -> Self {
        Self(opcode) { (fields) throws(MalformedValue) in
            var value = 0.0
            try fields.number(name, &value, format, scale)
            return value
        }
    }
}

extension ControlPointProcedure where Message == CyclingPowerControlPoint, Result == Int? {
    /// Compensates the offset, with an unloaded bicycle: the result is the raw force in newtons, or the raw torque in 1/32 of a
    /// newton meter; nil if the sensor does not tell.
    public static var compensateOffset: Self {
        Self(0x0C) { (fields) throws(MalformedValue) in
            var value: Int?
            try fields.number("offset", &value, .i16, unknown: 0xFFFF)
            return value
        }
    }
}

extension ControlPointProcedure where Message == CyclingPowerControlPoint, Result == DateTime {
    /// Requests the date of the factory's calibration.
    public static var factoryCalibrationDate: Self {
        Self(0x0F) { (fields) throws(MalformedValue) in
            var time = DateTime()
            try fields.dateTime("date", &time)
            return time
        }
    }
}

extension Characteristic where Value == CyclingPowerMeasurement {
    /// Cycling Power Measurement.
    public static var cyclingPowerMeasurement: Self {
        Self(.cyclingPowerMeasurement, in: .cyclingPower, properties: .notify)
    }
}

extension Characteristic where Value == CyclingPowerVector {
    /// Cycling Power Vector: forces or torques along a revolution.
    public static var cyclingPowerVector: Self { Self(0x2A64, in: .cyclingPower, properties: .notify) }
}

extension Characteristic where Value == CyclingPowerFeature {
    /// Cycling Power Feature: what a cycling power sensor measures.
    public static var cyclingPowerFeature: Self { Self(.cyclingPowerFeature, in: .cyclingPower, initial: []) }
}

extension Characteristic where Value == CyclingPowerControlPoint {
    /// Cycling Power Control Point: see `Connection.perform(_:on:timeout:)`.
    public static var cyclingPowerControlPoint: Self { .controlPoint(.cyclingPowerControlPoint, in: .cyclingPower) }
}
