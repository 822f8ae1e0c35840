import BluetoothPrimitives

// Running Speed and Cadence Service 1.0.

/// A measurement of a running speed and cadence sensor (RSC Measurement).
public struct RSCMeasurement: Hashable, Sendable {
    /// The speed in meters per second, in steps of 1/256.
    public var speed: Double
    /// The steps in a minute.
    public var cadence: Int
    /// The length of a stride in meters, in centimeters on the air.
    public var strideLength: Double?
    /// The distance so far in meters, in steps of 0.1.
    public var totalDistance: Double?
    /// Whether the wearer runs; otherwise, also from a sensor that does not know, the wearer walks.
    public var isRunning: Bool

    /// A measurement.
    /// - Parameters:
    ///   - speed: meters per second.
    ///   - cadence: steps in a minute.
    ///   - strideLength: meters.
    ///   - totalDistance: meters.
    ///   - isRunning: whether the wearer runs.
    public init(
        speed: Double, cadence: Int, strideLength: Double? = nil, totalDistance: Double? = nil, isRunning: Bool = false
    ) {
        (self.speed, self.cadence, self.isRunning) = (speed, cadence, isRunning)
        (self.strideLength, self.totalDistance) = (strideLength, totalDistance)
    }
}

/// The features of a running speed and cadence sensor (RSC Feature).
public struct RSCFeature: OptionSet, Hashable, Sendable, CustomStringConvertible, NamedBits {
    /// The bits of the value.
    public let rawValue: UInt16

    /// The features with these bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The length of a stride.
    public static let strideLength = Self(rawValue: 1 << 0)
    /// The total distance.
    public static let totalDistance = Self(rawValue: 1 << 1)
    /// Whether the wearer walks or runs.
    public static let walkingOrRunning = Self(rawValue: 1 << 2)
    /// A procedure that calibrates the sensor.
    public static let calibration = Self(rawValue: 1 << 3)
    /// A choice of locations for the sensor.
    public static let multipleSensorLocations = Self(rawValue: 1 << 4)

    /// The names of the features.
    static let names = [
        "stride length", "total distance", "walking or running", "calibration", "multiple sensor locations",
    ]
}

extension Characteristic where Value == RSCMeasurement {
    /// RSC Measurement: speed and cadence of a runner.
    public static var rscMeasurement: Self {
        Self(
            .rscMeasurement, in: .runningSpeedAndCadence, properties: .notify,
            initial: Value(speed: 0, cadence: 0)
        ) { (value, fields) throws(MalformedValue) in
            try fields.flags(byteCount: 1)
            try fields.number("speed", &value.speed, .u16, .over(256, digits: 2), unit: "m/s")
            try fields.number("cadence", &value.cadence, .u8, unit: "steps/min")
            var centimeters = value.strideLength.map { $0 * 100 }
            try fields.number("stride", &centimeters, .u16, unit: "cm", flag: 0)
            value.strideLength = centimeters.map { $0 / 100 }
            try fields.number("distance", &value.totalDistance, .u32, .ten(-1), unit: "m", flag: 1)
            fields.flag(2, &value.isRunning)
            fields.mark(value.isRunning ? "running" : "walking", if: true)
        }
    }
}

extension Characteristic where Value == RSCFeature {
    /// RSC Feature: what a running speed and cadence sensor measures.
    public static var rscFeature: Self { Self(.rscFeature, in: .runningSpeedAndCadence, initial: []) }
}

extension Characteristic where Value == SCControlPoint {
    /// SC Control Point of the Running Speed and Cadence service: see
    /// `Connection.perform(_:on:timeout:)`.
    public static var runningControlPoint: Self { .controlPoint(.scControlPoint, in: .runningSpeedAndCadence) }
}
