// The snippets of Docs/Guide/Profiles.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Profiles.md
enum ProfilesPage {
    /// A device's values
    static func aDeviceSValues(_ connection: Connection) async throws {
        print(try await connection.read(.batteryLevel), "%")
        print("worn at the", try await connection.read(.bodySensorLocation))
        try await connection.write(.resetEnergyExpended, to: .heartRateControlPoint)
        for try await beat in try await connection.subscribe(to: .heartRateMeasurement) {
            print(beat.rate, beat.rrIntervals)
            if beat.hasContact == false { break }
        }
    }

    /// Serve
    static func serve(_ adapter: Adapter) async throws {
        let published = try await adapter.publish {
            LocalService(.heartRate) {
                LocalCharacteristic(.heartRateMeasurement)
                LocalCharacteristic(.bodySensorLocation) { .chest }
                LocalCharacteristic(.heartRateControlPoint).onWrite(of: .heartRateControlPoint) { command, _ in
                    print("command", command.rawValue)
                }
            }
            LocalService(.battery) {
                LocalCharacteristic(.batteryLevel) { 97 }
            }
            LocalService(.environmentalSensing) {
                LocalCharacteristic(.temperature) { Temperature(celsius: 21.5) }
            }
        }
        let beat = HeartRateMeasurement(rate: 72, hasContact: true, rrIntervals: [0.83])
        print(try await published.notify(beat, of: .heartRateMeasurement).count, "subscribers")
    }

    /// Serve
    static func serve2() async throws {
        var temperature = TemperatureMeasurement(celsius: 36.6)
        temperature.type = .ear
        let pressure = BloodPressureMeasurement(systolic: 120, diastolic: 80, mean: 93)
        let glucose = GlucoseSample(98, fluid: .capillaryWholeBlood, location: .finger)
        let oximeter = PulseOximeterSpotCheck(PulseOximetry(saturation: 98, pulseRate: 60))
        var power = CyclingPowerMeasurement(power: 210)
        power.crank = CyclingRevolutions(count: 7, time: 4.5)
        let run = RSCMeasurement(speed: 2.5, cadence: 160)
        print(temperature.celsius, WeightMeasurement(70.5).kilograms ?? .nan, pressure.systolic, glucose.concentration)
        print(oximeter.value.saturation, power.power, run.cadence)
    }

    /// Serve
    static func serve3(_ adapter: Adapter) async throws {
        let label = Characteristic(
            "CA010003-1234-5678-9ABC-DEF012345678", in: "CA010001-1234-5678-9ABC-DEF012345678", codec: TextCodec())
        let published = try await adapter.publish {
            LocalService(label.service) {
                LocalCharacteristic(
                    label, properties: [.read, .write], value: "Kitchen", permissions: [.read, .write, .writeEncrypted])
            }
            LocalService(.battery) {
                LocalCharacteristic(.batteryLevel, value: 97)
                    .notifying(every: .seconds(60), of: .batteryLevel) { .random(in: 90...97) }
            }
        }
        print(published[.batteryLevel].value ?? [])
    }

    /// A characteristic of your own
    static func aCharacteristicOfYourOwn() async throws {
        struct Tank: Sendable {
            var liters = 0.0
            var temperature: Double?
        }
        let tank = Characteristic("CA010002-1234-5678-9ABC-DEF012345678", in: "CA010001-1234-5678-9ABC-DEF012345678", initial: Tank()) {
            (tank, fields) throws(MalformedValue) in
            try fields.flags(byteCount: 1)
            try fields.number("volume", &tank.liters, .u16, .ten(-1))
            try fields.number("temperature", &tank.temperature, .i16, .ten(-2), flag: 0)
        }
        let label = Characteristic(
            "CA010003-1234-5678-9ABC-DEF012345678", in: "CA010001-1234-5678-9ABC-DEF012345678", properties: [.read, .write],
            codec: TextCodec())
        let value = try tank.codec.decode([0x01, 0xD2, 0x04, 0xC4, 0x09])
        print(value.liters, value.temperature ?? .nan)
        print(try label.codec.decode(Array("Kitchen".utf8)))
        do {
            _ = try tank.codec.decode([0x01, 0xD2, 0x04])
        } catch {
            print(error)  // temperature: 2 bytes needed, 0 available
        }
    }
}
