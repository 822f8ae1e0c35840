import BluetoothPrimitives

// Weight Scale Service 1.0.

/// A Weight Measurement (Weight Scale Service §3.2).
public struct WeightMeasurement: Hashable, Sendable, FieldValue {
    /// The units of a measurement.
    public enum Units: Hashable, Sendable {
        /// Kilograms and meters.
        case metric
        /// Pounds and inches.
        case imperial
    }

    /// The weight in kilograms or pounds; nil if it could not be measured.
    public var weight: Double?
    /// The units of the device.
    public var units: Units
    /// The time of the measurement; nil if the device does not send it.
    public var time: DateTime?
    /// The number of the user, 0 to 254; nil also for an unknown user.
    public var userID: Int?
    /// The body mass index in kg/m²; nil if the device does not send it. It comes with the ``height``.
    public var bodyMassIndex: Double?
    /// The height of the user in meters or inches; nil if the device does not send it.
    public var height: Double?

    /// A measurement of this weight.
    public init(_ weight: Double?, units: Units = .metric) { (self.weight, self.units) = (weight, units) }

    /// The weight in kilograms.
    public var kilograms: Double? { units == .metric ? weight : weight.map { $0 * 0.45359237 } }

    static let initial = Self(nil)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 1)
        let isImperial = fields.isPresent(flag: 0, value.units == .imperial)
        value.units = isImperial ? .imperial : .metric
        try fields.number(
            nil, &value.weight, .u16, isImperial ? .ten(-2) : .times(5, ten: -3), unit: isImperial ? "lb" : "kg",
            unknown: 0xFFFF)
        try fields.dateTime("at", &value.time, flag: 1)
        try fields.number("user", &value.userID, .u8, flag: 2, unknown: 0xFF)
        if fields.isPresent(flag: 3, value.bodyMassIndex != nil || value.height != nil) {
            try fields.number("BMI", &value.bodyMassIndex, .u16, .ten(-1))
            try fields.number(
                "height", &value.height, .u16, isImperial ? .ten(-1) : .ten(-3), unit: isImperial ? "in" : "m")
        }
    }
}

/// What a weight scale supports (Weight Scale Service §3.1).
public struct WeightScaleFeature: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// The bits.
    public var rawValue: UInt32

    /// Features by their bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The time of a measurement.
    public static let time = Self(rawValue: 1 << 0)
    /// Several users.
    public static let multipleUsers = Self(rawValue: 1 << 1)
    /// The body mass index.
    public static let bodyMassIndex = Self(rawValue: 1 << 2)

    /// The resolution of weights in kilograms; nil if it is not specified.
    public var weightResolution: Double? { Self.step(rawValue >> 3 & 15, [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005]) }
    /// The resolution of heights in meters; nil if it is not specified.
    public var heightResolution: Double? { Self.step(rawValue >> 7 & 7, [0.01, 0.005, 0.001]) }

    private static func step(_ code: UInt32, _ steps: [Double]) -> Double? {
        1...steps.count ~= Int(code) ? steps[Int(code) - 1] : nil
    }

    /// The names of the features, and the resolutions.
    public var description: String {
        let names = listed(rawValue & 7, names: [0: "time", 1: "multiple users", 2: "BMI"])
        let steps = [weightResolution.map { "steps of \($0) kg" }, heightResolution.map { "steps of \($0) m" }]
        return ([names] + steps).compactMap { $0 }.joined(separator: ", ")
    }
}

extension Characteristic where Value == WeightMeasurement {
    /// Weight Measurement, which is indicated.
    public static var weightMeasurement: Self { Self(.weightMeasurement, in: .weightScale, properties: .indicate) }
}

extension Characteristic where Value == WeightScaleFeature {
    /// Weight Scale Feature: what the scale supports.
    public static var weightScaleFeature: Self { Self(.weightScaleFeature, in: .weightScale, initial: []) }
}
