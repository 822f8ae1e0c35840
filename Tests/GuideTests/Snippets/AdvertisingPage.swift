// The snippets of Docs/Guide/Peripheral/Advertising.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Peripheral/Advertising.md
enum AdvertisingPage {
    /// For as long as a closure runs
    static func forAsLongAsAClosureRuns(_ adapter: Adapter) async throws {
        let content = AdvertisementContent(localName: "Thermometer", services: [.healthThermometer])
        try await adapter.withAdvertising(content) { set in
            print("instance", set.instance as Any)
        }
    }

    /// Until it is closed
    static func untilItIsClosed(_ adapter: Adapter) async throws {
        let set = try await adapter.advertise(AdvertisementContent(localName: "Thermometer", services: [.healthThermometer]))
        try await set.update(AdvertisementContent(localName: "Thermometer", services: [.healthThermometer, .battery]))
        await set.close()
    }

    /// Until it is closed
    static func untilItIsClosed2(_ adapter: Adapter) async throws {
        let set = try await adapter.advertise(AdvertisementContent(localName: "Thermometer"))
        print("over:", await set.closed())
    }

    /// Content
    static func content(_ adapter: Adapter) async throws {
        var content = AdvertisementContent(
            localName: "Thermometer", services: [.healthThermometer],
            manufacturerData: [ManufacturerData(company: .internalTest, data: [1, 2, 3])],
            serviceData: [ServiceData(service: .battery, data: [97])], appearance: Appearance(rawValue: 0x0300),
            solicitedServices: [.currentTimeService], includesTransmitPower: true)
        content.scanResponse = [.uri("https://swift.org")]
        content.overflow = .leaveOut
        let set = try await adapter.advertise(content)
        print(set.payloads.leftOver.map(\.field))
        await set.close()
    }

    /// Kinds
    static func kinds(_ adapter: Adapter) async throws {
        let options = AdvertisingOptions(
            kind: .nonConnectable, format: .extended(.le2M), interval: .milliseconds(500) ... .seconds(1), transmitPower: 0)
        let data = ManufacturerData(company: .internalTest, data: [UInt8](repeating: 7, count: 200))
        let set = try await adapter.advertise(AdvertisementContent(manufacturerData: [data]), options: options)
        print(set.transmitPower as Any)
        await set.close()
    }

    /// Several at once
    static func severalAtOnce(_ adapter: Adapter) async throws {
        let first = try await adapter.advertise(AdvertisementContent(localName: "one"))
        let second = try await adapter.advertise(
            AdvertisementContent(localName: "two"), options: AdvertisingOptions(kind: .nonConnectable))
        await first.close()
        await second.close()
    }

    /// Several at once
    static func severalAtOnce2(_ adapter: Adapter) async throws {
        print(try await adapter.removeForeignAdvertising(), "removed")
    }

    /// States
    static func states(_ adapter: Adapter) async throws {
        let options = AdvertisingOptions(whenAdapterUnavailable: .resume)
        let set = try await adapter.advertise(AdvertisementContent(localName: "Thermometer"), options: options)
        for try await state in set.states() {
            if state == .advertising { print("on the air") }
            if let reason = state.waiting { print("not now:", reason) }
            if let reason = state.closed { print("over:", reason) }
            break
        }
        await set.close()
    }

    /// Beacons
    static func beacons(_ adapter: Adapter) async throws {
        let beacon = IBeacon(
            proximityUUID: "F7826DA6-4FA2-4E98-8024-BC5B71E0893E", major: 7, minor: 42, measuredPower: -59)
        let options = AdvertisingOptions(kind: .nonConnectable)
        let apple = try await adapter.advertise(.iBeacon(beacon), options: options)
        let page = try await adapter.advertise(.eddystone(.url("https://swift.org", txPower: -20)), options: options)
        let alt = try await adapter.advertise(
            .altBeacon(AltBeacon(company: .internalTest, identifier: [UInt8](repeating: 1, count: 20), referenceRSSI: -59)),
            options: options)
        for set in [apple, page, alt] { await set.close() }
    }
}
