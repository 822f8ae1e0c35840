import BluetoothProfiles
import TestSupport
import Testing

/// A line of a table in Tests/ProfileVectors: bytes, and the fields of an independent codec.
private struct Vector {
    let name: String
    let bytes: [UInt8]
    let fields: [String: Double]

    static let all = ["sensors.txt", "bumble.txt"].flatMap { vectorTable("../ProfileVectors/\($0)") }.map { words in
        let fields = words.dropFirst(2).map { $0.split(separator: "=") }
        return Vector(
            name: words[0], bytes: hex(words[1]),
            fields: Dictionary(uniqueKeysWithValues: fields.map { (String($0[0]), Double($0[1]) ?? .nan) }))
    }
}

/// A characteristic of the vectors: decodes a value and encodes it again.
private struct Reference: Sendable {
    let fields: @Sendable ([UInt8]) throws -> [String: Double?]
    let encoded: @Sendable ([UInt8]) throws -> [UInt8]

    init<Value>(_ characteristic: Characteristic<Value>, _ fields: @escaping @Sendable (Value) -> [String: Double?]) {
        self.fields = { fields(try characteristic.codec.decode($0)) }
        encoded = { try characteristic.codec.encode(try characteristic.codec.decode($0)) }
    }

    /// A characteristic whose value is one number.
    static func number(_ characteristic: Characteristic<Double>) -> Reference {
        Reference(characteristic) { ["value": $0] }
    }
    static func number(_ characteristic: Characteristic<Int>) -> Reference {
        Reference(characteristic) { ["value": Double($0)] }
    }
    static func number(_ characteristic: Characteristic<Int?>) -> Reference {
        Reference(characteristic) { ["value": $0.map(Double.init)] }
    }
    static func code<Code: RawRepresentable>(_ characteristic: Characteristic<Code>) -> Reference
    where Code.RawValue: BinaryInteger {
        Reference(characteristic) { ["value": Double($0.rawValue)] }
    }
    static func degrees(_ characteristic: Characteristic<Temperature>) -> Reference {
        Reference(characteristic) { ["value": $0.celsius] }
    }
}

private func fields(of time: DateTime) -> [String: Double?] {
    [
        "year": Double(time.year), "month": Double(time.month), "day": Double(time.day), "hour": Double(time.hours),
        "minute": Double(time.minutes), "second": Double(time.seconds),
    ]
}

private func fields(_ name: String, _ values: [Double]?) -> [String: Double?] {
    Dictionary(uniqueKeysWithValues: (values ?? []).enumerated().map { (name + "\($0.offset)", $0.element) })
}

private func number(_ condition: Bool) -> Double { condition ? 1 : 0 }

/// The characteristics of cycling and running by their names in the vectors.
private let sports: [String: Reference] = [
    "csc_measurement": Reference(.cscMeasurement) {
        [
            "cumulative_wheel_revolutions": $0.wheel.map { Double($0.count) }, "last_wheel_event_time": $0.wheel?.time,
            "cumulative_crank_revolutions": $0.crank.map { Double($0.count) }, "last_crank_event_time": $0.crank?.time,
        ]
    },
    "csc_feature": Reference(.cscFeature) {
        [
            "features": Double($0.rawValue), "wheel_revolution_data_supported": number($0.contains(.wheelRevolutions)),
            "crank_revolution_data_supported": number($0.contains(.crankRevolutions)),
            "multiple_sensor_locations_supported": number($0.contains(.multipleSensorLocations)),
        ]
    },
    "cycling_power_measurement": Reference(.cyclingPowerMeasurement) { value in
        [
            "instantaneous_power": Double(value.power), "pedal_power_balance": value.balance?.percent,
            "balance_is_left": value.balance.map { number($0.isLeft) },
            "accumulated_torque": value.accumulatedTorque?.newtonMeters,
            "torque_is_of_crank": value.accumulatedTorque.map { number($0.isAtCrank) },
            "cumulative_wheel_revolutions": value.wheel.map { Double($0.count) },
            "last_wheel_event_time": value.wheel?.time,
            "cumulative_crank_revolutions": value.crank.map { Double($0.count) },
            "last_crank_event_time": value.crank?.time, "maximum_force_magnitude": value.forces?.maximum,
            "minimum_force_magnitude": value.forces?.minimum, "maximum_torque_magnitude": value.torques?.maximum,
            "minimum_torque_magnitude": value.torques?.minimum, "maximum_angle": value.angles?.maximum,
            "minimum_angle": value.angles?.minimum, "top_dead_spot_angle": value.topDeadSpotAngle.map(Double.init),
            "bottom_dead_spot_angle": value.bottomDeadSpotAngle.map(Double.init),
            "accumulated_energy": value.accumulatedEnergy.map(Double.init),
            "offset_compensation": number(value.offsetCompensation),
        ]
    },
    "cycling_power_vector": Reference(.cyclingPowerVector) { value in
        [
            "crank_revolution_data.crank_revolutions": value.crank.map { Double($0.count) },
            "crank_revolution_data.last_crank_event_time": value.crank?.time,
            "first_crank_measurement_angle": value.firstAngle.map(Double.init),
            "instantaneous_measurement_direction": Double(value.direction.rawValue),
        ]
        .merging(fields("instantaneous_force_magnitude_array", value.forces)) { first, _ in first }
        .merging(fields("instantaneous_torque_magnitude_array", value.torques)) { first, _ in first }
    },
    "cycling_power_feature": Reference(.cyclingPowerFeature) { ["features": Double($0.rawValue)] },
    "rsc_measurement": Reference(.rscMeasurement) {
        [
            "instantaneous_speed": $0.speed, "instantaneous_cadence": Double($0.cadence),
            "instantaneous_stride_length": $0.strideLength, "total_distance": $0.totalDistance,
            "is_running": number($0.isRunning),
        ]
    },
    "rsc_feature": Reference(.rscFeature) {
        [
            "features": Double($0.rawValue),
            "instantaneous_stride_length_supported": number($0.contains(.strideLength)),
            "total_distance_supported": number($0.contains(.totalDistance)),
            "walking_or_running_status_supported": number($0.contains(.walkingOrRunning)),
            "calibration_procedure_supported": number($0.contains(.calibration)),
            "multiple_sensor_locations_supported": number($0.contains(.multipleSensorLocations)),
        ]
    },
    "sensor_location": .code(.cyclingPowerSensorLocation),
]

/// The characteristics of the Environmental Sensing service.
private let environment: [String: Reference] = [
    "apparent_wind_direction": .number(.apparentWindDirection), "apparent_wind_speed": .number(.apparentWindSpeed),
    "barometric_pressure_trend": .code(.barometricPressureTrend), "co2_concentration": .number(.co2Concentration),
    "dew_point": .degrees(.dewPoint), "elevation": .number(.elevation), "gust_factor": .number(.gustFactor),
    "heat_index": .degrees(.heatIndex), "humidity": Reference(.humidity) { ["value": $0] },
    "irradiance": .number(.irradiance), "magnetic_declination": .number(.magneticDeclination),
    // The vectors are in teslas.
    "magnetic_flux_density_2d": Reference(.magneticFluxDensity2D) { ["x_axis": $0.x / 1e6, "y_axis": $0.y / 1e6] },
    "magnetic_flux_density_3d": Reference(.magneticFluxDensity3D) {
        ["x_axis": $0.x / 1e6, "y_axis": $0.y / 1e6, "z_axis": $0.z.map { $0 / 1e6 }]
    },
    "pollen_concentration": .number(.pollenConcentration), "pressure": .number(.pressure),
    "rainfall": .number(.rainfall), "temperature": Reference(.temperature) { ["value": $0?.celsius] },
    "true_wind_direction": .number(.trueWindDirection), "true_wind_speed": .number(.trueWindSpeed),
    "uv_index": .number(.uvIndex), "voc_concentration": .number(.vocConcentration), "wind_chill": .degrees(.windChill),
]

/// The characteristics of time and proximity.
private let others: [String: Reference] = [
    "current_time": Reference(.currentTime) { value in
        [
            "day_of_week": Double(value.dayOfWeek.rawValue), "fractions256": value.fraction * 256,
            "adjust_reason": Double(value.adjustments.rawValue),
        ]
        .merging(fields(of: value.time)) { first, _ in first }
    },
    "local_time_information": Reference(.localTimeInformation) {
        [
            "timezone.raw_value": $0.timeZone.map { Double($0) / 15 },
            "timezone.offset_hours": $0.timeZone.map { Double($0) / 60 },
            "dst_offset.raw_value": Double($0.daylightSaving.rawValue),
            "dst_offset.offset_hours": $0.daylightSaving.minutes.map { Double($0) / 60 },
            "total_offset_hours": $0.utcOffset.map { Double($0) / 60 },
        ]
    },
    "reference_time_information": Reference(.referenceTimeInformation) {
        [
            "time_source": Double($0.source.rawValue), "time_accuracy": $0.accuracy.map { $0 * 8 },
            "days_since_update": $0.days.map(Double.init), "hours_since_update": $0.hours.map(Double.init),
        ]
    },
    "alert_level": .code(.linkLossAlertLevel), "tx_power_level": .number(.txPowerLevel),
]

/// The characteristics that Bumble encodes.
private let health: [String: Reference] = [
    "heart_rate_measurement": Reference(.heartRateMeasurement) { value in
        [
            "rate": Double(value.rate), "contact": value.hasContact.map(number),
            "energy": value.energyExpended.map(Double.init),
        ]
        .merging(fields("interval", value.rrIntervals)) { first, _ in first }
    },
    "system_id": Reference(.systemID) {
        [
            "manufacturer": Double($0.manufacturerIdentifier),
            "organization": Double($0.organizationallyUniqueIdentifier),
        ]
    },
    "battery_level": .number(.batteryLevel),
]

private let references = [environment, others, health].reduce(sports) { $0.merging($1) { first, _ in first } }

/// Bytes and values of independent codecs: Tests/ProfileVectors.
@Suite struct SensorVectorTests {
    @Test func everyCharacteristicHasVectors() {
        #expect(Set(Vector.all.map(\.name)) == Set(references.keys))
        #expect(Vector.all.count > 400)
    }

    @Test func valuesAreThoseOfIndependentCodecs() throws {
        for vector in Vector.all {
            let reference = try #require(references[vector.name])
            let found = try reference.fields(vector.bytes).compactMapValues { $0 }
            let comment = Comment(rawValue: "\(vector.name) \(vector.bytes)")
            #expect(Set(found.keys) == Set(vector.fields.keys), comment)
            for (name, expected) in vector.fields {
                let value = found[name] ?? .nan
                let isEqual = abs(value - expected) <= 1e-12 * max(1, abs(expected))
                #expect(isEqual, "\(vector.name) \(vector.bytes): \(name) is \(value), not \(expected)")
            }
        }
    }

    @Test func whatIsDecodedIsEncodedAsReceived() throws {
        for vector in Vector.all {
            let encoded = try #require(references[vector.name]).encoded(vector.bytes)
            #expect(encoded == vector.bytes, "\(vector.name)")
        }
    }

    /// But for the array at the end of a vector, every field is needed.
    @Test func truncatedValuesAreRefused() throws {
        for vector in Vector.all where vector.name != "cycling_power_vector" && vector.fields["interval0"] == nil {
            let reference = try #require(references[vector.name])
            for count in 0..<vector.bytes.count {
                let truncated = Array(vector.bytes.prefix(count))
                let decoded = try? reference.fields(truncated)
                #expect(decoded == nil, "\(vector.name) \(truncated)")
            }
        }
    }

    @Test func changedBytesAreDecodedOrRefused() throws {
        for (name, vectors) in Dictionary(grouping: Vector.all, by: \.name) {
            let reference = try #require(references[name])
            for bytes in mutations(of: vectors.last?.bytes ?? []) {
                do { _ = try reference.encoded(bytes) } catch is MalformedValue {}
            }
        }
    }
}
