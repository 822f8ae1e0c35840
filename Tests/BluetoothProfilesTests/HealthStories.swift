import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import Synchronization
import TestSupport
import Testing

private let time = DateTime(year: 2026, month: 11, day: 3, hours: 9, minutes: 30)

/// A simulated device of each profile.
@Suite struct HealthStories {
    @Test func aHeartRateSensorAndItsBattery() async throws {
        let commands = Mutex<[HeartRateControlPoint]>([])
        try await SensorFixture.run {
            LocalService(.heartRate) {
                LocalCharacteristic(.heartRateMeasurement)
                LocalCharacteristic(.bodySensorLocation) { .earLobe }
                LocalCharacteristic(.heartRateControlPoint).onWrite(of: .heartRateControlPoint) { command, _ in
                    guard command == .resetEnergyExpended else { throw ATTErrorCode(0x80) }
                    commands.withLock { $0.append(command) }
                }
            }
            LocalService(.battery) { LocalCharacteristic(.batteryLevel) { 97 } }
        } story: { fixture in
            let beats = [
                HeartRateMeasurement(rate: 72, hasContact: true, energyExpended: 12, rrIntervals: [0.5, 1]),
                HeartRateMeasurement(rate: 300),
            ]
            let received = try await fixture.notified(beats, of: .heartRateMeasurement)
            let levels = try await fixture.notified([96, 95], of: .batteryLevel)
            let (level, location) = (
                try await fixture.connection.read(.batteryLevel), try await fixture.connection.read(.bodySensorLocation)
            )
            #expect(received == beats)
            #expect(levels == [96, 95])
            #expect(level == 97)
            #expect(location == .earLobe)
            try await fixture.connection.write(.resetEnergyExpended, to: .heartRateControlPoint)
            let refused = await failure {
                try await fixture.connection.write(.init(rawValue: 9), to: .heartRateControlPoint)
            }
            #expect(refused?.cause == .attribute(ATTErrorCode(0x80)))
            #expect(commands.withLock { $0 } == [.resetEnergyExpended])
        }
    }

    @Test func whatADeviceSays() async throws {
        let identity = PnPID(source: .usb, vendor: 0x1234, product: 0x5678, version: 0x0213)
        let system = SystemID(manufacturerIdentifier: 0x0504030201, organizationallyUniqueIdentifier: 0x080706)
        try await SensorFixture.run {
            LocalService(.deviceInformation) {
                LocalCharacteristic(.manufacturerNameString) { "Öl & Co." }
                LocalCharacteristic(.serialNumberString, permissions: .read) { "1" }
                LocalCharacteristic(.pnpID) { identity }
                LocalCharacteristic(.systemID) { system }
                LocalCharacteristic(.regulatoryCertificationDataList) { [1, 2, 3] }
                LocalCharacteristic(.modelNumberString, properties: .read, value: [0xFF])
            }
        } story: { fixture in
            let connection = fixture.connection
            let name = try await connection.read(.manufacturerNameString)
            let (readIdentity, readSystem) = (try await connection.read(.pnpID), try await connection.read(.systemID))
            let list = try await connection.read(.regulatoryCertificationDataList)
            #expect(name == "Öl & Co.")
            #expect(readIdentity == identity)
            #expect(readSystem == system)
            #expect(list == [1, 2, 3])
            let malformed = await failure { _ = try await connection.read(.modelNumberString) }
            #expect(malformed?.code == .malformedValue)
            #expect(malformed?.message == "Malformed value: text: not UTF-8.")
            let missing = await failure { _ = try await connection.read(.batteryLevel) }
            #expect(missing?.code == .notFound)
        }
    }

    @Test func aThermometerAndABloodPressureMonitor() async throws {
        try await SensorFixture.run {
            LocalService(.healthThermometer) {
                LocalCharacteristic(.temperatureMeasurement)
                LocalCharacteristic(.intermediateTemperature)
                LocalCharacteristic(.temperatureType) { .ear }
                LocalCharacteristic(.measurementInterval) { 60 }
            }
            LocalService(.bloodPressure) {
                LocalCharacteristic(.bloodPressureMeasurement)
                LocalCharacteristic(.intermediateCuffPressure)
                LocalCharacteristic(.bloodPressureFeature) { [.irregularPulseDetection] }
            }
        } story: { fixture in
            var temperature = TemperatureMeasurement(celsius: 36.6)
            (temperature.time, temperature.type) = (time, .ear)
            let temperatures = try await fixture.notified([temperature], of: .temperatureMeasurement)
            let intermediate = try await fixture.notified([temperature], of: .intermediateTemperature)
            let interval = try await fixture.connection.read(.measurementInterval)
            let type = try await fixture.connection.read(.temperatureType)
            #expect(temperatures == [temperature] && intermediate == [temperature])
            #expect(interval == 60)
            #expect(type == .ear)
            var pressure = BloodPressureMeasurement(systolic: 120, diastolic: 80, mean: 93)
            (pressure.context.pulseRate, pressure.context.status) = (60, .irregularPulse)
            let pressures = try await fixture.notified([pressure], of: .bloodPressureMeasurement)
            let cuff = try await fixture.notified([IntermediateCuffPressure(100)], of: .intermediateCuffPressure)
            let feature = try await fixture.connection.read(.bloodPressureFeature)
            #expect(pressures == [pressure])
            #expect(cuff == [IntermediateCuffPressure(100)])
            #expect(feature == [.irregularPulseDetection])
        }
    }

    @Test func aGlucoseMeterSendsItsRecords() async throws {
        let requests = Mutex<[RecordAccess]>([])
        try await SensorFixture.run {
            LocalService(.glucose) {
                LocalCharacteristic(.glucoseMeasurement)
                LocalCharacteristic(.glucoseMeasurementContext)
                LocalCharacteristic(.glucoseFeature) { [.timeFaultDetection] }
                LocalCharacteristic(.recordAccessControlPoint).onWrite(of: .recordAccessControlPoint) { request, _ in
                    requests.withLock { $0.append(request) }
                }
            }
        } story: { fixture in
            try await fixture.connection.write(.report(from: 5), to: .recordAccessControlPoint)
            let sample = GlucoseSample(5.5, unit: .millimolesPerLiter, fluid: .venousPlasma, location: .alternateSite)
            let record = GlucoseMeasurement(sequenceNumber: 5, baseTime: time, sample: sample)
            var context = GlucoseMeasurementContext(sequenceNumber: 5)
            context.meal = 3
            let records = try await fixture.notified([record], of: .glucoseMeasurement)
            let contexts = try await fixture.notified([context], of: .glucoseMeasurementContext)
            let response = RecordAccess(operation: 6, operand: [1, 1])
            let responses = try await fixture.notified([response], of: .recordAccessControlPoint)
            let feature = try await fixture.connection.read(.glucoseFeature)
            #expect(records == [record])
            #expect(contexts == [context])
            #expect(responses.map(\.responseCode) == [1])
            #expect(feature == .timeFaultDetection)
            #expect(requests.withLock { $0 } == [.report(from: 5)])
        }
    }

    @Test func aScaleAndAnOximeter() async throws {
        try await SensorFixture.run {
            LocalService(.weightScale) {
                LocalCharacteristic(.weightMeasurement)
                LocalCharacteristic(.weightScaleFeature) { [.bodyMassIndex] }
            }
            LocalService(.pulseOximeter) {
                LocalCharacteristic(.plxSpotCheckMeasurement)
                LocalCharacteristic(.plxContinuousMeasurement)
                LocalCharacteristic(.plxFeatures) { PulseOximeterFeatures() }
            }
        } story: { fixture in
            var weight = WeightMeasurement(81.2)
            (weight.bodyMassIndex, weight.height) = (25, 1.8)
            let weights = try await fixture.notified([weight], of: .weightMeasurement)
            let feature = try await fixture.connection.read(.weightScaleFeature)
            #expect(weights == [weight])
            #expect(feature == .bodyMassIndex)
            let pair = PulseOximetry(saturation: 98, pulseRate: 60.5)
            let spots = try await fixture.notified([PulseOximeterSpotCheck(pair)], of: .plxSpotCheckMeasurement)
            let continuous = PulseOximeterContinuous(normal: pair)
            let values = try await fixture.notified([continuous], of: .plxContinuousMeasurement)
            let features = try await fixture.connection.read(.plxFeatures)
            #expect(spots == [PulseOximeterSpotCheck(pair)])
            #expect(values == [continuous])
            #expect(features == PulseOximeterFeatures())
        }
    }
}

/// Subscriptions and values that go wrong.
@Suite struct TypedValueStories {
    /// An odd value is reported and left out, and the subscription goes on.
    @Test func aMalformedValueDoesNotEndASubscription() async throws {
        try await SensorFixture.run {
            LocalService(.heartRate) { LocalCharacteristic(.heartRateMeasurement) }
        } story: { fixture in
            let problems = Mutex<[MalformedValue]>([])
            let beats = try await fixture.connection.subscribe(to: .heartRateMeasurement) { problem in
                problems.withLock { $0.append(problem) }
            }
            let value = fixture.published[.heartRateMeasurement, in: .heartRate]
            for bytes in [[0, 70], [], [0x08, 71, 1], [0, 72]] as [[UInt8]] { try await value.notify(bytes) }
            var rates: [Int] = []
            for try await beat in beats {
                rates.append(beat.rate)
                if beat.rate == 72 { break }
            }
            #expect(rates == [70, 72])
            #expect(
                problems.withLock { $0 } == [
                    MalformedValue("flags", "1 byte needed, 0 available"),
                    MalformedValue("energy", "2 bytes needed, 1 available"),
                ])
        }
    }

    @Test func whatCannotBeEncodedIsNotSent() async throws {
        try await SensorFixture.run {
            LocalService(.heartRate) { LocalCharacteristic(.heartRateMeasurement) }
            LocalService(.battery) { LocalCharacteristic(.batteryLevel) { 256 } }
        } story: { fixture in
            let notified = await failure {
                try await fixture.published.notify(HeartRateMeasurement(rate: -1), of: .heartRateMeasurement)
            }
            let written = await failure { try await fixture.connection.write(-1, to: .batteryLevel) }
            let read = await failure { _ = try await fixture.connection.read(.batteryLevel) }
            #expect(notified?.code == .invalidArgument)
            #expect(written?.code == .invalidArgument)
            #expect(read?.cause == .attribute(.unlikelyError))
        }
    }

    @Test func aSubscriptionOutlivesItsLink() async throws {
        try await SensorFixture.run {
            LocalService(.battery) { LocalCharacteristic(.batteryLevel) { 97 } }
        } story: { fixture in
            let peer = fixture.connection.peer
            await fixture.connection.disconnect()
            let adapter = try await Adapter.open(on: fixture.radio.makeKernel())
            let kept = adapter.keepConnected(to: peer)
            let levels = try await kept.subscribe(to: .batteryLevel)
            var iterator = levels.makeAsyncIterator()
            try await fixture.published.notify(96, of: .batteryLevel)
            var seen: [String] = []
            if case .value(let level)? = try await iterator.next() { seen.append("\(level + 0)") }
            fixture.radio.breakLink(adapter.information.address, peer)
            if case .interrupted? = try await iterator.next() { seen.append("interrupted") }
            if case .resumed? = try await iterator.next() { seen.append("resumed") }
            try await fixture.published.notify(95, of: .batteryLevel)
            if case .value(let level)? = try await iterator.next() { seen.append("\(level + 0)") }
            #expect(seen == ["96", "interrupted", "resumed", "95"])
            await kept.disconnect()
            await adapter.close()
        }
    }
}
