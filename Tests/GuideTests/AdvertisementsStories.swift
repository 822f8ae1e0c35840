import BluetoothAdvertising
import BluetoothLE
import BluetoothSimulation
import Testing

/// Docs/Guide/Central/Advertisements.md
@Suite struct AdvertisementsStories {
    /// Adds a device that only advertises.
    private static func add(_ fields: [ADField], to fixture: Fixture) throws {
        SimulatedPeripheral(
            on: fixture.radio,
            advertisements: [try SimulatedAdvertisement(fields: fields, isConnectable: false, isScannable: false)])
    }

    private static func run(
        _ fields: [ADField], _ snippet: @escaping @Sendable (Adapter) async throws -> Void, prints lines: [String]
    ) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try add(fields, to: fixture)
            let scanning = fixture.begin { try await snippet(adapter) }
            try await fixture.settle(printed: lines.count)
            #expect(fixture.lines == lines)
            #expect(await scanning.ended() == .cancelled)
        }
    }

    @Test func manufacturerData() async throws {
        try await Self.run(
            [.manufacturerData(0x0499, [5, 0x0F, 0xA0, 0x4E, 0x20, 0, 0])], AdvertisementsPage.manufacturerData,
            prints: ["20.0 °C, 50.0 %"])
    }

    @Test(
        arguments: [
            [0x44, 0x00, 7, 0x01, 97, 0x02, 0xCE, 0xFF], [0x40, 0x00, 7, 0x01, 97, 0x02, 0xCE, 0xFF, 0x51],
        ] as [[UInt8]])
    func serviceData(_ data: [UInt8]) async throws {
        try await Self.run(
            [.serviceData(0xFCD2, data)], AdvertisementsPage.serviceData,
            prints: ["packet 7", "battery 97 %", "temperature -0.5 °C"])
    }

    /// Data that is too short, encrypted or of another version is not misread.
    @Test(arguments: [[], [0x41, 0x01, 97], [0x20, 0x01, 97], [0x40, 0x02, 1], [0x40, 0x77, 1, 1]] as [[UInt8]])
    func otherServiceData(_ data: [UInt8]) async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try Self.add([.serviceData(0xFCD2, data)], to: fixture)
            let scanning = fixture.begin { try await AdvertisementsPage.serviceData(adapter) }
            try await fixture.radio.sleep(for: .seconds(2))
            #expect(fixture.lines.isEmpty)
            #expect(await scanning.ended() == .cancelled)
        }
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
