import BluetoothProfiles
import Testing

/// A value and its bytes, which become each other; truncated bytes are refused.
private struct Sample: Sendable {
    let name: String
    let check: @Sendable () throws -> Void

    init<Value: Equatable>(_ name: String, _ characteristic: Characteristic<Value>, _ value: Value, _ bytes: [UInt8]) {
        self.name = name
        check = {
            let (decoded, encoded) = (try characteristic.codec.decode(bytes), try characteristic.codec.encode(value))
            // A later version of the format has more fields.
            let longer = try characteristic.codec.decode(bytes + [0xAA])
            #expect(decoded == value)
            #expect(encoded == bytes)
            #expect(longer == value)
            for count in bytes.indices {
                let part = Array(bytes.prefix(count))
                #expect(throws: MalformedValue.self, "\(count) bytes") { try characteristic.codec.decode(part) }
            }
        }
    }
}

private let time = DateTime(year: 2026, month: 1, day: 2, hours: 3, minutes: 4, seconds: 5)
private let timeBytes: [UInt8] = [0xEA, 0x07, 1, 2, 3, 4, 5]

private func with<Value>(_ value: Value, _ change: (inout Value) -> Void) -> Value {
    var value = value
    change(&value)
    return value
}

/// Each flag set and clear, by the services' specifications.
@Suite struct HealthTests {
    /// Health Thermometer Service §3.1: flags 0 unit, 1 time, 2 type.
    @Test func temperatures() throws {
        let celsius: [UInt8] = [0x6D, 1, 0, 0xFF]
        let samples = [
            Sample("none", .temperatureMeasurement, TemperatureMeasurement(celsius: 36.5), [0] + celsius),
            Sample(
                "unit", .temperatureMeasurement, TemperatureMeasurement(fahrenheit: 97.5),
                [1, 0xCF, 3, 0, 0xFF]),
            Sample(
                "time", .temperatureMeasurement, with(TemperatureMeasurement(celsius: 36.5)) { $0.time = time },
                [2] + celsius + timeBytes),
            Sample(
                "type", .intermediateTemperature, with(TemperatureMeasurement(celsius: 36.5)) { $0.type = .mouth },
                [4] + celsius + [6]),
            Sample(
                "all", .intermediateTemperature,
                with(TemperatureMeasurement(fahrenheit: 97.5)) { ($0.time, $0.type) = (time, .ear) },
                [7, 0xCF, 3, 0, 0xFF] + timeBytes + [3]),
            Sample("type alone", .temperatureType, .tympanum, [9]),
            Sample("interval", .measurementInterval, 300, [0x2C, 1]),
        ]
        for sample in samples { try sample.check() }
        #expect(TemperatureMeasurement(fahrenheit: 77).celsius == 25)
    }

    /// Blood Pressure Service §3.1: flags 0 unit, 1 time, 2 pulse, 3 user, 4 status.
    @Test func bloodPressures() throws {
        let bytes: [UInt8] = [120, 0, 80, 0, 93, 0]
        let value = BloodPressureMeasurement(systolic: 120, diastolic: 80, mean: 93)
        let kilopascals = BloodPressureMeasurement(systolic: 16, diastolic: 10.6, mean: 12.4, unit: .kilopascals)
        let cuff = with(IntermediateCuffPressure(105)) { $0.context.pulseRate = 60 }
        let samples = [
            Sample("none", .bloodPressureMeasurement, value, [0] + bytes),
            Sample(
                "unit", .bloodPressureMeasurement, kilopascals, [1, 16, 0, 0x6A, 0xF0, 0x7C, 0xF0]),
            Sample(
                "time", .bloodPressureMeasurement, with(value) { $0.context.time = time }, [2] + bytes + timeBytes),
            Sample(
                "pulse", .bloodPressureMeasurement, with(value) { $0.context.pulseRate = 60.5 },
                [4] + bytes + [0x5D, 0xF2]),
            Sample("user", .bloodPressureMeasurement, with(value) { $0.context.userID = 7 }, [8] + bytes + [7]),
            Sample(
                "status", .bloodPressureMeasurement,
                with(value) { $0.context.status = [.looseCuff, .pulseBelowRange, .improperPosition] },
                [16] + bytes + [0x32, 0]),
            Sample(
                "all", .bloodPressureMeasurement,
                with(kilopascals) {
                    ($0.context.time, $0.context.pulseRate, $0.context.userID, $0.context.status) = (time, 60, 0, [])
                }, [31, 16, 0, 0x6A, 0xF0, 0x7C, 0xF0] + timeBytes + [60, 0, 0, 0, 0]),
            // §3.3: the other pressures are NaN.
            Sample("cuff", .intermediateCuffPressure, cuff, [4, 105, 0, 0xFF, 7, 0xFF, 7, 60, 0]),
            Sample("feature", .bloodPressureFeature, [.bodyMovementDetection, .multipleBonds], [0x21, 0]),
        ]
        for sample in samples { try sample.check() }
    }

    /// Glucose Service §3.1: flags 0 offset, 1 sample, 2 unit, 3 status, 4 context.
    @Test func glucoseMeasurements() throws {
        let bytes: [UInt8] = [5, 0] + timeBytes
        let value = GlucoseMeasurement(sequenceNumber: 5, baseTime: time)
        let mass = GlucoseSample(100, fluid: .capillaryWholeBlood, location: .finger)
        let amount = GlucoseSample(5.5, unit: .millimolesPerLiter, fluid: .controlSolution, location: .notAvailable)
        let samples = [
            Sample("none", .glucoseMeasurement, value, [0] + bytes),
            Sample("offset", .glucoseMeasurement, with(value) { $0.timeOffset = -60 }, [1] + bytes + [0xC4, 0xFF]),
            // 0.001 kg/L, and 0.0055 mol/L.
            Sample("sample", .glucoseMeasurement, with(value) { $0.sample = mass }, [2] + bytes + [100, 0xB0, 0x11]),
            Sample("unit", .glucoseMeasurement, with(value) { $0.sample = amount }, [6] + bytes + [55, 0xC0, 0xFA]),
            Sample(
                "status", .glucoseMeasurement, with(value) { $0.status = [.batteryLow, .timeFault] },
                [8] + bytes + [1, 8]),
            Sample("context", .glucoseMeasurement, with(value) { $0.isContextFollowing = true }, [16] + bytes),
            Sample(
                "all", .glucoseMeasurement,
                with(value) {
                    ($0.timeOffset, $0.sample, $0.status, $0.isContextFollowing) = (1, amount, [.readInterrupted], true)
                }, [31] + bytes + [1, 0, 55, 0xC0, 0xFA, 0, 2]),
            Sample("feature", .glucoseFeature, [.lowBatteryDetection, .multipleBonds], [1, 4]),
        ]
        for sample in samples { try sample.check() }
    }

    /// Glucose Service §3.2: flags 0 carbohydrates, 1 meal, 2 tester and health, 3 exercise, 4 medication, 5 liters,
    /// 6 HbA1c, 7 extended.
    @Test func glucoseContexts() throws {
        let value = GlucoseMeasurementContext(sequenceNumber: 5)
        let samples = [
            Sample("none", .glucoseMeasurementContext, value, [0, 5, 0]),
            // 0.05 kg.
            Sample(
                "carbohydrates", .glucoseMeasurementContext,
                with(value) { $0.carbohydrates = .init(kind: 2, amount: 50) }, [1, 5, 0, 2, 50, 0xD0]),
            Sample("meal", .glucoseMeasurementContext, with(value) { $0.meal = 3 }, [2, 5, 0, 3]),
            Sample(
                "health", .glucoseMeasurementContext, with(value) { ($0.tester, $0.health) = (1, 5) }, [4, 5, 0, 0x51]),
            Sample(
                "exercise", .glucoseMeasurementContext,
                with(value) { ($0.exerciseDuration, $0.exerciseIntensity) = (600, 70) }, [8, 5, 0, 0x58, 2, 70]),
            // 0.000012 kg, and 0.012 L.
            Sample(
                "medication", .glucoseMeasurementContext,
                with(value) { $0.medication = .init(kind: 4, amount: 12) }, [16, 5, 0, 4, 12, 0xA0]),
            Sample(
                "liters", .glucoseMeasurementContext,
                with(value) { ($0.medication, $0.medicationUnit) = (.init(kind: 4, amount: 12), .milliliters) },
                [48, 5, 0, 4, 12, 0xD0]),
            Sample(
                "HbA1c", .glucoseMeasurementContext, with(value) { $0.hemoglobinA1c = 6.5 }, [64, 5, 0, 65, 0xF0]),
            Sample(
                "all", .glucoseMeasurementContext,
                with(value) {
                    ($0.carbohydrates, $0.meal) = (.init(kind: 1, amount: 1), 5)
                    ($0.tester, $0.health, $0.exerciseDuration, $0.exerciseIntensity) = (15, 15, 0xFFFF, 0)
                    ($0.medication, $0.hemoglobinA1c) = (.init(kind: 1, amount: 2), 7)
                }, [0x5F, 5, 0, 1, 1, 0xD0, 5, 0xFF, 0xFF, 0xFF, 0, 1, 2, 0xA0, 7, 0]),
        ]
        for sample in samples { try sample.check() }
        // Extended flags have no meaning yet.
        let extended = try Characteristic.glucoseMeasurementContext.codec.decode([0x82, 5, 0, 0xFF, 3])
        #expect(extended == with(value) { $0.meal = 3 })
    }

    /// Glucose Service §3.4.
    @Test func recordRequests() throws {
        let codec = Characteristic.recordAccessControlPoint.codec
        let requests: [(RecordAccess, [UInt8])] = [
            (.reportAll, [1, 1]), (.reportLast, [1, 6]), (.report(from: 0x1234), [1, 3, 1, 0x34, 0x12]),
            (.countAll, [4, 1]), (.deleteAll, [2, 1]), (.abort, [3, 0]),
        ]
        for (request, bytes) in requests {
            let (encoded, decoded) = (try codec.encode(request), try codec.decode(bytes))
            #expect(encoded == bytes)
            #expect(decoded == request)
            #expect(decoded.recordCount == nil && decoded.responseCode == nil)
        }
        let (count, response) = (try codec.decode([5, 0, 0x2C, 1]), try codec.decode([6, 0, 1, 6]))
        #expect(count.recordCount == 300)
        #expect(response.responseCode == 6)
        #expect(RecordAccess(operation: 5, operand: [1]).recordCount == nil)
        #expect(throws: MalformedValue("selection", "1 byte needed, 0 available")) { try codec.decode([6]) }
    }

    /// Weight Scale Service §3.2: flags 0 units, 1 time, 2 user, 3 body mass index and height.
    @Test func weights() throws {
        let weight: [UInt8] = [0x70, 0x3F]
        let imperial = with(WeightMeasurement(100, units: .imperial)) {
            ($0.time, $0.userID, $0.bodyMassIndex, $0.height) = (time, 2, 25, 70)
        }
        let samples = [
            Sample("none", .weightMeasurement, WeightMeasurement(81.2), [0] + weight),
            Sample("units", .weightMeasurement, WeightMeasurement(100, units: .imperial), [1, 0x10, 0x27]),
            Sample(
                "time", .weightMeasurement, with(WeightMeasurement(81.2)) { $0.time = time }, [2] + weight + timeBytes),
            Sample("user", .weightMeasurement, with(WeightMeasurement(81.2)) { $0.userID = 2 }, [4] + weight + [2]),
            Sample(
                "height", .weightMeasurement,
                with(WeightMeasurement(81.2)) { ($0.bodyMassIndex, $0.height) = (25, 1.8) },
                [8] + weight + [0xFA, 0, 0x08, 7]),
            Sample(
                "all", .weightMeasurement, imperial, [15, 0x10, 0x27] + timeBytes + [2, 0xFA, 0, 0xBC, 2]),
            // Measurement unsuccessful.
            Sample("nothing", .weightMeasurement, WeightMeasurement(nil), [0, 0xFF, 0xFF]),
            Sample("feature", .weightScaleFeature, [.time, .bodyMassIndex], [5, 0, 0, 0]),
        ]
        for sample in samples { try sample.check() }
        #expect(WeightMeasurement(100, units: .imperial).kilograms == 45.359237)
        let feature = try Characteristic.weightScaleFeature.codec.decode([0xBA, 1, 0, 0])
        #expect(feature.weightResolution == 0.005 && feature.heightResolution == 0.001)
        #expect("\(feature)" == "multiple users, steps of 0.005 kg, steps of 0.001 m")
        #expect(WeightScaleFeature().weightResolution == nil)
    }

    /// Pulse Oximeter Service §3.1: flags 0 time, 1 status, 2 device status, 3 pulse amplitude, 4 clock not set.
    @Test func spotChecks() throws {
        let bytes: [UInt8] = [98, 0, 60, 0]
        let value = PulseOximeterSpotCheck(PulseOximetry(saturation: 98, pulseRate: 60))
        let characteristic = Characteristic.plxSpotCheckMeasurement
        let samples = [
            Sample("none", characteristic, value, [0] + bytes),
            Sample("time", characteristic, with(value) { $0.time = time }, [1] + bytes + timeBytes),
            Sample(
                "status", characteristic, with(value) { $0.status = [.ongoing, .invalid] }, [2] + bytes + [0x20, 0x80]),
            Sample(
                "device", characteristic,
                with(value) { $0.deviceStatus = [.extendedDisplayUpdate, .sensorDisconnected] },
                [4] + bytes + [1, 0x80, 0]),
            Sample(
                "amplitude", characteristic, with(value) { $0.pulseAmplitudeIndex = 1.5 }, [8] + bytes + [15, 0xF0]),
            Sample("clock", characteristic, with(value) { $0.isClockNotSet = true }, [16] + bytes),
            Sample(
                "all", characteristic,
                with(value) {
                    ($0.time, $0.status, $0.deviceStatus) = (time, .validated, .lowPerfusion)
                    ($0.pulseAmplitudeIndex, $0.isClockNotSet) = (2, true)
                }, [31] + bytes + timeBytes + [0x80, 0, 0x20, 0, 0, 2, 0]),
        ]
        for sample in samples { try sample.check() }
    }

    /// Pulse Oximeter Service §3.2: flags 0 fast, 1 slow, 2 status, 3 device status, 4 pulse amplitude; and §3.3.
    @Test func continuousMeasurements() throws {
        let bytes: [UInt8] = [98, 0, 60, 0]
        let value = PulseOximeterContinuous(normal: PulseOximetry(saturation: 98, pulseRate: 60))
        let other = PulseOximetry(saturation: 97.5, pulseRate: 61)
        let characteristic = Characteristic.plxContinuousMeasurement
        let samples = [
            Sample("none", characteristic, value, [0] + bytes),
            Sample("fast", characteristic, with(value) { $0.fast = other }, [1] + bytes + [0xCF, 0xF3, 61, 0]),
            Sample("slow", characteristic, with(value) { $0.slow = other }, [2] + bytes + [0xCF, 0xF3, 61, 0]),
            Sample("status", characteristic, with(value) { $0.status = .earlyEstimate }, [4] + bytes + [0x40, 0]),
            Sample(
                "device", characteristic, with(value) { $0.deviceStatus = .poorSignal }, [8] + bytes + [0x10, 0, 0]),
            Sample("amplitude", characteristic, with(value) { $0.pulseAmplitudeIndex = 2 }, [16] + bytes + [2, 0]),
            Sample(
                "all", characteristic,
                with(value) {
                    ($0.fast, $0.slow, $0.status) = (other, other, [])
                    ($0.deviceStatus, $0.pulseAmplitudeIndex) = ([], 0)
                }, [31] + bytes + [0xCF, 0xF3, 61, 0, 0xCF, 0xF3, 61, 0, 0, 0, 0, 0, 0, 0, 0]),
            Sample("no features", .plxFeatures, PulseOximeterFeatures(), [0, 0]),
            Sample(
                "features", .plxFeatures,
                with(PulseOximeterFeatures()) {
                    ($0.status, $0.deviceStatus) = (.stored, .sensorDisplaced)
                    ($0.storesMeasurements, $0.hasTime, $0.hasFastValues) = (true, true, true)
                    ($0.hasSlowValues, $0.hasPulseAmplitudeIndex, $0.supportsMultipleBonds) = (true, true, true)
                }, [0xFF, 0, 0, 2, 0, 0x20, 0]),
        ]
        for sample in samples { try sample.check() }
    }

    /// Device Information Service §3.
    @Test func deviceInformation() throws {
        let identifier = PnPID(vendor: 0x004C, product: 1, version: 0x0110)
        let samples = [
            Sample("PnP ID", .pnpID, identifier, [1, 0x4C, 0, 1, 0, 0x10, 1]),
            Sample("control point", .heartRateControlPoint, .resetEnergyExpended, [1]),
        ]
        for sample in samples { try sample.check() }
        let text = Characteristic.manufacturerNameString.codec
        let (plain, terminated) = (try text.decode(Array("Öl".utf8)), try text.decode(Array("Öl".utf8) + [0]))
        #expect(plain == "Öl" && terminated == "Öl")
        #expect(throws: MalformedValue("text", "not UTF-8")) { try text.decode([0xFF]) }
        #expect(throws: MalformedValue("manufacturer", "1099511627776 has more than 5 bytes")) {
            try Characteristic.systemID.codec.encode(
                SystemID(manufacturerIdentifier: 1 << 40, organizationallyUniqueIdentifier: 0))
        }
    }

    /// IEEE 11073-20601: what is not a number, and what has too many digits.
    @Test func specialNumbers() throws {
        let codec = Characteristic.temperatureMeasurement.codec
        for (bytes, isExpected) in [
            ([0xFF, 0xFF, 0x7F, 0], \.isNaN), ([0, 0, 0x80, 0], \.isNaN), ([0xFE, 0xFF, 0x7F, 0], \.isInfinite),
        ] as [([UInt8], KeyPath<Double, Bool>)] {
            let value = try codec.decode([0] + bytes).value
            #expect(value[keyPath: isExpected])
        }
        let (nan, infinity) = (
            try codec.encode(TemperatureMeasurement(celsius: .nan)),
            try codec.encode(TemperatureMeasurement(celsius: -.infinity))
        )
        #expect(nan == [0, 0xFF, 0xFF, 0x7F, 0])
        #expect(infinity == [0, 0x02, 0, 0x80, 0])
        let pi = try codec.decode(try codec.encode(TemperatureMeasurement(celsius: .pi))).value
        #expect(pi == 3.141593)
        #expect(throws: MalformedValue("systolic", "1e+300 is out of range")) {
            try Characteristic.bloodPressureMeasurement.codec.encode(
                BloodPressureMeasurement(systolic: 1e300, diastolic: 0, mean: 0))
        }
    }

    /// With the names that Bumble gives them.
    @Test func placesOfAHeartRateSensorHaveNames() {
        let names = (0...6 as ClosedRange<UInt8>).map { "\(BodySensorLocation(rawValue: $0))" }
        #expect(names == ["other", "chest", "wrist", "finger", "hand", "ear lobe", "foot"])
    }

    /// A value out of the range of its field, with its name.
    @Test func whatAFormatCannotExpressIsRefused() {
        #expect(throws: MalformedValue("value", "65536 is out of range")) {
            try Characteristic.heartRateMeasurement.codec.encode(HeartRateMeasurement(rate: 65536))
        }
        #expect(throws: MalformedValue("RR", "64.0 is out of range")) {
            try Characteristic.heartRateMeasurement.codec.encode(HeartRateMeasurement(rate: 60, rrIntervals: [64]))
        }
        #expect(throws: MalformedValue("at", "-1 is out of range")) {
            try Characteristic.glucoseMeasurement.codec.encode(
                GlucoseMeasurement(sequenceNumber: 0, baseTime: DateTime(year: -1)))
        }
        #expect(throws: MalformedValue("value", "nan is out of range")) {
            try Characteristic.weightMeasurement.codec.encode(WeightMeasurement(.nan))
        }
        #expect(throws: MalformedValue("device status", "16777216 is out of range")) {
            var value = PulseOximeterContinuous(normal: PulseOximetry(saturation: 98, pulseRate: 60))
            value.deviceStatus = PulseOximeterDeviceStatus(rawValue: 1 << 24)
            _ = try Characteristic.plxContinuousMeasurement.codec.encode(value)
        }
        #expect(throws: MalformedValue("sample", "more than 15")) {
            let sample = GlucoseSample(1, fluid: .init(rawValue: 16), location: .finger)
            _ = try Characteristic.glucoseMeasurement.codec.encode(
                GlucoseMeasurement(sequenceNumber: 0, baseTime: time, sample: sample))
        }
    }
}
