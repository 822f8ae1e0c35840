import BluetoothPrimitives

// Cycling Speed and Cadence Service 1.0.

/// A measurement of a cycling speed and cadence sensor (CSC Measurement).
public struct CSCMeasurement: Hashable, Sendable {
    /// The revolutions of the wheel; nil from a sensor of the crank alone.
    public var wheel: CyclingRevolutions?
    /// The revolutions of the crank; nil from a sensor of the wheel alone.
    public var crank: CyclingRevolutions?

    /// A measurement.
    public init(wheel: CyclingRevolutions? = nil, crank: CyclingRevolutions? = nil) {
        (self.wheel, self.crank) = (wheel, crank)
    }

    /// The speed since an earlier measurement, in the unit of `circumference` per second.
    ///
    /// Nil if the wheel has not turned since then: a sensor repeats its last revolution while the bicycle stands. The
    /// measurements are less than 64 s apart. A wheel that turns backwards has a negative speed.
    /// - Parameters:
    ///   - earlier: the measurement before.
    ///   - circumference: the way of one revolution in metres; 2.096 for a wheel of 700C × 23.
    public func speed(since earlier: CSCMeasurement, circumference: Double) -> Double? {
        wheel?.rate(since: earlier.wheel, of: .wheel, clock: 64).map { $0 * circumference }
    }

    /// The revolutions of the crank in a minute since an earlier measurement, which is less than 64 s old; nil if it has not
    /// turned since then.
    public func cadence(since earlier: CSCMeasurement) -> Double? {
        crank?.rate(since: earlier.crank, of: .crank, clock: 64).map { $0 * 60 }
    }
}

/// The features of a cycling speed and cadence sensor (CSC Feature).
public struct CSCFeature: OptionSet, Hashable, Sendable, CustomStringConvertible, NamedBits {
    /// The bits of the value.
    public let rawValue: UInt16

    /// The features with these bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Revolutions of the wheel.
    public static let wheelRevolutions = Self(rawValue: 1 << 0)
    /// Revolutions of the crank.
    public static let crankRevolutions = Self(rawValue: 1 << 1)
    /// A choice of locations for the sensor.
    public static let multipleSensorLocations = Self(rawValue: 1 << 2)

    /// The names of the features.
    static let names = ["wheel revolutions", "crank revolutions", "multiple sensor locations"]
}

extension Characteristic where Value == CSCMeasurement {
    /// CSC Measurement: the revolutions of wheel and crank.
    public static var cscMeasurement: Self {
        Self(.cscMeasurement, in: .cyclingSpeedAndCadence, properties: .notify, initial: Value()) {
            (value, fields) throws(MalformedValue) in
            try fields.flags(byteCount: 1)
            try fields.revolutions(.wheel, &value.wheel, ticks: 1024, flag: 0)
            try fields.revolutions(.crank, &value.crank, ticks: 1024, flag: 1)
        }
    }
}

extension Characteristic where Value == CSCFeature {
    /// CSC Feature: what a cycling speed and cadence sensor measures.
    public static var cscFeature: Self { Self(.cscFeature, in: .cyclingSpeedAndCadence, initial: []) }
}

extension Characteristic where Value == SCControlPoint {
    /// SC Control Point of the Cycling Speed and Cadence service: see
    /// `Connection.perform(_:on:timeout:)`.
    public static var cyclingControlPoint: Self { .controlPoint(.scControlPoint, in: .cyclingSpeedAndCadence) }
}
