import BluetoothPrimitives

extension PresentationFormat {
    /// The name of ``unit`` (Assigned Numbers §3.5 "Units"), such as `degree Celsius`; nil for an unknown unit.
    public var unitName: String? {
        guard let number = unit.uint16 else { return nil }
        for run in Self.unitNames where number >= run.first {
            let index = Int(number - run.first)
            if index < run.names.count { return run.names[index] }
        }
        return nil
    }

    /// The names of units with consecutive values.
    private static let unitNames: [(first: UInt16, names: [String])] = [
        (0x2700, ["unitless", "metre", "kilogram", "second", "ampere", "kelvin", "mole", "candela"]),
        (
            0x2710,
            [
                "m²", "m³", "m/s", "m/s²", "1/m", "kg/m³", "kg/m²", "m³/kg", "A/m²", "A/m", "mol/m³", "kg/m³",
                "cd/m²", "refractive index", "relative permeability",
            ]
        ),
        (
            0x2720,
            [
                "radian", "steradian", "hertz", "newton", "pascal", "joule", "watt", "coulomb", "volt", "farad", "ohm",
                "siemens", "weber", "tesla", "henry", "degree Celsius", "lumen", "lux", "becquerel", "gray", "sievert",
                "katal",
            ]
        ),
        (
            0x2740,
            [
                "Pa·s", "N·m", "N/m", "rad/s", "rad/s²", "W/m²", "J/K", "J/(kg·K)", "J/kg", "W/(m·K)", "J/m³", "V/m",
                "C/m³", "C/m²", "C/m²", "F/m", "H/m", "J/mol", "J/(mol·K)", "C/kg", "Gy/s", "W/sr", "W/(m²·sr)",
                "kat/m³",
            ]
        ),
        (
            0x2760,
            [
                "minute", "hour", "day", "degree", "minute of arc", "second of arc", "hectare", "litre", "tonne",
            ]
        ),
        (
            0x2780,
            ["bar", "millimetre of mercury", "ångström", "nautical mile", "barn", "knot", "neper", "bel"]
        ),
        (
            0x27A0,
            [
                "yard", "parsec", "inch", "foot", "mile", "pound-force per square inch", "km/h", "mile per hour",
                "revolution per minute", "gram calorie", "kilogram calorie", "kilowatt hour", "degree Fahrenheit",
                "percent", "per mille", "beat per minute", "ampere hour", "mg/dL", "mmol/L", "year", "month",
                "count per m³", "W/m²", "mL/(kg·min)", "pound", "metabolic equivalent", "step per minute",
            ]
        ),
        (
            0x27BC,
            [
                "stroke per minute", "km/min", "lm/W", "lumen hour", "lux hour", "g/s", "L/s", "decibel",
                "parts per million", "parts per billion", "mg/dL per minute", "kilovolt-ampere hour", "volt-ampere",
            ]
        ),
    ]
}
