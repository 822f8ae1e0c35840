import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import TestSupport
import Testing

/// Requests to a control point, in their order.
private final class Requests<Message: ControlPointMessage>: Sendable {
    let stream: AsyncStream<Message>
    private let continuation: AsyncStream<Message>.Continuation

    init() { (stream, continuation) = AsyncStream<Message>.makeStream() }

    func add(_ message: Message) { continuation.yield(message) }
}

@Suite struct SensorStories {
    @Test func cyclingSpeedAndCadence() async throws {
        try await SensorFixture.run {
            LocalService(.cyclingSpeedAndCadence) {
                LocalCharacteristic(.cscMeasurement)
                LocalCharacteristic(.cscFeature) { [.wheelRevolutions, .crankRevolutions] }
                LocalCharacteristic(.cyclingSensorLocation) { .rearHub }
            }
        } story: { fixture in
            let features = try await fixture.connection.read(.cscFeature)
            #expect(features == [.wheelRevolutions, .crankRevolutions])
            let location = try await fixture.connection.read(.cyclingSensorLocation)
            #expect(location == .rearHub)
            let measurements = [
                CSCMeasurement(wheel: .init(count: 100, time: 63.5), crank: .init(count: 65_535, time: 63)),
                CSCMeasurement(wheel: .init(count: 104, time: 0.5), crank: .init(count: 1, time: 0.5)),
            ]
            let received = try await fixture.notified(measurements, of: .cscMeasurement)
            #expect(received == measurements)
            let speed = received[1].speed(since: received[0], circumference: 2)
            let cadence = received[1].cadence(since: received[0])
            #expect(speed == 8)
            #expect(cadence == 80)
        }
    }

    @Test func cyclingPower() async throws {
        let requests = Requests<CyclingPowerControlPoint>()
        try await SensorFixture.run {
            LocalService(.cyclingPower) {
                LocalCharacteristic(.cyclingPowerMeasurement)
                LocalCharacteristic(.cyclingPowerVector)
                LocalCharacteristic(.cyclingPowerFeature) { [.crankRevolutions, .crankLength, .distributed] }
                LocalCharacteristic(.cyclingPowerSensorLocation) { .leftPedal }
                LocalCharacteristic(.cyclingPowerControlPoint).onWrite(of: .cyclingPowerControlPoint) { request, _ in
                    requests.add(request)
                }
            }
        } story: { fixture in
            let features = try await fixture.connection.read(.cyclingPowerFeature)
            #expect(features == [.crankRevolutions, .crankLength, .distributed])
            let location = try await fixture.connection.read(.cyclingPowerSensorLocation)
            #expect(location == .leftPedal)
            var measurement = CyclingPowerMeasurement(power: 250)
            measurement.balance = .init(percent: 48.5, isLeft: true)
            measurement.crank = .init(count: 7, time: 1.5)
            let measurements = try await fixture.notified([measurement], of: .cyclingPowerMeasurement)
            #expect(measurements == [measurement])
            let vector = CyclingPowerVector(firstAngle: 30, torques: [1.5, -0.5], direction: .tangential)
            let vectors = try await fixture.notified([vector], of: .cyclingPowerVector)
            #expect(vectors == [vector])

            let responder = Task(executorPreference: fixture.radio.loop) {
                for await request in requests.stream {
                    let response: CyclingPowerControlPoint =
                        switch request.opcode {
                        case 0x03: .init(to: request, .success, parameter: [5, 6])
                        case 0x04: .init(to: request, .success)
                        case 0x05: .init(to: request, .success, parameter: [0x59, 0x01])
                        case 0x07: .init(to: request, .success, parameter: [1])
                        case 0x0C: .init(to: request, .success, parameter: [0xFF, 0xFF])
                        default: .init(to: request, .opcodeNotSupported)
                        }
                    try await fixture.published.indicate(response, of: .cyclingPowerControlPoint)
                }
            }
            let connection = fixture.connection
            try await connection.perform(.setCrankLength(halfMillimeters: 345), on: .cyclingPowerControlPoint)
            let length = try await connection.perform(.crankLength, on: .cyclingPowerControlPoint)
            #expect(length == 172.5)
            let locations = try await connection.perform(.supportedLocations, on: .cyclingPowerControlPoint)
            #expect(locations == [.leftCrank, .rightCrank])
            let offset = try await connection.perform(.compensateOffset, on: .cyclingPowerControlPoint)
            #expect(offset == nil)
            let unsupported = await failure {
                _ = try await connection.perform(.samplingRate, on: .cyclingPowerControlPoint)
            }
            #expect(unsupported?.code == .failed)
            #expect(unsupported?.message == "The device responds: op code not supported.")
            let truncated = await failure {
                _ = try await connection.perform(.chainLength, on: .cyclingPowerControlPoint)
            }
            #expect(truncated?.code == .malformedValue)
            #expect(truncated?.message == "Malformed response: chain length: 2 bytes needed, 1 available.")
            responder.cancel()
            _ = await responder.result
        }
    }

    @Test func aControlPointThatDoesNotRespond() async throws {
        try await SensorFixture.run {
            LocalService(.runningSpeedAndCadence) {
                LocalCharacteristic(.runningControlPoint).onWrite(of: .runningControlPoint) { _, _ in }
            }
        } story: { fixture in
            let connection = fixture.connection
            let duration = await fixture.radio.duration {
                let code = await failureCode {
                    try await connection.perform(.startCalibration, on: .runningControlPoint, timeout: .seconds(3))
                }
                #expect(code == .timedOut)
            }
            #expect(duration >= .seconds(3) && duration < .seconds(4))
            let task = Task(executorPreference: fixture.radio.loop) {
                try await connection.perform(.startCalibration, on: .runningControlPoint, timeout: nil)
            }
            try await fixture.radio.sleep(for: .seconds(60))
            task.cancel()
            let cancelled = await failureCode { try await task.value }
            #expect(cancelled == .cancelled)
            let pending = Task(executorPreference: fixture.radio.loop) {
                try await connection.perform(.startCalibration, on: .runningControlPoint)
            }
            try await fixture.radio.sleep(for: .seconds(1))
            await connection.disconnect()
            let ended = await failureCode { try await pending.value }
            #expect(ended == .disconnected)
        }
    }

    @Test func aControlPointThatDoesNotConfirmTheRequest() async throws {
        try await SensorFixture.run {
            LocalService(.runningSpeedAndCadence) { LocalCharacteristic(.runningControlPoint) }
        } story: { fixture in
            // They are not answered.
            let requests = try fixture.published.requests()
            let duration = await fixture.radio.duration {
                let code = await failureCode {
                    try await fixture.connection.perform(
                        .startCalibration, on: .runningControlPoint, timeout: .seconds(3))
                }
                #expect(code == .timedOut)
            }
            #expect(duration == .seconds(3))
            withExtendedLifetime(requests) {}
        }
    }

    @Test func runningSpeedAndCadence() async throws {
        try await SensorFixture.run {
            LocalService(.runningSpeedAndCadence) {
                LocalCharacteristic(.rscMeasurement)
                LocalCharacteristic(.rscFeature) { [.strideLength, .walkingOrRunning] }
                LocalCharacteristic(.runningSensorLocation) { .inShoe }
            }
        } story: { fixture in
            let features = try await fixture.connection.read(.rscFeature)
            #expect(features == [.strideLength, .walkingOrRunning])
            let location = try await fixture.connection.read(.runningSensorLocation)
            #expect(location == .inShoe)
            let measurement = RSCMeasurement(speed: 3.5, cadence: 172, strideLength: 1.22, isRunning: true)
            let received = try await fixture.notified([measurement], of: .rscMeasurement)
            #expect(received == [measurement])
        }
    }

    @Test func environmentalSensing() async throws {
        try await SensorFixture.run {
            LocalService(.environmentalSensing) {
                LocalCharacteristic(.temperature) { Temperature(celsius: 21.5) }
                LocalCharacteristic(.humidity) { nil }
                LocalCharacteristic(.pressure) { 101_325 }
                LocalCharacteristic(.co2Concentration) { 415 }
                LocalCharacteristic(.barometricPressureTrend) { .steady }
                LocalCharacteristic(.magneticFluxDensity3D) { MagneticFluxDensity(x: 20.1, y: -4, z: 43.2) }
            }
        } story: { fixture in
            let temperature = try await fixture.connection.read(.temperature)
            let humidity = try await fixture.connection.read(.humidity)
            let pressure = try await fixture.connection.read(.pressure)
            let concentration = try await fixture.connection.read(.co2Concentration)
            let trend = try await fixture.connection.read(.barometricPressureTrend)
            let field = try await fixture.connection.read(.magneticFluxDensity3D)
            #expect(temperature == Temperature(celsius: 21.5))
            #expect(humidity == nil)
            #expect(pressure == 101_325)
            #expect(concentration == 415)
            #expect(trend == .steady)
            #expect(field == MagneticFluxDensity(x: 20.1, y: -4, z: 43.2))
            let received = try await fixture.notified([Temperature(celsius: -3), nil], of: .temperature)
            #expect(received == [Temperature(celsius: -3), nil])
        }
    }

    @Test func currentTime() async throws {
        let time = CurrentTime(secondsSince1970: 1_795_833_000, utcOffset: 3600, adjustments: .timeZone)
        try await SensorFixture.run {
            LocalService(.currentTimeService) {
                LocalCharacteristic(.currentTime) { time }
                LocalCharacteristic(.localTimeInformation) { LocalTimeInformation(timeZone: 60) }
                LocalCharacteristic(.referenceTimeInformation) {
                    ReferenceTimeInformation(.networkTimeProtocol, accuracy: 0.125, days: 0, hours: 2)
                }
            }
        } story: { fixture in
            let received = try await fixture.connection.read(.currentTime)
            let local = try await fixture.connection.read(.localTimeInformation)
            let reference = try await fixture.connection.read(.referenceTimeInformation)
            #expect(received == time)
            #expect(local.utcOffset == 60)
            #expect(reference == ReferenceTimeInformation(.networkTimeProtocol, accuracy: 0.125, days: 0, hours: 2))
        }
    }

    @Test func proximity() async throws {
        let alerts = Journal<AlertLevel>()
        try await SensorFixture.run {
            LocalService(.linkLoss) {
                LocalCharacteristic(.linkLossAlertLevel) { alerts.entries.last ?? .noAlert }
                    .onWrite(of: .linkLossAlertLevel) { level, _ in alerts.add(level) }
            }
            LocalService(.immediateAlert) {
                LocalCharacteristic(.alertLevel).onWrite(of: .alertLevel) { level, _ in alerts.add(level) }
            }
            LocalService(.txPower) { LocalCharacteristic(.txPowerLevel) { -4 } }
        } story: { fixture in
            let connection = fixture.connection
            try await connection.write(.high, to: .linkLossAlertLevel)
            let level = try await connection.read(.linkLossAlertLevel)
            #expect(level == .high)
            try await connection.write(.mild, to: .alertLevel)
            try await fixture.radio.settle { alerts.entries.count == 2 }
            #expect(alerts.entries == [.high, .mild])
            let power = try await connection.read(.txPowerLevel)
            #expect(power == -4)
        }
    }
}
