import BluetoothProfiles
import TestSupport
import Testing

/// Numbers and fields at the ends of their ranges.
@Suite struct FieldTests {
    private static func characteristic<Value>(
        _ initial: Value,
        _ fields: @escaping @Sendable (inout Value, inout FieldCoder) throws(MalformedValue) -> Void
    ) -> Characteristic<Value> {
        Characteristic(0xABCD, in: 0xABCE, initial: initial, fields: fields)
    }

    private static func integer(_ format: NumberFormat, _ scale: NumberScale = .one) -> Characteristic<Int> {
        characteristic(0) { (value, fields) throws(MalformedValue) in try fields.number(nil, &value, format, scale) }
    }

    private static func double(_ format: NumberFormat, _ scale: NumberScale = .one) -> Characteristic<Double> {
        characteristic(0) { (value, fields) throws(MalformedValue) in try fields.number(nil, &value, format, scale) }
    }

    private static func list(_ format: NumberFormat) -> Characteristic<[Double]> {
        characteristic([]) { (values, fields) throws(MalformedValue) in try fields.numbers("list", &values, format) }
    }

    /// The problem of a value; nil if it has an encoding.
    private func problem<Value>(_ value: Value, _ characteristic: Characteristic<Value>) -> String? {
        do throws(MalformedValue) {
            _ = try characteristic.codec.encode(value)
            return nil
        } catch { return "\(error)" }
    }

    /// Expects that a value has these bytes, and they the value.
    private func expect<Value: Equatable>(_ value: Value, _ type: Characteristic<Value>, is text: String) throws {
        #expect(try type.codec.decode(hex(text)) == value)
        #expect(try type.codec.encode(value) == hex(text))
    }

    // MARK: Wide numbers

    /// Integers that a binary number of 53 bits cannot tell apart.
    @Test(
        arguments: [
            (.u64, .one, 9_007_199_254_740_993, "0100000000002000"), (.u64, .one, .max, "FFFFFFFFFFFFFF7F"),
            (.i64, .one, .max, "FFFFFFFFFFFFFF7F"), (.i64, .one, .min, "0000000000000080"),
            (.i64, .one, -9_007_199_254_740_993, "FFFFFFFFFFFFDFFF"),
            (.i64, .times(3), 27_021_597_764_222_979, "0100000000002000"),
            (.i64, .ten(1), 90_071_992_547_409_930, "0100000000002000"),
            (.i64, .times(5, ten: -1), 4_503_599_627_370_497, "0200000000002000"),
            (.integer(byteCount: 16, isSigned: true), .one, -2, "FEFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"),
            (.integer(byteCount: 16, isSigned: false), .one, .max, "FFFFFFFFFFFFFF7F0000000000000000"),
        ] as [(NumberFormat, NumberScale, Int, String)])
    func integersAreExact(_ format: NumberFormat, _ scale: NumberScale, _ value: Int, _ text: String) throws {
        try expect(value, Self.integer(format, scale), is: text)
    }

    /// The nearest number, where none has the value.
    @Test func anIntegerBetweenTwoNumbersIsRounded() throws {
        let encoded = [
            try Self.integer(.i8, .times(15)).codec.encode(22), try Self.integer(.i8, .times(15)).codec.encode(-23),
            try Self.integer(.u8, .ten(2)).codec.encode(149),
        ]
        #expect(encoded == [[1], [0xFE], [1]])
    }

    @Test func integersBeyondTheirRangeAreRefused() throws {
        let wide = NumberFormat.integer(byteCount: 16, isSigned: false)
        #expect(throws: MalformedValue("value", "not an integer")) {
            try Self.integer(.u64).codec.decode(hex("0000000000000080"))
        }
        #expect(throws: MalformedValue("value", "not a number")) {
            try Self.integer(wide).codec.decode(Array(repeating: 0xFF, count: 16))
        }
        #expect(throws: MalformedValue("value", "not an integer")) {
            try Self.integer(.u8, .ten(-1)).codec.decode([25])
        }
        let tenths = try Self.integer(.u8, .ten(-1)).codec.decode([30])
        #expect(tenths == 3)
        #expect(problem(-1, Self.integer(.u64)) == "value: -1 is out of range")
        #expect(problem(-1, Self.integer(wide)) == "value: -1 is out of range")
        #expect(problem(128, Self.integer(.i8)) == "value: 128 is out of range")
        #expect(problem(0, Self.integer(.integer(byteCount: 0, isSigned: false))) == "value: 0 is out of range")
        #expect(problem(1e300, Self.double(.float32)) == "value: 1e+300 is out of range")
    }

    /// 16 bytes times a factor have more than 128 bits.
    @Test(arguments: ["FFFFFFFFFFFFFFFFFFFFFFFFFFFFFF7F", "00000000000000000000000000000080"])
    func theWidestNumbersHaveAScale(_ text: String) throws {
        let decoded = try Self.double(.integer(byteCount: 16, isSigned: true), .times(5, ten: -3)).codec.decode(
            hex(text))
        #expect(abs(abs(decoded) / 8.507_059_173_023_462e35 - 1) < 1e-9)
        #expect((decoded < 0) == text.hasPrefix("0"))
        #expect(throws: MalformedValue("value", "not an integer")) {
            try Self.integer(.integer(byteCount: 16, isSigned: true), .times(5)).codec.decode(hex(text))
        }
    }

    // MARK: Scales

    /// IEEE 11073-20601 SFLOAT and FLOAT, and IEEE 754.
    @Test(
        arguments: [
            (.sfloat, .times(5), 15, "0300"), (.sfloat, .ten(3), 12, "0CD0"), (.sfloat, .over(4), 0.75, "0300"),
            (.medicalFloat, .times(5, ten: -1), 1.5, "03000000"), (.float32, .ten(-1), 0.25, "00002040"),
            (.float32, .over(2), 1.25, "00002040"), (.float64, .times(2, ten: 1), 50, "0000000000000440"),
            (.float32, .one, 2.5, "00002040"),
        ] as [(NumberFormat, NumberScale, Double, String)])
    func everyFormatHasAScale(_ format: NumberFormat, _ scale: NumberScale, _ value: Double, _ text: String) throws {
        try expect(value, Self.double(format, scale), is: text)
    }

    // MARK: Values and their ranges

    /// What stands for an unknown value is not a value.
    @Test func theBytesOfAnUnknownValueAreOutOfRange() {
        // GATT Specification Supplement, Humidity, Temperature and CO2 Concentration.
        #expect(problem(655.35, Characteristic.humidity) == "value: 655.35 is out of range")
        #expect(problem(655.34, Characteristic.humidity) == nil)
        #expect(problem(Temperature(celsius: -327.68), Characteristic.temperature) != nil)
        #expect(problem(Temperature(celsius: -327.67), Characteristic.temperature) == nil)
        #expect(problem(65_535, Characteristic.co2Concentration) == "value: 65535 is out of range")
        #expect(problem(65_534, Characteristic.vocConcentration) == nil)
        // Weight Scale Service §3.2 and Blood Pressure Service §3.1: the unknown user.
        var weight = WeightMeasurement(80)
        weight.userID = 255
        #expect(problem(weight, Characteristic.weightMeasurement) == "user: 255 is out of range")
        weight.userID = 254
        #expect(problem(weight, Characteristic.weightMeasurement) == nil)
        var pressure = BloodPressureMeasurement(systolic: 120, diastolic: 80, mean: 93)
        pressure.context.userID = 255
        #expect(problem(pressure, Characteristic.bloodPressureMeasurement) == "user: 255 is out of range")
        #expect(problem(WeightMeasurement(327.675), Characteristic.weightMeasurement) != nil)
    }

    /// GATT Specification Supplement, Battery Level.
    @Test(arguments: [-1, 101, 255, 256]) func aBatteryHasAtMostAHundredPercent(_ level: Int) {
        #expect(problem(level, Characteristic.batteryLevel) == "value: \(level) is out of range")
        if let byte = UInt8(exactly: level) {
            #expect(throws: MalformedValue("value", "\(level) is out of range")) {
                try Characteristic.batteryLevel.codec.decode([byte])
            }
        }
    }

    /// GATT Specification Supplement, Date Time: a device's clock may be wrong, the own one not.
    @Test func datesThatAreSentHaveTheirRanges() throws {
        let codec = Characteristic.currentTime.codec
        for (time, part) in [
            (DateTime(year: 1581), 1581), (DateTime(year: 10_000), 10_000), (DateTime(month: 13), 13),
            (DateTime(day: 32), 32), (DateTime(hours: 24), 24), (DateTime(minutes: 60), 60),
            (DateTime(seconds: 60), 60),
            (DateTime(month: -1), -1),
        ] {
            let found = problem(CurrentTime(time), Characteristic.currentTime)
            #expect(found == "value: \(part) is out of range")
        }
        let first = DateTime(year: 1582, month: 1, day: 1)
        let last = DateTime(year: 9999, month: 12, day: 31, hours: 23, minutes: 59, seconds: 59)
        for time in [DateTime(), first, last] {
            let found = problem(CurrentTime(time), Characteristic.currentTime)
            #expect(found == nil)
        }
        let wrong = try codec.decode(hex("EA07 0D 20 18 3C 3C 00 00 00"))
        #expect(wrong.time == DateTime(year: 2026, month: 13, day: 32, hours: 24, minutes: 60, seconds: 60))
    }

    /// Fields that come together.
    @Test func halfAPairIsRefused() {
        // Weight Scale Service §3.2.
        var weight = WeightMeasurement(80)
        weight.height = 1.8
        #expect(problem(weight, Characteristic.weightMeasurement) == "BMI: missing")
        (weight.height, weight.bodyMassIndex) = (nil, 25)
        #expect(problem(weight, Characteristic.weightMeasurement) == "height: missing")
        // Glucose Service §3.2.
        var context = GlucoseMeasurementContext(sequenceNumber: 1)
        context.exerciseIntensity = 70
        #expect(problem(context, Characteristic.glucoseMeasurementContext) == "exercise: missing")
        (context.exerciseIntensity, context.exerciseDuration) = (nil, 600)
        #expect(problem(context, Characteristic.glucoseMeasurementContext) == "intensity: missing")
    }

    // MARK: Lists

    /// Heart Rate Service §3.1.1.4 and the Cycling Power Vector: a list that ends in the middle of a number.
    @Test func listsEndWithAWholeNumber() throws {
        let missing = "2 bytes needed, 1 available"
        #expect(throws: MalformedValue("RR", missing)) {
            try Characteristic.heartRateMeasurement.codec.decode(hex("10 48 0004 00"))
        }
        #expect(throws: MalformedValue("force", missing)) {
            try Characteristic.cyclingPowerVector.codec.decode(hex("04 0100 02"))
        }
        #expect(throws: MalformedValue("torque", missing)) {
            try Characteristic.cyclingPowerVector.codec.decode(hex("08 01"))
        }
        #expect(throws: MalformedValue("list", "not a number")) {
            try Self.list(.integer(byteCount: 0, isSigned: false)).codec.decode([1])
        }
        #expect(throws: MalformedValue("list", "not a number")) {
            try Self.list(.integer(byteCount: 16, isSigned: false)).codec.decode(Array(repeating: 0xFF, count: 16))
        }
        let (empty, two) = (try Self.list(.u8).codec.decode([]), try Self.list(.u8).codec.decode([1, 2]))
        #expect(empty.isEmpty)
        #expect(two == [1, 2])
    }
}
