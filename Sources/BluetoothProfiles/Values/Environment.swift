import BluetoothPrimitives

// Environmental Sensing Service 1.0, with the characteristics that Assigned Numbers §6.1 permits in it. A service may have
// several characteristics of one kind: `RemoteCharacteristic` and its Environmental Sensing Measurement tell them apart.

/// A temperature.
public struct Temperature: Hashable, Sendable, CustomStringConvertible {
    /// Degrees Celsius.
    public var celsius: Double

    /// A temperature in degrees Celsius.
    public init(celsius: Double) { self.celsius = celsius }

    /// A temperature in degrees Fahrenheit.
    public init(fahrenheit: Double) { celsius = (fahrenheit - 32) / 1.8 }

    /// Degrees Fahrenheit.
    public var fahrenheit: Double { celsius * 1.8 + 32 }

    /// The temperature in degrees Celsius: `21.5 °C`.
    public var description: String { "\(celsius) °C" }
}

/// A magnetic flux density in microteslas, in steps of 0.1.
public struct MagneticFluxDensity: Hashable, Sendable {
    /// The component along the x-axis.
    public var x: Double
    /// The component along the y-axis.
    public var y: Double
    /// The component along the z-axis; nil from a sensor of two axes.
    public var z: Double?

    /// A magnetic flux density in microteslas.
    public init(x: Double, y: Double, z: Double? = nil) {
        (self.x, self.y, self.z) = (x, y, z)
    }
}

/// The course of the barometric pressure (Barometric Pressure Trend). An open set.
public struct BarometricPressureTrend: RawRepresentable, Hashable, Sendable, CustomStringConvertible, NamedValue {
    /// The code of the trend.
    public let rawValue: UInt8

    /// The trend with this code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Unknown.
    public static let unknown = Self(rawValue: 0)
    /// Continuously falling.
    public static let falling = Self(rawValue: 1)
    /// Continuously rising.
    public static let rising = Self(rawValue: 2)
    /// Falling, then steady.
    public static let fallingThenSteady = Self(rawValue: 3)
    /// Rising, then steady.
    public static let risingThenSteady = Self(rawValue: 4)
    /// Falling before a lesser rise.
    public static let fallingBeforeLesserRise = Self(rawValue: 5)
    /// Falling before a greater rise.
    public static let fallingBeforeGreaterRise = Self(rawValue: 6)
    /// Rising before a greater fall.
    public static let risingBeforeGreaterFall = Self(rawValue: 7)
    /// Rising before a lesser fall.
    public static let risingBeforeLesserFall = Self(rawValue: 8)
    /// Steady.
    public static let steady = Self(rawValue: 9)

    /// The names of the trends.
    static let names = [
        "unknown", "continuously falling", "continuously rising", "falling, then steady", "rising, then steady",
        "falling before a lesser rise", "falling before a greater rise", "rising before a greater fall",
        "rising before a lesser fall", "steady",
    ]
}

/// A change of descriptors of the Environmental Sensing service (Descriptor Value Changed).
public struct DescriptorValueChange: Hashable, Sendable {
    /// The origin of a change and the descriptors that it concerns.
    public struct Flags: OptionSet, Hashable, Sendable, CustomStringConvertible, NamedBits {
        /// The bits of the value.
        public let rawValue: UInt16

        /// The flags with these bits.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// A client made the change; otherwise the server.
        public static let byClient = Self(rawValue: 1 << 0)
        /// Environmental Sensing Trigger Setting descriptors.
        public static let triggerSetting = Self(rawValue: 1 << 1)
        /// The Environmental Sensing Configuration descriptor.
        public static let configuration = Self(rawValue: 1 << 2)
        /// The Environmental Sensing Measurement descriptor.
        public static let measurement = Self(rawValue: 1 << 3)
        /// The Characteristic User Description descriptor.
        public static let userDescription = Self(rawValue: 1 << 4)

        /// The names of the flags.
        static let names = ["by client", "trigger setting", "configuration", "measurement", "user description"]
    }

    /// The origin of the change and the changed descriptors.
    public var flags: Flags
    /// The UUID of the characteristic with the descriptors.
    public var characteristic: BluetoothUUID

    /// A change of descriptors.
    public init(_ flags: Flags, of characteristic: BluetoothUUID) {
        (self.flags, self.characteristic) = (flags, characteristic)
    }
}

// MARK: Characteristics

extension Characteristic {
    /// A characteristic of the service: read and notified.
    private static func sensing(
        _ uuid: BluetoothUUID, _ initial: Value,
        fields: @escaping @Sendable (inout Value, inout FieldCoder) throws(MalformedValue) -> Void
    ) -> Self {
        Self(
            uuid, in: .environmentalSensing, properties: [.read, .notify], initial: initial, fields: fields)
    }
}

extension Characteristic where Value == Temperature? {
    /// Temperature, in steps of 0.01 °C; nil if the sensor does not know it.
    public static var temperature: Self {
        .sensing(.temperature, nil) { (value, fields) throws(MalformedValue) in
            var celsius = value?.celsius
            try fields.number(nil, &celsius, .i16, .ten(-2), unit: "°C", unknown: 0x8000)
            value = celsius.map { Temperature(celsius: $0) }
        }
    }
}

extension Characteristic where Value == Temperature {
    /// Dew Point, in whole degrees Celsius.
    public static var dewPoint: Self { .whole(0x2A7B) }
    /// Heat Index, in whole degrees Celsius.
    public static var heatIndex: Self { .whole(0x2A7A) }
    /// Wind Chill, in whole degrees Celsius.
    public static var windChill: Self { .whole(0x2A79) }

    private static func whole(_ uuid: BluetoothUUID) -> Self {
        .sensing(uuid, Temperature(celsius: 0)) { (value, fields) throws(MalformedValue) in
            try fields.number(nil, &value.celsius, .i8, unit: "°C")
        }
    }
}

extension Characteristic where Value == Double {
    /// Apparent Wind Direction in degrees, 0 to 359.99: 0 is the direction of the observer's movement.
    public static var apparentWindDirection: Self { .sensed(0x2A73, .u16, .ten(-2), "°") }
    /// Apparent Wind Speed in meters per second, in steps of 0.01.
    public static var apparentWindSpeed: Self { .sensed(0x2A72, .u16, .ten(-2), "m/s") }
    /// Elevation in meters above sea level, in steps of 0.01.
    public static var elevation: Self { .sensed(.elevation, .i24, .ten(-2), "m") }
    /// Gust Factor, in steps of 0.1.
    public static var gustFactor: Self { .sensed(0x2A74, .u8, .ten(-1)) }
    /// Irradiance in watts per square meter, in steps of 0.1.
    public static var irradiance: Self { .sensed(0x2A77, .u16, .ten(-1), "W/m²") }
    /// Magnetic Declination in degrees, 0 to 359.99.
    public static var magneticDeclination: Self { .sensed(0x2A2C, .u16, .ten(-2), "°") }
    /// Pressure in pascals, in steps of 0.1; a hundred are a hectopascal.
    public static var pressure: Self { .sensed(.pressure, .u32, .ten(-1), "Pa") }
    /// True Wind Direction in degrees, 0 to 359.99: 0 is north, 90 east.
    public static var trueWindDirection: Self { .sensed(0x2A71, .u16, .ten(-2), "°") }
    /// True Wind Speed in meters per second, in steps of 0.01.
    public static var trueWindSpeed: Self { .sensed(0x2A70, .u16, .ten(-2), "m/s") }

    // Concentrations are numbers of three digits; NaN if the sensor has no valid measurement.

    /// Ammonia Concentration in kilograms per cubic meter; NaN without a valid measurement.
    public static var ammoniaConcentration: Self { .concentration(0x2BCF) }
    /// Carbon Monoxide Concentration in kilograms per cubic meter; NaN without a valid measurement.
    public static var carbonMonoxideConcentration: Self { .concentration(0x2BD0) }
    /// Methane Concentration in parts per billion; NaN without a valid measurement.
    public static var methaneConcentration: Self { .concentration(0x2BD1, "ppb") }
    /// Nitrogen Dioxide Concentration in kilograms per cubic meter; NaN without a valid measurement.
    public static var nitrogenDioxideConcentration: Self { .concentration(0x2BD2) }
    /// Non-Methane Volatile Organic Compounds Concentration in kilograms per cubic meter; NaN without a valid measurement.
    public static var nonMethaneVOCConcentration: Self { .concentration(0x2BD3) }
    /// Ozone Concentration in kilograms per cubic meter; NaN without a valid measurement.
    public static var ozoneConcentration: Self { .concentration(0x2BD4) }
    /// Particulate Matter – PM1 Concentration in kilograms per cubic meter; NaN without a valid measurement.
    public static var pm1Concentration: Self { .concentration(0x2BD5) }
    /// Particulate Matter – PM2.5 Concentration in kilograms per cubic meter; NaN without a valid measurement.
    public static var pm2_5Concentration: Self { .concentration(0x2BD6) }
    /// Particulate Matter – PM10 Concentration in kilograms per cubic meter; NaN without a valid measurement.
    public static var pm10Concentration: Self { .concentration(0x2BD7) }
    /// Sulfur Dioxide Concentration in kilograms per cubic meter; NaN without a valid measurement.
    public static var sulfurDioxideConcentration: Self { .concentration(0x2BD8) }
    /// Sulfur Hexafluoride Concentration in kilograms per cubic meter; NaN without a valid measurement.
    public static var sulfurHexafluorideConcentration: Self { .concentration(0x2BD9) }

    private static func sensed(
        _ uuid: BluetoothUUID, _ format: NumberFormat, _ scale: NumberScale = .one, _ unit: String? = nil
    ) -> Self {
        .sensing(uuid, 0) { (value, fields) throws(MalformedValue) in
            try fields.number(nil, &value, format, scale, unit: unit)
        }
    }

    private static func concentration(_ uuid: BluetoothUUID, _ unit: String = "kg/m³") -> Self {
        .sensed(uuid, .sfloat, .one, unit)
    }
}

extension Characteristic where Value == Double? {
    /// Humidity in percent, in steps of 0.01; nil if the sensor does not know it.
    public static var humidity: Self {
        .sensing(.humidity, nil) { (value, fields) throws(MalformedValue) in
            try fields.number(nil, &value, .u16, .ten(-2), unit: "%", unknown: 0xFFFF)
        }
    }
}

extension Characteristic where Value == Int {
    /// Pollen Concentration: the grains in a cubic meter.
    public static var pollenConcentration: Self { .count(0x2A75, .u24, "/m³") }
    /// Rainfall in millimeters.
    public static var rainfall: Self { .count(0x2A78, .u16, "mm") }
    /// UV Index.
    public static var uvIndex: Self { .count(.uvIndex, .u8) }

    private static func count(_ uuid: BluetoothUUID, _ format: NumberFormat, _ unit: String? = nil) -> Self {
        .sensing(uuid, 0) { (value, fields) throws(MalformedValue) in
            try fields.number(nil, &value, format, unit: unit)
        }
    }
}

extension Characteristic where Value == Int? {
    /// CO₂ Concentration in parts per million; 65,534 is that or more, nil unknown.
    public static var co2Concentration: Self { .parts(0x2B8C, "ppm") }
    /// VOC Concentration in parts per billion; 65,534 is that or more, nil unknown.
    public static var vocConcentration: Self { .parts(0x2BE7, "ppb") }

    private static func parts(_ uuid: BluetoothUUID, _ unit: String) -> Self {
        .sensing(uuid, nil) { (value, fields) throws(MalformedValue) in
            try fields.number(nil, &value, .u16, unit: unit, unknown: 0xFFFF)
        }
    }
}

extension Characteristic where Value == MagneticFluxDensity {
    /// Magnetic Flux Density – 2D.
    public static var magneticFluxDensity2D: Self { .axes(0x2AA0, hasZ: false) }
    /// Magnetic Flux Density – 3D.
    public static var magneticFluxDensity3D: Self { .axes(0x2AA1, hasZ: true) }

    private static func axes(_ uuid: BluetoothUUID, hasZ: Bool) -> Self {
        .sensing(uuid, MagneticFluxDensity(x: 0, y: 0)) { (value, fields) throws(MalformedValue) in
            try fields.number("x", &value.x, .i16, .ten(-1), unit: "µT")
            try fields.number("y", &value.y, .i16, .ten(-1), unit: "µT")
            if hasZ { try fields.number("z", &value.z, .i16, .ten(-1), unit: "µT") }
        }
    }
}

extension Characteristic where Value == BarometricPressureTrend {
    /// Barometric Pressure Trend.
    public static var barometricPressureTrend: Self {
        Self(0x2AA3, in: .environmentalSensing, properties: [.read, .notify], initial: .unknown)
    }
}

extension Characteristic where Value == DescriptorValueChange {
    /// Descriptor Value Changed: the server indicates changes of descriptors to the other clients.
    public static var descriptorValueChanged: Self {
        Self(
            0x2A7D, in: .environmentalSensing, properties: .indicate, initial: Value([], of: 0)
        ) { (value, fields) throws(MalformedValue) in
            try fields.code("flags", &value.flags)
            try fields.uuid("characteristic", &value.characteristic)
        }
    }
}

extension FieldCoder {
    /// A UUID up to the end of the value, of 2 or 16 bytes.
    fileprivate mutating func uuid(_ name: String, _ value: inout BluetoothUUID) throws(MalformedValue) {
        if isDecoding ? remainingCount < 16 : value.shortestWidth == .bits16 {
            var short = value.uint16 ?? 0
            try identifier(name, &short)
            value = BluetoothUUID(short)
        } else {
            var (high, low) = (value.high, value.low)
            try identifier(name, &low)
            try identifier(name, &high)
            value = BluetoothUUID(high: high, low: low)
        }
    }
}
