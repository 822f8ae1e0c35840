import BluetoothProfiles
import TestSupport
import Testing

/// Bytes of the specifications' fields, and what is computed from them.
@Suite struct SensorTests {
    /// The problem of bytes; nil if they have a meaning.
    private func problem<Value>(_ bytes: String, _ characteristic: Characteristic<Value>) -> String? {
        do throws(MalformedValue) {
            _ = try characteristic.codec.decode(hex(bytes))
            return nil
        } catch { return "\(error)" }
    }

    /// The problem of a value; nil if it has an encoding.
    private func problem<Value>(encoding value: Value, _ characteristic: Characteristic<Value>) -> String? {
        do throws(MalformedValue) {
            _ = try characteristic.codec.encode(value)
            return nil
        } catch { return "\(error)" }
    }

    // MARK: Cycling and running

    /// Cycling Power Service §3.2.1.9: the angles are 12 bits each, 0x123ABC are 0xABC at most and 0x123 at least.
    @Test func extremeAngles() throws {
        let measurement = try Characteristic.cyclingPowerMeasurement.codec.decode(hex("0001 0000 BC3A12"))
        #expect(measurement.angles == .init(maximum: 0xABC, minimum: 0x123))
        var other = CyclingPowerMeasurement(power: 0)
        other.angles = .init(maximum: 4096, minimum: 0)
        #expect(
            problem(encoding: other, .cyclingPowerMeasurement) == "angles: 0.0° to 4096.0° are out of range")
        other.angles = .init(maximum: 0, minimum: .nan)
        #expect(problem(encoding: other, .cyclingPowerMeasurement)?.hasPrefix("angles:") == true)
    }

    @Test func truncatedFieldsHaveNames() {
        #expect(problem("", .cyclingPowerMeasurement) == "flags: 2 bytes needed, 0 available")
        #expect(problem("1000 FA00 01000000", .cyclingPowerMeasurement) == "wheel time: 2 bytes needed, 0 available")
        #expect(problem("4000 FA00 0100 01", .cyclingPowerMeasurement) == "least force: 2 bytes needed, 1 available")
        #expect(problem("02 0100 00", .cscMeasurement) == "crank time: 2 bytes needed, 1 available")
        #expect(problem("02 0001 50 01", .rscMeasurement) == "distance: 4 bytes needed, 1 available")
        #expect(problem("0C 0100", .cyclingPowerVector) == "flags: forces and torques at once")
        #expect(problem("", .cyclingPowerSensorLocation) == "value: 1 byte needed, 0 available")
    }

    /// Flags and bytes of later versions are left alone.
    @Test func laterVersionsAreDecoded() throws {
        let measurement = try Characteristic.rscMeasurement.codec.decode(hex("F8 0001 50 FFFF"))
        #expect(measurement == RSCMeasurement(speed: 1, cadence: 80))
        let features = try Characteristic.cscFeature.codec.decode(hex("0180"))
        #expect(features.contains(.wheelRevolutions))
        #expect("\(features)" == "wheel revolutions, bit 15")
        let location = try Characteristic.cyclingSensorLocation.codec.decode([0x63])
        #expect("\(location)" == "0x63")
    }

    @Test func valuesOutOfRangeAreRefused() {
        #expect(problem(encoding: CyclingPowerMeasurement(power: 32_768), .cyclingPowerMeasurement) != nil)
        #expect(
            problem(encoding: RSCMeasurement(speed: 256, cadence: 0), .rscMeasurement) == "speed: 256.0 is out of range"
        )
        #expect(problem(encoding: RSCMeasurement(speed: 0, cadence: -1), .rscMeasurement) != nil)
        #expect(problem(encoding: CyclingPowerVector(forces: [], torques: []), .cyclingPowerVector) != nil)
        let wheel = CSCMeasurement(wheel: .init(count: 1, time: .infinity))
        #expect(problem(encoding: wheel, .cscMeasurement)?.hasPrefix("wheel time:") == true)
    }

    /// A sensor counts on where the field starts again.
    @Test func countersAndClocksStartAgain() throws {
        let codec = Characteristic.cscMeasurement.codec
        let later = CSCMeasurement(
            wheel: .init(count: .max, time: 64.5), crank: .init(count: 65_537, time: 63.999_9))
        let bytes = try codec.encode(later)
        #expect(bytes == hex("03 FFFFFFFF 0002 0100 0000"))
        let earlier = CSCMeasurement(wheel: .init(count: 0, time: -0.5))
        let negative = try codec.encode(earlier)
        #expect(negative == hex("01 00000000 00FE"))
        // The wheel's clock of the Cycling Power service starts again after 32 s.
        var power = CyclingPowerMeasurement(power: 0)
        power.wheel = .init(count: 1, time: 33)
        let encoded = try Characteristic.cyclingPowerMeasurement.codec.encode(power)
        #expect(encoded == hex("1000 0000 01000000 0008"))
    }

    @Test func speedAndCadence() throws {
        func measurement(_ wheel: (UInt32, Double), _ crank: (UInt32, Double)) -> CSCMeasurement {
            CSCMeasurement(wheel: .init(count: wheel.0, time: wheel.1), crank: .init(count: crank.0, time: crank.1))
        }
        let first = measurement((.max, 63), (65_535, 63))
        let second = measurement((3, 1), (1, 0))
        let speed = try #require(second.speed(since: first, circumference: 2.1))
        #expect(abs(speed - 4.2) < 1e-9)
        #expect(second.cadence(since: first) == 120)
        // The wheel turns backwards.
        #expect(measurement((1, 2), (1, 0)).speed(since: second, circumference: 2) == -4)
        // A bicycle that stands repeats its last revolutions; one part may be unknown.
        #expect(second.speed(since: second, circumference: 2) == nil)
        #expect(second.cadence(since: second) == nil)
        #expect(CSCMeasurement(wheel: second.wheel).cadence(since: first) == nil)
        #expect(second.speed(since: CSCMeasurement(crank: first.crank), circumference: 2) == nil)
        // A time that no sensor sends.
        #expect(measurement((5, .nan), (5, .infinity)).speed(since: first, circumference: 2) == nil)
        #expect(measurement((5, .nan), (5, .infinity)).cadence(since: first) == nil)

        var (before, now) = (CyclingPowerMeasurement(power: 0), CyclingPowerMeasurement(power: 0))
        (before.wheel, now.wheel) = (.init(count: 10, time: 31), .init(count: 14, time: 1))
        (before.crank, now.crank) = (.init(count: 10, time: 31), .init(count: 11, time: 32))
        #expect(now.speed(since: before, circumference: 2) == 4)
        #expect(now.cadence(since: before) == 60)
    }

    // MARK: Control points

    @Test func controlPointMessages() throws {
        let codec = Characteristic.cyclingPowerControlPoint.codec
        let bytes = try codec.encode(ControlPointProcedure.setCrankLength(halfMillimeters: 345).request)
        #expect(bytes == hex("04 5901"))
        let response = try codec.decode(hex("20 05 01 5901"))
        #expect(response.response?.request == 5)
        #expect(response.response?.result == .success)
        #expect(response.response?.parameter == hex("5901"))
        for other in ["20", "20 05", "05 05 01"] {
            let message = try codec.decode(hex(other))
            #expect(message.response == nil)
        }
        let failure = try codec.encode(CyclingPowerControlPoint(to: response, .operationFailed))
        #expect(failure == hex("20 20 04"))
        let value = ControlPointProcedure<SCControlPoint, Void>.setCumulativeValue(0x0102_0304).request
        let cumulative = try Characteristic.cyclingControlPoint.codec.encode(value)
        #expect(cumulative == hex("01 04030201"))
        #expect(problem("", .cyclingPowerControlPoint) == "op code: 1 byte needed, 0 available")
    }

    // MARK: Environment

    /// IEEE 11073-20601 SFLOAT: an exponent of 4 bits, a mantissa of 12.
    @Test func concentrations() throws {
        let characteristics: [Characteristic<Double>] = [
            .ammoniaConcentration, .carbonMonoxideConcentration, .methaneConcentration, .nitrogenDioxideConcentration,
            .nonMethaneVOCConcentration, .ozoneConcentration, .pm1Concentration, .pm2_5Concentration,
            .pm10Concentration,
            .sulfurDioxideConcentration, .sulfurHexafluorideConcentration,
        ]
        for (index, characteristic) in characteristics.enumerated() {
            #expect(characteristic.uuid.uint16 == 0x2BCF + UInt16(index))
            for (bytes, expected) in [("0C80", 12e-8), ("0500", 5), ("FD77", 20_450_000_000), ("F4FF", -1.2)] {
                let decoded = try characteristic.codec.decode(hex(bytes))
                let encoded = try characteristic.codec.decode(try characteristic.codec.encode(decoded))
                #expect(abs(decoded - expected) <= 1e-9 * abs(expected))
                #expect(decoded == encoded)
            }
            // Not a number, not at this resolution.
            for bytes in ["FF07", "0008"] {
                let decoded = try characteristic.codec.decode(hex(bytes))
                #expect(decoded.isNaN)
            }
        }
    }

    @Test func unknownValues() throws {
        let (temperature, humidity, parts) = (
            try Characteristic.temperature.codec.decode(hex("0080")),
            try Characteristic.humidity.codec.decode(hex("FFFF")),
            try Characteristic.co2Concentration.codec.decode(hex("FFFF"))
        )
        #expect(temperature == nil && humidity == nil && parts == nil)
        let encoded = [
            try Characteristic.temperature.codec.encode(nil), try Characteristic.humidity.codec.encode(nil),
            try Characteristic.vocConcentration.codec.encode(nil),
        ]
        #expect(encoded == [hex("0080"), hex("FFFF"), hex("FFFF")])
        #expect(problem(encoding: MagneticFluxDensity(x: 1, y: 2), .magneticFluxDensity3D) == "z: missing")
        #expect(problem(encoding: MagneticFluxDensity(x: 1, y: 2), .magneticFluxDensity2D) == nil)
        let trend = try Characteristic.barometricPressureTrend.codec.decode([10])
        #expect("\(trend)" == "0x0A")
        #expect(Temperature(fahrenheit: 212).celsius == 100)
        #expect(Temperature(celsius: -40).fahrenheit == -40)
        #expect("\(Temperature(celsius: 21.5))" == "21.5 °C")
    }

    /// Environmental Sensing Service §3.2.
    @Test func descriptorValueChanges() throws {
        let codec = Characteristic.descriptorValueChanged.codec
        let changes: [(String, DescriptorValueChange)] = [
            ("0300 6E2A", DescriptorValueChange([.byClient, .triggerSetting], of: .temperature)),
            (
                "1C00 9ECADC240EE5A9E093F3A3B50100406E",
                DescriptorValueChange(
                    [.configuration, .measurement, .userDescription], of: "6E400001-B5A3-F393-E0A9-E50E24DCCA9E")
            ),
        ]
        for (bytes, change) in changes {
            let decoded = try codec.decode(hex(bytes))
            let encoded = try codec.encode(change)
            #expect(decoded == change)
            #expect(encoded == hex(bytes))
        }
        #expect(problem("0300 6E", .descriptorValueChanged) == "characteristic: 2 bytes needed, 1 available")
    }

    // MARK: Time

    @Test func secondsSince1970() {
        let times: [(Double, Double, String, DayOfWeek)] = [
            (0, 0, "1970-01-01T00:00:00", .thursday), (-1, 0, "1969-12-31T23:59:59", .wednesday),
            (951_782_400, 0, "2000-02-29T00:00:00", .tuesday), (951_868_799, 1, "2000-03-01T00:00:00", .wednesday),
            (4_107_542_399, 0, "2100-02-28T23:59:59", .sunday), (4_107_542_400, 0, "2100-03-01T00:00:00", .monday),
            (1_795_833_000.5, 3600, "2026-11-28T03:30:00", .saturday),
            (-62_135_596_800, 0, "0001-01-01T00:00:00", .monday), (-.infinity, 0, "0001-01-01T00:00:00", .monday),
            (.infinity, 0, "9999-12-31T23:59:59", .friday), (.nan, 0, "9999-12-31T23:59:59", .friday),
        ]
        for (seconds, offset, text, day) in times {
            let time = CurrentTime(secondsSince1970: seconds, utcOffset: offset)
            #expect("\(time.time)" == text)
            #expect(time.dayOfWeek == day, "\(text)")
        }
        #expect(CurrentTime(secondsSince1970: 1.5).fraction == 0.5)
        #expect(CurrentTime(secondsSince1970: -0.25).fraction == 0.75)
    }

    /// Local Time Information and Reference Time Information with their special values.
    @Test func unknownTimes() throws {
        let local = try Characteristic.localTimeInformation.codec.decode(hex("80FF"))
        #expect(local == LocalTimeInformation(timeZone: nil, daylightSaving: .unknown))
        #expect(local.utcOffset == nil)
        let west = try Characteristic.localTimeInformation.codec.decode(hex("F202"))
        #expect(west.utcOffset == -180)
        let reference = try Characteristic.referenceTimeInformation.codec.decode(hex("04 FF FF FF"))
        #expect(reference == ReferenceTimeInformation(.manual))
        let drifting = try Characteristic.referenceTimeInformation.codec.decode(hex("01 FE FE 17"))
        #expect(drifting == ReferenceTimeInformation(.networkTimeProtocol, accuracy: 31.75, days: 254, hours: 23))
        #expect(problem("01 08 02", .referenceTimeInformation) == "hours since update: 1 byte needed, 0 available")
        #expect(problem("EA07 0B1C 020304 06", .currentTime) == "fractions: 1 byte needed, 0 available")
        #expect(problem(encoding: LocalTimeInformation(timeZone: 2_000), .localTimeInformation) != nil)
    }

    // MARK: Proximity

    @Test func alertsAndPower() throws {
        let level = try Characteristic.alertLevel.codec.decode([2])
        #expect(level == .high)
        #expect("\(level)" == "high alert")
        #expect(problem(encoding: 128, .txPowerLevel) == "value: 128 is out of range")
    }
}
