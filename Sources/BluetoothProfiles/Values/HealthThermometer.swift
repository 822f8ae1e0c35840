import BluetoothGATT
import BluetoothPrimitives

// Health Thermometer Service 1.0.

/// A Temperature Measurement of a body, also an intermediate one (Health Thermometer Service §3.1, §3.3).
public struct TemperatureMeasurement: Hashable, Sendable, FieldValue {
    /// The unit of a measurement.
    public enum Unit: Hashable, Sendable {
        /// Degrees Celsius.
        case celsius
        /// Degrees Fahrenheit.
        case fahrenheit
    }

    /// The temperature in the ``unit``; NaN if the device could not measure it.
    public var value: Double
    /// The unit of the device.
    public var unit: Unit
    /// The time of the measurement; nil if the device does not send it.
    public var time: DateTime?
    /// The place on the body; nil if the device does not send it.
    public var type: TemperatureType?

    /// A measurement of this value.
    public init(_ value: Double, unit: Unit = .celsius) { (self.value, self.unit) = (value, unit) }

    /// The temperature in degrees Celsius.
    public var celsius: Double { unit == .celsius ? value : (value - 32) / 1.8 }

    static let initial = Self(0)

    static func code(_ value: inout Self, _ fields: inout FieldCoder) throws(MalformedValue) {
        try fields.flags(byteCount: 1)
        value.unit = fields.isPresent(flag: 0, value.unit == .fahrenheit) ? .fahrenheit : .celsius
        try fields.number(nil, &value.value, .medicalFloat, unit: value.unit == .celsius ? "°C" : "°F")
        try fields.dateTime("at", &value.time, flag: 1)
        try fields.code("type", &value.type, flag: 2)
    }
}

/// The place of a temperature on the body (Health Thermometer Service §3.2). An open set: switch with a default.
public struct TemperatureType: RawRepresentable, Hashable, Sendable, CustomStringConvertible, NamedValue {
    /// The assigned value.
    public var rawValue: UInt8

    /// A place by its assigned value.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The armpit.
    public static let armpit = Self(rawValue: 1)
    /// The body in general.
    public static let body = Self(rawValue: 2)
    /// The ear, usually its lobe.
    public static let ear = Self(rawValue: 3)
    /// A finger.
    public static let finger = Self(rawValue: 4)
    /// The gastro-intestinal tract.
    public static let gastrointestinalTract = Self(rawValue: 5)
    /// The mouth.
    public static let mouth = Self(rawValue: 6)
    /// The rectum.
    public static let rectum = Self(rawValue: 7)
    /// A toe.
    public static let toe = Self(rawValue: 8)
    /// The tympanum, the ear drum.
    public static let tympanum = Self(rawValue: 9)

    /// The names of the places.
    static let names = [
        "armpit", "body", "ear", "finger", "gastro-intestinal tract", "mouth", "rectum", "toe", "tympanum",
    ]
    static let firstName = 1
}

extension Characteristic where Value == TemperatureMeasurement {
    /// Temperature Measurement: a temperature of the body, indicated when it is stable.
    public static var temperatureMeasurement: Self { measurement(.temperatureMeasurement, .indicate) }

    /// Intermediate Temperature: a temperature of the body while it is measured.
    public static var intermediateTemperature: Self { measurement(.intermediateTemperature, .notify) }

    private static func measurement(_ uuid: BluetoothUUID, _ properties: CharacteristicProperties) -> Self {
        Self(uuid, in: .healthThermometer, properties: properties)
    }
}

extension Characteristic where Value == TemperatureType {
    /// Temperature Type: the place on the body, of a thermometer that always has the same.
    public static var temperatureType: Self {
        Self(.temperatureType, in: .healthThermometer, initial: Value(rawValue: 0))
    }
}

extension Characteristic where Value == Int {
    /// Measurement Interval: the seconds between measurements, 1 to 65,535; 0 without periodic measurements.
    public static var measurementInterval: Self {
        Self(.measurementInterval, in: .healthThermometer, initial: 0) {
            (value, fields) throws(MalformedValue) in try fields.number(nil, &value, .u16, unit: "s")
        }
    }
}
