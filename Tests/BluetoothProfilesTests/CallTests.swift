// The imports of a program: the calls need no other, and no annotation, beside those by UUID.
import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import TestSupport
import Testing

/// The calls of a program, compiled.
private func calls(_ connection: Connection, _ kept: KeptConnection, _ published: PublishedServices) async throws {
    let level = try await connection.read(.batteryLevel)
    let bytes = try await connection.read(.batteryLevel, in: .battery)
    print(level + 1, bytes.count)
    for try await level in try await connection.subscribe(to: .batteryLevel) { print(level + 1) }
    for try await bytes in try await connection.subscribe(to: .batteryLevel, in: .battery) { print(bytes.count) }
    for try await update in try await kept.subscribe(to: .batteryLevel) {
        if case .value(let level) = update { print(level + 1) }
    }
    try await connection.write(1, to: .batteryLevel, type: .withoutResponse)
    try await connection.write([1], to: .batteryLevel, in: .battery)
    try await published.notify(97, of: .batteryLevel)
    try await published[.batteryLevel].notify([97])
    _ = LocalService(.battery) {
        LocalCharacteristic(.batteryLevel) { 97 }
        LocalCharacteristic(.batteryLevel, properties: [.read, .notify], value: [97])
        LocalCharacteristic(.batteryLevel, value: 97)
        LocalCharacteristic(.batteryLevel, properties: [.read, .notify], value: 97, permissions: .read)
        LocalCharacteristic(.batteryLevel, properties: [.read])
        LocalCharacteristic(.batteryLevel, properties: [.write]).onWrite(of: .batteryLevel) { level, _ in
            print(level + 1)
        }
        LocalCharacteristic(.batteryLevel)
        LocalCharacteristic(.heartRateControlPoint, permissions: [.write, .writeEncrypted])
            .onWrite(of: .heartRateControlPoint) { command, _ in print(command.rawValue) }
        LocalCharacteristic(.batteryLevel).notifying(every: .seconds(1), of: .batteryLevel) { 97 }
    }
}

extension Characteristic where Value == Double {
    fileprivate static var tankLevel: Self {
        Characteristic(0xABCD, in: 0xABCE, initial: 0) { (value, fields) throws(MalformedValue) in
            try fields.number("level", &value, .u16, .ten(-1))
        }
    }
}

@Suite struct CallTests {
    @Test func theDefaultTimeLimitIsForTheWholeCall() async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let kernel = radio.makeKernel()
        try await radio.run(limit: .seconds(7200)) {
            let peripheral = SimulatedPeripheral(on: radio) { _ in SlowServer(pause: .seconds(20), on: radio.loop) }
            let adapter = try await Adapter.open(on: kernel)
            let connection = try await adapter.connect(to: peripheral.address)
            let time = await radio.duration {
                let code = await failureCode { _ = try await connection.read(.batteryLevel) }
                #expect(code == .timedOut)
            }
            #expect(time == .seconds(300))
            await connection.disconnect()
            await adapter.close()
        }
    }

    @Test func aValueIsSentPeriodically() async throws {
        try await SensorFixture.run {
            LocalService(.battery) {
                LocalCharacteristic(.batteryLevel).notifying(every: .seconds(10), of: .batteryLevel) { 97 }
            }
        } story: { fixture in
            let start = fixture.radio.now
            var count = 0
            for try await level in try await fixture.connection.subscribe(to: .batteryLevel) {
                #expect(level == 97)
                count += 1
                if count == 3 { break }
            }
            let time = start.duration(to: fixture.radio.now)
            #expect(time >= .seconds(20) && time < .seconds(21), "\(time)")
        }
    }

    @Test func aStoredValueIsReadAndWritten() async throws {
        try await SensorFixture.run {
            LocalService(0xABCE) { LocalCharacteristic(.tankLevel, properties: [.read, .write], value: 12.5) }
        } story: { fixture in
            let initial = try await fixture.connection.read(.tankLevel)
            try await fixture.connection.write(13.5, to: .tankLevel)
            let written = try await fixture.connection.read(.tankLevel)
            #expect(initial == 12.5)
            #expect(written == 13.5)
        }
    }

    @Test func aStoredValueWithoutAnEncodingIsNotRead() async throws {
        try await SensorFixture.run {
            LocalService(0xABCE) { LocalCharacteristic(.tankLevel, value: 1e6) }
        } story: { fixture in
            let code = await failureCode { _ = try await fixture.connection.read(.tankLevel) }
            #expect(code == .attributeProtocol)
        }
    }

    @Test func aProgramAddsItsOwnCharacteristic() throws {
        let codec = Characteristic.tankLevel.codec
        let decoded = try codec.decode([0xD2, 0x04])
        let encoded = try codec.encode(123.4)
        #expect(decoded == 123.4)
        #expect(encoded == [0xD2, 0x04])
        let problem = MalformedValue("level", "2 bytes needed, 1 available")
        #expect(throws: problem) { try codec.decode([1]) }
        #expect("\(problem)" == "level: 2 bytes needed, 1 available")
        #expect(throws: MalformedValue("level", "6553.6 is out of range")) { try codec.encode(6553.6) }
    }
}
