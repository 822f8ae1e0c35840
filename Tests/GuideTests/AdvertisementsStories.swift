import BluetoothAdvertising
import BluetoothLE
import BluetoothProfiles
import BluetoothSimulation
import TestSupport
import Testing

/// Docs/Guide/Central/Advertisements.md
@Suite struct AdvertisementsStories {
    /// Adds a device that only advertises.
    private static func add(_ fields: [ADField], from address: BluetoothAddress? = nil, to fixture: Fixture) throws {
        SimulatedPeripheral(
            on: fixture.radio, address: address,
            advertisements: [try SimulatedAdvertisement(fields: fields, isConnectable: false, isScannable: false)])
    }

    private static func run(
        _ fields: [ADField], from address: BluetoothAddress? = nil,
        _ snippet: @escaping @Sendable (Adapter) async throws -> Void, prints lines: [String]
    ) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try add(fields, from: address, to: fixture)
            let scanning = fixture.begin { try await snippet(adapter) }
            try await fixture.settle(printed: lines.count)
            #expect(fixture.lines == lines)
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test(
        arguments: [
            [0x44, 0x00, 7, 0x01, 97, 0x02, 0xCE, 0xFF], [0x40, 0x00, 7, 0x01, 97, 0x02, 0xCE, 0xFF, 0x51],
        ] as [[UInt8]])
    func sensors(_ data: [UInt8]) async throws {
        try await Self.run(
            [.serviceData(0xFCD2, data)], AdvertisementsPage.sensors,
            prints: ["packet id 7", "battery 97 %", "temperature -0.5 °C"])
    }

    /// A number, a state and an event.
    @Test func sensorsAsJSON() async throws {
        try await Self.run(
            [.serviceData(BTHome.service, [0x40, 0x02, 0xCE, 0xFF, 0x21, 1, 0x3A, 2])], AdvertisementsPage.asJSON,
            prints: [
                #"{"number":-0.5,"quantity":"temperature","unit":"°C"}"#,
                #"{"quantity":"motion","state":true,"unit":""}"#,
                #"{"event":"doublePress","quantity":"button","unit":""}"#,
            ])
    }

    /// Data that is too short, encrypted or of another version is not misread.
    @Test(arguments: [[], [0x41, 0x01, 97], [0x20, 0x01, 97], [0x40, 0x02, 1], [0x40, 0x77, 1, 1]] as [[UInt8]])
    func otherServiceData(_ data: [UInt8]) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try Self.add([.serviceData(0xFCD2, data)], to: fixture)
            let scanning = fixture.begin { try await AdvertisementsPage.sensors(adapter) }
            try await fixture.radio.sleep(for: .seconds(2))
            #expect(fixture.lines.isEmpty)
            #expect(await scanning.ended() == .cancelled)
        }
    }

    /// From the sensor with the key, from another address, and in clear.
    @Test(arguments: [
        (0x5448_E68F_80A5, "41A47266C95F730011223378237214", "25.06 °C, counter 857870592"),
        (0x5448_E68F_80A6, "41A47266C95F730011223378237214", "not decrypted: the key is wrong or the data damaged"),
        (0x5448_E68F_80A5, "4002CA09", "not decrypted: the values are not encrypted"),
    ])
    func encryptedSensors(_ address: UInt64, _ data: String, _ line: String) async throws {
        try await Self.run(
            [.serviceData(BTHome.service, hex(data))], from: BluetoothAddress(address, kind: .public),
            AdvertisementsPage.encryptedSensors, prints: [line])
    }

    @Test func aFormatOfYourOwn() async throws {
        try await Self.run(
            [.manufacturerData(.internalTest, [0xCE, 0xFF])], AdvertisementsPage.aFormatOfYourOwn, prints: ["-0.5 °C"])
    }

    @Test func beacons() async throws {
        let uuid: BluetoothUUID = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
        let beacon = IBeacon(proximityUUID: uuid, major: 7, minor: 42, measuredPower: -59)
        try await Self.run(
            [.manufacturerData(beacon.manufacturerData)], AdvertisementsPage.beacons, prints: ["iBeacon \(uuid) 7 42"])
        let alt = try AltBeacon(
            company: .internalTest, identifier: [UInt8](repeating: 1, count: 20), referenceRSSI: -59)
        try await Self.run(
            [.manufacturerData(alt.manufacturerData)], AdvertisementsPage.beacons,
            prints: ["AltBeacon \(alt.company) \(alt.identifier)"])
        try await Self.run(
            [.serviceData(try Eddystone.url("https://swift.org", txPower: -20).serviceData())],
            AdvertisementsPage.beacons, prints: ["Eddystone https://swift.org"])
    }

    @Test func everyField() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await AdvertisementsPage.everyField(adapter)
            let device = try #require(fixture.lines.firstIndex(of: "\(fixture.sensor.address)"))
            let fields = fixture.lines[(device + 1)...].prefix { $0.hasPrefix("  ") }
            #expect(fields.contains("  name \"\(Sensor.name)\""))
            #expect(fields.contains("  services [180D, 180F]"))
        }
    }
}
